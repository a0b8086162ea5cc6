"""Samples of a report, read and checked, and their digits: few enough to keep the file small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spkm.explain._table import dense
from spkm.inspection._reading import Reading
from spkm.losses import Times
from spkm.persistence._plain import for_javascript
from spkm.tables.read import target_array

BYTES = 330_000  # of all shipped samples together; a number takes about six
PER_NUMBER = 5.5  # bytes, about
LEVELS = 2e3  # steps in the range of a feature, at least
SAMPLED = 500  # samples that effects and shares of variance are computed on
ENTRIES = 1e7  # numbers of these samples, where there are many columns


def dense_rows(table: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return some samples and features of a table (array, CSR or pairs) as a dense array in double precision."""
    return dense(table[rows])[:, columns]


def stratified(y: np.ndarray | None, n: int, most: int, is_class: bool) -> np.ndarray:
    """Return at most ``most`` of n samples, in rising order: each class, or each part of the range, by its share.

    There is no chance in it: within a class samples are taken at equal distances. Every class has a sample.
    """
    if n <= most:
        return np.arange(n)
    if y is None or np.ndim(y) > 1:
        return np.unique(np.linspace(0, n - 1, most).round().astype(int))
    if not is_class:
        order = np.argsort(y, kind="stable")
        return np.sort(order[np.unique(np.linspace(0, n - 1, most).round().astype(int))])
    labels, codes = np.unique(y, return_inverse=True)
    counts = np.bincount(codes)
    exact = most * counts / n
    share = np.maximum(1, np.floor(exact)).astype(int)
    left = max(0, most - int(share.sum()))
    share[np.argsort(share - exact, kind="stable")[:left]] += 1
    chosen = [
        np.flatnonzero(codes == k)[np.unique(np.linspace(0, counts[k] - 1, share[k]).round().astype(int))]
        for k in range(len(labels))
    ]
    return np.sort(np.concatenate(chosen))


def affordable(n_columns: int, most: int, room: int = BYTES) -> int:
    """Return how many samples of so many features a report can ship in so many bytes."""
    return int(max(10, min(most, room // (PER_NUMBER * max(n_columns, 1)))))


def packed(values: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Return a table as whole numbers, feature by feature, and the numbers that these stand for.

    A feature is a list of ``first``, ``digits`` and codes; (first + code) / 10^digits is the same double in every
    language. ``digits`` is such that the range of the feature has two thousand steps or more, fewer where the values
    need fewer.
    """
    columns, shown = [], np.empty_like(values)
    for j, column in enumerate(values.T):
        digits = _digits(column)
        ten = _power_of_ten(digits)
        whole = np.rint(column * ten) if digits >= 0 else np.rint(column / ten)
        first = int(whole.min())
        codes = (whole - first).astype(np.int64)
        columns.append([first, digits, codes.tolist()])
        shown[:, j] = whole / ten if digits >= 0 else whole * ten
    return {"columns": columns}, shown


def _digits(column: np.ndarray) -> int:
    """Return how many decimals a feature is shown in."""
    low, high = float(column.min()), float(column.max())
    size = max(abs(low), abs(high))
    if size == 0:
        return 0
    most = min(15 - int(np.ceil(np.log10(size))), 300)  # more would not be whole numbers that a double holds
    spread = high - low
    digits = int(np.clip(np.ceil(np.log10(LEVELS / spread)), -300, most)) if spread > 1e-12 * size else most
    for fewer in range(max(0, digits - 12), digits):  # whole numbers, and data of two decimals, need no more
        ten = _power_of_ten(fewer)
        if np.array_equal(np.rint(column * ten) / ten, column):
            return fewer
    return digits


def _power_of_ten(digits: int) -> float:
    """Return 10 to the size of ``digits``, rounded correctly, which a power by multiplication is not."""
    return float(f"1e{abs(digits)}")


def rounded(values: Any, digits: int = 5) -> Any:
    """Return numbers, in nested lists, with so many significant digits; None for what is no number."""
    if np.ndim(values):
        return [rounded(value, digits) for value in values]
    value = float(values)
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def plain_values(value: object) -> Any:
    """Return a label or a target, or an array of them, as something that JSON and JavaScript hold."""
    if isinstance(value, np.ndarray):
        return [plain_values(part) for part in value]
    value = value.item() if isinstance(value, np.generic) else value
    return for_javascript(value) if isinstance(value, str | bool | int | float) else str(value)


@dataclass(frozen=True)
class Samples:
    """The samples of a report, and what the model makes of them.

    Attributes
    ----------
    reading : Reading
        The estimator.
    table, y : table and targets or None
        All of them.
    times : Times or None
        Their censored times, in place of targets.
    known : (table, targets) or None
        Samples and targets of the fit.
    chosen, rows, shown, data : ndarray, ndarray, ndarray and dict
        Samples that a file ships, in the columns that the model reads as they are and with the digits that a page
        holds, and packed.
    some, sampled : ndarray
        Samples that effects and shares are computed on, and these in all columns.
    scores, similarities : ndarray
        Scores of all, similarities of those sampled.
    """

    reading: Reading
    table: Any
    y: np.ndarray | None
    times: Times | None
    known: Any
    chosen: np.ndarray
    rows: np.ndarray
    shown: np.ndarray
    data: dict[str, Any]
    some: np.ndarray
    sampled: np.ndarray
    scores: np.ndarray
    similarities: np.ndarray

    @staticmethod
    def of(reading: Reading, X: Any, y: Any, train: Any, room: int, max_rows: int) -> Samples:
        """Return the samples of a report, of which a file ships as many as fit into so many bytes."""
        table = reading.table(X)
        y, times = _checked_targets(reading, y, table.shape[0], "y")
        known = None
        if train is not None:
            known_table = reading.table(train[0])
            known = known_table, _checked_targets(reading, train[1], known_table.shape[0], "train[1]")[0]
        by = y if times is None else times.time
        most = affordable(len(reading.read), max_rows, room)
        chosen = stratified(by, table.shape[0], most, reading.labels is not None)
        rows = dense_rows(table, chosen, reading.read)
        data, shown = packed(rows)
        count = int(np.clip(ENTRIES / table.shape[1], 50, SAMPLED))
        some = np.arange(0, table.shape[0], max(1, table.shape[0] // count))
        sampled = dense_rows(table, some, np.arange(len(reading.names)))
        found = reading.model.scores(table), reading.model.similarities(sampled)
        return Samples(reading, table, y, times, known, chosen, rows, shown, data, some, sampled, *found)

    @property
    def source(self) -> Any:
        """The table that ranges come from: that of the fit where it is known."""
        return self.table if self.known is None else self.known[0]

    @property
    def sampled_y(self) -> np.ndarray | None:
        """Targets of those sampled."""
        return None if self.y is None else self.y[self.some]


def _checked_targets(reading: Reading, y: Any, n: int, argument: str) -> tuple[Any, Times | None]:
    """Return targets of n samples, checked, or else their censored times."""
    if y is None:
        return None, None
    times: Times | None = reading.estimator.times_of(y) if reading.is_survival else None
    y = target_array(y) if times is None else times.time
    if len(y) != n:
        raise ValueError(f"{argument} must have an entry for each of the {n} samples; got {len(y)}.")
    if times is not None:
        return None, times
    labels = reading.labels
    if labels is None and not np.isfinite(y.astype(np.float64)).all():
        raise ValueError(f"{argument} must hold finite numbers; it holds NaN or infinity. Leave such samples out.")
    if labels is not None and y.ndim == 1:
        unknown = np.setdiff1d(y, labels)
        if len(unknown):
            raise ValueError(f"{argument} must hold classes of the fit, {labels.tolist()}; got {unknown.tolist()[:5]}.")
    return y, None
