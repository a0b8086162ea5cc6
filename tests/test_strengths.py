"""How folds choose strengths: the ways over them, by losses that are told; and what a fit of pairs is compared with."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from spkm import SPKMClassifier, SPKMRegressor
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.fitting.recipes import continued, folds, new_entities
from spkm.fitting.recipes.evidence import surroundings
from spkm.fitting.recipes.folds import FIRST, FIRST_LINEAR, LINEAR_STRENGTHS, STRENGTHS, Place
from spkm.fitting.recipes.pairs import plain_losses
from spkm.fitting.recipes.search import Search
from spkm.fitting.recipes.squared_warmup import LEAST_NEAR, near_samples
from spkm.kernels import RBF
from spkm.losses import Huber, Squared
from spkm.solvers import LBFGS, Adam
from spkm.sources import ArraySource
from tests.interrupting import interrupt_at


class Told(folds.Walk):
    """A walk whose held-out losses are those of a function of the place and the fold."""

    def __init__(self, loss, linear=True):
        self.loss, self.metrics, self.course = loss, ("scale", "relevances"), folds.USUAL
        self.whole, self.folds = SimpleNamespace(has_linear_part=linear), [None] * 3
        self.thetas, self.losses, self.latest = {}, {}, None
        self.fits = []

    def fitted(self, place, before, fold):
        self.fits.append((place, before, fold))
        return np.zeros(1), self.loss(place, fold)

    @property
    def places(self):
        return list(dict.fromkeys(place for place, _, _ in self.fits))


def few_samples():
    X = np.random.default_rng(0).standard_normal((60, 3))
    return X, X[:, 0] * X[:, 1]


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("best", range(len(STRENGTHS)))
def test_the_walk_ends_at_the_lowest_loss_and_each_fit_goes_on_from_a_neighbour(best, linear):
    walk = Told(lambda place, fold: 1.0 + abs(place.kernels - best) + place.metric, linear)
    assert walk.end() == Place(0, best, FIRST_LINEAR) == walk.best
    assert walk.fits[0] == (Place(0, FIRST, FIRST_LINEAR), None, 0)
    steps = [np.subtract(place, before) for place, before, _ in walk.fits if before is not None]
    assert all(np.abs(step).sum() == 1 for step in steps)
    assert {place.linear for place in walk.places} == ({0, 1} if linear else {0})
    along = [place.kernels for place in walk.places if place.metric == place.linear == 0]
    weaker = [kernels for kernels in along if kernels > FIRST]
    assert weaker == list(range(FIRST + 1, min(max(best, FIRST) + 1, len(STRENGTHS) - 1) + 1))
    stronger = [kernels for kernels in along if kernels < FIRST]
    assert stronger == ([] if best > FIRST else list(range(FIRST - 1, max(best - 2, -1), -1)))


@pytest.mark.parametrize(("second", "metric"), [(0.99, 1), (1.0, 0), (1.01, 0)])
def test_the_second_metric_has_to_win(second, metric):
    walk = Told(lambda place, fold: second if place.metric else 1.0)
    assert walk.end() == Place(metric, FIRST, FIRST_LINEAR)  # of equal losses the first one stays
    assert walk.places[:2] == [Place(0, FIRST, 0), Place(1, FIRST, 0)]


@pytest.mark.parametrize(("first", "n_folds"), [(1.01, 3), (1.03, 1)])
def test_a_place_whose_first_fold_is_clearly_worse_is_given_up(first, n_folds):
    walk = Told(lambda place, fold: first if place.kernels == FIRST + 1 and fold == 0 else 1.0)
    assert walk.end().kernels == FIRST
    tried = [fold for place, _, fold in walk.fits if place == Place(0, FIRST + 1, 0)]
    assert tried == list(range(n_folds))
    assert (Place(0, FIRST + 1, 0) in walk.losses) == (n_folds == 3)


@pytest.mark.parametrize(("gain", "linear"), [(0.94, len(LINEAR_STRENGTHS) - 1), (0.96, 0)])
def test_a_linear_part_is_weakened_for_a_clear_gain_alone(gain, linear):
    walk = Told(lambda place, fold: gain**place.linear * (1.0 + (place.linear > 0) * abs(place.kernels - FIRST - 2)))
    walk.end()
    assert max(place.linear for place in walk.losses) == 0  # at the kernels' strength of before it is much worse
    walk = Told(lambda place, fold: gain**place.linear * (1.0 + 1e-3 * (place.linear > 0) * -place.kernels))
    place = walk.end()
    assert place.linear == linear
    assert place.kernels == (len(STRENGTHS) - 1 if linear else FIRST)  # chosen once more
    if not linear:
        assert [fold for place, _, fold in walk.fits if place.linear] == [0]


def test_ctrl_c_leaves_with_the_best_place_so_far():
    def loss(place, fold):
        if place.kernels == FIRST + 3:
            raise KeyboardInterrupt
        return 1.0 - 0.1 * place.kernels

    walk = Told(loss)
    walk.latest = Place(0, FIRST, 0), np.zeros(1)
    walk.problem, walk.strengths = (lambda place: place), (lambda place: (float(place.kernels), float(place.linear)))
    chosen = folds.choose_strength(walk)
    assert chosen.stopped and chosen.problem == Place(0, FIRST + 2, 0) and chosen.kernels == FIRST + 2
    assert len(chosen.thetas) == 3


def test_all_samples_are_fitted_in_whole_passes_up_to_the_number_that_the_recipe_names():
    source = SimpleNamespace(n_rows=folds.MOST_ROWS, n_features=200)  # has no sample to draw
    objective = SimpleNamespace(inside=lambda theta: theta, value=abs)
    problem = SimpleNamespace(objective=lambda samples: objective, n_basis=10)
    assert folds.best_of_folds(problem, [3.0, -1.0, 2.0], source, None) == (-1.0, False)
    assert folds.last_solver(problem, source).get_params() == LBFGS(max_iter=375).get_params()  # 1.5e10 multiplications
    assert folds.last_solver(problem, SimpleNamespace(n_rows=20_000, n_features=1000)).max_iter == 150
    assert folds.last_solver(problem, SimpleNamespace(n_rows=20, n_features=10)).max_iter == LBFGS().max_iter
    more = folds.last_solver(problem, SimpleNamespace(n_rows=folds.MOST_ROWS + 1, n_features=100))
    assert more.get_params() == Adam(max_iter=1).get_params()


class ToldOfEntities(new_entities.FoldsOfEntities):
    """Folds of entities whose held-out losses are told; Ctrl-C comes at the n-th place."""

    def __init__(self, told, interrupted=0):
        self.told, self.interrupted, self.losses, self.places = told, interrupted, {}, []

    def fit(self, place, before):
        self.places.append((place, before))
        self.losses[place] = self.told(place)
        return np.full(1, place) if len(self.places) == self.interrupted else None


@pytest.mark.parametrize("best", range(len(new_entities.FACTORS)))
def test_strengths_for_new_entities_are_followed_to_the_lowest_loss(best):
    told = ToldOfEntities(lambda place: 1.0 + abs(place - best))
    assert told.best() == (best, None)
    assert told.places[0] == (new_entities.FIRST, None)
    assert all(abs(place - before) == 1 for place, before in told.places[1:])
    weaker_won = best > new_entities.FIRST
    assert any(place < new_entities.FIRST for place, _ in told.places) != weaker_won


def test_equal_losses_for_new_entities_leave_the_strength_and_ctrl_c_the_last_fit():
    assert ToldOfEntities(lambda place: 1.0).best() == (new_entities.FIRST, None)
    place, theta = ToldOfEntities(lambda place: -place, interrupted=2).best()
    assert place == new_entities.FIRST and theta == new_entities.FIRST + 1


def test_strengths_of_censored_times_are_ten_times_as_strong():
    np.testing.assert_allclose(folds.CENSORED.strengths, 10 * np.array(STRENGTHS))
    np.testing.assert_allclose(folds.CENSORED.linear_strengths, 10 * np.array(LINEAR_STRENGTHS))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("size", [0.1, 1.0])
def test_plain_losses_are_those_of_a_constant_and_of_ridge_regression(size, fit_intercept):
    rng, n, d = np.random.default_rng(0), 30, 4
    X = size * rng.standard_normal((n, d))
    Y = X @ rng.standard_normal((d, 2)) / size + 0.3 + rng.standard_normal((n, 2))
    weight = rng.random(n) + 0.2
    terms = [Term(3, (View(RBF(1.0), np.array([0, 2])), View(RBF(1.0), np.array([1, 3]))))]
    source = ArraySource(X, Y, weight)
    objective = Objective(PreimageModel(terms, d, 2, fit_intercept), Squared(), source)
    w = weight / weight.sum()
    Xc, Yc = (A - w @ A if fit_intercept else A for A in (X, Y))

    def loss(F):
        return objective.loss.value(objective.loss.totals(Yc, F, w[:, None]))

    # Its penalty is a / 2 |B|^2 with a = 0.25 d / n, and the loss of a residual r is c r^2.
    c = objective.loss.value(objective.loss.totals(np.ones((1, 1)), np.zeros((1, 1)), np.ones((1, 1))))
    a = 0.25 * d / source.total_weight
    B = np.linalg.solve(2 * c * Xc.T @ (w[:, None] * Xc) + a * np.eye(d), 2 * c * Xc.T @ (w[:, None] * Yc))
    constant, linear = plain_losses(objective)
    assert constant == pytest.approx(loss(np.zeros_like(Yc)), rel=1e-9)
    assert linear == pytest.approx(loss(Xc @ B), rel=1e-3)  # as near as 30 iterations come


def test_centres_stay_finite_where_a_relevance_is_zero():
    X, y = few_samples()
    model = PreimageModel([Term(3, (View(RBF(0.5), None, "relevances"),))], 3, 1)
    theta = np.random.default_rng(0).standard_normal(model.n_params)
    model.unpack(theta).log_metric[0][...] = [0.0, -2000.0, 0.5]
    found = surroundings(Objective(model, Squared(), ArraySource(X, y[:, None])), theta, 0.1, np.random.default_rng(0))
    assert np.exp(-2000.0) == 0 and np.all(np.isfinite(found.centres)) and np.all(np.isfinite(found.inverse))


@pytest.mark.parametrize(("n_far", "n_kept"), [(7, 33), (8, 32), (9, 40)])
def test_a_squared_fit_goes_without_far_samples_unless_they_are_many(n_far, n_kept):
    Y = np.random.default_rng(0).standard_normal((40, 1))
    Y[:n_far] = 100.0
    near = near_samples(Huber(), ArraySource(Y, Y))
    assert LEAST_NEAR == n_kept / 40 or n_far != 8  # the border itself
    assert near.n_rows == n_kept and np.abs(near.Y).max() < 100.0


def resumed(monkeypatch, recipe):
    """Return a list of the starts that a recipe makes from earlier models."""
    starts, resume = [], recipe.resume

    def kept(*arguments):
        starts.append(resume(*arguments))
        return starts[-1]

    monkeypatch.setattr(recipe, "resume", kept)
    return starts


def test_a_search_is_fitted_again_with_the_strength_it_chose(monkeypatch):
    X, y = few_samples()
    model = SPKMClassifier(2, selection="strict", max_features=2, random_state=0).fit(X, y > 0)
    starts, chosen = resumed(monkeypatch, Search), model.model_.strength
    assert chosen != model.model_.loss.rkhs_strength[0]
    model.with_uncertainty(X, y > 0, n_refits=2, random_state=0)
    assert len(starts) == 2
    for start in starts:
        (penalty,) = start.problem.weight_penalties
        assert penalty.strength * start.source.total_weight == pytest.approx(chosen)


def test_folds_are_fitted_again_with_the_strengths_they_chose(monkeypatch):
    X, y = few_samples()
    model = SPKMClassifier(3, warm_start=True, random_state=0).fit(X, y > 0)
    starts, chosen = resumed(monkeypatch, folds.Folds), (model.model_.strength, model.model_.linear_strength)
    model.fit(X, y > 0).with_uncertainty(X, y > 0, n_refits=2, random_state=0)
    assert len(starts) == 3
    for start in starts:
        norm, ridge = start.problem.weight_penalties
        (linear,) = start.problem.terms[-1].views[0].basis_penalty
        assert (norm.strength * len(X), linear.strength * len(X)) == pytest.approx(chosen)
        assert ridge.strength == pytest.approx(0.3 * norm.strength)


@pytest.mark.parametrize(
    ("first_values", "comparable", "chosen"),
    [((1.0, 2.0), True, "anew"), ((2.0, 1.0), True, "warm"), ((2.0, 1.0), False, "anew")],
    ids=["a lower start", "a higher one", "values that cannot be compared"],
)
def test_a_warm_start_that_is_behind_gives_way_to_a_lower_start(monkeypatch, first_values, comparable, chosen):
    starts = {name: SimpleNamespace(name=name) for name in ("anew", "warm")}
    values = dict(zip(("anew", "warm"), first_values, strict=True))
    monkeypatch.setattr(continued, "is_behind", lambda *_: True)
    monkeypatch.setattr(continued, "_first_value", lambda spec, start, scaling: values[start.name])
    inner = SimpleNamespace(name="", begin=lambda *_: starts["anew"], resume=lambda *_: starts["warm"])
    assert continued.Continued(inner, None, comparable).begin(None, None, None, None).name == chosen


@pytest.mark.parametrize("call", [5, 40])
def test_ctrl_c_in_either_descent_of_a_fit_on_samples_ends_the_work_around_it(call):
    model = SPKMRegressor(3, basis="samples", weight_penalty="rkhs", solver="lbfgs", max_iter=30, tol=0.0)
    with interrupt_at(Objective.value_and_gradient, call), pytest.raises(KeyboardInterrupt):
        cross_val_score(model, *few_samples(), cv=2)
