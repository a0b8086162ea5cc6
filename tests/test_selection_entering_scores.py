"""Columns that come back: scores outside a model are gradients of what it would use them for."""

import numpy as np
import pytest

from spkm.kernels import RBF, Linear, Polynomial
from spkm.losses import Cosine, Log, Squared
from spkm.penalties import RKHSNorm
from spkm.selection import FeatureGroups, fit_submodel
from spkm.selection._elimination import entering_scores
from spkm.sources import ArraySource
from spkm.sources import _array as source_module
from tests import cases
from tests.small_submodels import METRICS, N_COLUMNS, each_kernel_of_any_columns, submodel, table


def normalized(parts, units, outside):
    """Return the largest of some gradients' norms by unit, each over its median; minus infinity inside."""
    scores = np.zeros(len(units.size))
    for part in parts:
        norms = units.norms(np.where(outside, part, 0.0))
        scores = np.maximum(scores, norms / max(np.median(norms), 1e-300))
    scores[units.label[~outside]] = -np.inf
    return scores


def slopes_by_differences(current, source):
    """Return the derivatives of the loss in every basis entry of all columns; those outside have relevance 1."""
    old, view, loss = current.model.unpack(current.theta), current.model.terms[0].views[0], current.problem.loss
    factors = np.ones(N_COLUMNS)
    factors[current.columns] = view.factors(old.log_metric[0])
    U = np.zeros((len(old.weights), N_COLUMNS))
    U[:, current.columns] = old.basis[0]

    def loss_of(V):
        F = view.kernel(source.X, V, factors) @ old.weights + old.intercept
        return loss.value(loss.totals(source.Y, F, source.w))

    steps = 1e-5 * np.eye(U.size).reshape(-1, *U.shape)
    return np.reshape([(loss_of(U + step) - loss_of(U - step)) / 2e-5 for step in steps], U.shape)


def squares_asked_for(current, source):
    """Return |covariance| of the rows' slopes with x or x^2, over the deviation of the latter: the largest, (1, d)."""
    F, loss, share = current.predict(source), current.problem.loss, source.w[:, 0]
    steps = 1e-6 * np.eye(F.size).reshape(-1, *F.shape)
    slopes = [
        loss.value(loss.totals(source.Y, F + s, source.w)) - loss.value(loss.totals(source.Y, F - s, source.w))
        for s in steps
    ]
    slopes = np.reshape(slopes, F.shape) / 2e-6 / share[:, None]
    slopes = slopes - share @ slopes
    best = np.zeros(N_COLUMNS)
    for A in (source.X, source.X**2):
        A = A - share @ A
        best = np.maximum(best, np.abs((share[:, None] * slopes).T @ A).max(axis=0) / np.sqrt(share @ A**2))
    return best[None, :]


@pytest.mark.parametrize("groups", [None, ("a", "b", "a", "c", "b", "d")])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("loss", "m"), [(Log(), 1), (Log(), 3), (Cosine(), 2)])
def test_scores_outside_are_slopes_of_basis_entries_and_of_squares_for_a_polynomial(loss, m, metric, groups):
    current = submodel(Polynomial(3, 1.0, 0.4), loss, metric, m, columns=np.array([0, 2]))
    source = table(loss, m=m)
    outside = ~np.isin(np.arange(N_COLUMNS), current.columns)
    units = FeatureGroups(N_COLUMNS, groups)
    found = entering_scores(current, source, units)
    expected = normalized([slopes_by_differences(current, source), squares_asked_for(current, source)], units, outside)
    inside = np.isneginf(expected)
    np.testing.assert_array_equal(np.isneginf(found), inside)
    np.testing.assert_allclose(found[~inside], expected[~inside], rtol=1e-5)
    assert inside.any() and np.all(found[~inside] > 0)


@pytest.mark.parametrize("metric", METRICS)
@each_kernel_of_any_columns
def test_scores_outside_are_gradients_of_entries_and_relevances(name, metric):
    kernel = cases.KERNELS[name]
    current = submodel(kernel, Log(), metric, columns=np.array([0, 2]))
    source = table(Log())
    old = current.model.unpack(current.theta)
    outside = ~np.isin(np.arange(N_COLUMNS), current.columns)

    def loss_of(j, relevance, entry):
        """Return the loss with column j, of a small relevance, at ``entry`` in the basis (R,)."""
        columns = np.append(current.columns, j)
        view = current.model.terms[0].views[0]
        factors = np.append(np.broadcast_to(view.factors(old.log_metric[0]), 2), relevance)
        K = kernel(source.X[:, columns], np.column_stack([old.basis[0], entry]), factors)
        return Log().value(Log().totals(source.Y, K @ old.weights + old.intercept, source.w))

    w, t, nothing = 1e-5, 1e-2, np.zeros(3)
    of_entries, of_relevances = np.zeros((3, N_COLUMNS)), np.zeros((1, N_COLUMNS))
    for j in np.flatnonzero(outside):
        of_relevances[0, j] = (loss_of(j, w, nothing) - loss_of(j, -w, nothing)) / (2 * w)
        for r, e in enumerate(t * np.eye(3)):
            of_entries[r, j] = (loss_of(j, w, e) - loss_of(j, w, -e)) / (2 * t * w)
    squares = [squares_asked_for(current, source)] if isinstance(kernel, Polynomial) else []
    expected = normalized([of_entries, of_relevances, *squares], FeatureGroups(N_COLUMNS), outside)
    found = entering_scores(current, source, FeatureGroups(N_COLUMNS))
    np.testing.assert_array_equal(np.isneginf(found), ~outside)
    np.testing.assert_allclose(found[outside], expected[outside], rtol=1e-3)


@pytest.mark.parametrize("name", cases.LOSSES)
def test_scores_do_not_depend_on_blocks_or_storage(monkeypatch, name):
    # The slope of the cosine mixes sums over all rows: a block alone does not know them.
    loss = cases.LOSSES[name]
    current = submodel(RBF(0.3), loss, "scale", m=2, columns=np.array([0, 2]))
    expected = entering_scores(current, table(loss, m=2), FeatureGroups(N_COLUMNS))
    np.testing.assert_allclose(
        entering_scores(current, table(loss, m=2, kind=cases.csr), FeatureGroups(N_COLUMNS)), expected
    )
    monkeypatch.setattr(source_module, "rows_per_block", lambda n_features, width: 5)
    np.testing.assert_allclose(entering_scores(current, table(loss, m=2), FeatureGroups(N_COLUMNS)), expected)


def test_nothing_is_outside_a_model_of_all_columns():
    current = submodel(RBF(0.3), Log(), columns=np.arange(N_COLUMNS))
    assert np.all(np.isneginf(entering_scores(current, table(Log()), FeatureGroups(N_COLUMNS))))


def test_a_column_that_the_loss_asks_for_has_the_highest_score():
    rng = np.random.default_rng(0)
    X = cases.frozen(rng.standard_normal((60, N_COLUMNS)))
    square = X[:, 4:5] ** 2 - 1
    for target, kernel in ((X[:, 4:5], Linear(1.0)), (square, RBF(0.3)), (square, Polynomial(2, 1.0, 1.0))):
        source = ArraySource(X, np.asarray(X[:, :1] + target))
        current = submodel(kernel, Squared(), columns=np.array([0]), weight_penalties=[RKHSNorm(1e-3)])
        fitted = fit_submodel(current.problem, source, current.columns, current.theta, 20, rng)
        assert np.argmax(entering_scores(fitted, source, FeatureGroups(N_COLUMNS))) == 4
