"""Components of a canonical correlation analysis, in words and in tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spkm._arrays import RandomState, with_shape
from spkm._checks import check_integer
from spkm._publish import feature_names
from spkm.estimators.cca import within_chance
from spkm.explain._effects import Effect, partial_dependence
from spkm.explain._sheet import Sheet
from spkm.explain._summary import BACKGROUND, direction, formula, kernel_name
from spkm.explain._table import listed, table_of

TABLES = ("X", "Y")
MOST_ENTRIES = 10  # features of a component and a table that are listed
NAMED = 5  # features that a sentence names
FEWEST_ORDERS = 19  # random orders that can have a p-value of 0.05
CONFIDENCE = 1.96  # standard errors of a 95 % interval


@dataclass(frozen=True)
class Entry:
    """A feature of a component.

    Attributes
    ----------
    name : str
        The feature.
    weight : float
        Its weight.
    vector : float
        Its entry of the vector u or v, in the units of the table.
    effect : Effect or None
        Its effect on the score of its table, if there are samples.
    """

    name: str
    weight: float
    vector: float
    effect: Effect | None

    def shape(self, component: int) -> str:
        """Return the shape of the effect on the score of a component: rises, falls, peak, valley, mixed or none."""
        return "" if self.effect is None else direction(self.effect.values[:, component])


@dataclass(frozen=True)
class Relation:
    """A component: its features in both tables, those with the largest weights first, and its correlations.

    Attributes
    ----------
    place : int
        Number of the component, from 0.
    entries : pair of tuples of Entry
        Features of X and of Y.
    training, validation : float
        Correlations of the fit, on its samples and on those that it held out (NaN if there were too few).
    n_training : int
        Number of samples of the fit.
    n : int or None
        Number of the samples that are given; None without any.
    correlation, p_value : float
        Correlation on these, and the share of random orders of them with at least that; NaN without samples.
    """

    place: int
    entries: tuple[tuple[Entry, ...], tuple[Entry, ...]]
    training: float
    validation: float
    n_training: int
    n: int | None = None
    correlation: float = np.nan
    p_value: float = np.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the correlation by Fisher's transform."""
        assert self.n is not None
        middle = np.arctanh(np.clip(self.correlation, -1 + 1e-12, 1 - 1e-12))
        half = CONFIDENCE / np.sqrt(max(self.n - 3, 1))
        return float(np.tanh(middle - half)), float(np.tanh(middle + half))

    def sentence(self, tables: tuple[str, str] = TABLES) -> str:
        """Return what is related to what, and how strongly."""
        of = [f"{_listed([e.name for e in own])} of {table}" for own, table in zip(self.entries, tables, strict=True)]
        text = f"Component {self.place + 1} relates {of[0]} to {of[1]}. The two scores have a correlation of "
        if self.n is not None:
            low, high = self.interval
            where = f"{self.n} samples (95 % interval {low:.2f} to {high:.2f}; p = {self.p_value:.2g})"
            return f"{text}{self.correlation:.2f} on {where}."
        if np.isnan(self.validation):
            return f"{text}{self.training:.2f} on the {self.n_training} samples of the fit."
        return f"{text}{self.validation:.2f} on held-out samples, {self.training:.2f} on those of the fit."

    def cautions(self) -> list[str]:
        """Return why the correlation should not be trusted, if there are reasons."""
        name, found = f"Component {self.place + 1}", []
        if self.n is None:
            if np.isnan(self.validation):
                found.append(
                    f"{name} has a correlation on the samples of the fit only, which is too high: {self.n_training} "
                    "samples are too few to hold some out."
                )
            elif within_chance(self.validation, self.n_training):
                found.append(
                    f"{name} has a correlation on held-out samples that unrelated tables have by chance: "
                    f"{self.validation:.2f}."
                )
            return found
        if self.n == self.n_training and abs(self.correlation - self.training) < 1e-6:
            found.append(
                f"{name} is judged by the samples of the fit, so that its correlation is too high and its p-value too "
                "small. Give samples that the fit has not used."
            )
        if not self.p_value <= 0.05:
            found.append(f"{name} is within chance: p = {self.p_value:.2g} on {self.n} samples.")
        low, high = self.interval
        if high - low > 0.3:
            found.append(
                f"{name} is judged by few samples: its correlation may be anywhere from {low:.2f} to {high:.2f}."
            )
        return found


def relations(
    estimator: BaseEstimator, X: Any = None, y: Any = None, *, n_permutations: int = 999, random_state: RandomState = 0
) -> list[Relation]:
    """Return the components of a fitted :class:`spkm.SPKMCCA`.

    Parameters
    ----------
    estimator : SPKMCCA
        The components.
    X, y : tables, default=None
        Samples, best those that the fit has not used, for correlations, p-values and effects.
    n_permutations : int, default=999
        Random orders for the p-values, at least 19: fewer never reach a p-value of 0.05.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the orders.

    Returns
    -------
    relations : list of Relation
        One for each component.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMCCA
    >>> from spkm.explain import relations
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = SPKMCCA(random_state=0).fit(X, X[:, :2] ** 2)
    >>> relations(model)[0].sentence()[:19]
    'Component 1 relates'
    """
    check_is_fitted(estimator)
    if "validation_correlations_" not in vars(estimator):
        raise TypeError(f"estimator must be a fitted SPKMCCA; got {type(estimator).__name__}.")
    check_integer("n_permutations", n_permutations, FEWEST_ORDERS)
    if (X is None) != (y is None):
        raise ValueError("X and y must be given together: the two tables of the same samples, or neither.")
    entries = zip(*(_entries(estimator, side, table) for side, table in (("x", X), ("y", y))), strict=True)
    numbers = [estimator.correlations_, estimator.validation_correlations_]
    n = None if X is None else with_shape(X).shape[0]
    if X is not None:
        numbers += [estimator.correlations(X, y), estimator.permutation_test(X, y, n_permutations, random_state)]
    return [
        Relation(k, own, float(training), float(validation), estimator.n_samples_fit_, n, *map(float, given))
        for k, (own, training, validation, *given) in enumerate(zip(entries, *numbers, strict=True))
    ]


def canonical_summary(
    estimator: BaseEstimator, X: Any = None, y: Any = None, *, width: int = 120, **options: Any
) -> Sheet:
    """Return a description of a fitted :class:`spkm.SPKMCCA` that fits a terminal, and that notebooks show with tables.

    Words of caution first; a sentence on both tables; a row for each component with its correlations; a row for each
    feature with its weight, its entry of the vector in the units of the table and, with samples, the shape of its
    effect on the score.

    Parameters
    ----------
    estimator : SPKMCCA
        A fitted estimator.
    X, y : tables, default=None
        Samples, best those that the fit has not used.
    width : int, default=120
        Sentences are wrapped at it, rows of tables are cut off.
    **options
        ``n_permutations`` and ``random_state`` of the p-values.

    Returns
    -------
    sheet : Sheet
        A string, with the tables in it as rows of cells.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMCCA
    >>> from spkm.explain import canonical_summary
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = SPKMCCA(random_state=0).fit(X, X[:, :2] ** 2)
    >>> "held out" in canonical_summary(model)
    True
    """
    check_integer("width", width, 20)
    found = relations(estimator, X, y, **options)
    cautions = [f"Caution: {text}" for one in found for text in one.cautions()]
    rows = [["component", "training", "held out"]]
    rows[0] += [] if X is None else ["given samples", "95 % interval", "p"]
    for one in found:
        row = [str(one.place + 1), f"{one.training:.3f}", "" if np.isnan(one.validation) else f"{one.validation:.3f}"]
        if one.n is not None:
            row += [f"{one.correlation:.3f}", "{:.3f} to {:.3f}".format(*one.interval), f"{one.p_value:.2g}"]
        rows.append(row)
    listed = [["component", "table", "feature", "weight", "vector"] + ([] if X is None else ["effect"])]
    for one in found:
        for table, own in zip(TABLES, one.entries, strict=True):
            for e in own[:MOST_ENTRIES]:
                row = [str(one.place + 1), table, e.name, f"{e.weight:+.3f}", f"{e.vector:.4g}"]
                listed.append([*row, *([] if X is None else [e.shape(one.place)])])
            if len(own) > MOST_ENTRIES:
                left = f"... and {len(own) - MOST_ENTRIES} more"
                listed.append([str(one.place + 1), table, left, *[""] * (len(listed[0]) - 3)])
    return Sheet.of([*cautions, sentence_on_tables(estimator), *(one.sentence() for one in found), rows, listed], width)


def canonical_formula(estimator: BaseEstimator, digits: int = 4) -> Sheet:
    """Return the scores of both tables of a fitted :class:`spkm.SPKMCCA` as formulas.

    Parameters
    ----------
    estimator : SPKMCCA
        A fitted estimator.
    digits : int, default=4
        Significant digits.

    Returns
    -------
    sheet : Sheet
        A string, in lines.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMCCA
    >>> from spkm.explain import canonical_formula
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = SPKMCCA(random_state=0).fit(X, X[:, :2] ** 2)
    >>> canonical_formula(model).splitlines()[0]
    'scores of X'
    """
    parts = [f"scores of {t}\n{formula(estimator.side(s), digits)}" for s, t in zip("xy", TABLES, strict=True)]
    return Sheet("\n\n".join(parts))


def sentence_on_tables(estimator: BaseEstimator, tables: tuple[str, str] = TABLES) -> str:
    """Return what a fitted :class:`spkm.SPKMCCA` reads of both tables."""
    count = len(estimator.correlations_)
    sides = (estimator.x_side_, estimator.y_side_)
    read = [
        f"{side.support.any(axis=0).sum()} of {side.support.shape[1]} features of {table} by the kernel "
        f"{kernel_name(side.kernel)}"
        for table, side in zip(tables, sides, strict=True)
    ]
    return f"{count} component{'s' * (count != 1)} of {estimator.n_samples_fit_} samples: {' and '.join(read)}."


def _listed(names: list[str]) -> str:
    return listed(names[:NAMED] + ([f"{len(names) - NAMED} more"] if len(names) > NAMED else []))


def _entries(estimator: BaseEstimator, side: str, table: Any) -> list[tuple[Entry, ...]]:
    """Return the features of each component in one table, the largest weights first."""
    of_x = side == "x"
    weights = estimator.x_weights_ if of_x else estimator.y_weights_
    vectors = estimator.x_vectors_ if of_x else estimator.y_vectors_
    given = feature_names(estimator) if of_x else estimator.y_feature_names_
    names = [f"{side}{j}" for j in range(weights.shape[1])] if given is None else [str(name) for name in given]
    effects: dict[int, Effect] = {}
    if table is not None:
        regressor = estimator.side(side)
        table = np.asarray(table).reshape(-1, 1) if np.ndim(table) == 1 else table  # a second table of one column
        rows = table_of(table, regressor, weights.shape[1], "X" if of_x else "Y")
        rows, read = rows[:: max(1, rows.shape[0] // BACKGROUND)], regressor.selected_features_.tolist()
        effects = dict(zip(read, partial_dependence(regressor, rows, read, n_points=30), strict=True))
    found = []
    for own, vector in zip(weights, vectors, strict=True):
        order = [int(j) for j in np.argsort(-np.abs(own), kind="stable") if own[j] != 0]
        found.append(tuple(Entry(names[j], float(own[j]), float(vector[j]), effects.get(j)) for j in order))
    return found
