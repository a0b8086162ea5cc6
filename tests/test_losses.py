"""Losses: values worked by hand, gradients by differences, sums over parts, and no overflow."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss, mean_pinball_loss, mean_poisson_deviance, mean_squared_error

from spkm import losses
from spkm.losses import (
    LOSSES,
    Cosine,
    EpsilonInsensitive,
    Exponential,
    Huber,
    Log,
    Poisson,
    Quantile,
    SmoothHinge,
    Squared,
    SquaredHinge,
)
from tests import cases

each_loss = pytest.mark.parametrize("loss", cases.LOSSES.values(), ids=cases.LOSSES)
each_width = pytest.mark.parametrize("m", [1, 3])

# loss, y, f, value, slope
BY_HAND = [
    (Squared(), 1.0, 3.0, 4.0, 4.0),
    (Squared(), 2.0, -1.0, 9.0, -6.0),
    (Huber(1.0), 0.0, 0.5, 0.125, 0.5),
    (Huber(1.0), 0.0, 3.0, 2.5, 1.0),
    (Huber(2.0), 1.0, -3.0, 6.0, -2.0),
    (EpsilonInsensitive(0.5), 1.0, 1.4, 0.0, 0.0),
    (EpsilonInsensitive(0.5), 1.0, 3.0, 2.25, 3.0),
    (EpsilonInsensitive(0.5), 1.0, -1.0, 2.25, -3.0),
    (Quantile(0.9, 0.1), 3.0, 1.0, 1.8, -0.9),
    (Quantile(0.9, 0.1), 1.0, 3.0, 0.2, 0.1),
    (Quantile(0.5, 0.1), 1.0, 1.0, 0.025, 0.0),
    (Poisson(), 2.0, 0.0, 1.0, -1.0),
    (Poisson(), 0.0, 1.0, np.e, np.e),
    (losses.Hazard(), 0.5, 2.0, 0.5 * np.exp(2.0) - 2.0, 0.5 * np.exp(2.0) - 1.0),
    (losses.Hazard(), -0.5, 2.0, 0.5 * np.exp(2.0), 0.5 * np.exp(2.0)),  # censored
    (losses.Ordinal((-1.0, 1.0)), 0.0, 0.5, np.log1p(np.exp(1.5)), 1 / (1 + np.exp(-1.5))),
    (losses.Ordinal((-1.0, 1.0)), 2.0, 0.5, np.log1p(np.exp(0.5)), -1 / (1 + np.exp(-0.5))),
    (Log(), 1.0, 0.0, np.log(2), -0.5),
    (Log(), -1.0, np.log(3), np.log(4), 0.75),
    (SquaredHinge(), 1.0, -1.0, 4.0, -4.0),
    (SquaredHinge(), -1.0, -2.0, 0.0, 0.0),
    (SmoothHinge(0.5), 1.0, 2.0, 0.0, 0.0),
    (SmoothHinge(0.5), 1.0, 0.75, 0.0625, -0.5),
    (SmoothHinge(0.5), -1.0, 1.0, 1.75, 1.0),
    (Exponential(), 1.0, 0.0, 1.0, -1.0),
    (Exponential(), -1.0, 1.0, np.e, np.e),
    (Exponential(), 1.0, -31.0, 2 * np.exp(30.0), -np.exp(30.0)),
]


@pytest.mark.parametrize(("loss", "y", "f", "value", "slope"), BY_HAND)
def test_values_and_slopes_worked_by_hand(loss, y, f, value, slope):
    Y, F, w = np.array([[y]]), np.array([[f]]), np.ones((1, 1))
    assert loss.value(loss.totals(Y, F, w)) == pytest.approx(value, rel=1e-12)
    assert loss.directions(Y, F, w)[0].item() == pytest.approx(slope, rel=1e-12)


def test_softmax_worked_by_hand():
    Y, F, w = np.array([[-1.0, 1.0, -1.0]]), np.log([[1.0, 2.0, 5.0]]), np.ones((1, 1))
    loss = Log()
    assert loss.value(loss.totals(Y, F, w)) == pytest.approx(np.log(4))
    np.testing.assert_allclose(loss.directions(Y, F, w)[0], [[1 / 8, 2 / 8 - 1, 5 / 8]])


def data(loss, n, m, scale=1.0):
    rng = np.random.default_rng(7)
    w = rng.random((n, 1))
    return cases.targets(loss, n, m), cases.frozen(scale * rng.standard_normal((n, m))), cases.frozen(w / w.sum())


def value(loss, Y, F, w):
    return loss.value(loss.totals(Y, F, w))


def gradient(loss, Y, F, w):
    totals = loss.totals(Y, F, w)
    return sum(c * S for c, S in zip(loss.mix(totals), loss.directions(Y, F, w), strict=True))


@each_loss
@each_width
def test_gradient_equals_differences(loss, m):
    Y, F, w = data(loss, 7, m)
    assert cases.slope_error(lambda V: value(loss, Y, V, w), gradient(loss, Y, F, w), F) < 1e-8


@each_loss
@each_width
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_totals_and_directions_at_once_are_those_one_by_one(loss, m, dtype):
    Y, F, w = (a.astype(dtype) for a in data(loss, 7, m))
    before = F.copy()
    totals, directions = loss.totals_and_directions(Y, F, w)
    np.testing.assert_array_equal(F, before)
    np.testing.assert_allclose(totals, loss.totals(Y, F, w), rtol=1e-14 if dtype is np.float64 else 1e-6)
    for found, known in zip(directions, loss.directions(Y, F, w), strict=True):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, known, rtol=1e-14 if dtype is np.float64 else 1e-6)


@each_loss
@each_width
@given(cuts=st.lists(st.integers(0, 11), max_size=3))
@settings(max_examples=10)
def test_totals_of_parts_add_up(loss, m, cuts):
    Y, F, w = data(loss, 11, m)
    edges = [0, *sorted(cuts), 11]
    parts = [loss.totals(Y[a:b], F[a:b], w[a:b]) for a, b in itertools.pairwise(edges)]
    np.testing.assert_allclose(np.sum(parts, axis=0), loss.totals(Y, F, w), rtol=1e-12)
    assert all(part.dtype == np.float64 for part in parts)


@each_loss
@each_width
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nothing_overflows(loss, m, dtype):
    Y, F, w = (a.astype(dtype) for a in data(loss, 7, m))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        for scores in (1e4 * np.sign(F), -1e4 * np.sign(F), 1e4 * F, 0 * F):
            assert np.isfinite(value(loss, Y, scores, w))
            slopes = gradient(loss, Y, scores, w)
            assert slopes.shape == F.shape
            assert np.all(np.isfinite(slopes))


@each_loss
@each_width
def test_single_precision_stays_single(loss, m):
    Y, F, w = (a.astype(np.float32) for a in data(loss, 7, m))
    assert all(S.dtype == np.float32 for S in loss.directions(Y, F, w))
    np.testing.assert_allclose(value(loss, Y, F, w), value(loss, *data(loss, 7, m)), rtol=1e-5)


@each_width
def test_probabilities_sum_to_one_and_agree_with_scikit_learn(m):
    loss = Log()
    Y, F, w = data(loss, 30, m, scale=3.0)
    P = loss.probabilities(F)
    labels = (Y[:, 0] > 0).astype(int) if m == 1 else Y.argmax(axis=1)
    assert P.shape == (30, 2 if m == 1 else m)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert value(loss, Y, F, w) == pytest.approx(log_loss(labels, P, sample_weight=w[:, 0]), rel=1e-10)
    assert np.all(np.isfinite(loss.probabilities(1e4 * F)))


def test_real_losses_agree_with_scikit_learn():
    Y, F, w = data(Squared(), 30, 2)
    assert value(Squared(), Y, F, w) == pytest.approx(2 * mean_squared_error(Y, F, sample_weight=w[:, 0]))
    pinball = 2 * mean_pinball_loss(Y, F, alpha=0.3, sample_weight=w[:, 0])
    assert value(Quantile(0.3, 1e-9), Y, F, w) == pytest.approx(pinball)
    counts = cases.targets(Poisson(), 30, 1) + 1.0
    ours = value(Poisson(), counts, F[:, :1], w) - value(Poisson(), counts, np.log(counts), w)
    deviance = mean_poisson_deviance(counts[:, 0], Poisson().predict(F[:, 0]), sample_weight=w[:, 0])
    assert 2 * ours == pytest.approx(deviance)


@each_width
def test_cosine_is_the_mean_cosine_of_the_columns(m):
    loss = Cosine()
    Y, F, w = data(loss, 20, m)
    root = np.sqrt(w)
    cosines = [
        np.dot(root[:, 0] * y, root[:, 0] * f) / (np.linalg.norm(root[:, 0] * y) * np.linalg.norm(root[:, 0] * f))
        for y, f in zip(Y.T, F.T, strict=True)
    ]
    assert value(loss, Y, F, w) == pytest.approx(-np.mean(cosines))
    assert value(loss, Y, 17.0 * F, w) == pytest.approx(-np.mean(cosines))
    assert value(loss, Y, 3 * Y, w) == pytest.approx(-1.0)
    assert value(loss, Y, 0 * Y, w) == 0.0


def test_targets_are_checked_and_brought_to_the_scale_of_scores():
    with pytest.raises(ValueError, match="loss='poisson' needs non-negative targets; y has minimum -1"):
        Poisson().check_target(np.array([[2.0], [-1.0]]))
    with pytest.raises(ValueError, match="loss='poisson' needs a positive target; all of y is zero"):
        Poisson().check_whole_target(np.zeros((3, 1)))
    Poisson().check_target(np.zeros((3, 1)))
    Poisson().check_whole_target(np.array([[0.0], [2.0]]))
    Squared().check_target(np.array([[-1.0]]))
    working = Poisson().working_target(np.array([[0.0], [2.0], [4.0]]))
    np.testing.assert_allclose(working, np.log([[0.2], [2.0], [4.0]]))
    assert np.all(np.isfinite(Poisson().working_target(np.array([[0.0, 1.0], [0.0, 3.0]]))))
    Y = cases.targets(Squared(), 5, 2)
    np.testing.assert_array_equal(Squared().working_target(Y), Y)
    np.testing.assert_array_equal(Huber().predict(Y), Y)


def test_hazards_are_fitted_first_to_what_a_constant_score_leaves():
    Y = np.array([[0.2], [-0.2], [3.0], [-0.7]])  # the sign is the event's
    residual = -losses.Hazard().slope(Y, np.zeros((4, 1)))
    np.testing.assert_allclose(losses.Hazard().working_target(Y), np.clip(residual, -1.0, 1.0))
    np.testing.assert_allclose(residual.ravel(), [0.8, -0.2, -2.0, -0.7])


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.2])
def test_quantile_must_lie_inside(bad):
    with pytest.raises(ValueError, match=f"quantile of loss must lie between 0 and 1; got {bad}"):
        Quantile(bad).check("loss")


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_a_loss_is_free_of_scale_exactly_if_it_says_so(name):
    loss, rng = LOSSES.part(name, "loss"), np.random.default_rng(0)
    Y = np.sign(rng.standard_normal((20, 1))) if loss.target == "signs" else rng.uniform(0.5, 2.0, (20, 1))
    F, w = rng.standard_normal((20, 1)), rng.uniform(0.5, 2.0, (20, 1))
    values = [loss.value(loss.totals(Y, c * F, w)) for c in (1.0, 3.0)]
    assert loss.scale_free == (abs(values[1] - values[0]) < 1e-9)


def test_the_cosine_does_not_need_targets_of_one_size():
    """Signs are all of size one; as a function of any targets it is the cosine of the angle."""
    rng = np.random.default_rng(0)
    Y, F, w = rng.standard_normal((15, 2)), rng.standard_normal((15, 2)), rng.uniform(0.5, 2.0, (15, 1))
    loss = losses.Cosine()
    a, b = np.sqrt(w) * Y, np.sqrt(w) * F
    want = -np.mean((a * b).sum(axis=0) / np.linalg.norm(a, axis=0) / np.linalg.norm(b, axis=0))
    assert loss.value(loss.totals(Y, F, w)) == pytest.approx(want, rel=1e-12)
    mixed = zip(loss.mix(loss.totals(Y, F, w)), loss.directions(Y, F, w), strict=True)
    gradient = sum(amount * direction for amount, direction in mixed)
    for i, k in ((0, 0), (3, 1), (14, 0)):
        step = np.zeros_like(F)
        step[i, k] = 1e-6
        up, down = (loss.value(loss.totals(Y, F + sign * step, w)) for sign in (1, -1))
        assert gradient[i, k] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-9)


def test_the_best_scale_of_the_cosine_is_one_where_nothing_is_known():
    loss = losses.Cosine()
    totals = np.array([[1.0, -1.0, 1.0, -1.0], [2.0, 2.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    np.testing.assert_allclose(loss.best_scale(totals), [0.5, 1.0, 1.0, 1.0])


def test_poisson_goes_on_as_a_straight_line():
    loss, Y = losses.Poisson(), np.full((3, 1), 2.0)
    F = np.array([[29.0], [30.0], [33.0]])
    line = np.exp(30.0)
    np.testing.assert_allclose(loss.pointwise(Y, F).ravel(), [np.exp(29.0) - 58, line - 60, 4 * line - 66])
    np.testing.assert_allclose(loss.slope(Y, F).ravel(), [np.exp(29.0) - 2, line - 2, line - 2])


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_logarithms_of_probabilities(labels, m):
    F = np.array([[-1.0, 0.5, 2.0], [3.0, -0.25, 0.0]])[:, :m]
    loss = losses.Log().for_labels(labels)
    np.testing.assert_allclose(loss.log_probabilities(F), np.log(loss.probabilities(F)), rtol=1e-12)
    assert np.all(np.isfinite(loss.log_probabilities(1e3 * F)))


@pytest.mark.parametrize("name", sorted(name for name, loss in LOSSES.items() if loss.target == "real"))
def test_a_loss_is_robust_exactly_if_far_targets_pull_no_more_than_near_ones(name):
    loss, F = LOSSES.part(name, "loss"), np.zeros((1, 1))
    near, far = (np.abs(loss.slope(np.full((1, 1), y), F)).item() for y in (100.0, 1e6))
    assert loss.robust == (far <= near * (1 + 1e-9))


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_a_loss_has_parts_of_samples_exactly_if_it_returns_them(name):
    loss, Y = LOSSES.part(name, "loss"), np.ones((3, 1))
    if loss.has_pointwise:
        parts = loss.pointwise(Y, np.zeros((3, 1)))
        total = loss.value(loss.totals(Y, np.zeros((3, 1)), np.full((3, 1), 1 / 3)))
        assert parts.mean() == pytest.approx(total)
    else:
        assert loss.coupled


def test_a_loss_that_tells_nothing_of_itself_is_not_cut_into_batches():
    assert losses.Loss.coupled and not losses.SumLoss.coupled
