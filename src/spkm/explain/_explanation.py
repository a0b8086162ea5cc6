"""Explanations of single predictions: by basis vectors, by features, by neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike, with_shape
from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.explain._bars import LEVEL, NUMBERS, Bars, deviation, half_width, needed_refits
from spkm.explain._conditional import ConditionalMeans, Normal, conditional_shapley
from spkm.explain._gradient import gradient
from spkm.explain._neighbours import Neighbours, familiarity, nearest
from spkm.explain._parts import similarity_parts
from spkm.explain._shapley import basis_shapley, interactions
from spkm.explain._sheet import Sheet
from spkm.explain._structure import Structure, blocks, scaled_rows, structure_of
from spkm.explain._table import (
    Pipeline,
    basis_labels,
    check_columns,
    dense_columns,
    frames,
    model_of,
    output_names,
    output_place,
)

MOST_BACKGROUND = 200  # samples that stand for all where no background is given
SHOWN = 5, 10  # samples and features in the table of a notebook
ROWS = 2**22  # entries of the values by basis vector and feature that are held at once


@dataclass(frozen=True)
class _Member:
    """One of the models behind an explanation: its structure, background, and place among basis vectors and outputs."""

    model: FittedModel
    structure: Structure
    background: np.ndarray
    basis: slice
    outputs: slice

    def rows(self, X: TableLike) -> np.ndarray:
        return scaled_rows(self.model, X)

    def within(self, X: Any, independent: bool, normal: Normal | None) -> np.ndarray:
        """Return the Shapley values of every similarity, (n, R, s), s the players that the model reads."""
        if normal is None:
            return basis_shapley(self.structure, self.rows(X), self.background, independent)
        means = ConditionalMeans(self.structure, *normal.on_scale(self.model))
        return conditional_shapley(means, normal.unclipped(self.model, X), self.rows(X))

    def values(self, X: Any, independent: bool, normal: Normal | None) -> tuple[np.ndarray, np.ndarray]:
        """Return Shapley values, (n, d, m), and their sums within every basis vector, (n, R)."""
        values = np.zeros((X.shape[0], len(self.structure.names), self.model.n_outputs))
        sums = np.empty((X.shape[0], self.model.n_basis))
        for rows in blocks(X.shape[0], ROWS // max(1, self.model.n_basis * len(self.structure.read))):
            within = self.within(X[rows], independent, normal)
            values[rows, self.structure.read] = np.einsum("nrs,rm->nsm", within, self.model.weights)
            sums[rows] = within.sum(axis=2)
        return values, sums


@dataclass(frozen=True)
class Explanation:
    """Predictions of some samples with their reasons. Made by :func:`explain`.

    Shapes: n samples, R basis vectors, d features (or groups of columns, where groups were given), m outputs. Scores
    are those of ``decision_function`` or, in regression, predictions before the loss's inverse link.

    Attributes
    ----------
    scores : ndarray of shape (n, m)
        f(x).
    base_values : ndarray of shape (m,)
        The mean score over the background.
    values : ndarray of shape (n, d, m)
        Shapley values: they add up to ``scores - base_values``. Features that the model does not read have 0.
    contributions : ndarray of shape (n, R, m)
        c_r k(x, u_r) minus its mean over the background: they add up to ``scores - base_values``, too.
    similarities : ndarray of shape (n, R)
        k(x, u_r).
    familiarity, familiarity_rank : ndarray of shape (n,)
        Largest similarity to a basis vector, and the share of background samples with no larger one: near 0 is unlike
        anything seen.
    feature_names, output_names : tuple of str
        Names along d and m.
    data : ndarray of shape (n, d)
        The samples, in the user's units; of a group NaN.
    independent : bool
        Whether absent features were taken as independent of one another.
    normal : Normal or None
        The distribution that absent features were drawn from, given the present ones; None for a background.
    """

    scores: np.ndarray
    base_values: np.ndarray
    values: np.ndarray
    contributions: np.ndarray
    similarities: np.ndarray
    familiarity: np.ndarray
    familiarity_rank: np.ndarray
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    data: np.ndarray
    independent: bool
    _estimator: Any = field(repr=False)
    _X: Any = field(repr=False)
    _members: tuple[_Member, ...] = field(repr=False)
    normal: Normal | None = field(default=None, repr=False)
    _read: Any = field(default=None, repr=False)

    def __repr__(self) -> str:
        n, d, m = self.values.shape
        labels = basis_labels(model_of(self._estimator))
        vectors = sum(label.startswith("u") for label in labels)
        parts = [_counted(vectors, "basis vector"), *(["a linear part"] if vectors < len(labels) else [])]
        of = f", {m} outputs" if m > 1 else ""
        return f"Explanation of {_counted(n, 'sample')} by {', '.join(parts)} and {_counted(d, 'feature')}{of}"

    def _repr_html_(self) -> str:
        """Return the largest Shapley values of the first samples as a table."""
        samples, features = SHOWN
        values = self.values[:samples, :, 0]
        order = np.argsort(-np.abs(values).sum(axis=0), kind="stable")
        rows = [(self.feature_names[j], values[:, j]) for j in order[:features]]
        if len(order) > features:
            rows.append(("other features", values[:, order[features:]].sum(axis=1)))
        rows += [("usual score", np.tile(self.base_values[0], len(values))), ("score", self.scores[:samples, 0])]
        table = [["", *(f"sample {i}" for i in range(len(values)))]]
        table += [[name, *(f"{value:+.3g}" for value in row)] for name, row in rows]
        return Sheet("", [f"{self!r}: Shapley values of {self.output_names[0]}.", table])._repr_html_()

    def basis_values(self) -> np.ndarray:
        """Return Shapley values within every basis vector, (n, R, d): those of the similarity k(x, u_r).

        Times the weight they add up, over features, to ``contributions`` and, over basis vectors, to ``values``.
        """
        result = np.zeros((len(self.scores), self.contributions.shape[1], len(self.feature_names)))
        for member in self._members:
            within = member.within(self._X, self.independent, self.normal)
            result[:, member.basis][:, :, member.structure.read] = within
        return result

    def parts(self) -> np.ndarray:
        """Return every feature's part of every similarity, (n, R, d).

        For stationary kernels parts of log k(x, u_r): they add up to it, in proportion to the weighted distances. For
        dot-product kernels parts of the inner product. A product of views has the parts of each.
        """
        found = [similarity_parts(m.model, m.structure, m.rows(self._X)) for m in self._members]
        return np.concatenate(found, axis=1)

    def interactions(self) -> np.ndarray:
        """Return Shapley interaction values, (n, d, d, m).

        Half of the interaction index of two features stands at (j, k) and half at (k, j); on the diagonal what is left
        of the Shapley value of j. So rows add up to ``values``, as in SHAP's ``shap_interaction_values``.
        """
        if self.normal is not None:
            raise ValueError("interactions need a background of samples; background='normal' has values alone.")
        d = len(self.feature_names)
        result = np.zeros((len(self.scores), d, d, self.scores.shape[1]))
        for member in self._members:
            read, count = member.structure.read, member.model.n_outputs
            for i, z in enumerate(member.rows(self._X)):
                pairs = 0.5 * interactions(member.structure, z[None], member.background, self.independent, count)
                own = self.values[i, read, member.outputs] - pairs.sum(axis=1)
                pairs[np.arange(len(read)), np.arange(len(read))] = own
                result[i, read[:, None], read, member.outputs] = pairs
        return result

    def gradient(self) -> np.ndarray:
        """Return df/dx in the user's units, (n, columns of X, m)."""
        return gradient(self._estimator, self._X)

    def nearest(self, reference: Any, k: int = 5) -> Neighbours:
        """Return the nearest samples of a reference table in the model's own metric."""
        return nearest(self._estimator, self._X, reference, k)

    def bars(self, confidence_level: float = LEVEL) -> Bars:
        """Return error bars of scores, Shapley values and contributions.

        They need refits, which :func:`with_uncertainty` adds to an estimator. The numbers are taken off each of the
        refits as they were off the model.

        Parameters
        ----------
        confidence_level : float, default=0.9
            Level of the intervals.

        Returns
        -------
        bars : Bars
            Standard deviations and intervals, in the shapes of this explanation.
        """
        model = model_of(self._estimator)
        refits = needed_refits(model)
        found = [self._read(refit) for refit in refits]
        half = half_width(len(refits), confidence_level)
        deviations = {name: deviation(model, [one[name] for one in found]) for name in NUMBERS}
        return Bars(
            **deviations, n_refits=len(refits), confidence_level=confidence_level, half_width=half, _explanation=self
        )

    def frame(self, output: int | str = 0) -> Any:
        """Return the Shapley values of one output as a pandas frame: a row per sample, a column per feature."""
        return frames().DataFrame(self.values[:, :, self._output(output)], columns=list(self.feature_names))

    def contribution_frame(self, output: int | str = 0) -> Any:
        """Return the contributions of basis vectors to one output as a pandas frame: a row per sample."""
        names = basis_labels(model_of(self._estimator))
        return frames().DataFrame(self.contributions[:, :, self._output(output)], columns=names)

    def to_shap(self, output: int | str | None = None) -> Any:
        """Return a ``shap.Explanation`` for SHAP's plots, of one output or, if there are several, of all."""
        try:
            import shap
        except ImportError as missing:
            raise ImportError("to_shap needs the shap package: pip install 'spkm[shap]'.") from missing
        if output is None and self.scores.shape[1] == 1:
            output = 0
        base = np.tile(self.base_values, (len(self.scores), 1))
        values = self.values
        if output is not None:
            o = self._output(output)
            base, values = base[:, o], values[:, :, o]
        return shap.Explanation(
            values=values,
            base_values=base,
            data=self.data,
            feature_names=list(self.feature_names),
            output_names=list(self.output_names) if output is None else None,
        )

    def _output(self, output: int | str) -> int:
        return output_place(output, self.output_names)


def explain(
    estimator: BaseEstimator,
    X: Any,
    background: Any = None,
    *,
    independent: bool = False,
    groups: Mapping[str, Any] | None = None,
) -> Explanation:
    """Explain predictions exactly: no sampling, no surrogate.

    Parameters
    ----------
    estimator : estimator or FittedModel
        A fitted estimator, a pipeline that ends with one, or its ``model_``. After a :class:`~spkm.TableEncoder` the
        columns of its table are explained.
    X : table of shape (n, d)
        Samples to explain.
    background : table of shape (m, d), "independent", "normal" or Normal, default=None
        Values of absent features: some hundred training samples. If None, the samples themselves, at most
        200 of them, evenly spaced; "independent" are all of them, with ``independent=True``. With a
        :class:`~spkm.explain.Normal` distribution absent features follow from those that are present, for models
        that read at most 12; "normal" is that of the samples X.
    independent : bool, default=False
        Whether absent features are drawn independently of one another from the background, instead of together from
        one of its samples. The time then hardly depends on the background.
    groups : dict from a name to columns, default=None
        Columns, by name or index, that are one feature (the dummies of a category): they are present or absent
        together. After a TableEncoder the columns of its table, unless others are given.

    Returns
    -------
    explanation : Explanation
        Scores, Shapley values and contributions of basis vectors; methods return interactions, error bars and frames.

    Notes
    -----
    The game is SHAP's interventional one: v(S) = mean over the background of f(x_S, b_rest). RBF and Laplacian kernels
    are products over features, Matern and rational-quadratic kernels mixtures of such products to 1e-11; linear and
    polynomial kernels are polynomials of a sum. All their Shapley values are integrals of polynomials, which a
    Gauss-Legendre rule takes exactly. Other kernels are enumerated over the subsets of at most 12 features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.explain import explain
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SPKMClassifier(n_basis=3, random_state=0).fit(X, y)
    >>> explanation = explain(model, X[:5], background=X[::5])
    >>> explanation.values.shape
    (5, 4, 3)
    >>> total = explanation.base_values + explanation.values.sum(axis=1)
    >>> bool(abs(total - explanation.scores).max() < 1e-10)
    True
    """
    pipeline = Pipeline.of(estimator)
    estimator, model, X = pipeline.named, pipeline.model, pipeline.rows(X)
    normal = _normal_of(background, X)
    if isinstance(background, str | Normal):
        independent = independent or background == "independent"
        background = None
    if normal is not None and (independent or len(normal.mean) != model.n_features):
        raise ValueError(f"background must be a Normal of {model.n_features} features, without independent=True.")
    check_columns(None if normal is None else normal.names, estimator, "background")
    B = _thinned(X, independent) if background is None else pipeline.rows(background, "background")
    read = partial(_read_off, pipeline.names, pipeline.groups(groups), X, B, independent, normal)
    found = read(model)
    close, rank = familiarity(estimator, X, B)
    structure = found["_members"][0].structure
    return Explanation(
        **found,
        familiarity=close,
        familiarity_rank=rank,
        feature_names=structure.names,
        output_names=output_names(model),
        data=_player_data(X, structure),
        independent=independent,
        _estimator=estimator,
        _X=X,
        normal=normal,
        _read=read,
    )


def _read_off(
    names: tuple[str, ...],
    groups: Mapping[str, Any] | None,
    X: Any,
    B: TableLike,
    independent: bool,
    normal: Normal | None,
    model: FittedModel | ModelEnsemble,
) -> dict[str, Any]:
    """Return the numbers of an explanation of a model, or of one of its refits, and the members they come from."""
    members = tuple(_members(model, names, groups, B))
    scores, similarities = model.scores(X), model.similarities(X)
    values = np.zeros((X.shape[0], len(members[0].structure.names), model.n_outputs))
    centred = np.empty_like(similarities)
    for member in members:
        values[:, :, member.outputs], centred[:, member.basis] = member.values(X, independent, normal)
    if independent or normal is not None:
        base = (scores - values.sum(axis=1)).mean(axis=0)
    else:
        usual = model.similarities(with_shape(B)).mean(axis=0)
        centred = similarities - usual
        base = model.intercept + usual @ model.weights
    parts = {"scores": scores, "base_values": base, "values": values, "similarities": similarities}
    return {**parts, "contributions": centred[:, :, None] * model.weights, "_members": members}


def _normal_of(background: object, X: object) -> Normal | None:
    """Return the normal distribution of the features that a background names; None if it names none."""
    if isinstance(background, Normal):
        return background
    if isinstance(background, str) and background not in ("independent", "normal"):
        raise ValueError(f"background must be a table, None, 'independent' or 'normal'; got {background!r}.")
    return Normal.of(X) if isinstance(background, str) and background == "normal" else None


def _thinned(X: Any, independent: bool) -> Any:
    """Return at most MOST_BACKGROUND rows, evenly spaced; all, where their number does not matter."""
    n = X.shape[0]
    return X if independent or n <= MOST_BACKGROUND else X[np.linspace(0, n - 1, MOST_BACKGROUND).astype(int)]


def _members(
    model: FittedModel | ModelEnsemble, names: tuple[str, ...], groups: Mapping[str, Any] | None, B: Any
) -> Iterator[_Member]:
    basis = output = 0
    for member in model.members:
        rows, outputs = slice(basis, basis + member.n_basis), slice(output, output + member.n_outputs)
        yield _Member(member, structure_of(member, names, groups), scaled_rows(member, B), rows, outputs)
        basis, output = rows.stop, outputs.stop


def _player_data(X: Any, structure: Structure) -> np.ndarray:
    """Return the samples by feature; a group of several columns has no number of its own."""
    single = np.array([len(columns) == 1 for columns in structure.columns])
    data = np.full((X.shape[0], len(structure.columns)), np.nan)
    first = np.array([columns[0] for columns in structure.columns])
    data[:, single] = dense_columns(X, first[single])
    return data


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'s' * (count != 1)}"
