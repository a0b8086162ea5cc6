"""The rule: the smallest model that is as good as the best, by held-out rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spkm.selection import DEFAULTS, mean_and_error, simplest_as_good
from tests import cases

few = settings(max_examples=60)
seeds = st.integers(0, 10_000)
shares = st.sampled_from([0.0, 0.02, DEFAULTS.share, np.inf])


def draw(seed, n_models=6, n_rows=20):
    """Return losses of some models on the same rows, their sizes and weights of the rows."""
    rng = np.random.default_rng(seed)
    common = rng.exponential(size=n_rows)
    losses = [cases.frozen(common * rng.uniform(0.9, 1.1) + 0.2 * rng.random(n_rows)) for _ in range(n_models)]
    return losses, rng.permutation(n_models), rng.integers(1, 4, n_rows)


@few
@given(seeds)
def test_weights_are_repeats_of_rows(seed):
    losses, sizes, weight = draw(seed)
    repeated = [np.repeat(row, weight) for row in losses]
    ones = np.ones(weight.sum())
    for row, again in zip(losses, repeated, strict=True):
        mean, error = mean_and_error(row, weight)
        assert mean == pytest.approx(again.mean())
        # A row of weight w is one draw of weight w, not w draws: the error can only be larger.
        assert error >= mean_and_error(again, ones)[1] - 1e-12
    assert simplest_as_good(losses, sizes, weight, 0.1)[1] == simplest_as_good(repeated, sizes, ones, 0.1)[1]


@few
@given(seeds, shares)
def test_the_unit_of_weights_and_losses_and_the_order_of_models_do_not_matter(seed, share):
    losses, sizes, weight = draw(seed)
    chosen, best = simplest_as_good(losses, sizes, weight, share)
    assert simplest_as_good(losses, sizes, 8.0 * weight, share) == (chosen, best)
    assert simplest_as_good([4.0 * row for row in losses], sizes, weight, share) == (chosen, best)
    order = np.random.default_rng(seed + 1).permutation(len(losses))
    again = simplest_as_good([losses[i] for i in order], sizes[order], weight, share)
    assert (order[again[0]], order[again[1]]) == (chosen, best)


def test_the_error_of_equal_weights_is_that_of_the_mean():
    row = np.random.default_rng(0).standard_normal(30)
    mean, error = mean_and_error(row, np.full(30, 2.5))
    assert mean == pytest.approx(row.mean())
    assert error == pytest.approx(row.std() / np.sqrt(30))


@few
@given(seeds, shares)
def test_the_choice_obeys_the_rule_and_no_smaller_model_does(seed, share):
    losses, sizes, weight = draw(seed)
    chosen, best = simplest_as_good(losses, sizes, weight, share)
    means = [np.average(row, weights=weight) for row in losses]
    assert means[best] == pytest.approx(min(means), rel=1e-12)
    assert sizes[chosen] <= sizes[best]

    def as_good(i):
        difference = losses[i] - losses[best]
        part = weight / weight.sum()
        mean = part @ difference
        error = np.sqrt(np.sum((part * (difference - mean)) ** 2))
        return mean <= error and mean <= share * abs(means[best])

    assert chosen == best or as_good(chosen)
    assert not any(as_good(i) and sizes[i] < sizes[chosen] for i in range(len(losses)))


@few
@given(seeds, shares)
def test_the_best_is_taken_where_nothing_is_uncertain(seed, share):
    # Losses that differ by a constant leave no error, so nothing smaller is as good.
    _, sizes, weight = draw(seed)
    rng = np.random.default_rng(seed)
    common = np.round(8 * rng.exponential(size=len(weight))) / 8  # sums without rounding
    losses = [common + offset for offset in rng.permutation(len(sizes)) / 8]
    chosen, best = simplest_as_good(losses, sizes, weight, share)
    assert best == np.argmin([row[0] for row in losses])
    assert chosen == best or np.mean(losses[chosen]) - np.mean(losses[best]) < 1e-9


def test_of_equal_models_the_smallest_is_best():
    row = np.random.default_rng(0).random(10)
    assert simplest_as_good([row, row.copy(), row.copy()], np.array([5, 2, 3]), np.ones(10), 0.1) == (1, 1)


def test_little_is_given_away_where_rows_are_few():
    # A standard error of four rows is much more than a tenth of the best loss.
    best, worse = np.full(4, 0.1), np.array([0.0, 0.5, 0.0, 0.1])
    mean, error = mean_and_error(worse - best, np.ones(4))
    assert 0.01 < mean < error
    assert simplest_as_good([best, worse], np.array([5, 1]), np.ones(4), 0.1) == (0, 0)
    assert simplest_as_good([best, worse], np.array([5, 1]), np.ones(4), 1.0) == (1, 0)


def test_scores_may_be_negative_losses():
    best, worse = np.array([-0.9, -0.8, -0.91]), np.array([-0.9, -0.82, -0.88])
    assert simplest_as_good([best, worse], np.array([5, 1]), np.ones(3), 0.02) == (1, 0)
    assert simplest_as_good([best, worse + 0.1], np.array([5, 1]), np.ones(3), 0.02) == (0, 0)
