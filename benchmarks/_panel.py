"""The panel's sets, their splits, the competitors on them and what is measured of one of our models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import product
from time import process_time
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from benchmarks._data import MissingData, Settings
from benchmarks._report import Row, at_most
from spkm import SPKMClassifier, SPKMRegressor

TWO_CLASSES = (
    "adult10k australian bank_marketing banknote blood_transfusion electricity10k haberman hepatitis ilpd "
    "oocytes_merluccius phoneme pima ringnorm vertebral"
).split()
MORE_CLASSES = (
    "cardiotocography dry_bean ecoli new_thyroid page_blocks seeds semeion steel_plates wall_following waveform yeast"
).split()
REAL_TARGETS = (
    "abalone airfoil auto_mpg auto_price bike bodyfat ccpp elevators energy_heating gas_drift kc_house8k kin40k "
    "machine_cpu pol protein_casp pumadyn32nm servo skillcraft yacht"
).split()
OURS: dict[str, tuple[list[str], Callable[..., Any]]] = {
    "classes": (TWO_CLASSES + MORE_CLASSES, SPKMClassifier),
    "real targets": (REAL_TARGETS, SPKMRegressor),
}
NOTHING = ("", "", "", "", "")  # in the columns of the table beside a figure
SHARES = (0.6, 0.2, 0.2)
MOST = (1500, 500, 2000)  # samples for training, validation and test
GAMMAS = (0.03, 0.1, 0.3, 1.0, 3.0)  # over the number of features
SVC_STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)
KRR_STRENGTHS = (1e-3, 1e-2, 0.1, 1.0)
SVR_STRENGTHS = (0.3, 3.0, 30.0, 300.0)


def load(settings: Settings, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y of a set, from the data folder or its subfolder ``panel``."""
    if settings.data is None:
        raise MissingData(f"needs {name}.npz and others; give the folder with --data or SPKM_DATA.")
    for path in (settings.data / f"{name}.npz", settings.data / "panel" / f"{name}.npz"):
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["X"], arrays["y"]
    raise MissingData(f"no {name}.npz in the data folder.")


def halves(names: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the half that rules were chosen on and the one that confirmed them: sets by alternate position."""
    yield "A", names[0::2]
    yield "B", names[1::2]


def split(
    X: np.ndarray, y: np.ndarray, seed: int, classes: bool, few: int | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (X, y) of training, validation and test samples, the latter without classes that training lacks.

    With ``few`` training samples at most, validation has a third as many, and the rest is for the test.
    """
    order = np.random.default_rng(seed).permutation(len(y))
    first = min(len(y), len(y) if few is None else few / SHARES[0])
    cuts = np.round(first * np.cumsum(SHARES)[:-1]).astype(int)
    parts = [rows[:most] for rows, most in zip(np.split(order, cuts), MOST, strict=True)]
    if classes:
        known = np.unique(y[parts[0]])
        parts = [rows[np.isin(y[rows], known)] for rows in parts]
    return [(X[rows].astype(np.float64), y[rows]) for rows in parts]


def best_on(validation: tuple[np.ndarray, np.ndarray], models: Iterator[Any]) -> tuple[float, Any]:
    """Return the highest validation score and the model that has it."""
    scored = ((model.score(*validation), i, model) for i, model in enumerate(models))
    score, _, model = max(scored, key=lambda entry: (entry[0], -entry[1]))
    return score, model


def classification_peers(train: Any, validation: Any, test: Any, step: int) -> dict[str, float]:
    """Return test accuracies in percent of the competitors by name, and the log loss of the calibrated SVC."""
    d = train[0].shape[1]
    grid = list(product(GAMMAS, SVC_STRENGTHS))[::step]
    _, svc = best_on(
        validation,
        (make_pipeline(StandardScaler(), SVC(C=C, gamma=g / d)).fit(*train) for g, C in grid),
    )
    found = {"SVC": 100 * svc.score(*test), "SVC log loss": _calibrated_log_loss(svc, train, validation, test)}
    others: dict[str, Callable[[], Any]] = {
        "LogisticRegression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "HistGB": lambda: HistGradientBoostingClassifier(random_state=0),
    }
    if find_spec("lightgbm") is not None:
        from lightgbm import LGBMClassifier  # type: ignore[import-not-found]

        others["LightGBM"] = lambda: LGBMClassifier(random_state=0, verbose=-1, n_jobs=1)
    found |= {name: 100 * make().fit(*train).score(*test) for name, make in others.items()}
    if find_spec("xrfm") is not None:
        found["xRFM"] = _xrfm_accuracy(train, validation, test)
    return found


def _xrfm_accuracy(train: Any, validation: Any, test: Any) -> float:
    from xrfm import xRFM  # type: ignore[import-not-found]

    scaler, classes = StandardScaler().fit(train[0]), np.unique(train[1])
    parts = [
        (scaler.transform(X).astype(np.float32), np.searchsorted(classes, y)) for X, y in (train, validation, test)
    ]
    model = xRFM(device="cpu", tuning_metric="accuracy", random_state=0, verbose=False)
    model.fit(*parts[0], *parts[1])
    return 100 * float(np.mean(np.ravel(model.predict(parts[2][0])) == parts[2][1]))


def _calibrated_log_loss(svc: Any, train: Any, validation: Any, test: Any) -> float:
    classes = np.unique(train[1])
    if len(np.unique(validation[1])) == len(classes):
        calibrated = CalibratedClassifierCV(FrozenEstimator(svc), method="sigmoid").fit(*validation)
        return float(log_loss(test[1], calibrated.predict_proba(test[0]), labels=classes))
    # Some class has no validation sample: training samples, whose scores are too good, let it have a column.
    everything = tuple(np.concatenate(parts) for parts in zip(train, validation, strict=True))
    calibrated = CalibratedClassifierCV(FrozenEstimator(svc), method="sigmoid").fit(*everything)
    return float(log_loss(test[1], calibrated.predict_proba(test[0]), labels=classes))


def regression_peers(train: Any, validation: Any, test: Any, step: int) -> dict[str, float]:
    """Return the test R² in percent of the competitors by name; "kernel" is the better of KRR and SVR on validation."""
    d = train[0].shape[1]
    mean, deviation = train[1].mean(), train[1].std()
    train, validation, test = ((X, (y - mean) / deviation) for X, y in (train, validation, test))
    krr = (KernelRidge(alpha=a, kernel="rbf", gamma=g / d) for g, a in list(product(GAMMAS, KRR_STRENGTHS))[::step])
    svr = (
        SVR(C=C, gamma=g / d, epsilon=0.05, max_iter=200_000) for g, C in list(product(GAMMAS, SVR_STRENGTHS))[::step]
    )
    kernels = [
        best_on(validation, (make_pipeline(StandardScaler(), model).fit(*train) for model in models))
        for models in (krr, svr)
    ]
    kernel = max(kernels, key=lambda entry: entry[0])[1]
    others = {
        "kernel": kernel,
        "Ridge": make_pipeline(StandardScaler(), Ridge()).fit(*train),
        "HistGB": HistGradientBoostingRegressor(random_state=0).fit(*train),
    }
    return {name: 100 * model.score(*test) for name, model in others.items()}


def timed_fit(estimator: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Fit and return the seconds of processor time it took."""
    start = process_time()
    estimator.fit(X, y)
    return process_time() - start


def share_outside(estimator: Any, X: np.ndarray) -> float:
    """Return the percentage of coordinates of basis vectors outside the range of X."""
    U = estimator.basis_vectors_
    known = np.isfinite(U)
    slack = 1e-6 * np.maximum(np.ptp(X, axis=0), 1e-300)
    outside = (U < X.min(axis=0) - slack) | (U > X.max(axis=0) + slack)
    return 100 * float(np.sum(outside & known) / max(np.sum(known), 1))


def of_vectors(where: str, of: dict[str, np.ndarray], most: float) -> Iterator[Row]:
    """Yield cancellation, coordinates outside the data and seconds."""
    yield Row(f"{where}: cancellation, median", np.median(of["cancellation"]), at_most(most), "{:.1f}", NOTHING)
    yield Row(f"{where}: coordinates outside the data, %", of["outside"].mean(), at_most(0.0), more=NOTHING)
    yield Row(f"{where}: seconds of a fit, geometric mean", np.exp(np.log(of["seconds"]).mean()), more=NOTHING)
