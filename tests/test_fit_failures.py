"""A fit assigns last: whatever raises in it, the estimator is as it was before, fitted or not."""

import inspect
import os
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import spkm
from spkm import (
    PairwiseSPKMClassifier,
    PairwiseSPKMRegressor,
    SPKMClassifier,
    SPKMClassifierCV,
    SPKMNystroem,
    SPKMRegressor,
    SPKMRegressorCV,
    SPKMSelector,
)
from spkm.core.objective import Objective
from spkm.core.profiled import ProfiledObjective
from tests.marks import QUICK_SEARCHES
from tests.small_data import curve, three_classes, two_classes

pytestmark = [
    *QUICK_SEARCHES,
    # A line cannot part these classes.
    pytest.mark.filterwarnings("ignore:No features* (is|were) selected:UserWarning"),
    # scikit-learn's type_of_target, before it refuses NaN
    pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning"),
]
ROOT = os.path.dirname(spkm.__file__)
QUICK = {"n_basis": 2, "max_iter": 4, "n_jobs": 1, "random_state": 0}
SEARCH = {"kernel": "linear", "selection": "strict", **QUICK}
RNG = np.random.default_rng(0)
SIDES = {"left": RNG.standard_normal((8, 2)), "right": RNG.standard_normal((7, 3))}
PAIRS = np.array([(i, j) for i in range(8) for j in range(7)])


def pairs(classes):
    y = SIDES["left"][PAIRS[:, 0], 0] * SIDES["right"][PAIRS[:, 1], 0]
    return (PAIRS, y > 0 if classes else y), SIDES


# Estimator, arguments of its fit (X and y, and more by name), and the method that needs a fit.
CASES = {
    "classifier": (SPKMClassifier(**QUICK), (two_classes(), {}), "predict"),
    "joint": (SPKMClassifier(weight_penalty="rkhs", **QUICK), (three_classes(), {}), "predict"),
    "ovo": (SPKMClassifier(multi_class="ovo", weight_penalty="rkhs", **QUICK), (three_classes(), {}), "predict"),
    "selecting": (SPKMClassifier(**SEARCH), (two_classes(), {}), "predict"),
    "regressor": (SPKMRegressor(**QUICK), (curve(), {}), "predict"),
    "automatic": (SPKMRegressor(**{**QUICK, "n_basis": "auto"}), (curve(), {}), "predict"),
    "classifier cv": (SPKMClassifierCV(cv=2, **SEARCH), (two_classes(), {}), "predict"),
    "regressor cv": (SPKMRegressorCV(cv=2, **SEARCH), (curve(), {}), "predict"),
    "pairs, classes": (PairwiseSPKMClassifier(**QUICK), pairs(True), "predict"),
    "pairs, numbers": (PairwiseSPKMRegressor(**QUICK), pairs(False), "predict"),
    "landmarks": (SPKMNystroem(3, random_state=0), (two_classes(), {}), "transform"),
    "landmarks of a model": (SPKMNystroem(landmarks=SPKMRegressor(**QUICK)), (curve(), {}), "transform"),
    "selector": (SPKMSelector(SPKMClassifier(**SEARCH)), (two_classes(), {}), "transform"),
}


@pytest.fixture(params=CASES)
def case(request):
    """Return a new estimator, the arguments of its fit, and a function that predicts."""
    estimator, ((X, y), more), method = CASES[request.param]
    return clone(estimator), (X, y), more, lambda fitted: getattr(fitted, method)(X)


FITTED = {}


def fit_once(estimator, X, y, more):
    """Fit an estimator, or give it what an earlier test fitted of the same."""
    key = repr(estimator), id(X)
    if key not in FITTED:
        FITTED[key] = vars(clone(estimator).fit(X, y, **more))
    estimator.__dict__ = {**FITTED[key], **vars(estimator)}


class Injected(Exception):
    """Raised by a test in the middle of a fit."""


class raising_at:
    """Raise an error in the n-th call of a function of the library, or of some of them; count the calls."""

    def __init__(self, n, error, of=()):
        self.n, self.error, self.calls = n, error, 0
        self.codes = {function.__code__ for function in of}

    def __enter__(self):
        sys.setprofile(self.profile)
        return self

    def profile(self, frame, event, argument):
        code = frame.f_code
        # Not in generators: one that is thrown away ends by a call, too, in which Python ignores errors.
        if event == "call" and code.co_filename.startswith(ROOT) and not code.co_flags & inspect.CO_GENERATOR:
            if self.codes and code not in self.codes:
                return
            self.calls += 1
            if self.calls == self.n:
                sys.setprofile(None)
                raise self.error

    def __exit__(self, *caught):
        sys.setprofile(None)


def assert_as_before(estimator, before, predict, expected):
    """Check that attributes are the same objects, and that predictions, or the error for want of a fit, are too."""
    assert vars(estimator).keys() == before.keys()
    assert all(vars(estimator)[name] is value for name, value in before.items())
    if expected is None:
        with pytest.raises(NotFittedError):
            predict(estimator)
    else:
        np.testing.assert_array_equal(predict(estimator), expected)


def states(case):
    """Yield the estimator not fitted and fitted, with what it is and predicts in that state."""
    estimator, (X, y), more, predict = case
    yield estimator, dict(vars(estimator)), None
    fit_once(estimator, X, y, more)
    yield estimator, dict(vars(estimator)), predict(estimator)


@pytest.mark.parametrize("kind", ["nan", "text", "no rows", "short y", "nan in y"])
def test_bad_samples_change_nothing(case, kind):
    _, (X, y), more, predict = case
    bad = {
        "nan": lambda: (np.where(np.arange(X.size).reshape(X.shape) == 3, np.nan, X), y),
        "text": lambda: (X.astype(str) + "a", y),
        "no rows": lambda: (X[:0], y[:0]),
        "short y": lambda: (X, y[:-1]),
        "nan in y": lambda: (X, np.where(np.arange(len(y)) == 5, np.nan, y)),
    }[kind]()
    for estimator, before, expected in states(case):
        with pytest.raises((TypeError, ValueError)):
            estimator.fit(*bad, **more)
        assert_as_before(estimator, before, predict, expected)


@pytest.mark.parametrize("bad", [{"n_basis": -1}, {"loss": "no such loss"}, {"solver": "no such solver"}])
def test_bad_parameters_change_nothing(case, bad):
    _, (X, y), more, predict = case
    name, value = next(iter(bad.items()))
    for estimator, _, expected in states(case):
        known = estimator.get_params()
        path = next((p for p in (name, f"estimator__{name}", f"landmarks__{name}") if p in known), None)
        if path is None:
            path, value = "n_components", -1
        usual = known[path]
        estimator.set_params(**{path: value})
        before = dict(vars(estimator))
        with pytest.raises(ValueError):
            estimator.fit(X, y, **more)
        assert_as_before(estimator, before, predict, expected)
        estimator.set_params(**{path: usual})


@pytest.mark.parametrize("error", [Injected, MemoryError, KeyboardInterrupt])
def test_an_error_in_the_solver_changes_nothing(case, error):
    """An interrupt counts here before the solver has anything to keep."""
    _, (X, y), more, predict = case
    for estimator, before, expected in states(case):
        with raising_at(1, error, of=(Objective.value_and_gradient, ProfiledObjective.value_and_gradient)):
            with pytest.raises(error):
                estimator.fit(X, y, **more)
        assert_as_before(estimator, before, predict, expected)


@pytest.mark.parametrize("error", [Injected, KeyboardInterrupt])
def test_an_error_at_any_moment_changes_nothing(case, error):
    """An interrupt may leave a model, the best so far, and then a complete one."""
    _, (X, y), more, predict = case
    # Each moment has both errors, one before the first fit and one after it.
    for state, (estimator, before, expected) in enumerate(states(case), start=error is Injected):
        another = clone(estimator)
        with raising_at(0, error) as counted:
            another.fit(X, y, **more)
        moments = [*np.unique(np.geomspace(1, counted.calls, 6).astype(int)), *(counted.calls - np.array([1, 9]))]
        for moment in moments[state % 2 :: 2]:
            try:
                with raising_at(int(moment), error) as raising:
                    estimator.fit(X, y, **more)
            except error:
                assert_as_before(estimator, before, predict, expected)
                continue
            if raising.calls < moment:  # caches are full now: a fit has some calls less than the one that was counted
                estimator.__dict__ = dict(before)
                continue
            assert error is KeyboardInterrupt, "only an interrupt may keep what was found"
            assert len(predict(estimator)) == len(X)
            estimator.__dict__ = dict(before)


class Raising:
    """A callback that raises at its n-th call."""

    def __init__(self, n):
        self.n, self.calls = n, 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        self.count()

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.count()
        return False

    def teardown(self, estimator, context):
        pass

    def count(self):
        self.calls += 1
        if self.calls == self.n:
            raise Injected


def test_a_callback_that_raises_changes_nothing(case):
    _, (X, y), more, predict = case
    counting = Raising(0)
    if not hasattr(case[0], "set_callbacks"):
        pytest.skip("callbacks are those of estimators, and of scikit-learn from 1.9")
    clone(case[0]).set_callbacks(counting).fit(X, y, **more)
    calls = sorted({1, 2, 3, counting.calls // 2, counting.calls})
    for state, (estimator, _, expected) in enumerate(states(case)):
        for n in calls[state::2]:
            estimator.set_callbacks(Raising(n))
            before = dict(vars(estimator))
            with pytest.raises(Injected):
                estimator.fit(X, y, **more)
            assert_as_before(estimator, before, predict, expected)
        estimator.set_callbacks()


def test_a_failed_warm_start_keeps_the_last_model():
    X, y = two_classes()
    clf = SPKMClassifier(warm_start=True, **QUICK).fit(X, y)
    before, expected = dict(vars(clf)), clf.predict(X)
    with pytest.raises(ValueError, match="warm_start=True"):
        clf.fit(X, np.arange(len(y)) % 3)
    assert_as_before(clf, before, lambda fitted: fitted.predict(X), expected)
