"""Small searches: rows, candidates and folds that the tests of a search share."""

from dataclasses import replace

import numpy as np

from spkm.penalties import Evidence, RKHSNorm
from spkm.selection import (
    Candidate,
    Choice,
    FeatureGroups,
    Fold,
    Problem,
    Search,
    Validation,
    fit_submodel,
)
from spkm.sources import ArraySource
from tests import cases
from tests.quick_search import FEWER


def problem_of(source, kernel, n_basis, loss, evidence=False):
    """Return a problem with numbers that depend on the rows alone."""
    kernel = kernel.resolved(source.dense(), source.w[:, 0])
    metric = ("relevances" if evidence else "scale") if kernel.stationary else "fixed"
    terms = cases.one_view(kernel, n_basis, metric)
    if evidence:
        return Problem(terms, loss, evidence=Evidence(noise=0.1, ridge=0.0))
    n = source.total_weight
    return Problem(terms, loss, [], [RKHSNorm(0.1 / n)], metric_prior=3.0 / n)


def candidate(kernel, loss, n_basis=1, evidence=False, **settings):
    def problem(source, columns, terms):
        return problem_of(source, kernel, terms[0].n_basis, loss, evidence)

    return Candidate(type(kernel).__name__.lower(), cases.one_view(kernel, n_basis, None), problem, **settings)


def linear_rows(n=80, d=8, seed=0):
    """Return rows, and classes by a line in columns 1 and 4."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return cases.frozen(X), cases.frozen(
        np.where(X[:, [1]] - 1.5 * X[:, [4]] + 0.1 * rng.standard_normal((n, 1)) > 0, 1.0, -1.0)
    )


def product_rows(n=100, d=6, seed=0):
    """Return rows, and a target that is the product of columns 0 and 3."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return cases.frozen(X), cases.frozen(X[:, [0]] * X[:, [3]] + 0.05 * rng.standard_normal((n, 1)))


def search_of(
    rows,
    loss,
    candidates,
    *,
    groups=None,
    max_features="all",
    max_groups=None,
    n_folds=2,
    scorer=None,
    on_step=None,
    kind=np.asarray,
    guides=(),
    search=Search,
    validation=Validation,
    **settings,
):
    """Return a search over folds of every other row, and a fold of all rows; both classes may be others."""
    X, Y = rows
    d = X.shape[1]
    folds = []
    for k in range(n_folds):
        test = np.arange(len(X)) % n_folds == k
        source = ArraySource(kind(X[~test]), Y[~test])
        folds.append(Fold(source, ArraySource(kind(X[test]), Y[test]), np.random.default_rng(k)))
    judge = validation(folds, loss, scorer)
    most = d if max_features == "all" else max_features
    units = FeatureGroups(d, groups)
    made = search(judge, candidates, units, most, True, on_step, max_groups, replace(FEWER, **settings), guides)
    return made, Fold(ArraySource(kind(X), Y), None, np.random.default_rng(9))


def choice_of(search, candidate, columns, n_units):
    """Return a choice of given columns in every fold."""
    models = []
    for fold in search.folds:
        source = fold.train.columns(columns)
        problem = candidate.problem(source)
        theta, params = problem.objective(source).model.zeros()
        params.weights[...] = 1.0
        models.append(fit_submodel(problem, fold.train, columns, theta, 5, fold.rng))
    losses = search.validation.losses(models)
    return Choice(candidate, 1.0, n_units, models, losses)
