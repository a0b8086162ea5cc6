"""Intervals of figures of quality hold what they say, for few samples and at the edges too."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, multinomial, norm, rankdata

from spkm.inspection._intervals import (
    FEWEST,
    area_interval,
    area_under_curve,
    mean_difference,
    mean_gap,
    mean_share_interval,
    resampled_interval,
    share_difference,
    share_gap,
    share_interval,
)


def test_all_right_is_not_certainly_right():
    low, high = share_interval(14, 14)
    assert high == 1.0
    assert low == pytest.approx(0.7847, abs=1e-4)  # by hand: 14 / (14 + 1.96^2)
    assert share_interval(0, 14) == pytest.approx((0.0, 1 - low))
    assert np.isnan(share_interval(0, 0)).all()
    assert mean_share_interval([7, 7], [7, 7])[0] < 0.9
    assert area_interval(1.0, 7, 7)[0] < 0.9
    assert area_interval(1.0, 7, 7)[1] == 1.0


@pytest.mark.parametrize("n", [5, 14, 100])
def test_shares_are_held_as_often_as_said(n):
    ends = np.array([share_interval(k, n) for k in range(n + 1)])
    p = np.linspace(0.02, 0.98, 97)
    inside = (ends[:, 0, None] <= p) & (p <= ends[:, 1, None])
    held = (binom.pmf(np.arange(n + 1)[:, None], n, p) * inside).sum(axis=0)
    assert 0.94 < held.mean() < 0.98
    assert held.min() > 0.81  # Wilson's interval dips near 0 and 1, the bootstrap falls to 0 there


def test_means_of_shares_are_held_as_often_as_said():
    sizes, held = (6, 9), []
    for p in product([0.1, 0.5, 0.8, 0.95], repeat=2):
        total = 0.0
        for hits in product(range(sizes[0] + 1), range(sizes[1] + 1)):
            low, high = mean_share_interval(hits, sizes)
            total += np.prod(binom.pmf(hits, sizes, p)) * (low <= np.mean(p) <= high)
        held.append(total)
    assert 0.93 < np.mean(held) < 0.985
    assert np.isnan(mean_share_interval([0], [0])).all()
    assert mean_share_interval([3, 0], [9, 0]) == pytest.approx(share_interval(3, 9))


@pytest.mark.parametrize("area", [0.0, 0.2, 0.5, 0.9, 0.999, 1.0])
def test_areas_have_intervals_around_them_that_shrink(area):
    few, many = area_interval(area, 6, 9), area_interval(area, 600, 900)
    assert 0 <= few[0] <= many[0] <= area <= many[1] <= few[1] <= 1
    assert few[1] - few[0] > 5 * (many[1] - many[0])
    turned = area_interval(1 - area, 6, 9)
    assert (1 - turned[1], 1 - turned[0]) == pytest.approx(few, abs=0.05)


def test_areas_are_held_as_often_as_said():
    rng, held = np.random.default_rng(0), 0
    true = norm.cdf(np.sqrt(2))  # of normal scores two deviations apart
    for _ in range(400):
        a, b = rng.normal(2.0, 1.0, 15), rng.normal(0.0, 1.0, 15)
        low, high = area_interval(float((a[:, None] > b).mean()), 15, 15)
        held += low <= true <= high
    assert held / 400 > 0.92  # 3 standard errors below .95


def test_differences_of_shares_are_held_as_often_as_said():
    n, p = 12, (0.15, 0.05, 0.8)  # right by the first alone, by the second alone, by both or none
    total = 0.0
    for only_first in range(n + 1):
        for only_second in range(n + 1 - only_first):
            counts = (only_first, only_second, n - only_first - only_second)
            first, second = (np.repeat(part, counts) for part in ([True, False, True], [False, True, True]))
            value, low, high = share_difference(first, second)
            assert value == pytest.approx((only_first - only_second) / n)
            total += multinomial.pmf(counts, n, p) * (low <= p[0] - p[1] <= high)
    assert 0.93 < total < 0.995
    _, low, high = share_difference(np.ones(14, bool), np.ones(14, bool))
    assert low < -0.1 and high > 0.1  # equal on 14 samples is not equal


def test_differences_of_means_and_resampled_figures():
    rng = np.random.default_rng(1)
    apart = rng.normal(0.3, 1.0, 50)
    value, low, high = mean_difference(apart + 5.0, np.full(50, 5.0))
    assert value == pytest.approx(apart.mean())
    assert (high - low) / 2 == pytest.approx(2.0096 * apart.std(ddof=1) / np.sqrt(50), rel=1e-4)  # t with 49 degrees
    assert np.isnan(mean_difference(apart[:1], apart[:1])[1:]).all()
    low, high = resampled_interval(lambda rows: float(apart[rows].mean()), 50, 0)
    assert (high - low) / 2 == pytest.approx(1.96 * apart.std() / np.sqrt(50), rel=0.25)
    assert np.isnan(resampled_interval(lambda rows: 1.0, FEWEST - 1, 0)).all()
    assert np.isnan(resampled_interval(lambda rows: np.nan, 100, 0)).all()


def test_a_gap_of_shares_is_about_that_of_the_bootstrap_and_wider_for_more_pairs():
    rng = np.random.default_rng(0)
    first, second = rng.random(200) < 0.9, rng.random(150) < 0.75
    means = [rng.choice(part, (5000, len(part))).mean(axis=1) for part in (first, second)]
    assert share_gap(first, second)[1:] == pytest.approx(np.percentile(means[0] - means[1], [2.5, 97.5]), abs=0.02)
    for gap in (share_gap, mean_gap):
        one, six = gap(first, second), gap(first, second, 6)
        assert one[0] == six[0] and six[1] < one[1] and six[2] > one[2]
    assert share_gap(np.ones(20, bool), np.ones(20, bool))[1] < 0  # no sample wrong is no proof


def test_areas_are_those_of_rank_sums_to_the_bit():
    rng = np.random.default_rng(0)
    for decimals in range(5):  # many ties, and few
        score, inside = rng.standard_normal(200).round(decimals), rng.random(200) < 0.3
        n, m = int(inside.sum()), int((~inside).sum())
        assert area_under_curve(score, inside) == (rankdata(score)[inside].sum() - n * (n + 1) / 2) / (n * m)
