"""Features that enter again: by the slopes of the training loss, and only where they lower the objective."""

import numpy as np
import pytest

from spkm.kernels import RBF, Linear, Polynomial
from spkm.losses import Log, Squared
from spkm.selection import DEFAULTS, FeatureGroups, eliminate, entering_scores, fit_submodel, floating_elimination
from spkm.sources import ArraySource
from tests import cases
from tests.small_searches import candidate as candidate_of
from tests.small_searches import linear_rows, problem_of, search_of

COLUMNS, N_COLUMNS = np.array([0, 1, 2]), 7


def fitted(source, columns, iterations=30):
    rng = np.random.default_rng(0)
    problem = problem_of(source, Polynomial(2, 1.0, 1.0), 4, Log())
    theta, params = problem.objective(source.columns(columns), columns).model.zeros()
    params.basis[0][...] = 0.5 * rng.standard_normal(params.basis[0].shape)
    params.weights[...] = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    return fit_submodel(problem, source, columns, theta, iterations, rng)


def rows(n=120, seed=0):
    """Return samples, and classes by the product of columns 0 and 1 and the square of column 5."""
    X = np.random.default_rng(seed).standard_normal((n, N_COLUMNS))
    f = X[:, 0] * X[:, 1] + X[:, 5] ** 2 - 1.0
    return cases.frozen(X), cases.frozen(np.where(f > 0, 1.0, -1.0)[:, None])


def loss_with(model, X, Y, entries):
    """Return the mean loss with some columns beside the model's, whose entries in the basis vectors are given."""
    params = model.model.unpack(model.theta)
    inside = X[:, model.columns] @ params.basis[0].T
    F = (inside + entries + 1.0) ** 2 @ params.weights + params.intercept
    return float(np.mean(np.log1p(np.exp(-Y * F))))


@pytest.mark.parametrize("kind", [np.asarray, cases.csr], ids=["dense", "csr"])
@pytest.mark.parametrize("labels", [None, [0, 1, 2, 3, 4, 5, 4]], ids=["features", "groups"])
def test_scores_are_slopes_by_differences(kind, labels):
    X, Y = rows()
    source = ArraySource(kind(X), Y)
    model = fitted(source, COLUMNS, 5)
    units = FeatureGroups(N_COLUMNS, labels)
    step, n_basis = 1e-6, 4
    slopes = np.zeros((2, n_basis, N_COLUMNS))
    for power in (1, 2):
        for r in range(n_basis):
            for j in range(N_COLUMNS):
                entries = np.zeros((len(X), n_basis))
                entries[:, r] = step * X[:, j] ** power
                slopes[power - 1, r, j] = (loss_with(model, X, Y, entries) - loss_with(model, X, Y, -entries)) / (
                    2 * step
                )
    norms = [units.norms(table) for table in slopes]
    expected = np.maximum(*(of / np.median(of) for of in norms))
    expected[units.label[COLUMNS]] = -np.inf
    found = entering_scores(model, source, units, np.arange(N_COLUMNS))
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    some = np.array([0, 1, 2, 5])  # those that may enter
    assert np.isfinite(entering_scores(model, source, units, some)).sum() == 1


def test_a_feature_that_was_lost_enters_again_and_no_model_gets_worse():
    source = ArraySource(*rows())
    units = FeatureGroups(N_COLUMNS)
    lost = np.array([0, 1, 2, 3, 4, 6])  # all but one that matters
    first = fitted(source, lost)
    parts = (first, source, units)
    rest = (1, N_COLUMNS, np.random.default_rng(0), DEFAULTS)
    plain = eliminate(*parts, *rest)
    floating = floating_elimination(*parts, np.arange(N_COLUMNS), *rest)
    assert [len(model.columns) for model in floating] == [len(model.columns) for model in plain]
    of_three = next(model for model in floating if len(model.columns) == 3)
    assert of_three.columns.tolist() == [0, 1, 5]
    fixed = floating_elimination(*parts, lost, *rest)  # it must not enter where it may not
    assert all(5 not in model.columns for model in fixed)
    before = {len(model.columns): model.objective for model in plain}
    assert all(model.objective <= before[len(model.columns)] + 1e-9 for model in floating[:3])


def test_a_kernel_that_is_clearly_behind_is_given_up_and_the_choice_is_the_same():
    X, _ = linear_rows(120, 6)
    Y = np.where(X[:, [0]] * X[:, [1]] > 0, 1.0, -1.0)
    kernels = [candidate_of(Polynomial(2, 1.0, 1.0), Log(), 4), candidate_of(Polynomial(1, 1.0, 1.0), Log(), 2)]

    def records(clearly):
        search, _ = search_of((X, Y), Log(), kernels, n_folds=4, first_iterations=40, clearly=clearly)
        choice = search.run()
        return choice, [record["stage"] for record in search.validation.records]

    choice, stages = records(3.0)
    other, all_stages = records(np.inf)
    assert stages.count("given up") == 1 and "given up" not in all_stages and len(stages) < len(all_stages)
    assert choice.candidate is other.candidate is kernels[0] and choice.n_units == other.n_units == 2
    np.testing.assert_array_equal(choice.losses, other.losses)


def test_a_stop_at_the_last_of_three_kernels_keeps_the_best_of_two():
    kernels = [
        candidate_of(Linear(1.0), Log(), tries_strengths=True),
        candidate_of(Polynomial(2, gamma=1.0), Log(), 2, tries_strengths=True),
        candidate_of(RBF("mean"), Log(), 2),
    ]
    search, everything = search_of(
        linear_rows(60), Log(), kernels, on_step=lambda text: text.endswith("rbf"), clearly=np.inf
    )
    choice = search.run()
    assert choice.stopped is not None and not isinstance(choice.stopped, KeyboardInterrupt)
    assert choice.candidate.name in ("linear", "polynomial")
    assert np.all(np.isfinite(search.refit(choice, everything).predict(everything.train)))


def test_features_that_left_for_want_of_vectors_come_back():
    # Two vectors of degree 2 hold one product: the features of the other leave, and are back once there are four.
    X, _ = linear_rows(120, 6)
    Y = X[:, [0]] * X[:, [1]] + X[:, [2]] * X[:, [3]]
    problem = candidate_of(Polynomial(2, 1.0, 1.0), Squared(), 2, sizes=(4,))
    search, _ = search_of(
        (X, Y), Squared(), [problem], n_folds=3, path_iterations=60, first_iterations=40, refit_iterations=10
    )
    few = search._eliminated(problem, [])
    choice = search.run()
    assert few.n_units == 2 and choice.n_basis == 4
    for model in choice.models:
        assert {0, 1, 2, 3} <= set(model.columns)
