"""The search for features and numbers of vectors that parameters set: folds, candidates, attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from spkm._checks import warn_user
from spkm.core.scaling import scaling_for
from spkm.fitting.data import TableData
from spkm.fitting.spec import Spec
from spkm.selection import (
    DEFAULTS,
    Candidate,
    Choice,
    FeatureGroups,
    Fold,
    Search,
    Submodel,
    Validation,
    interchangeable,
    losses_without,
)
from spkm.solvers import resolve_solver
from spkm.sources import ArraySource, Scaling, merged_rows, one_blas_thread, pick_rows
from spkm.tables.pairs import is_cross_validated
from spkm.tables.read import Table

MOST_ROWS = 5000  # samples that a search fits; the model it finds is fitted on all of them


class Searching(NamedTuple):
    """A search that has not begun: parameters, the user's table, the data of the last fit, and the search.

    There is no search if all targets are constant.
    """

    spec: Spec
    table: Table
    data: TableData
    search: Search | None


def search_over(
    spec: Spec,
    data: TableData,
    candidates: list[Candidate],
    splits: list[tuple[np.ndarray, np.ndarray]],
    on_step: Callable[[str], bool],
    scorer: Callable[[Any, Fold], float] | None = None,
    guides: Sequence[Candidate] = (),
) -> Search:
    """Return a search over folds of the samples; nothing is fitted yet."""
    X, Y, weight = data.X, data.Y, data.weight
    units = FeatureGroups(X.shape[1], spec.feature_groups)
    max_features = spec.max_features or X.shape[1]
    if spec.selection is not None and units.size.min() > max_features:
        raise ValueError(
            f"max_features={max_features} is smaller than the smallest group of feature_groups, {units.size.min()}."
        )
    rngs = spec.rng().spawn(len(splits))
    folds = []
    for (train, test), rng in zip(splits, rngs, strict=True):
        for part, use in ((train, "fit"), (test, "judge by")):
            if not weight[part].sum() > 0:
                raise ValueError(f"cv makes a split whose samples to {use} all have weight zero. Use another splitter.")
        rows = merged_rows(pick_rows(X, train), Y[train], weight[train])
        scaling = scaling_for(candidates[0].terms, spec.scale, rows[0], rows[2])
        fold = some_rows(ArraySource(*rows, scaling), scaling, rng)
        # Merged, too: the error of a mean must not depend on whether a sample is given twice or has weight 2.
        fold.test = ArraySource(*merged_rows(pick_rows(X, test), Y[test], weight[test]), scaling)
        fold.test_rows = test
        folds.append(fold)
    for candidate in candidates:  # what cannot be fitted at the end is refused now
        some = np.arange(min(10, X.shape[1]))
        narrow = folds[0].train.columns(some)
        objective = candidate.problem(narrow, some).objective(narrow, some)
        resolve_solver(spec.solver, spec.max_iter, spec.tol, objective)
    validation = Validation(folds, spec.loss, scorer)
    chosen = max_features if spec.selection is not None else None
    return Search(
        validation, candidates, units, chosen, bool(spec.fit_intercept), on_step, spec.max_groups, DEFAULTS, guides
    )


def decided(search: Search) -> Choice:
    """Run a search."""
    with np.errstate(all="ignore"), one_blas_thread():
        return search.run()


def some_rows(source: ArraySource, scaling: Scaling | None, rng: np.random.Generator) -> Fold:
    """Return a fold without samples to judge by, of at most as many samples as a search can afford."""
    return Fold(source.sample(MOST_ROWS, rng), None, rng, scaling)


def fold_of(spec: Spec, data: TableData, choice: Choice, rng: np.random.Generator) -> Fold:
    """Return samples to fit on, with a scaling of their own."""
    merged = merged_rows(data.X, data.Y, data.weight)
    scaling = scaling_for(choice.candidate.terms, spec.scale, merged[0], merged[2])
    return some_rows(ArraySource(*merged, scaling), scaling, rng)


def half_frequencies(
    spec: Spec, search: Search, choice: Choice, data: TableData, rng: np.random.Generator
) -> np.ndarray | None:
    """Return the share of random halves of the samples that choose each feature; None where it would take long.

    A fit inside scikit-learn's model selection has none, and neither has one of a table of more than ``halves_most``
    numbers.
    """
    settings, n = search.settings, data.n_rows
    if not search.selects or n < 4 or n * data.n_features > settings.halves_most or is_cross_validated():
        return None

    def halves() -> Iterator[Fold]:
        for _ in range(settings.n_halves // 2):
            order = rng.permutation(n)
            for half in (order[: n // 2], order[n // 2 :]):
                yield fold_of(spec, data.part(half), choice, rng)

    return search.half_frequencies(choice, halves())


def importances(model: Submodel, source: ArraySource) -> np.ndarray:
    """Return by how much the mean training loss rises when a feature leaves the kernel, all else as it is, (d,)."""
    result = np.zeros(source.n_features)
    inside = FeatureGroups(len(model.columns))
    part = source.columns(model.columns)
    now = model.problem.loss.value(model.problem.objective(part, model.columns).totals(model.theta))
    result[model.columns] = losses_without(model, source, inside) - now
    return result


def report_choice(search: Search, choice: Choice, model: Submodel, source: ArraySource) -> dict[str, Any]:
    """Return what a search reports beside its model."""
    if choice.is_empty:
        warn_user(
            "No feature is selected: on held-out samples no model is better than a constant by more than chance. The "
            "prediction is that constant. cv_results_ shows the losses; more samples may show more.",
            UserWarning,
        )
    if choice.at_edge:
        warn_user(
            f"The best {' and the best '.join(choice.at_edge)} lies at the edge of what was tried. "
            "cv_results_ shows the losses; widen max_basis, or give weight_penalty yourself.",
            UserWarning,
        )
    records = search.validation.records
    attributes: dict[str, Any] = {
        "cv_results_": {name: np.array([record[name] for record in records]) for name in records[0]},
        "_choice": {"kernel": choice.candidate.kernel, "strength_factor": choice.factor},
    }
    if search.selects:
        attributes["feature_importances_"] = importances(model, source)
        attributes["fold_frequency_"] = search.fold_frequencies(choice)
        columns = np.zeros(0, dtype=int) if choice.is_empty else model.columns
        attributes["alternatives_"] = interchangeable(source, columns, search.settings.alike)
    return attributes
