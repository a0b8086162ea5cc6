"""Weights of samples: integers are repeats, and only the ratios of others count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import AdaBoostRegressor

from spkm import SPKMClassifier, SPKMRegressor
from tests.small_data import curve, two_classes

QUICK = {"n_basis": 4, "n_jobs": 1, "random_state": 0}


def fitted(X, y, weight, **params):
    return SPKMRegressor(**QUICK, max_iter=15, tol=1e-6, **params).fit(X, y, sample_weight=weight).predict(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    factor=st.floats(1e-300, 1e300),
    penalty=st.sampled_from(["auto", "rkhs"]),
)
def test_only_the_ratios_of_weights_count(seed, factor, penalty):
    X, y = curve(40)
    weight = np.random.default_rng(seed).uniform(0.1, 1.0, len(y)) + 1e-3
    scale = np.float64(2.0) ** np.round(np.log2(factor) / 2)  # a power of two rounds nothing
    base = fitted(X, y, weight, weight_penalty=penalty)
    np.testing.assert_allclose(fitted(X, y, weight * scale, weight_penalty=penalty), base, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), penalty=st.sampled_from(["auto", "rkhs"]))
def test_whole_weights_are_repeats(seed, penalty):
    X, y = curve(40)
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    weight[:8] = 1
    repeated = np.repeat(np.arange(len(y)), weight)
    model = SPKMRegressor(**QUICK, max_iter=15, weight_penalty=penalty)
    by_weight = model.fit(X, y, sample_weight=weight).predict(X)
    np.testing.assert_array_equal(model.fit(X[repeated], y[repeated]).predict(X), by_weight)


@pytest.mark.parametrize("total", [1.0, 1e-300, 1e300])
@pytest.mark.parametrize("make", [SPKMRegressor, SPKMClassifier])
def test_weights_that_sum_to_one_fit_as_weights_of_one(make, total):
    X, y = curve() if make is SPKMRegressor else two_classes()
    model = make(**QUICK)
    plain = model.fit(X, y).score(X, y)
    assert model.fit(X, y, sample_weight=np.full(len(y), total / len(y))).score(X, y) == pytest.approx(plain, abs=0.02)
    assert plain > 0.9


def test_boosting_hands_over_weights_that_sum_to_one():
    X, y = curve()
    boosted = AdaBoostRegressor(SPKMRegressor(**QUICK), n_estimators=2, random_state=0).fit(X, y)
    assert boosted.score(X, y) > 0.9
