"""What the classifier does by itself: a strength by folds, vectors apart from one another, many samples by stages."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

import spkm
from spkm import SPKMClassifier, SPKMOrdinalClassifier, SPKMSurvival
from spkm.core.columns import carried
from spkm.core.model import LINEAR_PART, PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.core.problem import Problem
from spkm.core.profiled import JITTER
from spkm.core.starts import KMeans
from spkm.fitting.merging import merged
from spkm.fitting.recipes import folds as folds_module
from spkm.kernels import RBF, Linear
from spkm.losses import Log
from spkm.penalties import RIDGE_SHARE, RKHSNorm, SquaredL2, norm_with_ridge
from spkm.solvers import LBFGS, Result
from spkm.sources import ArraySource
from tests import cases

OF_LINEAR_PART = 0.7


def problem_with_linear_part(m, n_basis=3):
    linear = View(Linear(1.0), None, "fixed", [SquaredL2(OF_LINEAR_PART)], LINEAR_PART)
    terms = (Term(n_basis, (View(RBF(0.3), None, "relevances"),)), Term(m, (linear,), is_linear_part=True))
    return Problem(terms, Log(), relevance_prior=0.2)


def theta_with_linear_part(model, n_basis=3):
    theta = cases.random_theta(model).copy()
    model.unpack(theta).weights[n_basis:] = np.eye(model.n_outputs)
    return theta


@pytest.mark.parametrize("m", [1, 3])
def test_relevances_that_begin_at_one_bandwidth_are_the_same_function(m):
    source = ArraySource(cases.rows(12), cases.targets(Log(), 12, m))
    problem = problem_with_linear_part(m)
    one, each = problem.with_metric("relevances", "scale").model(source), problem.model(source)
    theta = theta_with_linear_part(one)
    block = source.load(source.pieces(each.n_basis)[0])
    assert one.unpack(theta).log_metric[0] != 0
    np.testing.assert_allclose(each.predict(block, carried(one, theta, each)), one.predict(block, theta), rtol=1e-12)


@pytest.mark.parametrize("m", [1, 3])
def test_gradient_of_the_penalties_by_folds_equals_differences(m):
    source = ArraySource(cases.rows(12), cases.targets(Log(), 12, m))
    objective = problem_with_linear_part(m).with_penalties(norm_with_ridge(0.4)).objective(source)
    assert cases.gradient_error(objective, theta_with_linear_part(objective.model)) < 1e-6


@pytest.mark.parametrize("m", [1, 3])
def test_penalty_is_norm_and_ridge_of_the_vectors_and_leaves_the_linear_part_to_its_own(m):
    source = ArraySource(cases.rows(12), cases.targets(Log(), 12, m))
    model = problem_with_linear_part(m).objective(source).model
    theta = theta_with_linear_part(model)
    params = model.unpack(theta)
    U, C, relevances = params.basis[0], params.weights[:3], np.exp(params.log_metric[0])
    K = np.exp(-0.3 * np.sum(relevances * (U[:, None] - U[None]) ** 2, axis=2))
    own = 0.5 * OF_LINEAR_PART * np.sum(params.basis[1] ** 2)
    own += 0.1 * np.sum(np.maximum(params.log_metric[0], 0.0) ** 2)
    values = []
    for strength in (0.4, 0.8):
        regularization = (
            problem_with_linear_part(m).with_penalties(norm_with_ridge(strength)).objective(source).regularization
        )
        # The weights of a linear part stay the identity: their ridge is a constant.
        constant = 0.5 * RIDGE_SHARE * strength * m
        of_vectors = 0.5 * strength * np.trace(C.T @ (K + (JITTER + RIDGE_SHARE) * np.eye(3)) @ C)
        values.append(regularization.smooth(theta)[0] - own - constant)
        np.testing.assert_allclose(values[-1], of_vectors, rtol=1e-10)
    np.testing.assert_allclose(values[1], 2 * values[0], rtol=1e-10)


def test_vectors_of_one_sign_are_pushed_apart():
    # Two vectors of half the weight at one place cost the ridge half of what one does; the norm asks them to move.
    model = PreimageModel([Term(2, (View(RBF(1.0), None, "fixed"),))], 1, 1)
    source = ArraySource(np.zeros((1, 1)), np.ones((1, 1)))
    problem = Problem(tuple(model.terms), Log()).with_penalties(norm_with_ridge(1.0))
    regularization = problem.objective(source).regularization

    def penalty(distance, weights):
        theta, params = model.zeros()
        params.basis[0][1], params.weights[:, 0] = distance, weights
        return regularization.smooth(theta)[0]

    distances = np.linspace(0.0, 2.0, 9)
    assert np.all(np.diff([penalty(s, (1.0, 1.0)) for s in distances]) < 0)
    assert np.all(np.diff([penalty(s, (1.0, -1.0)) for s in distances]) > 0)


def of_three_vectors(U, C):
    """Return problem, objective and result of a model of three vectors and a linear part."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (200, cases.N_FEATURES))
    source = ArraySource(X, np.where(X[:, :1] > 0, 1.0, -1.0))
    problem = problem_with_linear_part(1).with_penalties(norm_with_ridge(0.01))
    objective = problem.objective(source)
    theta = theta_with_linear_part(objective.model)
    params = objective.model.unpack(theta)
    params.basis[0][...], params.weights[:3, 0] = U, C
    return problem, objective, Result(theta, objective.value(theta), 7, True, trace=[1.0])


def scores(objective, theta):
    return np.concatenate(list(objective.source.map(block_scores, objective.model, theta, width=4)))


def block_scores(block, model, theta):
    return model.predict(block, theta)


def test_vectors_of_one_place_become_one_and_the_function_stays():
    U = np.zeros((3, cases.N_FEATURES))
    U[1] = 1.0
    problem, objective, result = of_three_vectors(U, (0.5, -0.4, 1.5))
    before = result.theta
    smaller, found = merged(problem, objective, result, None)
    assert smaller.model.kernel_part.n_basis == 2
    np.testing.assert_allclose(smaller.model.unpack(found.theta).weights[:2, 0], [2.0, -0.4])
    now, then = (scores(o, theta) for o, theta in ((smaller, found.theta), (objective, before)))
    np.testing.assert_allclose(now, then, rtol=1e-12, atol=1e-12)
    assert found.value == smaller.value(found.theta) == found.trace[-1]
    polished = merged(problem, *of_three_vectors(U, (0.5, -0.4, 1.5))[1:], LBFGS(max_iter=20))[1]
    assert polished.value < found.value and polished.n_iter == 7


def test_vectors_that_are_near_but_say_different_things_stay():
    U = np.zeros((3, cases.N_FEATURES))
    U[1] = 1.0
    U[2, 0] = 0.05  # beside the first: together they are a slope
    problem, objective, result = of_three_vectors(U, (-40.0, 0.4, 40.0))
    assert merged(problem, objective, result, LBFGS(max_iter=20)) == (objective, result)


def test_two_moons_have_no_two_vectors_of_one_place():
    X, y = make_moons(300, noise=0.3, random_state=0)
    model = SPKMClassifier(8, random_state=0).fit(X, y)
    U, C = model.basis_vectors_, model.dual_coef_
    assert len(U) == len(C) <= 8  # the most, and as many weights
    distances = np.linalg.norm((U[:, None] - U[None]) / X.std(axis=0), axis=2) + 9 * np.eye(len(U))
    assert distances.min() > 0.01
    again = model.set_params(warm_start=True).fit(X, y)
    assert len(again.basis_vectors_) <= 8 and again.score(X, y) > 0.85


def test_noise_gets_a_stronger_penalty_than_a_clean_rule():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    clean = SPKMClassifier(6, random_state=0).fit(X, (X**2).sum(axis=1) > 2.5).model_.strength
    noise = SPKMClassifier(6, random_state=0).fit(X, rng.integers(2, size=300)).model_.strength
    assert {clean, noise} <= set(folds_module.STRENGTHS) and clean < noise


def test_the_fit_goes_on_from_the_fold_that_suits_all_samples_best():
    source = ArraySource(cases.rows(30), cases.targets(Log(), 30, 1))
    problem = problem_with_linear_part(1).with_penalties(norm_with_ridge(0.1))
    objective: Objective = problem.objective(source)
    thetas = [theta_with_linear_part(objective.model) * factor for factor in (3.0, 0.1, 1.0)]
    theta, interrupted = folds_module.best_of_folds(problem, thetas, source, np.random.default_rng(0))
    values = [objective.value(objective.inside(theta)) for theta in thetas]
    assert objective.value(theta) == min(values) and not interrupted


def test_many_samples_go_by_folds_a_stage_and_a_pass():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_500, 2))
    y = (X**2).sum(axis=1) > 1.4
    model = SPKMClassifier(4, random_state=0).fit(X, y)
    assert model.n_iter_ == 1 and model.score(X, y) > 0.95  # one pass over all samples
    source = ArraySource(X, np.where(y, 1.0, -1.0)[:, None])
    problem = Problem(cases.one_view(RBF(0.5), 2, "scale"), Log(), [], [RKHSNorm(1e-4)])
    objective = problem.objective(source)
    thetas = [cases.random_theta(objective.model) * factor for factor in (0.3, 1.0)]
    theta, interrupted = folds_module.best_of_folds(problem, thetas, source, rng)
    assert objective.value(theta) < 0.9 * min(map(objective.value, thetas)) and not interrupted


def started(X, y, **params):
    """Return how many samples the start rule of a fit got, call by call."""
    sizes = []

    class Recorded(KMeans):
        def points(self, sample, term, rng):
            sizes.append(len(sample.X))
            return super().points(sample, term, rng)

    SPKMClassifier(3, start=Recorded(), random_state=0, **params).fit(X, y)
    return sizes


def test_start_rule_is_for_the_folds_alone():
    X, y = make_moons(60, noise=0.2, random_state=0)
    assert started(X, y) == [40] * 3  # the last descent begins with the vectors of a fold,
    assert started(X, y, n_restarts=3) == [40] * 3 + [60] * 2  # further ones with new vectors


def test_folds_share_fewer_samples_of_many_features():
    X = np.random.default_rng(0).standard_normal((1600, 1000))
    # Two thirds of 1,500, which have 1.5 million entries.
    assert started(X, X[:, 0] > 0, learn_bandwidth=True, tol=0.1) == [1000] * 3


@pytest.mark.parametrize(
    "shape, n_iter", [((1500, 50), 500), ((6000, 784), 159), ((20_000, 2000), 150), ((20_001, 2000), 1)]
)
def test_last_descent_of_much_work_is_shorter(shape, n_iter):
    source = ArraySource(np.broadcast_to(0.0, shape), np.ones((shape[0], 10)))
    problem = problem_with_linear_part(10, n_basis=10)
    assert folds_module.last_solver(problem, source).max_iter == n_iter


@pytest.mark.parametrize("m", [1, 3])
def test_linear_strength_is_that_of_the_linear_coefficients_alone(m):
    source = ArraySource(cases.rows(12), cases.targets(Log(), 12, m))
    weak, strong = (
        problem_with_linear_part(m).with_penalties(norm_with_ridge(0.4), SquaredL2(linear)).objective(source)
        for linear in (0.1, 0.5)
    )
    theta = theta_with_linear_part(weak.model)
    by = strong.regularization.smooth(theta)[0] - weak.regularization.smooth(theta)[0]
    assert by == pytest.approx(0.5 * 0.4 * np.sum(weak.model.unpack(theta).basis[1] ** 2), rel=1e-10)
    assert cases.gradient_error(strong, theta) < 1e-6


def walk_of(losses, has_linear_part=True):
    """Return the end of a walk whose held-out losses are a function of both strengths' places, and the fits it took."""
    walk = object.__new__(folds_module.Walk)
    walk.losses, walk.thetas, walk.folds, fits = {}, {}, [None] * folds_module.FOLDS, []
    walk.course = folds_module.USUAL
    walk.whole = problem_with_linear_part(1) if has_linear_part else Problem((), Log())
    walk.metrics = ("relevances",)

    def fitted(place, before, fold):
        assert before is None or (before in walk.thetas and sum(np.abs(np.subtract(place, before))) == 1)
        fits.append((place.kernels, place.linear, fold))
        loss = losses(place.kernels, place.linear)
        return np.zeros(1), float(loss[fold] if isinstance(loss, tuple) else loss)

    walk.fitted = fitted
    place = walk.end()
    assert len(set(fits)) == len(fits)  # no place is fitted twice
    return (place.kernels, place.linear), fits


@pytest.mark.parametrize("lowest", [(0, 0), (2, 3), (6, 2), (4, 1), (7, 0)])
def test_walk_ends_at_the_lowest_of_a_bowl(lowest):
    assert walk_of(lambda i, j: 1 + abs(i - lowest[0]) + abs(j - lowest[1]))[0] == lowest


def test_walk_goes_over_the_kernels_again_if_the_linear_part_changed():
    # At the first linear strength no strength of kernels helps; at a weaker one, a stronger one does.
    def losses(i, j):
        return 9 + abs(i - folds_module.FIRST) if j == 0 else 1 + abs(i - 2) + abs(j - 2)

    assert walk_of(losses)[0] == (2, 2)


def test_walk_without_a_linear_part_is_over_the_kernels_alone():
    end, fits = walk_of(lambda i, j: 9 - i, has_linear_part=False)
    assert end == (len(folds_module.STRENGTHS) - 1, folds_module.FIRST_LINEAR)
    assert {j for _, j, _ in fits} == {folds_module.FIRST_LINEAR}


@pytest.mark.parametrize("share", [0.99, 0.9])
def test_linear_part_gets_a_weaker_penalty_only_if_the_loss_falls_by_a_share(share):
    end, _ = walk_of(lambda i, j: share**j * (1 + abs(i - folds_module.FIRST)))
    last = len(folds_module.LINEAR_STRENGTHS) - 1
    assert end[1] == (last if share**last < folds_module.LINEAR_SHARE else folds_module.FIRST_LINEAR)


@pytest.mark.parametrize("worse", [1.01, 1.5])
def test_place_whose_first_fold_is_much_worse_is_given_up(worse):
    _, fits = walk_of(lambda i, j: worse if i == folds_module.FIRST + 1 else 1.0, has_linear_part=False)
    at_weaker = [fold for i, _, fold in fits if i == folds_module.FIRST + 1]
    assert at_weaker == (list(range(folds_module.FOLDS)) if worse < 1 + folds_module.SLACK else [0])


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_whether_a_place_is_given_up_is_a_matter_of_shares(size):
    _, fits = walk_of(lambda i, j: size * (1.5 if i == folds_module.FIRST + 1 else 1.0), has_linear_part=False)
    assert [fold for i, _, fold in fits if i == folds_module.FIRST + 1] == [0]


@pytest.mark.parametrize("worst", range(3))
def test_all_folds_count_when_a_place_wins(worst):
    """A weaker strength that is better in two folds and loses as much in the third, and a little more."""
    last = tuple(1.005 if fold == worst else 0.999 for fold in range(3))
    end, fits = walk_of(lambda i, j: last if i > folds_module.FIRST else 1.0, has_linear_part=False)
    assert end[0] != folds_module.FIRST + 1 and (folds_module.FIRST + 1, folds_module.FIRST_LINEAR, 2) in fits


def test_the_best_of_an_interrupted_walk_is_the_best_over_all_folds():
    walk = object.__new__(folds_module.Walk)
    walk.losses = {"better in two folds": [1.0, 2.0, 9.0], "better in all": [2.0, 4.0, 6.0], "worse": [5.0, 6.0, 7.0]}
    assert walk.best == "better in all"


def correlated(n=200, d=30):
    """Return features of one common part, and labels by a small difference of two of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 1)) + 0.1 * rng.standard_normal((n, d))
    return X, X[:, 0] > X[:, 1]


def test_small_differences_of_features_get_a_weaker_linear_penalty():
    X, y = correlated()
    model = SPKMClassifier(4, random_state=0).fit(X, y).model_
    assert model.linear_strength < folds_module.LINEAR_STRENGTHS[folds_module.FIRST_LINEAR] * X.shape[1]
    assert SPKMClassifier(4, linear_part=False, random_state=0).fit(X, y).model_.linear_strength is None


def test_later_fits_and_files_keep_the_strength_of_the_linear_part(tmp_path):
    X, y = correlated()
    model = SPKMClassifier(4, random_state=0).fit(X, y)
    known = model.model_.linear_strength, model.model_.strength
    spkm.save(model, tmp_path / "model")
    assert spkm.load(tmp_path / "model").model_.linear_strength == known[0]
    model.partial_fit(X, y)
    assert (model.model_.linear_strength, model.model_.strength) == known
    (penalty,) = model.model_.model.terms[-1].views[0].basis_penalty
    assert penalty.strength == pytest.approx(known[0] / 400)  # twice the samples
    again = SPKMClassifier(4, random_state=0).fit(X, y).set_params(warm_start=True).fit(X, y)
    assert (again.model_.linear_strength, again.model_.strength) == known


def censored_times(n=120):
    """Return samples, and censored times of a hazard that rises with the first feature."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    time, end = rng.exponential(np.exp(-X[:, 0])), rng.uniform(0.3, 3.0, n)
    return X, np.rec.fromarrays([time <= end, np.minimum(time, end)], names="event,time")


def test_strengths_of_censored_times_are_ten_times_those_of_classes():
    X, y = censored_times()
    model = SPKMSurvival(4, random_state=0).fit(X, y)
    assert model.model_.recipe == "folds"
    assert model.model_.strength in {10 * s for s in folds_module.STRENGTHS}
    assert model.model_.linear_strength in {10 * s * X.shape[1] for s in folds_module.LINEAR_STRENGTHS}
    noise = np.rec.fromarrays([y.event, np.random.default_rng(1).permutation(y.time)], names="event,time")
    assert SPKMSurvival(4, random_state=0).fit(X, noise).predict(X).std() < 0.5  # 0.7 with those of classes


def test_ordered_classes_keep_the_usual_strengths():
    X, y = censored_times()
    model = SPKMOrdinalClassifier(4, random_state=0).fit(X, np.digitize(y.time, [0.2, 0.6])).model_
    assert model.recipe == "folds" and model.strength in folds_module.STRENGTHS
