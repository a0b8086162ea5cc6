"""Real targets in the units that are learned: centres and deviations by their definitions."""

import numpy as np
import pytest

from spkm.core.targets import Real
from spkm.losses import Huber, Poisson, Squared

Y = np.random.default_rng(0).exponential(size=(41, 2)) * [1e3, 1e-5] + [0.0, 1.0]
REPEATS = np.random.default_rng(1).integers(1, 4, 41)


def median_and_deviation(y, centre):
    middle = np.median(y, axis=0) if centre else np.zeros(y.shape[1])
    return middle, 1.4826 * np.median(np.abs(y - middle), axis=0)


def mean_and_deviation(y, centre):
    middle = y.mean(axis=0) if centre else np.zeros(y.shape[1])
    return middle, np.sqrt(np.mean((y - middle) ** 2, axis=0))


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize(("loss", "by_hand"), [(Squared(), mean_and_deviation), (Huber(), median_and_deviation)])
def test_targets_are_standardised_as_repeated_samples_are(loss, by_hand, centre):
    repeated = np.repeat(Y, REPEATS, axis=0)
    repeated = repeated[: len(repeated) - 1 + len(repeated) % 2]  # an odd number has one median
    weight = REPEATS - (len(repeated) < REPEATS.sum()) * (np.arange(41) == 40)
    assert weight.sum() == len(repeated) and weight.min() >= 0
    found = Real.of(Y, weight.astype(float), loss, centre)
    middle, deviation = by_hand(repeated, centre)
    np.testing.assert_allclose(found.mean, middle, rtol=1e-12)
    np.testing.assert_allclose(found.scale, deviation, rtol=1e-9)
    assert found.two_dimensional and np.isnan(found.constant).all()
    assert not Real.of(Y[:, 0], weight.astype(float), loss, centre).two_dimensional


@pytest.mark.parametrize("loss", [Squared(), Huber()], ids=str)
def test_a_constant_output_is_not_learned_unless_zero_must_stay_zero(loss):
    constant = np.column_stack([Y[:, 0], np.full(41, 7e4)])
    found = Real.of(constant, np.full(41, 2.0), loss, True)
    assert np.isnan(found.constant[0]) and found.constant[1] == pytest.approx(7e4)
    assert len(found.mean) == 1
    assert np.isnan(Real.of(constant, np.full(41, 2.0), loss, False).constant).all()


def test_a_link_leaves_targets_as_they_are():
    found = Real.of(Y, np.full(41, 2.0), Poisson(), True)
    np.testing.assert_array_equal(found.encode(Y), Y)
