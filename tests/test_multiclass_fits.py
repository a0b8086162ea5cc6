"""Several classes by binary models: searches, warm starts, interrupts, warnings, callbacks, company."""

import itertools
import logging
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from spkm import SPKMClassifier, SPKMNystroem, SPKMSelector, sparsity_path, stability_selection, theory
from spkm.core.objective import Objective
from tests.interrupting import interrupt_at
from tests.quick_search import quick_search
from tests.recording import Recorder
from tests.several_classes import QUICK, STRICT, each_kind, same_fit, three_class_models
from tests.small_data import assert_same_fit, three_classes


@pytest.fixture(scope="module")
def models():
    """Return models of three classes by kind, with rows and labels."""
    return three_class_models()


def wide_classes():
    """Return the three clouds with five columns of noise after them."""
    X, y = three_classes()
    return np.column_stack([X, np.random.default_rng(3).standard_normal((len(X), 5))]), y


@each_kind
def test_strict_selection(kind):
    X, y = wide_classes()
    with quick_search(hasty=True):
        model = SPKMClassifier(max_features=2, multi_class=kind, **STRICT).fit(X, y)
    chosen = [part.selected_features_ for part in model.estimators_]
    assert max(map(len, chosen)) <= 2
    np.testing.assert_array_equal(model.selected_features_, np.unique(np.concatenate(chosen)))
    mean = np.mean([part.feature_importances_ for part in model.estimators_], axis=0)
    np.testing.assert_array_equal(model.feature_importances_, mean)
    other = X.copy()
    other[:, ~model.get_support()] = 1e6
    np.testing.assert_array_equal(model.decision_function(other), model.decision_function(X))
    small = model.restricted()
    assert small.n_features_in_ == small.basis_vectors_.shape[1] == len(model.selected_features_)
    few = X[:, model.selected_features_]
    np.testing.assert_allclose(small.decision_function(few), model.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(small.restricted().predict(few), model.predict(X))
    np.testing.assert_array_equal(
        few[:, small.estimators_[1].selected_features_], X[:, model.estimators_[1].selected_features_]
    )


def test_number_of_vectors_by_held_out_rows():
    X, y = three_classes(60)
    with quick_search(hasty=True), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*lies at the edge")
        model = SPKMClassifier("auto", max_basis=2, weight_penalty="rkhs", multi_class="ovo", random_state=0).fit(X, y)
    assert [len(part.basis_vectors_) for part in model.estimators_] == np.bincount(model.basis_problem_).tolist()
    assert all(hasattr(part, "cv_results_") for part in model.estimators_) and model.score(X, y) > 0.9


@each_kind
def test_a_seed_settles_everything_and_threads_do_not_matter(models, kind):
    model, X, y = models[0][kind], *models[1:]
    same_fit(clone(model).set_params(n_jobs=2).fit(X, y), model, X)
    other = clone(model).set_params(random_state=np.random.default_rng(5))
    seeds = [part.random_state for _ in range(2) for part in other.fit(X, y).estimators_]
    assert len(set(seeds)) == 6


@each_kind
def test_clone_pickle_and_grid_search(models, kind):
    model, X, y = models[0][kind], *models[1:]
    copied = pickle.loads(pickle.dumps(model))
    same_fit(copied, model, X)
    np.testing.assert_array_equal(copied.predict_proba(X), model.predict_proba(X))
    assert not hasattr(clone(model), "estimators_")
    search = GridSearchCV(SPKMClassifier(**QUICK), {"multi_class": ["joint", kind]}, cv=2).fit(X, y)
    assert np.all(search.cv_results_["mean_test_score"] > 0.9)


@each_kind
def test_a_warm_start_goes_on_problem_by_problem(models, kind):
    _, X, y = models
    model = SPKMClassifier(multi_class=kind, warm_start=True, **QUICK).fit(X, y)
    before = [part.objective_ for part in model.estimators_]
    model.set_params(n_basis=3).fit(X, y)
    assert model.basis_vectors_.shape == (9, 3)
    for part, objective in zip(model.estimators_, before, strict=True):
        assert part.objective_path_[0] == pytest.approx(objective, rel=1e-6)
    for other in ("joint", "ovr" if kind == "ovo" else "ovo"):
        with pytest.raises(ValueError, match="warm_start=True needs the classes and the multi_class of the last fit"):
            model.set_params(multi_class=other).fit(X, y)
    with pytest.raises(ValueError, match="warm_start=True needs the classes and the multi_class of the last fit"):
        model.set_params(multi_class=kind).fit(X, y + (y == 2))
    assert model.classes_.tolist() == [0, 1, 2] and model.score(X, y) > 0.97  # left as it was
    joint = SPKMClassifier(warm_start=True, **QUICK).fit(X, y)
    with pytest.raises(ValueError, match="warm_start=True needs the classes and the multi_class of the last fit"):
        joint.set_params(multi_class=kind).fit(X, y)


def fitted_names(model):
    """Return the names of the attributes that a fit leaves."""
    return {name for name in vars(model) if name.endswith("_")} | {"_fitted"} & set(vars(model))


@each_kind
def test_a_fit_forgets_the_last_one(models, kind):
    model, X, y = models[0][kind], *models[1:]
    joint = SPKMClassifier(**QUICK).fit(X, y)
    changed = clone(joint).fit(X, y).set_params(multi_class=kind).fit(X, y)
    assert fitted_names(changed) == fitted_names(model)
    assert_same_fit(changed.set_params(multi_class="joint").fit(X, y), joint, X)
    assert fitted_names(changed) == fitted_names(joint)


@each_kind
def test_an_interrupt_leaves_the_last_model(models, kind):
    _, X, y = models
    model = SPKMClassifier(multi_class=kind, **QUICK).fit(X, y)
    before = dict(vars(model))
    with interrupt_at(Objective.value_and_gradient, 20), pytest.raises(KeyboardInterrupt):
        model.fit(X[:60], y[:60] + (y[:60] == 2))
    assert vars(model) == before and model.score(X, y) > 0.97
    fresh = clone(model)
    with interrupt_at(Objective.value_and_gradient, 3), pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_an_interrupt_of_the_last_problem_keeps_its_best_so_far(models):
    _, X, y = models
    with interrupt_at(Objective.value_and_gradient, -1) as calls:
        SPKMClassifier(multi_class="ovo", **QUICK).fit(X, y)
    with interrupt_at(Objective.value_and_gradient, len(calls) - 2):
        with pytest.warns(ConvergenceWarning, match="1 against 2: LBFGS was interrupted"):
            model = SPKMClassifier(multi_class="ovo", **QUICK).fit(X, y)
    assert model.score(X, y) > 0.9


def test_one_warning_for_all_problems_at_the_line_of_the_user(models):
    _, X, y = models
    with pytest.warns(ConvergenceWarning) as caught:
        SPKMClassifier(n_basis=2, multi_class="ovo", max_iter=2, tol=0.0, random_state=0).fit(X, y)
    assert len(caught) == 1 and caught[0].filename == __file__
    message = str(caught[0].message)
    assert message.startswith("0 against 1: LBFGS stopped after 2 iterations")
    assert message.endswith("(and 2 more from 3 binary problems)")


def test_verbose_names_the_problems(models, caplog):
    _, X, y = models
    caplog.set_level(logging.INFO, "spkm")
    SPKMClassifier(multi_class="ovo", verbose=2, **QUICK).fit(X, y)
    starts = [line for line in caplog.messages if ": start by recipe" in line]
    assert [line.partition(":")[0] for line in starts] == [
        f"SPKMClassifier {a} against {b}" for a, b in itertools.combinations(range(3), 2)
    ]


def test_callbacks_see_every_problem(models, callbacks):
    _, X, y = models
    recorder = Recorder()
    model = SPKMClassifier(multi_class="ovr", **QUICK).set_callbacks(recorder).fit(X, y)
    problems = [f"{k} against the rest" for k in range(3)]
    told = [name for name in recorder.names if name != "iteration"]
    assert told == ["setup", *problems, "fit", "teardown"] and "iteration" in recorder.names
    # All problems make the model: who asks to stop after one of them gets a whole model all the same.
    stopped = clone(model).set_callbacks(Recorder(stop_after="0 against the rest")).fit(X, y)
    np.testing.assert_array_equal(stopped.decision_function(X), model.decision_function(X))


def test_progress_bar(models, capsys, callbacks):
    _, X, y = models
    SPKMClassifier(multi_class="ovo", **QUICK).set_callbacks(callbacks.ProgressBar()).fit(X, y)
    assert "0 against 2" in capsys.readouterr().out


def test_a_bound_is_one_of_a_single_model(models):
    parts, X, y = models
    for model in parts.values():
        with pytest.raises(ValueError, match="estimator must be one model of two or more classes; got one of several"):
            theory.generalization_bound(model, X, y)


def test_estimator_for_says_what_it_needs(models):
    parts, X, y = models
    for bad in ((0,), (0, 0), (0, 7), (0, None)):
        with pytest.raises(ValueError, match=r"estimator_for needs two different labels of classes_, \[0, 1, 2\]; got"):
            parts["ovo"].estimator_for(*bad)
    for bad in ((0, 1), (7,)):
        with pytest.raises(ValueError, match=r"estimator_for needs one label of classes_, \[0, 1, 2\]; got"):
            parts["ovr"].estimator_for(*bad)
    with pytest.raises(ValueError, match="estimator_for needs a fit with multi_class='ovo' or 'ovr'"):
        SPKMClassifier(**QUICK).fit(X, y).estimator_for(0, 1)
    with pytest.raises(NotFittedError):
        SPKMClassifier().estimator_for(0, 1)


@each_kind
def test_paths_selector_and_landmarks_say_what_they_need(kind):
    X, y = wide_classes()
    model = SPKMClassifier(multi_class=kind, **STRICT)
    for function in (sparsity_path, stability_selection):
        with pytest.raises(ValueError, match=f"estimator must have multi_class='joint'; got '{kind}'"):
            function(model, X, y)
    with pytest.raises(ValueError, match=f"landmarks must have multi_class='joint'; got '{kind}'"):
        SPKMNystroem(landmarks=model).fit(X, y)
    with pytest.raises(ValueError, match="max_features is a limit for each binary problem"):
        SPKMSelector(model, max_features=2).fit(X, y)
    with quick_search(hasty=True):
        selector = SPKMSelector(model).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(), selector.estimator_.get_support())
