"""Recipes at the borders of their conditions: which one a fit would take, from what it logs first."""

import logging

import numpy as np
import pytest

from spkm import SPKMClassifier, SPKMRegressor
from spkm.fitting.recipes import folds, steps
from spkm.penalties import Evidence, L1Ball, SquaredL2


class Chosen(BaseException):
    """Ends a fit when its recipe is known."""


class Ending(logging.Handler):
    """Ends a fit at the first line that it logs."""

    def emit(self, record):
        raise Chosen(record.getMessage().split(" by recipe ")[1])


def recipe_of(estimator, n, d):
    """Return the name of the recipe that a fit of n samples of d features takes; nothing is fitted."""
    X = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)
    y = np.arange(n) % 2 if isinstance(estimator, SPKMClassifier) else np.abs(X[:, 0])
    logger, handler = logging.getLogger("spkm"), Ending()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with pytest.raises(Chosen) as caught:
            estimator.set_params(verbose=1, random_state=0).fit(X, y)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    return str(caught.value)


def test_the_span_is_for_more_features_than_samples():
    assert recipe_of(SPKMRegressor(3), 12, 12) == "evidence"
    assert recipe_of(SPKMRegressor(3), 12, 13) == "span"
    assert recipe_of(SPKMClassifier(3), 12, 48) == "folds"
    assert recipe_of(SPKMClassifier(3), 12, 49) == "span"


@pytest.mark.parametrize(
    "settings",
    [
        {"learn_bandwidth": False},
        {"learn_bandwidth": "columns"},
        {"start": np.zeros((3, 60), dtype=np.float32)},
        {"basis_penalty": "l1"},
        {"kernel": "laplacian"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_the_span_is_for_one_bandwidth_and_nothing_given(settings):
    assert recipe_of(SPKMRegressor(3), 12, 60) == "span"
    assert recipe_of(SPKMRegressor(3, **settings), 12, 60) != "span"


def test_folds_need_samples_and_little_work():
    assert recipe_of(SPKMClassifier(2), 5, 2) == "fixed"
    assert recipe_of(SPKMClassifier(2), 6, 2) == "folds"
    assert recipe_of(SPKMClassifier(100), 1000, 1000) == "folds"  # 1e8 multiplications
    assert recipe_of(SPKMClassifier(100), 1000, 1001) == "fixed"
    assert recipe_of(SPKMClassifier(100), 6000, 200) == "folds"  # of 5,000 samples
    assert recipe_of(SPKMClassifier(100), 6000, 201) == "fixed"


@pytest.mark.parametrize(
    ("settings", "recipe"),
    [
        ({}, "folds"),
        ({"solver": "adam"}, "folds"),
        ({"solver": "lbfgs"}, "folds"),
        ({"solver": "proximal"}, "fixed"),
        ({"loss": "cosine"}, "fixed"),
        ({"loss": "squared"}, "fixed"),
        ({"loss": "exponential"}, "folds"),
        ({"weight_penalty": "l2"}, "fixed"),
        ({"basis_penalty": L1Ball(2.0)}, "fixed"),
    ],
    ids=str,
)
def test_folds_are_for_a_sum_over_samples_with_a_free_strength(settings, recipe):
    assert recipe_of(SPKMClassifier(3, **settings), 30, 2) == recipe


@pytest.mark.parametrize(
    ("settings", "recipe"),
    [
        ({}, "evidence"),
        ({"solver": "varpro"}, "evidence"),
        ({"weight_penalty": "evidence"}, "evidence"),
        ({"weight_penalty": Evidence(noise=0.1), "solver": "lbfgs"}, "evidence"),
        ({"weight_penalty": "rkhs"}, "fixed"),
        ({"solver": "lbfgs"}, "fixed"),
        ({"basis_penalty": "l2"}, "evidence"),
        ({"basis_penalty": "l1"}, "fixed"),
        ({"kernel": "linear"}, "evidence"),
        ({"kernel": "linear", "learn_bandwidth": True}, "fixed"),
        ({"monotone": {0: 1}}, "monotone"),
        ({"loss": "huber"}, "squared warm-up"),
        ({"loss": "quantile"}, "squared warm-up"),
        ({"loss": "huber", "start": "rows"}, "fixed"),
        ({"loss": "huber", "learn_bandwidth": False}, "fixed"),
        ({"loss": "huber", "solver": "proximal"}, "fixed"),
        ({"loss": "huber", "linear_part": True}, "fixed"),
        ({"loss": "poisson"}, "fixed"),
    ],
    ids=str,
)
def test_the_evidence_is_for_a_squared_loss_and_what_can_be_eliminated(settings, recipe):
    assert recipe_of(SPKMRegressor(3, **settings), 30, 2) == recipe


def test_batches_of_classes_begin_with_the_defaults_of_folds():
    whole = folds.Folds(folds.USUAL).defaults(None, None)
    assert steps.Steps(adaptive=True, relevances=False).defaults(None, None) == whole


def test_an_evidence_that_is_given_goes_with_a_squared_loss_and_no_other_penalty():
    X, y = np.arange(8.0)[:, None], np.arange(8.0)
    with pytest.raises(ValueError, match="needs loss='squared'; got loss='huber'"):
        SPKMRegressor(2, weight_penalty="evidence", loss="huber").fit(X, y)
    with pytest.raises(ValueError, match="goes with no other penalty on the weights"):
        SPKMRegressor(2, weight_penalty=[Evidence(), SquaredL2(0.1)]).fit(X, y)
