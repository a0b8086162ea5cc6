"""Terms and views that parameters set: kernels on some features, with numbers of vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._indexing import _get_column_indices

from spkm._arrays import TableLike, with_shape
from spkm._checks import check_choice, check_integer
from spkm._frames import labels_of
from spkm.core.evidence import AnyObjective
from spkm.core.model import PreimageModel, Term, View
from spkm.core.regularization import as_list
from spkm.kernels import KERNELS
from spkm.penalties import BASIS_PENALTIES, Penalty
from spkm.sources import Block
from spkm.tables.pairs import PairInput

PER_VIEW = ("kernel", "n_basis", "basis_penalty", "learn_bandwidth")  # parameters that may be a dict by view
METRICS = {"auto": None, True: "scale", False: "fixed", "columns": "relevances"}


class ViewUsage(NamedTuple):
    """Use of a view, or of a term of several views, by a fitted model.

    Parameters
    ----------
    columns : ndarray of int
        The features of X that it reads.
    rows : slice
        Its rows of ``basis_vectors_`` and ``dual_coef_``.
    n_used : int
        How many of these have weights that are not all zero.
    share : float
        Share of the variance of the predictions on the training samples: the covariance of what the view adds to them
        with the whole, over the variance of the whole. The shares of all views sum to one; a view that others
        correct has a negative one.
    """

    columns: np.ndarray
    rows: slice
    n_used: int
    share: float

    def on(self, columns: np.ndarray) -> ViewUsage:
        """Return the same for samples of the given features alone."""
        return self._replace(columns=np.flatnonzero(np.isin(columns, self.columns)))


def asked_terms(
    params: Mapping[str, Any], X: TableLike | None, tables: Mapping[str, Any] | None = None
) -> tuple[Term, ...]:
    """Return the terms that the parameters of an estimator set; kernels may still wait for data.

    ``X`` is what the user gave: features may be chosen by name, or by a function of X. If it is a dict of tables,
    ``tables`` has their layouts.
    """
    if params["views"] is not None and params["terms"] is not None:
        raise ValueError("Pass either views or terms, not both.")
    if params["terms"] is not None:
        return _given_terms(params["terms"], X)
    by_view = [name for name in PER_VIEW if isinstance(params[name], Mapping)]
    if params["views"] is None and tables is None:
        if by_view:
            got = params[by_view[0]]
            raise ValueError(f"{by_view[0]} can be a dict only with views; got {got!r} and views=None.")
        return (Term(params["n_basis"], (View(KERNELS.part(params["kernel"])),)),)
    views = _columns_of_tables(params["views"], tables) if tables else named_columns(params["views"], X)
    settings = {name: one_for_each(name, params[name], list(views)) for name in PER_VIEW}
    terms = []
    for name, columns in views.items():
        learns = check_learns(settings["learn_bandwidth"][name]) if "learn_bandwidth" in by_view else None
        penalties = basis_penalties(settings["basis_penalty"][name]) if "basis_penalty" in by_view else None
        view = View(KERNELS.part(settings["kernel"][name]), columns, learns, penalties, name)
        terms.append(Term(check_vectors(settings["n_basis"][name]), (view,)))
    return tuple(terms)


def view_usage_of(
    objective: AnyObjective, theta: np.ndarray, asked: tuple[Term, ...], columns: np.ndarray | None = None
) -> dict[str, Any]:
    """Return ``view_usage_`` of a model of the given features, or of all, if views have names; else nothing."""
    if not any(view.name for term in asked for view in term.views):
        return {}
    model, source = objective.model, objective.source
    mean, product = source.reduce(_block_shares, model, theta, width=model.n_basis)
    covariance = (product - mean * mean.sum(axis=0)).sum(axis=1)
    variance = covariance.sum()
    shares = covariance / variance if variance > 0 else np.zeros(len(model.terms))
    weights = model.unpack(theta).weights
    usage = {term.name: ViewUsage(np.zeros(0, dtype=int), slice(0, 0), 0, 0.0) for term in asked}
    for (term, rows, _), share in zip(model.layout, shares, strict=True):
        looked_at = term.columns(model.n_features)
        used = int(np.any(weights[rows] != 0, axis=1).sum())
        usage[term.name] = ViewUsage(looked_at if columns is None else columns[looked_at], rows, used, float(share))
    return {"view_usage_": usage}


def _block_shares(block: Block, model: PreimageModel, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sums over samples of each term's part of a prediction, and of its product with the whole, (terms, m)."""
    Phi, _ = model.features(block, theta)
    weights = model.unpack(theta).weights
    parts = [Phi[:, rows] @ weights[rows] for _, rows, _ in model.layout]
    whole = block.w * sum(parts)
    return np.array([block.w[:, 0] @ part for part in parts]), np.array([(whole * part).sum(axis=0) for part in parts])


def _given_terms(terms: object, X: TableLike | None) -> tuple[Term, ...]:
    if not isinstance(terms, list | tuple) or not terms or not all(isinstance(term, Term) for term in terms):
        raise ValueError(f"terms must be a list of spkm.Term; got {terms!r}.")
    result = []
    for i, term in enumerate(terms):
        views = as_list(term.views)
        if not views or not all(isinstance(view, View) for view in views):
            raise ValueError(f"views of terms[{i}] must be a spkm.View, or several; got {term.views!r}.")
        checked = []
        for j, view in enumerate(views):
            check_choice(f"metric of terms[{i}]", view.metric, (None, *filter(None, METRICS.values())))
            columns = None if view.columns is None else _columns(f"columns of terms[{i}]", view.columns, X)
            penalties = None if view.basis_penalty is None else basis_penalties(view.basis_penalty)
            kernel = KERNELS.part(view.kernel)
            name = view.name or (f"term {i}" if len(views) == 1 else f"term {i} view {j}")
            checked.append(replace(view, kernel=kernel, columns=columns, basis_penalty=penalties, name=name))
        if len(checked) > 1:
            _check_apart(i, checked)
        result.append(Term(check_vectors(term.n_basis), tuple(checked)))
    names = [term.name for term in result]
    if len(set(names)) < len(names):
        raise ValueError(f"The names of terms must be different; got {names}.")
    return tuple(result)


def _check_apart(i: int, views: list[View]) -> None:
    seen: set[int] = set()
    for view in views:
        if view.columns is None or seen & set(view.columns.tolist()):
            raise ValueError(
                f"The views of terms[{i}] are multiplied, so they must look at different features. "
                "For a product of kernels on the same features use kernels.Product."
            )
        seen |= set(view.columns.tolist())


def _columns_of_tables(views: object, tables: Mapping[str, Any]) -> dict[str, np.ndarray]:
    if views is not None:
        raise ValueError("X is a dict of views by itself; set views=None, or give one table.")
    cuts = np.cumsum([0, *(layout.width for layout in tables.values())])
    return {name: np.arange(a, b) for name, (a, b) in zip(tables, pairwise(cuts), strict=True)}


def named_columns(views: object, X: TableLike | None, argument: str = "views") -> dict[str, np.ndarray | None]:
    """Return the features of each view, by name; None where they are all features."""
    if not isinstance(views, Mapping) or not views or not all(isinstance(name, str) for name in views):
        raise ValueError(f"{argument} must be a dict from names to features; got {views!r}.")
    return {name: _columns(f"{argument}[{name!r}]", columns, X) for name, columns in views.items()}


def _columns(argument: str, columns: object, X: TableLike | None) -> np.ndarray | None:
    """Return indices in rising order; None where they are all features."""
    table = with_shape(X)
    key = columns(X) if callable(columns) else columns
    if isinstance(key, slice) and key == slice(None):
        return None
    try:
        indices = _get_column_indices(table, _by_place(table, key))
    except (KeyError, TypeError, ValueError, IndexError, NotImplementedError) as error:
        raise ValueError(f"{argument} must select features by index, mask, slice or name: {error}") from error
    found = np.array(indices, dtype=np.intp) % max(table.shape[1], 1)
    if len(found) == 0 or len(np.unique(found)) < len(found):
        what = "no feature" if len(found) == 0 else "the same feature twice"
        raise ValueError(f"{argument} must select features, each once; got {key!r}, which is {what}.")
    return None if len(found) == table.shape[1] else np.sort(found)


def _by_place(table: object, key: object) -> Any:
    """Return names of the columns of a frame as indices, where scikit-learn before 1.8 takes only those of pandas."""
    names = labels_of(table)
    wanted = [key] if isinstance(key, str) else key
    if not isinstance(names, list) or not isinstance(wanted, list) or not all(isinstance(w, str) for w in wanted):
        return key
    return [names.index(name) for name in wanted]


def one_for_each(argument: str, value: Any, names: list[str]) -> dict[str, Any]:
    """Return the setting of each view, from one for all or a dict by name."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, value)
    if set(value) != set(names):
        raise ValueError(f"{argument} must have an entry for each view, {names}; got {list(value)}.")
    return dict(value)


def check_vectors(n_basis: Any) -> Any:
    """Return a number of basis vectors, or "auto"."""
    if not (isinstance(n_basis, str) and n_basis == "auto"):
        check_integer("n_basis", n_basis, 1)
    return n_basis


def check_learns(learn: Any) -> str | None:
    """Return what is learned of a view's metric by what ``learn_bandwidth`` says of it; None is "auto"."""
    check_choice("learn_bandwidth", learn, tuple(METRICS))
    return METRICS[learn if isinstance(learn, str) else bool(learn)]


def basis_penalties(value: Any) -> list[Penalty]:
    """Return penalties on basis vectors, from a name or an object, or several, with their numbers checked."""
    penalties = [BASIS_PENALTIES.part(one, "basis_penalty") for one in as_list(value)]
    for penalty in penalties:
        if "basis" not in penalty.on:
            raise ValueError(
                f"basis_penalty cannot be {penalty!r}: it acts on the {penalty.on[0]}. "
                f"Known names: {', '.join(sorted(BASIS_PENALTIES))}."
            )
    return penalties


def pair_terms(params: Mapping[str, Any], given: PairInput, left: Any, right: Any) -> tuple[Term, ...]:
    """Return a term for each view of the left entities with each of the right ones."""
    n_basis = check_vectors(params["n_basis"])
    if isinstance(n_basis, str):
        raise ValueError(f"n_basis must be an integer of at least 1; got {n_basis!r}.")
    check_learns(params["learn_bandwidth"])
    at = given.table.left.shape[1]
    on_left = _views_of(params, "left", left, at, 0)
    on_right = _views_of(params, "right", right, given.table.right.shape[1], at)
    return tuple(Term(n_basis, (a, b)) for a in on_left for b in on_right)


def _views_of(params: Mapping[str, Any], side: str, table: Any, width: int, offset: int) -> list[View]:
    argument = f"{side}_kernel"
    kernel, asked = params[argument], params[f"{side}_views"]
    everything = np.arange(width)
    if asked is None:
        if isinstance(kernel, Mapping):
            raise ValueError(f"{argument} can be a dict only with {side}_views; got {kernel!r}.")
        kernels = list(kernel) if isinstance(kernel, list | tuple) else [kernel]
        if not kernels:
            raise ValueError(f"{argument} must be a kernel or a list of kernels; got an empty list.")
        names = [side] if len(kernels) == 1 else [f"{side} {i}" for i in range(len(kernels))]
        columns = dict.fromkeys(names, everything)
        by_name = dict(zip(names, kernels, strict=True))
    else:
        found = named_columns(asked, table, f"{side}_views")
        columns = {name: everything if places is None else places for name, places in found.items()}
        by_name = one_for_each(argument, kernel, list(columns))
    return [View(KERNELS.part(by_name[name], argument), places + offset, name=name) for name, places in columns.items()]
