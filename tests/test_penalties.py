"""Penalties: a prox is a minimum, a projection is the nearest point, zeros are exact, gradients equal differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from spkm import penalties
from spkm.penalties import (
    L1,
    ElasticNet,
    GroupL2,
    L1Ball,
    Penalty,
    RKHSNorm,
    RowL2,
    SquaredL2,
    shrink_factors,
    soft_threshold,
)
from tests import cases

PROXIMAL = {name: p for name, p in cases.PENALTIES.items() if type(p).prox is not Penalty.prox}
SMOOTH = {name: p for name, p in cases.PENALTIES.items() if type(p).gradient is not Penalty.gradient}
each_prox = pytest.mark.parametrize("penalty", PROXIMAL.values(), ids=PROXIMAL)
matrices = arrays(float, (3, cases.N_FEATURES), elements=st.floats(-5, 5).map(lambda x: round(x, 3)))


def cost(penalty, A, B, step):
    return 0.5 * np.sum((B - A) ** 2) + step * penalty.value(B)


def test_every_penalty_is_smooth_or_has_a_prox():
    assert set(PROXIMAL) | set(SMOOTH) == set(cases.PENALTIES)
    assert not set(PROXIMAL) & set(SMOOTH)


@each_prox
@given(A=matrices, step=st.floats(0.01, 3.0), seed=st.integers(0, 1000))
@settings(max_examples=10)
def test_prox_beats_its_neighbours(penalty, A, step, seed):
    A.setflags(write=False)
    B = penalty.prox(A, step)
    best = cost(penalty, A, B, step)
    assert np.isfinite(best)
    rng = np.random.default_rng(seed)
    for k in range(200):
        neighbour = B + 10.0 ** -(k % 4) * rng.standard_normal(B.shape) * (rng.random(B.shape) < 0.5)
        assert cost(penalty, A, neighbour, step) >= best - 1e-9 * (1 + abs(best))
    assert cost(penalty, A, A, step) >= best - 1e-9 * (1 + abs(best))


@each_prox
@given(A=matrices, B=matrices, step=st.floats(0.01, 3.0))
@settings(max_examples=20)
def test_prox_is_firmly_nonexpansive(penalty, A, B, step):
    difference = penalty.prox(A, step) - penalty.prox(B, step)
    assert np.sum(difference**2) <= np.sum(difference * (A - B)) + 1e-9


def bounds(seed, *, around_zero):
    """Return bounds of every entry, some of them infinite or equal, in l1 balls of radius 1.5 or with zero inside."""
    rng = np.random.default_rng(seed)
    low = rng.uniform(-2.0, 0.3, (3, cases.N_FEATURES))
    high = low + rng.choice([0.0, 0.5, 3.0], low.shape)
    if around_zero:
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    else:  # zero may be outside of some, but the ball is not
        low[np.arange(3), rng.integers(cases.N_FEATURES, size=3)] = 0.1
    low, high = np.clip(low, -0.35, 0.35), np.clip(high, -0.35, np.inf)
    low[rng.random(low.shape) < 0.2], high[rng.random(low.shape) < 0.2] = -np.inf, np.inf
    return low, np.maximum(low, high)


@each_prox
@given(A=matrices, step=st.floats(0.01, 3.0), seed=st.integers(0, 1000), around_zero=st.booleans())
@settings(max_examples=8)
def test_prox_within_bounds_beats_a_thousand_points_there(penalty, A, step, seed, around_zero):
    A.setflags(write=False)
    low, high = bounds(seed, around_zero=around_zero)
    if getattr(penalty, "nonnegative", False):
        high = np.maximum(high, 0.0)
    B = penalty.prox_within(A, step, low, high)
    assert np.all(B >= low)
    assert np.all(B <= high)
    best = cost(penalty, A, B, step)
    assert np.isfinite(best)
    rng = np.random.default_rng(seed)
    costs = np.empty(1000)
    for k in range(1000):
        point = np.clip(B + 10.0 ** -(k % 5) * rng.standard_normal(B.shape), low, high)
        if getattr(penalty, "nonnegative", False):
            point = np.maximum(point, 0.0)
        if isinstance(penalty, L1Ball):  # on the way from B to the point as far as the ball goes
            share = 1.0
            while np.any(np.abs(B + share * (point - B)).sum(axis=1) > penalty.radius) and share > 1e-6:
                share *= 0.5
            point = B + share * (point - B) if share > 1e-6 else B
        costs[k] = cost(penalty, A, point, step)
    assert np.all(costs >= best - 1e-9 * (1 + abs(best)))
    assert np.isfinite(costs).mean() > 0.9


@each_prox
@given(A=matrices, step=st.floats(0.01, 3.0), seed=st.integers(0, 1000), around_zero=st.booleans())
@settings(max_examples=20)
def test_formulas_with_bounds_end_where_dykstra_does(penalty, A, step, seed, around_zero):
    low, high = bounds(seed, around_zero=around_zero)
    if getattr(penalty, "nonnegative", False):
        high = np.maximum(high, 0.0)
    exact, by_rounds = penalty.prox_within(A, step, low, high), Penalty.prox_within(penalty, A, step, low, high)
    # Rounds end slowly where zero is nearly the minimum: their point is close, and never better.
    np.testing.assert_allclose(exact, by_rounds, atol=1e-3)
    assert cost(penalty, A, exact, step) <= cost(penalty, A, by_rounds, step) + 1e-8
    np.testing.assert_allclose(penalty.prox_within(A, step, -np.inf, np.inf), penalty.prox(A, step), atol=1e-12)


@pytest.mark.parametrize(("penalty", "gain"), [(L1Ball(2.0), 0.05), (GroupL2(1.0), 0.003), (RowL2(1.0), 0.01)], ids=str)
def test_bounds_after_the_prox_would_be_worse(penalty, gain):
    A = cases.frozen(np.array([[3.0, 2.0, -0.5], [0.2, 2.0, 1.5]]))
    clipped = np.clip(penalty.prox(A, 1.0), -0.6, 0.6)
    exact = penalty.prox_within(A, 1.0, -0.6, 0.6)
    assert cost(penalty, A, exact, 1.0) < cost(penalty, A, clipped, 1.0) - gain


def test_l1_ball_that_the_bounds_do_not_reach_is_refused():
    A = np.zeros((2, 3))
    low = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, -1.0]])
    np.testing.assert_allclose(L1Ball(1.5).prox_within(A, 1.0, low, np.inf), np.maximum(low, 0.0))
    np.testing.assert_allclose(L1Ball(1.5).prox_within(A + 5.0, 1.0, low, np.inf)[1], [1.0, 0.5, 0.0], atol=1e-12)
    with pytest.raises(ValueError, match=r"radius of L1Ball must be at least .* 1\.5; got 1\.2\. Raise it"):
        L1Ball(1.2).prox_within(A, 1.0, low, np.inf)


class Shifted(L1):
    """An l1 norm around one: a prox of its own, without a formula for bounds."""

    def value(self, A):
        return super().value(A - 1.0)

    def prox(self, A, step):
        return 1.0 + super().prox(A - 1.0, step)


class WithNorm(Shifted):
    """Another one, whose entries are coupled."""

    def value(self, A):
        return np.linalg.norm(A, axis=1).sum()

    def prox(self, A, step):
        return RowL2(1.0).prox(A, step)


def test_penalties_of_ones_own_have_an_exact_prox_within_bounds():
    A = cases.frozen(np.array([[3.0, -2.0, 0.5], [0.2, 2.0, 1.5]]))
    np.testing.assert_allclose(
        Shifted(0.5).prox_within(A, 1.0, -0.6, 0.6), np.clip(Shifted(0.5).prox(A, 1.0), -0.6, 0.6), atol=1e-9
    )
    expected = RowL2(1.0).prox_within(A, 0.7, -0.6, 0.6)
    np.testing.assert_allclose(WithNorm().prox_within(A, 0.7, -0.6, 0.6), expected, atol=1e-9)


@given(A=matrices, step=st.floats(0.01, 3.0))
@settings(max_examples=30)
def test_moreau_identity(A, step):
    # The conjugate of a norm is the ball of its dual: what the prox takes off is a projection onto that ball.
    a = 0.4 * step
    np.testing.assert_allclose(A - L1(0.4).prox(A, step), np.clip(A, -a, a), atol=1e-12)
    norms = np.linalg.norm(A, axis=1, keepdims=True)
    np.testing.assert_allclose(
        A - RowL2(0.4).prox(A, step), A * np.minimum(1, a / np.maximum(norms, 1e-300)), atol=1e-12
    )
    norms = np.linalg.norm(A, axis=0)
    np.testing.assert_allclose(
        A - GroupL2(0.4).prox(A, step), A * np.minimum(1, a / np.maximum(norms, 1e-300)), atol=1e-12
    )


@given(A=matrices, radius=st.floats(0.05, 8.0), step=st.floats(0.01, 3.0))
@settings(max_examples=50)
def test_projection_onto_the_l1_ball(A, radius, step):
    penalty = L1Ball(radius)
    B = penalty.prox(A, step)
    assert penalty.value(B) == 0.0
    np.testing.assert_allclose(penalty.prox(B, 1.0), B, atol=1e-12)
    for a, b in zip(A, B, strict=True):
        if np.abs(a).sum() <= radius:
            np.testing.assert_array_equal(a, b)
            continue
        threshold = brentq(lambda t, a=a: np.maximum(np.abs(a) - t, 0).sum() - radius, 0, np.abs(a).max(), xtol=1e-13)
        np.testing.assert_allclose(b, np.sign(a) * np.maximum(np.abs(a) - threshold, 0), atol=1e-10)
    assert L1Ball(radius).value(B + 10 * radius) == np.inf


@pytest.mark.parametrize("radius", [0.0, 1e-18])
def test_l1_ball_of_next_to_no_radius(radius):
    A = cases.frozen(np.array([[3.0, -1.0, 0.5], [2.0, 2.0, -2.0], [0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(L1Ball(radius).prox(A, 1.0), np.zeros_like(A), atol=2e-18)
    assert L1Ball(radius).value(np.zeros_like(A)) == 0.0


@each_prox
def test_prox_makes_exact_zeros_and_leaves_its_input(penalty):
    A = np.outer([1.0, -0.5, 0.01], [3.0, -1.0, 0.1, 0.02])
    before = A.copy()
    shrunk = penalty.prox(A, 0.5)
    np.testing.assert_array_equal(A, before)
    assert not np.shares_memory(shrunk, A)
    assert 0 < np.count_nonzero(shrunk) < A.size
    np.testing.assert_array_equal(penalty.support(shrunk), shrunk != 0)
    assert not np.any(penalty.prox(np.zeros((2, cases.N_FEATURES)), 0.5))


def test_groups_leave_as_a_whole():
    A = cases.frozen(np.array([[0.1, 2.0, -0.1, 0.3], [0.1, 0.0, 0.2, -0.2]]))
    columns = GroupL2(1.0).prox(A, 0.5)
    np.testing.assert_array_equal(columns != 0, [[False, True, False, False], [False, False, False, False]])
    # |first and third column| = 0.26 < 0.2 sqrt(2) goes; the last column, 0.36 > 0.2, stays.
    grouped = GroupL2(1.0, cases.GROUPS).prox(A, 0.2)
    np.testing.assert_array_equal(np.any(grouped != 0, axis=0), [False, True, False, True])
    # With four fifths on the entries, 0.2 of the last column goes alone.
    sparse_groups = GroupL2(1.0, cases.GROUPS, l1_ratio=0.8).prox(A, 0.26)
    np.testing.assert_array_equal(sparse_groups != 0, [[False, True, False, True], [False, False, False, False]])
    rows = RowL2(1.0).prox(A.T, 0.5)
    np.testing.assert_array_equal(rows, columns.T)
    assert GroupL2(2.0, cases.GROUPS).value(A) == pytest.approx(2 * (np.sqrt(2) * np.sqrt(0.07) + 2.0 + np.sqrt(0.13)))
    with pytest.raises(ValueError, match="groups must hold one label for each of the 4 features; got "):
        GroupL2(1.0, [0, 1]).value(A)


@given(A=matrices, step=st.floats(0.01, 3.0), l1_ratio=st.sampled_from([0.0, 0.4]))
@settings(max_examples=20)
def test_columns_without_groups_are_groups_of_one(A, step, l1_ratio):
    alone, labelled = GroupL2(0.3, None, l1_ratio), GroupL2(0.3, ("d", "b", "c", "a"), l1_ratio)
    assert alone.value(A) == pytest.approx(labelled.value(A))
    np.testing.assert_allclose(alone.prox(A, step), labelled.prox(A, step), rtol=1e-12)


def test_values_worked_by_hand():
    A = cases.frozen(np.array([[3.0, -4.0], [0.0, 1.0]]))
    assert SquaredL2(0.5).value(A) == pytest.approx(6.5)
    assert L1(0.5).value(A) == pytest.approx(4.0)
    assert L1(0.5, nonnegative=True).value(A) == np.inf
    assert L1(0.5, nonnegative=True).value(np.abs(A)) == pytest.approx(4.0)
    assert ElasticNet(2.0, 0.25).value(A) == pytest.approx(2 * (0.25 * 8 + 0.75 * 13))
    assert GroupL2(1.0).value(A) == pytest.approx(3 + np.sqrt(17))
    assert RowL2(1.0).value(A) == pytest.approx(6.0)
    assert L1Ball(7.0).value(A) == 0.0
    assert L1Ball(6.9).value(A) == np.inf


@pytest.mark.parametrize("penalty", SMOOTH.values(), ids=SMOOTH)
def test_gradient_equals_differences(penalty):
    A = cases.basis(3)
    assert cases.slope_error(penalty.value, penalty.gradient(A), A) < 1e-8


def test_rkhs_norm_and_its_derivatives():
    rng = np.random.default_rng(0)
    C, root = rng.standard_normal((3, 2)), rng.standard_normal((3, 3))
    K = root @ root.T
    penalty = RKHSNorm(0.6)
    value, dC, dK = penalty.value_of_gram(C, K)
    assert value == pytest.approx(0.3 * sum(c @ K @ c for c in C.T))
    assert cases.slope_error(lambda c: penalty.value_of_gram(c, K)[0], dC, C) < 1e-8
    assert cases.slope_error(lambda k: penalty.value_of_gram(C, k)[0], dK, K) < 1e-8


def test_rows_of_any_size_within_bounds_of_any_size_meet_their_condition():
    # With r = |b|, a row that is not zero is b = clip(a r / (r + 1), low, high); some need halves of a bracket.
    rng = np.random.default_rng(0)
    shape = (40_000, 4)
    scale = 10.0 ** rng.uniform(-3, 3, (40_000, 1))
    A = scale * rng.standard_normal(shape) * 10.0 ** rng.uniform(-1, 3, shape)
    sign = np.where(rng.random(shape) < 0.3, 1.0, -1.0)
    low = scale * sign * np.abs(rng.standard_normal(shape)) * 10.0 ** rng.uniform(-3, 2, shape)
    high = low + scale * 10.0 ** rng.uniform(-3, 3, shape)
    B = RowL2(1.0).prox_within(A, 1.0, low, high)
    r = np.linalg.norm(B, axis=1, keepdims=True)
    assert np.mean(r > 0) > 0.9 and np.mean(np.any((low < B) & (B < high), axis=1)) > 0.2
    np.testing.assert_allclose(B, np.clip(A * r / (r + 1), low, high) * (r > 0), rtol=1e-6)


def test_thresholds_of_numbers_next_to_nothing():
    np.testing.assert_array_equal(soft_threshold(np.array([-2.0, 0.5, 0.0]), 1.0), [-1.0, 0.0, 0.0])
    np.testing.assert_array_equal(shrink_factors(np.array([0.0, 1e-310, 4.0]), 1.0), [0.0, 0.0, 0.75])


def test_projection_of_wide_rows_in_single_precision_stays_inside():
    A = np.random.default_rng(0).standard_normal((8, 20_000)).astype(np.float32)
    penalty = L1Ball(6000.0)
    assert penalty.value(penalty.prox(A, 1.0).astype(np.float64)) == 0.0


@pytest.mark.parametrize("name", ["linear_variance", "noise"])
def test_variances_of_the_evidence_are_positive(name):
    with pytest.raises(ValueError, match=name):
        penalties.Evidence(**{name: 0.0}).check("weight_penalty")
