"""Strict selection in an estimator: what the user may ask for, the search it becomes, and what is reported."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from spkm._checks import check_choice, check_integer
from spkm.estimators._resolve import generator, resolve_machine, resolve_solver
from spkm.estimators._views import ViewUsage
from spkm.kernels import Linear, Rescaled
from spkm.losses import Loss, sign_groups
from spkm.model import Term
from spkm.selection import (
    VECTORS_PER_OUTPUT,
    Candidate,
    Choice,
    Fold,
    Judge,
    Machine,
    Search,
    Submodel,
    Units,
    has_path,
    losses_without,
    only_kernel,
)
from spkm.sources import ArraySource, Scaling, Source, merged_rows, one_blas_thread, pick_rows

if TYPE_CHECKING:
    from spkm.estimators._base import BaseSPKM

FOLDS = 5
MOST_ROWS = 5000  # that a search fits; the model it finds is fitted on all rows
SIZES = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200)  # numbers of basis vectors that "auto" tries
SEARCH_PRIOR = 1.0  # on relevances while columns are sought: the default, 2, holds those of noise up; with 0.1 columns
# that count a little fall before the vectors are where they should be; measured
MAX_BASIS = 50  # where max_basis is None


def _has_one_table(estimator: Any) -> bool:
    return not estimator._of_pairs


class SelectingMixin:
    """What an estimator says of the columns that it reads."""

    #: Whether rows are pairs, which have two tables of columns.
    _of_pairs = False
    n_features_in_: int
    feature_names_in_: np.ndarray
    selected_features_: np.ndarray
    basis_vectors_: np.ndarray
    kernel_: Any
    view_usage_: dict[str, ViewUsage]
    estimators_: list[Any]
    _fitted: Any

    @available_if(_has_one_table)
    def get_support(self, indices: bool = False) -> np.ndarray:
        """Return which columns of X the model reads.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return indices in place of a mask.

        Returns
        -------
        support : ndarray of bool of shape (n_features_in_,), or of int
            A column outside it has no influence on any prediction.
        """
        check_is_fitted(self)
        if indices:
            return self.selected_features_.copy()
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.selected_features_] = True
        return mask

    @available_if(_has_one_table)
    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that the model reads.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of all columns; those seen in fit, or x0, x1 and so on, when None.

        Returns
        -------
        names : ndarray of str
            In the order of ``selected_features_``.
        """
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.selected_features_]

    @available_if(_has_one_table)
    def restricted(self) -> Any:
        """Return a fitted model of the selected columns alone.

        Returns
        -------
        small : estimator
            ``small.predict(X[:, selected_features_])`` gives the numbers of ``predict(X)``.
        """
        check_is_fitted(self)
        return self._restricted_to(self.selected_features_)

    def _restricted_to(self, chosen: np.ndarray) -> Any:
        """Return a fitted model of columns that hold the selected ones."""
        small = copy(self)
        small.n_features_in_ = len(chosen)
        if hasattr(self, "feature_names_in_"):
            small.feature_names_in_ = self.feature_names_in_[chosen]
        small.selected_features_ = np.searchsorted(chosen, self.selected_features_)
        for name in ("relevances_", "feature_importances_"):
            if hasattr(self, name):
                setattr(small, name, getattr(self, name)[chosen])
        if hasattr(self, "view_usage_"):
            small.view_usage_ = {name: usage.on(chosen) for name, usage in self.view_usage_.items()}
        small.basis_vectors_ = self.basis_vectors_[:, chosen]
        if hasattr(self, "estimators_"):
            small.estimators_ = [part._restricted_to(chosen) for part in self.estimators_]
        else:
            small._fitted = self._fitted.restricted(chosen)
            small.kernel_ = small._fitted.kernel
        return small


def check_selection(estimator: BaseSPKM, terms: tuple[Term, ...]) -> None:
    """Raise ValueError if the parameters of a selection are not what they must be, or contradict each other."""
    check_choice("selection", estimator.selection, (None, "strict"))
    for name in ("max_features", "max_basis"):
        if getattr(estimator, name) is not None:
            check_integer(name, getattr(estimator, name), 1)
    strict = estimator.selection == "strict"
    for name in ("max_features", "feature_groups"):
        if getattr(estimator, name) is not None and not strict:
            raise ValueError(f"{name} needs selection='strict'; got selection=None. Set it, or leave {name} out.")
    automatic = is_automatic(terms)
    total = 0 if automatic else sum(term.n_basis for term in terms)
    if estimator.max_basis is not None and total > estimator.max_basis:
        raise ValueError(f"n_basis must not exceed max_basis={estimator.max_basis}; got {total}.")
    if not (strict or automatic):
        return
    what = "selection='strict'" if strict else "n_basis='auto'"
    if estimator.warm_start:
        raise ValueError(f"{what} cannot go on from the last fit. Set warm_start=False.")
    if strict and (estimator.basis_penalty is not None or any(v.basis_penalty for t in terms for v in t.views)):
        raise ValueError(
            f"selection='strict' has its own penalty on the columns; got basis_penalty={estimator.basis_penalty!r}. "
            "Set basis_penalty=None, or selection=None for sparse basis vectors that still read every column."
        )
    if not isinstance(estimator.start, str) or estimator.start != "auto":
        raise ValueError(f"{what} finds its own start; got start={estimator.start!r}. Set start='auto'.")


def search_over(
    estimator: BaseSPKM,
    X: Any,
    Y: np.ndarray,
    weight: np.ndarray,
    loss: Loss,
    candidates: list[Candidate],
    splits: list[tuple[np.ndarray, np.ndarray]],
    on_step: Callable[[str], None],
    scorer: Callable[[Any, Fold], float] | None = None,
) -> Search:
    """Return a search over folds of the rows; nothing is fitted yet."""
    units = Units(X.shape[1], estimator.feature_groups)
    max_features = estimator.max_features or X.shape[1]
    if estimator.selection is not None and units.size.min() > max_features:
        raise ValueError(
            f"max_features={max_features} is smaller than the smallest group of feature_groups, {units.size.min()}."
        )
    rngs = generator(estimator.random_state).spawn(len(splits))
    folds = []
    for (train, test), rng in zip(splits, rngs, strict=True):
        for part, use in ((train, "fit"), (test, "judge by")):
            if not weight[part].sum() > 0:
                raise ValueError(f"cv makes a split whose rows to {use} have no weight. Use another splitter.")
        rows = merged_rows(pick_rows(X, train), Y[train], weight[train])
        source, scaling = estimator._source(*rows, candidates[0].terms)
        fold = some_rows(source, scaling, rng)
        # Merged, too: the error of a mean must not depend on whether a row is given twice or has weight 2.
        fold.test = ArraySource(*merged_rows(pick_rows(X, test), Y[test], weight[test]), scaling)
        fold.test_rows = test
        folds.append(fold)
    for candidate in candidates:  # what cannot be fitted at the end is told now
        some = np.arange(min(10, X.shape[1]))
        narrow = folds[0].train.columns(some)
        objective = candidate.build(narrow, some, None).objective(narrow, some)
        resolve_solver(estimator.solver, estimator.max_iter, estimator.tol, objective)
    judge = Judge(folds, loss, scorer)
    chosen = max_features if estimator.selection is not None else None
    return Search(judge, candidates, units, chosen, estimator.fit_intercept, on_step)


def decided(search: Search) -> Choice:
    """Run a search."""
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        return search.run()


def some_rows(source: ArraySource, scaling: Scaling | None, rng: np.random.Generator) -> Fold:
    """Return a fold without rows to judge by, of at most as many rows as a search can afford."""
    if source.n_rows > MOST_ROWS:
        source = source.subset(np.sort(rng.choice(source.n_rows, size=MOST_ROWS, replace=False)))
    return Fold(source, None, rng, scaling)


def is_automatic(terms: tuple[Term, ...]) -> bool:
    """Whether numbers of basis vectors are to be found."""
    return any(isinstance(term.n_basis, str) for term in terms)


def candidate_for(estimator: BaseSPKM, terms: tuple[Term, ...], loss: Loss, n_outputs: int) -> Candidate:
    """Return a machine of the race with what the estimator says of strengths and numbers of vectors."""
    for view in (view for term in terms for view in term.views):
        parts = [view.kernel, *view.kernel.get_params(deep=True).values()]
        if estimator.selection and any(isinstance(p, Rescaled) and np.ndim(p.factor) for p in parts):
            raise ValueError(
                f"kernel={view.kernel!r} has a factor for each column, which cannot lose columns. Leave it out."
            )
    kernel = only_kernel(terms)
    automatic = is_automatic(terms)
    most = max((estimator.max_basis or MAX_BASIS) // len(terms), 1)
    n_first = 20 if loss.target == "real" else 10 * (n_outputs // 2 + 1)
    counts = [min(n_first, most) if automatic else term.n_basis for term in terms]
    sizes = (*(size for size in SIZES if size < most), most) if automatic else ()
    if has_path(kernel) and isinstance(kernel.gamma, str):
        kernel = clone(kernel).set_params(gamma=1.0)  # not one over the columns: few are left at the end
        terms = (replace(terms[0], views=(replace(terms[0].views[0], kernel=kernel),)),)
    if isinstance(kernel, Linear):
        counts, sizes = [min(counts[0], n_outputs)], ()  # more vectors than outputs say nothing more
    elif has_path(kernel) and automatic:
        few = min(VECTORS_PER_OUTPUT * n_outputs, most)
        counts, sizes = [few], tuple(size for size in (2 * few, 4 * few, 8 * few) if size <= most)
    terms = tuple(replace(term, n_basis=count) for term, count in zip(terms, counts, strict=True))
    free = isinstance(estimator.weight_penalty, str) and estimator.weight_penalty == "auto"
    factors: tuple[float, ...] = (1.0,)
    if free and not loss.scale_free:
        if isinstance(kernel, Linear):
            factors = (100.0, 10.0, 1.0)
        else:  # with a weaker one a kernel without a path knows the rows by heart, and its losses order columns badly
            factors = (1.0, 10.0, 100.0) if has_path(kernel) else (1.0, 100.0, 10.0)

    def build(source: Source, columns: np.ndarray, n_basis: int | None) -> Machine:
        asked = terms if n_basis is None else tuple(replace(term, n_basis=n_basis) for term in terms)
        machine = resolve_machine(estimator, source, loss, asked, columns)
        return machine.with_prior(SEARCH_PRIOR) if free else machine

    name = "views" if kernel is None else type(kernel).__name__.lower()
    return Candidate(name, terms, build, factors, sizes)


def dealt_folds(Y: np.ndarray, loss: Loss, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rows to fit and to judge by: shuffled, and dealt class by class where targets are signs."""
    n = len(Y)
    if n < 2:
        raise ValueError(f"A choice by held-out rows needs at least 2 different rows; got n_samples = {n}.")
    order = rng.permutation(n)
    if loss.target == "signs" and np.all(np.abs(Y) == 1):
        code = sign_groups(Y)
        order = order[np.argsort(code[order], kind="stable")]
    n_folds = min(FOLDS, n)
    fold = np.empty(n, dtype=int)
    fold[order] = np.arange(n) % n_folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


def importances(model: Submodel, source: Source) -> np.ndarray:
    """Return by how much the mean training loss rises when a column leaves the kernel, all else as it is, (d,)."""
    result = np.zeros(source.n_features)
    inside = Units(len(model.columns))
    part = source.columns(model.columns)
    now = model.machine.loss.value(model.machine.objective(part, model.columns).totals(model.theta))
    result[model.columns] = losses_without(model, source, inside) - now
    return result
