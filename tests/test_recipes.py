"""Recipes at the borders of their conditions: which one a fit would take, from what it logs first."""

import logging
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from spkm import PairwiseSPKMRegressor, SPKMClassifier, SPKMRegressor
from spkm.core.starts import KMeans
from spkm.fitting.recipes import folds, steps
from spkm.kernels import RBF
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
        ({"loss": "huber", "linear_part": False}, "squared warm-up"),
        ({"loss": "huber", "basis_penalty": "l2"}, "fixed"),
        ({"loss": "huber", "weight_penalty": "l2"}, "fixed"),
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


def table(n=80, d=3, seed=0):
    """Return samples, and targets that depend on the first two features."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, X[:, 0] + np.sin(2 * X[:, 1])


def metrics_of(estimator):
    """Return the metric of every view of a fitted model, the linear part's at the end."""
    return [view.metric for _, view in estimator.model_.model.views]


def log_factors(estimator):
    """Return the logarithms of the relevances, or of the bandwidth's factor, of the first view."""
    return estimator.model_.model.unpack(estimator.model_.theta).log_metric[0]


def test_strengths_of_folds_fall_in_even_steps_to_the_ends_that_the_recipe_names():
    steps = np.divide(folds.STRENGTHS[1:], folds.STRENGTHS[:-1])
    assert steps.min() == pytest.approx(0.3) and steps.max() == pytest.approx(1 / 3)
    linear = np.array(folds.LINEAR_STRENGTHS)
    np.testing.assert_allclose(linear / 0.25, [1.0, 0.1, 0.01, 0.001])
    assert (folds.STRENGTHS[folds.FIRST], folds.LINEAR_STRENGTHS[folds.FIRST_LINEAR]) == (0.1, 0.25)


@pytest.mark.parametrize(
    ("estimator", "metrics"),
    [
        (SPKMRegressor(3), ["relevances", "fixed"]),
        (SPKMClassifier(3), ["relevances", "fixed"]),
        (SPKMClassifier(3, weight_penalty="rkhs"), ["scale"]),
        (SPKMRegressor(3, kernel="linear"), ["fixed"]),
    ],
    ids=["real", "classes", "classes, a given penalty", "no stationary kernel"],
)
def test_batches_have_relevances_and_a_linear_part_where_a_whole_fit_would(estimator, metrics):
    X, y = table()
    of_classes = isinstance(estimator, SPKMClassifier)
    estimator.partial_fit(X, y > 0 if of_classes else y, **({"classes": [False, True]} if of_classes else {}))
    assert metrics_of(estimator) == metrics


@pytest.mark.parametrize(("n", "d", "metric"), [(40, 12, "scale"), (200, 3, "relevances")])
def test_a_warm_start_keeps_what_the_folds_chose(n, d, metric):
    X = np.random.default_rng(0).standard_normal((n, d))
    y = X[:, 0] * X[:, 1] > 0 if metric == "relevances" else X.sum(axis=1) > 0
    model = SPKMClassifier(3, warm_start=True, random_state=0).fit(X, y)
    known = model.model_.strength, model.model_.linear_strength
    for _ in range(2):
        assert metrics_of(model) == [metric, "fixed"]
        (penalty,) = model.model_.model.terms[-1].views[0].basis_penalty
        assert penalty.strength * n == pytest.approx(known[1])
        assert (model.model_.strength, model.model_.linear_strength) == known
        model.fit(X, y)


def test_a_warm_start_without_a_linear_part_has_none():
    X, y = table()
    model = SPKMClassifier(3, linear_part=False, warm_start=True, random_state=0).fit(X, y > 0)
    strength = model.model_.strength
    assert metrics_of(model.fit(X, y > 0)) == metrics_of(model) and len(metrics_of(model)) == 1
    assert model.model_.strength == strength and model.model_.linear_strength is None


def test_a_warm_start_far_from_all_vectors_begins_anew():
    X, y = table()
    model = SPKMRegressor(4, kernel=RBF(0.5), scale=False, weight_penalty="rkhs", warm_start=True, random_state=0)
    model.fit(X + 100.0, y)
    assert model.fit(X, y).score(X, y) > 0.8  # kernels of the first vectors are zero here, and so are their gradients
    near = model.objective_
    assert model.fit(X, y).objective_ <= near * (1 + 1e-9)


def test_a_robust_warm_start_keeps_the_relevances_of_little_noise():
    X, y = table()
    model = SPKMRegressor(3, loss="huber", warm_start=True, random_state=0).fit(X, y)
    before = log_factors(model).copy()
    assert model.model_.recipe == "squared warm-up" and np.ptp(before) > 1
    np.testing.assert_array_equal(log_factors(model.fit(X, y)), before)


def test_a_bandwidth_is_learned_in_the_span():
    X = np.random.default_rng(0).standard_normal((24, 150))
    model = SPKMRegressor(3, random_state=0).fit(X, X[:, 0])
    (factor,) = log_factors(model)
    assert model.model_.recipe == "span" and factor != 0.0 and metrics_of(model)[0] == "scale"


def test_a_search_by_the_evidence_has_no_ridge():
    X, y = table()
    model = SPKMRegressor(2, selection="strict", max_features=2, kernel="linear", random_state=0).fit(X, y)
    assert model.model_.recipe == "search" and model.model_.ridge == 0.0 and model.model_.noise > 0
    refits = model.with_uncertainty(X, y, n_refits=2, random_state=0).model_.refits
    Z = model.model_.scaled(X)
    for vector in refits[0].terms[0].views[0].basis:  # free, as those of the model
        assert np.abs(Z[:, refits[0].terms[0].views[0].columns] - vector).max(axis=1).min() > 1e-6


def test_centres_of_the_posterior_are_of_samples_that_are_alike_to_the_kernel():
    X = np.random.default_rng(0).standard_normal((600, 2))
    model = SPKMRegressor(5, linear_part=False, random_state=0).fit(X, np.sin(2 * X[:, 0]))
    assert np.ptp(log_factors(model)) > 3  # the second feature hardly counts
    spread = model.model_.posterior.centres.std(axis=0)
    assert len(model.model_.posterior.centres) == 100 and spread[1] < 0.9 * spread[0]  # means of six samples each


class Interrupted(KMeans):
    """A start rule at whose n-th call, one for each fold, Ctrl-C comes."""

    left = 0  # of the class: fits work on copies

    def points(self, sample, term, rng):
        type(self).left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return super().points(sample, term, rng)


def test_ctrl_c_among_the_first_folds_leaves_the_model_of_the_last_one():
    X, y = table(60)
    model = SPKMClassifier(2, start=Interrupted(), random_state=0)
    Interrupted.left = 1
    with pytest.raises(KeyboardInterrupt):  # there is no model yet
        model.fit(X, y > 0)
    Interrupted.left = 3
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, y > 0)
    assert model.model_.recipe == "folds" and model.model_.strength == folds.STRENGTHS[folds.FIRST]
    assert metrics_of(model) == ["scale", "fixed"]  # relevances would have been next
    assert model.score(X, y > 0) > 0.7


def entities(n_left, n_right, d=2, seed=0):
    rng = np.random.default_rng(seed)
    tables = {"left": rng.standard_normal((n_left, d)), "right": rng.standard_normal((n_right, d))}
    return np.array([(i, j) for i in range(n_left) for j in range(n_right)]), tables


@pytest.mark.parametrize(
    ("new", "n_left", "n_right"), [("left", 3, 9), ("right", 9, 3), ("both", 2, 9), ("both", 9, 2)]
)
def test_new_entities_need_three_of_a_side_or_two_of_both(new, n_left, n_right):
    pairs, tables = entities(n_left, n_right)
    y = tables["left"][pairs[:, 0], 0] + tables["right"][pairs[:, 1], 0]
    model = PairwiseSPKMRegressor(2, new=new, max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert model.fit(pairs, y, **tables).model_.recipe == "new entities"
    few = pairs[:, 0 if n_left < n_right else 1] > 0
    with pytest.raises(ValueError, match=r"leaves entities out in [23] folds"):
        model.fit(pairs[few], y[few], **tables)


@pytest.mark.parametrize(("noise", "factor"), [(0.0, 1.0), (1.0, 100.0)])
def test_strengths_for_new_entities_reach_from_the_usual_one_to_a_hundred_times_that(noise, factor):
    pairs, tables = entities(12, 8)
    y = np.sin(tables["left"][pairs[:, 0], 0]) * tables["right"][pairs[:, 1], 0]
    y = (1 - noise) * y + noise * np.random.default_rng(1).standard_normal((12, 1)).repeat(8)
    model = PairwiseSPKMRegressor(4, new="left", random_state=0).fit(pairs, y, **tables).model_
    assert model.strength / model.loss.rkhs_strength[0] == pytest.approx(factor)


def test_vectors_of_counts_stay_counts_in_pairs():
    pairs, tables = entities(12, 8)
    tables["left"] = np.random.default_rng(0).poisson(2.0, (12, 5)).astype(float)
    y = tables["left"][pairs[:, 0], 0] * tables["right"][pairs[:, 1], 0]
    model = PairwiseSPKMRegressor(4, left_kernel="tanimoto", random_state=0).fit(pairs, y, **tables)
    assert np.all(model.basis_left_ >= 0) and np.all(model.basis_left_ <= tables["left"].max(axis=0))


@pytest.mark.parametrize(
    ("settings", "metrics"),
    [
        ({}, ["scale", "fixed"]),  # folds of so few samples want one bandwidth
        ({"learn_bandwidth": True}, ["scale", "fixed"]),
        ({"learn_bandwidth": "columns"}, ["relevances", "fixed"]),
        ({"learn_bandwidth": False}, ["fixed", "fixed"]),
        ({"linear_part": False}, ["scale"]),
    ],
    ids=str,
)
def test_folds_choose_a_metric_unless_it_is_given(settings, metrics):
    X = np.random.default_rng(0).standard_normal((40, 12))
    model = SPKMClassifier(3, random_state=0, **settings).fit(X, X.sum(axis=1) > 0)
    assert model.model_.recipe == "folds" and metrics_of(model) == metrics


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("d", "settings", "metrics"),
    [
        (500, {"learn_bandwidth": "columns"}, ["relevances", "fixed"]),
        (501, {"learn_bandwidth": "columns"}, ["relevances"]),
        (4, {"views": {"a": [0, 1], "b": [2, 3]}}, ["relevances", "relevances"]),
    ],
    ids=str,
)
def test_the_evidence_has_a_linear_part_beside_one_kernel_of_at_most_500_features(d, settings, metrics):
    X = np.random.default_rng(0).standard_normal((12, d))
    model = SPKMRegressor(2, max_iter=2, random_state=0, **settings).fit(X, X[:, 0])
    assert model.model_.recipe == "evidence" and metrics_of(model) == metrics


def eliminated_by(estimator, caplog):
    """Return the kernels by which a short search leaves features out, one after another."""
    X, y = table(60)
    with caplog.at_level(logging.INFO, logger="spkm"):
        estimator.set_params(verbose=2, n_jobs=1, random_state=0)
        estimator.fit(X, y > 0 if isinstance(estimator, SPKMClassifier) else y)
    lines = [record.getMessage() for record in caplog.records]
    return list(dict.fromkeys(line.split("elimination with ")[1] for line in lines if "elimination with" in line))


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("estimator", "kernels"),
    [
        (SPKMClassifier(2, selection="strict"), ["linear", "polynomial", "rbf"]),
        (SPKMClassifier(2, selection="strict", kernel="linear"), ["linear"]),
        (SPKMRegressor(2, selection="strict"), ["matern"]),
    ],
    ids=["classes", "a kernel with a path", "real"],
)
def test_simpler_kernels_guide_a_search_among_classes(estimator, kernels, caplog):
    assert eliminated_by(estimator, caplog) == kernels
