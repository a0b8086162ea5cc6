"""Strict selection: errors, interrupts, callbacks, and the company of scikit-learn."""

import logging
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifier, SPKMRegressor
from spkm.core.objective import Objective
from spkm.kernels import RBF, Rescaled
from spkm.losses import Poisson
from spkm.selection import Search
from spkm.solvers import LBFGS
from spkm.sources import dealt_folds
from tests.interrupting import interrupt_at
from tests.marks import QUICK_SEARCHES
from tests.strict_selection import (
    LINE,
    STRICT,
    D,
    assert_only_selected_columns_matter,
    labels,
    real_target,
    rows,
)

pytestmark = QUICK_SEARCHES


# Errors.


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"selection": "lenient"}, "selection must be one of None, 'strict'; got 'lenient'."),
        ({"selection": True}, "selection must be one of None, 'strict'; got True."),
        ({"max_features": 0, "selection": "strict"}, "max_features must be an integer of at least 1; got 0."),
        ({"max_features": 3}, "max_features needs selection='strict'; got selection=None."),
        ({"feature_groups": [0] * D}, "feature_groups needs selection='strict'; got selection=None."),
        ({"max_basis": 0}, "max_basis must be an integer of at least 1; got 0."),
        ({"n_basis": 4, "max_basis": 3}, "n_basis must not exceed max_basis=3; got 4."),
        ({"selection": "strict", "warm_start": True}, "selection='strict' cannot go on from the last fit."),
        (
            {"n_basis": "auto", "warm_start": True},
            "n_basis='auto' cannot go on from the last fit. Set warm_start=False.",
        ),
        (
            {"selection": "strict", "basis_penalty": "l1"},
            "selection='strict' has its own penalty on the features; got basis_penalty='l1'.",
        ),
        ({"selection": "strict", "start": "rows"}, "selection='strict' finds its own start; got start='rows'."),
        ({"n_basis": "auto", "start": np.zeros((2, D))}, "n_basis='auto' finds its own start; got start=array("),
        (
            {"selection": "strict", "feature_groups": [0, 1]},
            f"feature_groups must hold one label for each of the {D} features; got shape (2,).",
        ),
        (
            {"selection": "strict", "feature_groups": [0, 0, 1, 1, 1], "max_features": 1},
            "max_features=1 is smaller than the smallest group of feature_groups, 2.",
        ),
        ({"n_basis": "all"}, "n_basis must be an integer of at least 1; got 'all'."),
    ],
)
@pytest.mark.parametrize("estimator", [SPKMClassifier, SPKMRegressor])
def test_settings_that_cannot_be(estimator, settings, message):
    X = rows()
    with pytest.raises(ValueError, match=re.escape(message)):
        estimator(**settings).fit(X, labels(X))


def test_a_kernel_with_a_factor_for_every_column_cannot_lose_columns():
    X = rows()
    with pytest.raises(ValueError, match="kernel"):
        SPKMClassifier(**{**STRICT, "kernel": Rescaled(RBF(), np.ones(D))}).fit(X, labels(X))


@pytest.mark.parametrize(
    "settings",
    [{"solver": "lbgfs"}, {"solver": LBFGS(max_iter=0)}, {"weight_penalty": "l3"}, {"class_weight": {0: -1}}],
)
def test_what_cannot_be_is_told_before_the_search(settings):
    X = rows()
    with interrupt_at(Objective.value_and_gradient, 1) as calls, pytest.raises(ValueError, match=next(iter(settings))):
        SPKMClassifier(**LINE, **settings).fit(X, labels(X))
    assert not calls


@pytest.mark.parametrize("settings", [{"selection": "strict"}, {"n_basis": "auto"}], ids=str)
def test_a_constant_target_needs_no_search(settings):
    for X, y in ((rows()[:1], [1.0]), (np.ones((5, D)), np.ones(5)), (rows(), np.full(50, 7.0))):
        model = SPKMRegressor(**settings).fit(X, y)
        np.testing.assert_array_equal(model.predict(rows()), np.full(50, y[0]))
        assert len(model.selected_features_) == 0 and not model.dual_coef_.any()


def test_one_row_cannot_be_held_out():
    with pytest.raises(ValueError, match="A choice by held-out samples needs at least 2 different samples"):
        dealt_folds(1, np.random.default_rng(0))


@pytest.mark.filterwarnings("ignore:No feature is selected:UserWarning")
def test_few_rows():
    X = rows()
    for n in (2, 3):
        model = SPKMRegressor(**LINE).fit(X[:n], real_target(X)[:n])
        assert np.all(np.isfinite(model.predict(X)))
    y = np.array([0, 1, 1, 0])
    for n in (2, 4):
        assert set(SPKMClassifier(**LINE).fit(X[:n], y[:n]).predict(X)) <= {0, 1}


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_columns_that_say_nothing_and_columns_twice(careful, kernel):
    X = rows()
    settings = {**STRICT, "kernel": kernel}
    assert SPKMClassifier(**settings).fit(X[:, [1]], labels(X)).selected_features_.tolist() == [0]
    double = np.hstack([X[:, [1]], X[:, [1]]])
    assert len(SPKMRegressor(**settings).fit(double, X[:, 1]).selected_features_) == 1
    model = SPKMRegressor(**settings).fit(X, np.full(50, -3.5))
    np.testing.assert_allclose(model.predict(X), -3.5, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "matern"])
def test_a_constant_column_is_never_selected(careful, kernel):
    X = rows()
    constant = np.column_stack([np.ones(50), X[:, 1], np.zeros(50)])
    for model, y in ((SPKMClassifier, labels(X)), (SPKMRegressor, X[:, 1])):
        assert model(**{**STRICT, "kernel": kernel}).fit(constant, y).selected_features_.tolist() == [1]


def test_a_rare_class_may_be_missing_from_a_fold():
    X = rows()
    y = np.zeros(50, dtype=int)
    y[:25], y[0] = 1, 2
    model = SPKMClassifier(**LINE).fit(X, y)
    assert model.predict_proba(X).shape == (50, 3) and np.all(np.isfinite(model.predict_proba(X)))


# Interrupts, reports, company.


class Stopper:
    """A callback that asks to stop at a task of a given name."""

    def __init__(self, name):
        self.name = name
        self.names = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.names.append(context.task_name)
        return self.name in context.task_name

    def teardown(self, estimator, context):
        self.names.append("teardown")


def test_a_callback_sees_every_step_and_may_stop(careful, callbacks):
    X = rows()
    recorder = Stopper("no such step")
    SPKMClassifier(**LINE).set_callbacks(recorder).fit(X, labels(X))
    for word in ("elimination", "strengths", "iteration"):
        assert any(word in name for name in recorder.names)
    assert recorder.names[-2:] == ["fit", "teardown"]
    for step in ("elimination", "strengths"):  # a search stops as soon as it has a choice to keep
        with pytest.warns(ConvergenceWarning, match="The search was interrupted; the best model so far is kept"):
            model = SPKMClassifier(**LINE).set_callbacks(Stopper(step)).fit(X, labels(X))
        assert_only_selected_columns_matter(model, X)
    with pytest.warns(ConvergenceWarning, match="was interrupted; the best model so far is kept"):
        model = SPKMClassifier(**LINE).set_callbacks(Stopper("iteration")).fit(X, labels(X))
    assert_only_selected_columns_matter(model, X)


def test_an_interrupt_ends_the_fit():
    X = rows()
    with interrupt_at(Objective.value_and_gradient, 20) as calls, pytest.raises(KeyboardInterrupt):
        SPKMClassifier(**LINE).fit(X, labels(X))
    assert len(calls) == 20


def test_an_interrupt_after_the_race_keeps_its_choice(careful):
    X = rows()
    with pytest.warns(UserWarning, match="The search was interrupted; the best model so far is kept") as caught:
        with interrupt_at(Search._simplest, 1):
            model = SPKMClassifier(**LINE).fit(X, labels(X))
    assert caught[0].filename == __file__  # the user's own line
    assert_only_selected_columns_matter(model, X)


def test_verbose_tells_of_every_step(caplog):
    X = rows()
    caplog.set_level(logging.INFO, "spkm")
    SPKMClassifier(**LINE).fit(X, labels(X))
    assert caplog.messages == []
    model = SPKMClassifier(**LINE, verbose=2).fit(X, labels(X))
    lines = caplog.messages
    assert all(line.startswith("SPKMClassifier ") for line in lines)
    assert sum("iteration" in line for line in lines) == model.n_iter_
    assert sum("elimination with linear" in line for line in lines) == 2  # of two folds


def test_the_warning_of_an_edge_points_to_the_users_line():
    X = rows()
    with pytest.warns(UserWarning, match="The best number of basis vectors lies at the edge") as caught:
        SPKMClassifier(n_basis="auto", max_basis=1, weight_penalty="rkhs", max_iter=50, random_state=0).fit(
            X, labels(X)
        )
    assert caught[0].filename == __file__


def test_pipeline_and_grid_search():
    X = pd.DataFrame(rows(), columns=list("abcde"))
    y = labels(rows())
    pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), SPKMClassifier(**LINE)).fit(X, y)
    plain = SPKMClassifier(**LINE).fit(X, y)
    assert set(pipe[-1].get_feature_names_out()) & set(plain.get_feature_names_out())
    np.testing.assert_array_equal(
        pipe[-1].get_feature_names_out(), pipe[-1].feature_names_in_[pipe[-1].selected_features_]
    )
    search = GridSearchCV(SPKMClassifier(**LINE), {"max_features": [1, 3]}, cv=2).fit(X, y)
    assert search.best_estimator_.selected_features_.size <= search.best_params_["max_features"]
    assert_only_selected_columns_matter_of_frame(search.best_estimator_, X)


def assert_only_selected_columns_matter_of_frame(model, X):
    other = X.copy()
    for name in X.columns.difference(model.get_feature_names_out()):
        other[name] = 1e9
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))


def test_counts_with_a_log_link():
    X = rows()
    y = np.round(np.exp(real_target(X) / 2))
    model = SPKMRegressor(loss=Poisson(), **LINE).fit(X, y)
    assert np.all(model.predict(X) > 0)
    np.testing.assert_array_equal(model.restricted().predict(X[:, model.selected_features_]), model.predict(X))
