"""The eight methods that `ranks` compares ours with, each fitted to training samples and judged on test samples.

Validation samples choose the settings of the SVM, of kernel regression, of the tuned LightGBM and of xRFM, and
calibrate the SVM's probabilities. The others have their defaults, CatBoost with 300 trees in place of 1,000.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from benchmarks._panel import GAMMAS, KRR_STRENGTHS, SVC_STRENGTHS, SVR_STRENGTHS, best_on

TREES = 300  # of CatBoost
LEAVES, RATES, COUNTS = (7, 31), (0.05, 0.15), (100, 300)  # of the tuned LightGBM: eight settings
LEAST = 1e-6  # probability, so that one sample does not decide a mean


class Parts(NamedTuple):
    """Samples and targets of a split; classes are numbers from 0 on, real targets have mean 0 and deviation 1."""

    train: tuple[np.ndarray, np.ndarray]
    validation: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    of_classes: bool

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 for real targets."""
        return int(self.train[1].max()) + 1 if self.of_classes else 0


def judged(parts: Parts, model: Any, probabilities: np.ndarray | None = None) -> tuple[float, float]:
    """Return accuracy or R² on the test samples in percent, and the log loss there, NaN for real targets."""
    X, y = parts.test
    if not parts.of_classes:
        return 100 * float(r2_score(y, model.predict(X))), np.nan
    P = model.predict_proba(X) if probabilities is None else probabilities
    P = np.clip(P, LEAST, None)
    loss = log_loss(y, P / P.sum(axis=1, keepdims=True), labels=np.arange(parts.n_classes))
    return 100 * float(np.mean(model.predict(X) == y)), float(loss)


def _kernel_machine(parts: Parts) -> tuple[float, float]:
    d = parts.train[0].shape[1]
    scaled: Callable[[Any], Any] = lambda model: make_pipeline(StandardScaler(), model).fit(*parts.train)  # noqa: E731
    if not parts.of_classes:
        krr = (KernelRidge(alpha=a, kernel="rbf", gamma=g / d) for g, a in product(GAMMAS, KRR_STRENGTHS))
        svr = (SVR(C=C, gamma=g / d, epsilon=0.05, max_iter=100_000) for g, C in product(GAMMAS, SVR_STRENGTHS))
        return judged(parts, best_on(parts.validation, map(scaled, (*krr, *svr)))[1])
    found = (SVC(C=C, gamma=g / d) for g, C in product(GAMMAS, SVC_STRENGTHS))
    svc = best_on(parts.validation, map(scaled, found))[1]
    samples = parts.validation
    if len(np.unique(samples[1])) < parts.n_classes:  # then training samples let every class have a column
        samples = tuple(np.concatenate(both) for both in zip(parts.train, samples, strict=True))  # type: ignore[assignment]
    calibrated = CalibratedClassifierCV(FrozenEstimator(svc), method="sigmoid").fit(*samples)
    return judged(parts, svc, calibrated.predict_proba(parts.test[0]))


def _lightgbm(parts: Parts) -> tuple[float, float]:
    return judged(parts, _boosted(parts).fit(*parts.train))


def _tuned_lightgbm(parts: Parts) -> tuple[float, float]:
    grid = product(LEAVES, RATES, COUNTS)
    models: Iterable[Any] = (
        _boosted(parts, num_leaves=leaves, learning_rate=rate, n_estimators=count).fit(*parts.train)
        for leaves, rate, count in grid
    )
    return judged(parts, best_on(parts.validation, iter(models))[1])


def _boosted(parts: Parts, **settings: Any) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor  # type: ignore[import-not-found]

    kind = LGBMClassifier if parts.of_classes else LGBMRegressor
    return kind(random_state=0, verbose=-1, n_jobs=1, **settings)


def _catboost(parts: Parts) -> tuple[float, float]:
    from catboost import CatBoostClassifier, CatBoostRegressor  # type: ignore[import-not-found]

    kind = CatBoostClassifier if parts.of_classes else CatBoostRegressor
    loss = {"loss_function": "MultiClass"} if parts.n_classes > 2 else {}
    model = kind(iterations=TREES, random_seed=0, thread_count=1, verbose=False, allow_writing_files=False, **loss)
    model.fit(*parts.train)
    if not parts.of_classes:
        return judged(parts, model)
    P = model.predict_proba(parts.test[0])
    accuracy = 100 * float(np.mean(P.argmax(axis=1) == parts.test[1]))
    return accuracy, judged(parts, model, P)[1]


def _hist(parts: Parts) -> tuple[float, float]:
    kind = HistGradientBoostingClassifier if parts.of_classes else HistGradientBoostingRegressor
    return judged(parts, kind(random_state=0).fit(*parts.train))


def _forest(parts: Parts) -> tuple[float, float]:
    kind = RandomForestClassifier if parts.of_classes else RandomForestRegressor
    return judged(parts, kind(n_estimators=300, random_state=0, n_jobs=1).fit(*parts.train))


def _linear(parts: Parts) -> tuple[float, float]:
    model = LogisticRegression(max_iter=2000) if parts.of_classes else Ridge()
    return judged(parts, make_pipeline(StandardScaler(), model).fit(*parts.train))


def _xrfm(parts: Parts) -> tuple[float, float]:
    from xrfm import xRFM  # type: ignore[import-not-found]

    scaler = StandardScaler().fit(parts.train[0])
    kind = np.int64 if parts.of_classes else np.float32
    given = [(scaler.transform(X).astype(np.float32), y.astype(kind)) for X, y in parts[:3]]
    metric = "accuracy" if parts.of_classes else "mse"
    model = xRFM(device="cpu", tuning_metric=metric, random_state=0, verbose=False, n_threads=1)
    model.fit(*given[0], *given[1])
    X, y = given[2]
    if not parts.of_classes:
        return 100 * float(r2_score(parts.test[1], np.ravel(model.predict(X)))), np.nan
    P = np.clip(np.asarray(model.predict_proba(X), dtype=np.float64), LEAST, None)
    loss = log_loss(y, P / P.sum(axis=1, keepdims=True), labels=np.arange(parts.n_classes))
    return 100 * float(np.mean(np.ravel(model.predict(X)) == y)), float(loss)


#: Name: the packages whose versions matter, and the function that returns accuracy or R² in percent, and log loss.
RIVALS: dict[str, tuple[tuple[str, ...], Callable[[Parts], tuple[float, float]]]] = {
    "kernel": (("scikit-learn",), _kernel_machine),
    "xRFM": (("xrfm", "torch"), _xrfm),
    "LightGBM tuned": (("lightgbm",), _tuned_lightgbm),
    "LightGBM": (("lightgbm",), _lightgbm),
    "CatBoost": (("catboost",), _catboost),
    "HistGB": (("scikit-learn",), _hist),
    "forest": (("scikit-learn",), _forest),
    "linear": (("scikit-learn",), _linear),
}


def versions_of(name: str) -> str:
    """Return the packages of a rival with their versions; PackageNotFoundError if one is absent."""
    return ", ".join(f"{package} {version(package)}" for package in RIVALS[name][0])
