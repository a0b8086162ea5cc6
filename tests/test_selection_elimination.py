"""Elimination: a column left out is a column deleted, the least useful leave first, gradients call others back."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spkm import SPKMClassifier, SPKMRegressor
from spkm.core.columns import on_columns
from spkm.kernels import RBF, Linear, Polynomial
from spkm.losses import Log, Squared
from spkm.penalties import Evidence, RKHSNorm
from spkm.selection import DEFAULTS, FeatureGroups, Problem, Submodel, eliminate, fit_submodel, losses_without
from spkm.selection._elimination import within_budget
from spkm.sources import ArraySource
from tests import cases
from tests.small_submodels import (
    INSIDE,
    METRICS,
    N_COLUMNS,
    each_kernel,
    each_kernel_of_any_columns,
    on_fewer,
    submodel,
    table,
)


def loss_after_deletion(current, source, deleted):
    """Return the loss of a model whose columns are deleted from rows, basis and metric, by hand."""
    kept = np.setdiff1d(np.arange(len(current.columns)), deleted)
    view = current.model.terms[0].views[0]
    params = current.model.unpack(current.theta)
    metric = np.broadcast_to(view.factors(params.log_metric[0]), len(current.columns))[kept]
    K = on_fewer(view.kernel, kept)(source.X[:, current.columns[kept]], params.basis[0][:, kept], metric)
    F = K @ params.weights + params.intercept
    loss = current.problem.loss
    return loss.value(loss.totals(source.Y, F, source.w))


@pytest.mark.parametrize("metric", METRICS)
@each_kernel
def test_a_column_left_out_is_a_column_deleted(name, metric):
    current = submodel(cases.KERNELS[name], Log(), metric)
    source = table(Log())
    expected = [loss_after_deletion(current, source, [j]) for j in range(4)]
    np.testing.assert_allclose(losses_without(current, source, FeatureGroups(4)), expected, rtol=1e-9)
    groups = ("a", "b", "a", "c")
    expected = [loss_after_deletion(current, source, columns) for columns in ([0, 2], [1], [3])]
    np.testing.assert_allclose(losses_without(current, source, FeatureGroups(4, groups)), expected, rtol=1e-9)
    sparse_rows = table(Log(), kind=cases.csr)
    np.testing.assert_allclose(losses_without(current, sparse_rows, FeatureGroups(4, groups)), expected, rtol=1e-9)


@pytest.mark.parametrize("name", cases.LOSSES)
def test_losses_of_every_kind_and_blocks_of_any_size(blocks_of, name):
    loss = cases.LOSSES[name]
    current = submodel(RBF(0.3), loss, "relevances", m=2)
    source = table(loss, m=2)
    expected = [loss_after_deletion(current, source, [j]) for j in range(4)]
    blocks_of(5)
    np.testing.assert_allclose(losses_without(current, table(loss, m=2), FeatureGroups(4)), expected, rtol=1e-9)


@each_kernel_of_any_columns
@pytest.mark.parametrize("metric", METRICS)
def test_predictions_are_those_of_the_columns_alone(name, metric):
    current = submodel(cases.KERNELS[name], Log(), metric)
    source = table(Log())
    noise = source.X.copy()
    noise[:, [1, 4]] = 1e9
    F = current.predict(ArraySource(noise, source.Y))
    np.testing.assert_array_equal(F, current.predict(source))
    assert Log().value(Log().totals(source.Y, F, source.w)) == pytest.approx(loss_after_deletion(current, source, []))


def test_the_least_useful_leaves_first():
    source = table(Log(), n=40)
    first = fit_submodel(
        Problem(cases.one_view(RBF(0.3), 3, "scale"), Log(), [], [RKHSNorm(1e-3)]),
        source,
        np.arange(N_COLUMNS),
        submodel(RBF(0.3), Log(), "scale", columns=np.arange(N_COLUMNS)).theta,
        20,
        np.random.default_rng(0),
    )
    models = eliminate(first, source, FeatureGroups(N_COLUMNS), 2, N_COLUMNS, np.random.default_rng(0))
    assert models[0] is first
    assert [len(model.columns) for model in models] == [6, 5, 4, 3, 2]
    for before, after in pairwise(models):
        left = np.flatnonzero(~np.isin(before.columns, after.columns))
        losses = [loss_after_deletion(before, source, [j]) for j in range(len(before.columns))]
        assert left.tolist() == [np.argmin(losses)]
        assert after.model.n_features == len(after.columns) == len(before.columns) - 1


@pytest.mark.parametrize("groups", [None, ("a", "b", "a", "c", "b", "d")])
def test_the_least_relevant_leaves_first_where_the_evidence_has_learned_relevances(groups):
    source = table(Squared(), n=40)
    everything = np.arange(N_COLUMNS)
    current = submodel(RBF(0.3), Squared(), "relevances", columns=everything, evidence=Evidence())
    first = fit_submodel(current.problem, source, everything, current.theta, 10, np.random.default_rng(0))
    units = FeatureGroups(N_COLUMNS, groups)
    models = eliminate(first, source, units, 1, N_COLUMNS, np.random.default_rng(0))
    for before, after in pairwise(models):
        inside = units.of(before.columns)
        relevances = np.exp(before.model.unpack(before.theta).log_metric[0])
        mean_squares = [np.mean(relevances[members] ** 2) for members in inside.members()]
        np.testing.assert_array_equal(after.columns, before.columns[inside.label != np.argmin(mean_squares)])


def eliminated(n_columns, least=1, most=None, one_by_one=1, groups=None):
    """Return the models of a line's elimination; columns 0, 1, 4 and 5 matter."""
    rng = np.random.default_rng(0)
    X = cases.frozen(rng.standard_normal((40, n_columns)))
    source = ArraySource(X, np.where(X[:, [0, 1, 4, 5]].sum(axis=1, keepdims=True) > 0, 1.0, -1.0))
    problem = Problem(cases.one_view(Linear(1.0), 1, "fixed"), Log(), [], [RKHSNorm(1e-2)])
    start, params = problem.objective(source).model.zeros()
    params.weights[...] = 1.0
    first = fit_submodel(problem, source, np.arange(n_columns), start, 20, rng)
    settings = replace(DEFAULTS, one_by_one=one_by_one)
    units = FeatureGroups(n_columns, groups)
    return eliminate(first, source, units, least, n_columns if most is None else most, rng, settings)


def numbers(models):
    return [len(model.columns) for model in models]


def test_groups_leave_together_and_several_at_a_time_while_there_are_many():
    models = eliminated(20, groups=np.arange(20) // 2)
    assert numbers(models) == [20, 16, 14, 12, 10, 8, 6, 4, 2]
    for model in models:
        inside = np.isin(np.arange(20), model.columns)
        np.testing.assert_array_equal(inside[::2], inside[1::2])
    assert set(models[-2].columns) == {0, 1, 4, 5}


def test_no_fewer_are_kept_than_asked_for():
    assert numbers(eliminated(12, least=11)) == [12, 11]
    assert numbers(eliminated(12, least=12)) == [12]


def test_a_budget_between_two_numbers_is_one_of_them():
    assert numbers(eliminated(12, least=7)) == [12, 10, 8, 7]
    assert numbers(eliminated(12, least=7, most=11)) == [12, 11, 10, 8, 7]


@pytest.mark.parametrize(("n_columns", "one_by_one"), [(12, 1), (45, 3), (45, 20), (24, 20), (15, 20)])
def test_numbers_of_groups_are_those_that_all_eliminations_share(n_columns, one_by_one):
    shared = [one_by_one]
    while shared[-1] < n_columns:
        shared.append(max(int(1.25 * shared[-1]), shared[-1] + 1))
    expected = [size for size in (*range(1, one_by_one), *shared) if size < n_columns]
    assert numbers(eliminated(n_columns, one_by_one=one_by_one)) == [n_columns, *expected[::-1]]


def test_a_fit_does_not_end_above_its_start():
    source = table(Squared())
    current = submodel(RBF(0.3), Squared(), "scale", weight_penalties=[RKHSNorm(1e-3)])
    objective = current.problem.objective(source.columns(INSIDE))
    fitted = fit_submodel(current.problem, source, INSIDE, current.theta, 30, np.random.default_rng(0))
    assert fitted.objective < objective.value(current.theta)
    assert fitted.objective == pytest.approx(objective.value(fitted.theta), rel=1e-6)
    assert fitted.noise is None and fitted.problem is current.problem


def test_the_noise_of_the_evidence_goes_with_the_model():
    source = table(Squared(), n=40)
    current = submodel(RBF(0.3), Squared(), "relevances", evidence=Evidence())
    fitted = fit_submodel(current.problem, source, INSIDE, current.theta, 10, np.random.default_rng(0))
    assert fitted.problem.evidence.noise == fitted.noise != current.problem.evidence.noise
    smaller = eliminate(fitted, source, FeatureGroups(N_COLUMNS), 2, N_COLUMNS, np.random.default_rng(0))
    assert len({model.noise for model in smaller}) == len(smaller) == 3 and None not in {
        model.noise for model in smaller
    }
    assert current.problem.evidence.noise == Evidence().noise


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("noise", [0.1, 1e-6, 1e-12])
def test_more_vectors_than_columns_and_next_to_no_noise(noise, size):
    # k(U, U) has no full rank, and the noise that a larger model learned does not make up for it.
    X = cases.rows(30, 3)
    source = ArraySource(X, np.asarray(X[:, [0, 1, 2]]))
    problem = Problem(cases.one_view(Linear(1.0), 3, "fixed"), Squared(), evidence=Evidence()).with_noise(noise)
    theta, params = problem.objective(source.columns(np.array([1]))).model.zeros()
    params.basis[0][...] = size * np.array([[-0.4], [0.9], [0.7]])
    fitted = fit_submodel(problem, source, np.array([1]), theta, 10, np.random.default_rng(0))
    F = fitted.predict(source)
    assert np.all(np.isfinite(F)) and np.mean((F[:, 1] - X[:, 1]) ** 2) < 0.1 * X[:, 1].var()


# Columns that come and go.


@pytest.mark.parametrize("metric", METRICS)
@each_kernel_of_any_columns
def test_the_order_of_columns_does_not_matter(name, metric):
    current = submodel(cases.KERNELS[name], Log(), metric)
    source = table(Log())
    places = np.array([2, 0, 3, 1])
    model, theta = on_columns(current.model, current.theta, places)
    other = Submodel(current.problem, INSIDE[places], model, theta, 0.0)
    np.testing.assert_allclose(other.predict(source), current.predict(source), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@each_kernel_of_any_columns
def test_columns_that_leave_are_deleted_and_all_else_stays(name, metric):
    current = submodel(cases.KERNELS[name], Log(), metric)
    source = table(Log())
    kept = np.array([0, 2])
    model, theta = on_columns(current.model, current.theta, kept)
    other = Submodel(current.problem, INSIDE[kept], model, theta, 0.0)
    F = other.predict(source)
    assert Log().value(Log().totals(source.Y, F, source.w)) == pytest.approx(
        loss_after_deletion(current, source, [1, 3])
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kernel", [Linear(0.5), Polynomial(3, 1.0, 0.4), Polynomial(2, 0.0, 0.5)])
def test_new_columns_leave_a_kernel_of_a_dot_product_as_it_is(kernel, metric):
    current = submodel(kernel, Log(), metric)
    source = table(Log())
    places = np.array([0, -1, 1, 2, -1, 3])
    model, theta = on_columns(current.model, current.theta, places)
    np.testing.assert_array_equal(model.unpack(theta).basis[0][:, [1, 4]], 0)
    other = Submodel(current.problem, np.arange(N_COLUMNS), model, theta, 0.0)
    np.testing.assert_allclose(other.predict(source), current.predict(source), rtol=1e-10, atol=1e-12)
    if metric == "relevances":
        log_metric, old = model.unpack(theta).log_metric[0], current.model.unpack(current.theta).log_metric[0]
        np.testing.assert_allclose(log_metric[[1, 4]], old.mean())
        np.testing.assert_array_equal(log_metric[INSIDE], old)


# Groups of columns with a budget: it is spent where it brings most, not on the largest groups.


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.integers(1, 5)), min_size=1, max_size=7),
    st.integers(1, 12),
)
def test_a_budget_is_spent_as_well_as_by_trying_everything(units, most):
    gain, size = np.array([g for g, _ in units]), np.array([s for _, s in units])
    chosen = within_budget(gain, size, most)
    assert size[chosen].sum() <= most
    choices = (np.array(c, dtype=bool) for c in product([False, True], repeat=len(units)))
    best = max(gain[c].sum() for c in choices if size[c].sum() <= most)
    assert gain[chosen].sum() == pytest.approx(best, abs=1e-12)


def one_hot_beside_numbers(n=300, seed=0):
    """Return five columns of numbers beside three encoded categories of five columns each, their groups, and f.

    Each of two categories tells more than any number, and less than four of them, which its columns would pay for.
    """
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((n, 5))
    categories = rng.integers(5, size=(3, n))
    effect = 1.3 * np.array([-1.2, -0.6, 0.0, 0.6, 1.2])
    X = np.hstack([numbers, *(np.eye(5)[c] for c in categories)])
    groups = np.r_[np.arange(5), np.repeat([5, 6, 7], 5)]
    return X, groups, 0.9 * numbers.sum(axis=1) + effect[categories[0]] + effect[categories[1]], rng


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The best .* lies at the edge:UserWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_a_budget_goes_to_numbers_rather_than_to_one_large_group(seed):
    X, groups, f, rng = one_hot_beside_numbers(seed=seed)
    settings = {"kernel": "linear", "selection": "strict", "max_features": 6, "feature_groups": groups}
    quick = {"n_basis": 2, "n_jobs": 1, "random_state": 0}
    y = rng.uniform(size=len(f)) < 1 / (1 + np.exp(-1.5 * f))
    clf = SPKMClassifier(**settings, **quick).fit(X, y)
    np.testing.assert_array_equal(clf.selected_features_, np.arange(5))
    model = SPKMRegressor(**settings, **quick).fit(X, f + rng.standard_normal(len(f)))
    np.testing.assert_array_equal(model.selected_features_, np.arange(5))
