"""Time series in the text formats of the UCR archive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spkm_paper.datasets._info import TEST_FOLD, Arrays, Original

AXES = ("X", "Y", "Z")
VIEWS = ("axis_x", "axis_y", "axis_z")
ORIGINALS = tuple(
    Original(
        f"UWaveGestureLibrary{axis}_{part}",
        suffixes=("", ".txt", ".tsv", ".ts"),
        subfolder=f"UWaveGestureLibrary{axis}",
    )
    for part in ("TRAIN", "TEST")
    for axis in AXES
)


def series(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return the series, one a row, and their labels.

    A line holds the label, then the values, between commas, tabs or spaces; or, in the .ts format, the values, a colon
    and the label, below lines that begin with @ or #.

    Parameters
    ----------
    content : bytes
        A file.

    Returns
    -------
    X : ndarray of shape (n_series, length)
        The values.
    labels : ndarray of shape (n_series,)
        Whole numbers.

    Examples
    --------
    >>> series(b"2\\t0.5\\t1\\n1\\t0\\t-1\\n")
    (array([[ 0.5,  1. ], [ 0. , -1. ]]), array([2, 1]))
    >>> series(b"@data\\n0.5,1:2\\n")
    (array([[0.5, 1. ]]), array([2]))
    """
    lines = [line for line in content.decode().splitlines() if line.strip() and line[0] not in "@#"]
    rows = [_label_and_values(line) for line in lines]
    if len({len(row) for row in rows}) != 1:
        raise ValueError("series must have one length; got none or several")
    table = np.array(rows, dtype=float)
    return table[:, 1:], table[:, 0].astype(int)


def _label_and_values(line: str) -> list[str]:
    values, colon, label = line.rpartition(":")
    text = f"{label} {values}" if colon else line
    return text.replace(",", " ").split()


def uwave(contents: Sequence[bytes]) -> Arrays:
    """Return the arrays of the catalogue: training samples before test samples, labels 1..8 as 0..7."""
    found = [series(content) for content in contents]
    train, test = found[: len(AXES)], found[len(AXES) :]
    for part in (train, test):
        if any(not np.array_equal(part[0][1], labels) for _, labels in part[1:]):
            raise ValueError("the files of the three axes must list the same gestures in the same order")
    views = {
        view: np.vstack([X_train, X_test]) for view, (X_train, _), (X_test, _) in zip(VIEWS, train, test, strict=True)
    }
    labels = [train[0][1], test[0][1]]
    fold = np.repeat([0, TEST_FOLD], [len(part) for part in labels])
    return {**views, "y": np.concatenate(labels) - 1, "fold": fold}
