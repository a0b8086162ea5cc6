"""Original files, as they were published, turned into the arrays of the catalogue."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from io import BytesIO

import numpy as np

from spkm_paper.datasets._info import Arrays

Contents = Sequence[bytes]


def _table(content: bytes, skip: int = 0) -> np.ndarray:
    """Return the cells of comma- or semicolon-separated lines as text."""
    lines = content.decode().replace(";", ",").split("\n")[skip:]
    return np.array([[cell.strip() for cell in line.split(",")] for line in lines if line.strip()])


def _matrix(content: bytes, name: str) -> np.ndarray:
    from scipy.io import loadmat  # slow to import
    from scipy.sparse import issparse

    with warnings.catch_warnings():
        # SciPy 1.18 says that sparse arrays will take the place of matrices; earlier ones cannot be asked for them.
        warnings.simplefilter("ignore", DeprecationWarning)
        found = loadmat(BytesIO(content))[name]
    return found.toarray() if issparse(found) else found


def breast_cancer_wisconsin(contents: Contents) -> Arrays:
    """An id, nine grades with ? for missing, 2 or 4."""
    table = _table(contents[0])
    whole = table[(table != "?").all(axis=1)].astype(float)
    return {"X": whole[:, 1:-1], "y": (whole[:, -1] == 4).astype(int)}


def early_diabetes(contents: Contents) -> Arrays:
    """A header; age, Male or Female, Yes or No, Positive or Negative."""
    table = _table(contents[0], skip=1)
    X = np.isin(table[:, :-1], ["Yes", "Male"]).astype(float)
    X[:, 0] = table[:, 0].astype(float)
    return {"X": X, "y": (table[:, -1] == "Positive").astype(int)}


def ionosphere(contents: Contents) -> Arrays:
    """34 numbers, then g or b."""
    table = _table(contents[0])
    return {"X": table[:, :-1].astype(float), "y": (table[:, -1] == "g").astype(int)}


def qsar_biodeg(contents: Contents) -> Arrays:
    """41 numbers, then RB or NRB."""
    table = _table(contents[0])
    return {"X": table[:, :-1].astype(float), "y": (table[:, -1] == "RB").astype(int)}


def parkinsons_telemonitoring(contents: Contents) -> Arrays:
    """A header; subject, age, sex, time, the two targets, 16 voice measures."""
    table = _table(contents[0], skip=1).astype(float)
    return {"X": np.delete(table, [0, 4, 5], axis=1), "y": table[:, 4:6], "groups": table[:, 0].astype(int)}


def boston_housing(contents: Contents) -> Arrays:
    """13 numbers and the target, between spaces."""
    table = np.array(contents[0].split(), dtype=float).reshape(-1, 14)
    return {"X": table[:, :-1], "y": table[:, -1]}


def sarcos_test(contents: Contents) -> Arrays:
    """21 inputs and 7 torques."""
    table = _matrix(contents[0], "sarcos_inv_test")
    return {"X": table[:, :21], "y": table[:, 21:]}


def sarcos(contents: Contents) -> Arrays:
    """Both files; 21 inputs and 7 torques."""
    train, test = _matrix(contents[0], "sarcos_inv"), _matrix(contents[1], "sarcos_inv_test")
    return {"X_train": train[:, :21], "y_train": train[:, 21:], "X_test": test[:, :21], "y_test": test[:, 21:]}


def basehock(contents: Contents) -> Arrays:
    """Counts, and labels 1 or 2."""
    return {
        "X": _matrix(contents[0], "X").astype(np.uint8),
        "y": (_matrix(contents[0], "Y").ravel() == 2).astype(int),
    }


def leukemia(contents: Contents) -> Arrays:
    """Levels -2, 0, 2, and labels -1 or 1."""
    return {
        "X": _matrix(contents[0], "X").astype(np.int8),
        "y": (_matrix(contents[0], "Y").ravel() == 1).astype(int),
    }


def mnist(X: np.ndarray, y: np.ndarray) -> Arrays:
    """All samples in the official order, 60,000 of them for training; labels as text."""
    X, y = X.astype(np.uint8), y.astype(np.uint8)
    return {"X_train": X[:60_000], "y_train": y[:60_000], "X_test": X[60_000:], "y_test": y[60_000:]}


def gisette(contents: Contents) -> Arrays:
    """Samples and labels -1 or 1 of the training part, then of the validation part."""
    X_train, y_train, X_valid, y_valid = (np.loadtxt(BytesIO(content), dtype=np.int16, ndmin=1) for content in contents)
    return {"X": np.vstack([X_train, X_valid]), "y": (np.concatenate([y_train, y_valid]) == 1).astype(int)}


def multiple_features(names: Sequence[str], contents: Contents) -> Arrays:
    """One file for each view: a header, then numbers and the digit."""
    tables = [_table(content, skip=1).astype(float) for content in contents]
    views: Arrays = {name: table[:, :-1] for name, table in zip(names, tables, strict=True)}
    return {**views, "y": tables[0][:, -1].astype(int)}


def drug_target(contents: Contents) -> Arrays:
    """Interactions, targets by drugs, then similarities of drugs and of targets; names above and on the left."""
    (drugs, targets, known), (_, _, drug_similarity), (_, _, target_similarity) = map(_named_matrix, contents)
    drug_index, target_index = np.indices((len(drugs), len(targets))).reshape(2, -1)
    return {
        "drug_similarity": drug_similarity,
        "target_similarity": target_similarity,
        "drug_index": drug_index,
        "target_index": target_index,
        "y": known.T.ravel().astype(int),
        "drug_names": np.array(drugs),
        "target_names": np.array(targets),
    }


def _named_matrix(content: bytes) -> tuple[list[str], list[str], np.ndarray]:
    """Return names of columns, names of rows, and numbers."""
    header, *lines = [line.split() for line in content.decode().split("\n") if line.strip()]
    return header, [line[0] for line in lines], np.array([line[1:] for line in lines], dtype=float)
