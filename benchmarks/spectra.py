"""Calibration of made-up spectra: error of prediction for new specimens, ours beside PLS, by pretreatment.

100 specimens of 3 replicates; five folds of whole specimens. The number of components of PLS is chosen by five folds of
the training samples, from 1 to 15. Below, folds of single spectra, which let replicates of one specimen be on both
sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.signal import savgol_filter
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from benchmarks._data import Settings
from benchmarks._report import Row, standard_error
from spkm import SPKMRegressor
from spkm.datasets import make_spectra

COLUMNS = ("PLS", "ours minus PLS", "draws")


def snv(X: np.ndarray) -> np.ndarray:
    """Return spectra of mean zero and deviation one."""
    return (X - X.mean(axis=1, keepdims=True)) / X.std(axis=1, keepdims=True)


def derivative(X: np.ndarray, order: int) -> np.ndarray:
    """Return derivatives by the filter of Savitzky and Golay."""
    return savgol_filter(X, window_length=11, polyorder=2, deriv=order, axis=1)


def steps(order: int | None, scatter: bool) -> list[Any]:
    """Return the transformers of a pretreatment."""
    found = [] if order is None else [FunctionTransformer(derivative, kw_args={"order": order})]
    return [*found, FunctionTransformer(snv)] if scatter else found


PRETREATMENTS = {
    "none": steps(None, False),
    "SNV": steps(None, True),
    "second derivative": steps(2, False),
    "first derivative, SNV": steps(1, True),
    "second derivative, SNV": steps(2, True),
}


def run(settings: Settings) -> Iterator[Row]:
    """Yield errors of prediction in percentage points."""
    draws = [make_spectra(settings.size(100, 20), random_state=seed) for seed in range(settings.n_seeds(3))]
    for name, treated in PRETREATMENTS.items():
        yield row(f"{name}: RMSEP of new specimens", treated, draws, GroupKFold(5))
    split = KFold(5, shuffle=True, random_state=0)
    yield row("second derivative, SNV: RMSEP, folds of spectra (leaks)", treated, draws, split, grouped=False)


def row(what: str, treated: list[Any], draws: list[Any], cv: Any, grouped: bool = True) -> Row:
    """Return the mean errors over some draws."""
    pls = GridSearchCV(PLSRegression(scale=False), {"n_components": range(1, 16)}, scoring="neg_mean_squared_error")
    models = {"ours": SPKMRegressor(scale="common", random_state=0), "PLS": pls}
    found: dict[str, list[float]] = {name: [] for name in models}
    for X, y, specimen, _ in draws:
        for name, model in models.items():
            p = cross_val_predict(
                make_pipeline(*treated, model), X, y, groups=specimen if grouped else None, cv=cv
            ).ravel()
            found[name].append(float(np.sqrt(np.mean((p - y) ** 2))))
    apart = np.array(found["ours"]) - found["PLS"]
    error = standard_error(apart)
    difference = f"{apart.mean():+.2f}" + ("" if np.isnan(error) else f" ± {error:.2f}")
    return Row(
        what,
        float(np.mean(found["ours"])),
        None,
        "{:.2f}",
        (f"{np.mean(found['PLS']):.2f}", difference, str(len(draws))),
    )


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["spectra", *sys.argv[1:]])
