"""Several classes by binary models, one against the rest or one against one: identities, attributes, fits."""

import itertools
import logging
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from spkm import SPKMClassifier, SPKMNystroem, SPKMSelector, sparsity_path, stability_selection, theory
from spkm.estimators import _multiclass as multiclass_module
from spkm.estimators._multiclass import coupled_probabilities, weighted_votes
from spkm.losses import LOSSES
from spkm.objective import Objective
from tests.quick_search import quick_search
from tests.small_data import assert_same_fit, three_classes, two_classes

QUICK = {"n_basis": 2, "tol": 1e-2, "random_state": 0}
STRICT = {"n_basis": 1, "kernel": "linear", "selection": "strict", "weight_penalty": "rkhs", "random_state": 0}
CLASS_LOSSES = sorted(name for name, loss in LOSSES.items() if loss.for_classes)
each_kind = pytest.mark.parametrize("kind", ["ovr", "ovo"])


@pytest.fixture(scope="module")
def models():
    """Return models of three classes by kind, with rows and labels."""
    X, y = three_classes()
    return {kind: SPKMClassifier(multi_class=kind, **QUICK).fit(X, y) for kind in ("ovr", "ovo")}, X, y


def four_classes():
    """Return three clouds of which the first is cut in two."""
    X, y = three_classes(160)
    return X, np.where((y == 0) & (X[:, 2] > 0), 3, y)


def same_fit(a, b, X):
    """Compare two models of several parts bit by bit."""
    assert len(a.estimators_) == len(b.estimators_)
    for one, other in zip(a.estimators_, b.estimators_, strict=True):
        assert_same_fit(one, other, X)


def test_one_against_one_is_a_binary_model_of_each_pair(models):
    model, X, y = models[0]["ovo"], *models[1:]
    assert model.class_pairs_.tolist() == [[0, 1], [0, 2], [1, 2]]
    for pair, part in zip(model.class_pairs_, model.estimators_, strict=True):
        rows = np.isin(y, pair)
        alone = SPKMClassifier(**{**QUICK, "random_state": part.random_state}).fit(X[rows], y[rows])
        assert_same_fit(part, alone, X)
        assert part.classes_.tolist() == pair.tolist()
        assert model.estimator_for(*pair) is model.estimator_for(*pair[::-1]) is part
    assert len({part.random_state for part in model.estimators_}) == 3


def test_one_against_the_rest_is_a_binary_model_of_each_class(models):
    model, X, y = models[0]["ovr"], *models[1:]
    for label, part in zip(model.classes_, model.estimators_, strict=True):
        alone = SPKMClassifier(**{**QUICK, "random_state": part.random_state}).fit(X, y == label)
        assert_same_fit(part, alone, X)
        assert model.estimator_for(label) is part
    np.testing.assert_array_equal(
        model.decision_function(X), np.column_stack([part.decision_function(X) for part in model.estimators_])
    )


def test_votes_are_weighted_by_probability(models):
    model, X, _ = models[0]["ovo"], *models[1:]
    votes, p = np.zeros((len(X), 3)), model.predict_proba(X)
    for pair, part in zip(model.class_pairs_, model.estimators_, strict=True):
        votes[:, pair] += part.predict_proba(X) * p[:, pair].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.decision_function(X), votes, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), votes.argmax(axis=1))


def test_probabilities_of_one_against_the_rest_are_normalised(models):
    model, X, _ = models[0]["ovr"], *models[1:]
    alone = np.column_stack([part.predict_proba(X)[:, 1] for part in model.estimators_])
    np.testing.assert_allclose(model.predict_proba(X), alone / alone.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


@each_kind
def test_attributes(models, kind):
    model, X, y = models[0][kind], *models[1:]
    assert model.basis_vectors_.shape == (6, 3)
    assert model.basis_problem_.tolist() == [0, 0, 1, 1, 2, 2]
    assert model.dual_coef_.shape == (6,) and model.intercept_.shape == (3,)
    assert model.selected_features_.tolist() == [0, 1, 2]
    assert isinstance(model.n_iter_, int)
    for k, part in enumerate(model.estimators_):
        np.testing.assert_array_equal(model.basis_vectors_[model.basis_problem_ == k], part.basis_vectors_)
        np.testing.assert_array_equal(model.dual_coef_[model.basis_problem_ == k], part.dual_coef_)
    assert hasattr(model, "class_pairs_") == (kind == "ovo")
    assert not any(
        hasattr(model, name)
        for name in ("kernel_", "relevances_", "view_usage_", "objective_", "objective_path_", "cv_results_")
    )
    assert model.decision_function(X).shape == model.predict_proba(X).shape == (90, 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    assert model.score(X, y) > 0.97


@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_coupling_recovers_probabilities_that_the_pairs_agree_on(n_classes):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(n_classes), size=50)
    pairs = list(itertools.combinations(range(n_classes), 2))
    P = np.column_stack([p[:, b] / (p[:, a] + p[:, b]) for a, b in pairs])
    np.testing.assert_allclose(coupled_probabilities(P, n_classes), p, atol=1e-6)
    np.testing.assert_allclose(weighted_votes(P, n_classes), (n_classes - 1) * p, atol=1e-5)
    assert coupled_probabilities(P.astype(np.float32), n_classes).dtype == np.float32


def test_coupling_minimises_what_it_says(monkeypatch):
    rng = np.random.default_rng(1)
    P = rng.uniform(size=(7, 6))
    p = coupled_probabilities(P, 4)
    R = np.zeros((7, 4, 4))
    for k, (a, b) in enumerate(itertools.combinations(range(4), 2)):
        R[:, b, a], R[:, a, b] = P[:, k], 1 - P[:, k]

    def cost(p):
        return np.square(R.transpose(0, 2, 1) * p[:, :, None] - R * p[:, None, :]).sum(axis=(1, 2))

    for _ in range(20):
        other = np.abs(p + 0.05 * rng.standard_normal(p.shape))
        assert np.all(cost(p) <= cost(other / other.sum(axis=1, keepdims=True)) + 1e-12)
    monkeypatch.setattr(multiclass_module, "ENTRIES", 60)  # two rows at once
    np.testing.assert_allclose(coupled_probabilities(P, 4), p, atol=1e-12)


def test_coupling_of_pairs_without_doubt_and_of_none():
    sure = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])  # the last goes round in a circle
    p = coupled_probabilities(sure, 3)
    np.testing.assert_allclose(p, [[1, 0, 0], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]], atol=1e-5)
    assert np.all(p > 0)
    np.testing.assert_allclose(coupled_probabilities(np.full((1, 3), 0.5), 3), 1 / 3)


@each_kind
def test_two_classes_are_one_binary_model(kind):
    X, y = two_classes()
    joint = SPKMClassifier(**QUICK).fit(X, y)
    model = SPKMClassifier(multi_class=kind, **QUICK).fit(X, y)
    assert_same_fit(model, joint, X)
    assert not hasattr(model, "estimators_") and model.kernel_.gamma == joint.kernel_.gamma
    assert model.estimator_for(1, 0) is model


@each_kind
@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_every_loss(kind, loss):
    X, y = three_classes()
    model = SPKMClassifier(multi_class=kind, loss=loss, **QUICK).fit(X, y)
    assert model.score(X, y) > 0.95
    assert hasattr(model, "predict_proba") == (loss == "log")
    if kind == "ovo":
        np.testing.assert_allclose(model.decision_function(X).sum(axis=1), 2.0)


@each_kind
def test_labels_that_are_strings(models, kind):
    model, X, y = models[0][kind], *models[1:]
    names = np.array(["ape", "bee", "cat"])
    named = SPKMClassifier(multi_class=kind, **QUICK).fit(X, names[y])
    np.testing.assert_array_equal(named.predict(X), names[model.predict(X)])
    np.testing.assert_array_equal(named.decision_function(X), model.decision_function(X))
    if kind == "ovo":
        assert named.class_pairs_.tolist() == [["ape", "bee"], ["ape", "cat"], ["bee", "cat"]]
        assert named.estimator_for("cat", "ape").classes_.tolist() == ["ape", "cat"]
    else:
        assert named.estimator_for("cat") is named.estimators_[2]


@each_kind
def test_weights_of_rows_and_classes(kind):
    X, y = four_classes()
    weight = np.array([1, 3, 2, 1])[y]
    by_row = SPKMClassifier(multi_class=kind, **QUICK).fit(X, y, sample_weight=weight)
    by_class = SPKMClassifier(multi_class=kind, class_weight={0: 1, 1: 3, 2: 2, 3: 1}, **QUICK).fit(X, y)
    same_fit(by_row, by_class, X)
    shares = len(y) / (4 * np.bincount(y))  # of all classes, also in a problem of two of them
    balanced = SPKMClassifier(multi_class=kind, class_weight="balanced", **QUICK).fit(X, y)
    same_fit(balanced, SPKMClassifier(multi_class=kind, **QUICK).fit(X, y, sample_weight=shares[y]), X)


@each_kind
def test_a_class_without_weight_is_absent(kind):
    X, y = four_classes()
    kept = y != 1
    model = SPKMClassifier(multi_class=kind, **QUICK).fit(X, y, sample_weight=kept.astype(float))
    assert model.classes_.tolist() == [0, 2, 3] and len(model.estimators_) == 3
    same_fit(model, SPKMClassifier(multi_class=kind, **QUICK).fit(X[kept], y[kept]), X)
    binary = SPKMClassifier(multi_class=kind, **QUICK).fit(X, y, sample_weight=(y < 2).astype(float))
    assert binary.classes_.tolist() == [0, 1] and not hasattr(binary, "estimators_")


@each_kind
def test_sparse_rows_and_single_precision(models, kind):
    model, X, y = models[0][kind], *models[1:]
    fitted = clone(model).fit(sparse.csr_matrix(X), y)
    assert fitted.score(sparse.csc_array(X), y) > 0.97
    np.testing.assert_allclose(fitted.decision_function(X), fitted.decision_function(sparse.csr_array(X)), atol=1e-8)
    single = clone(model).fit(X.astype(np.float32), y)
    for array in (single.decision_function(X.astype(np.float32)), single.predict_proba(X.astype(np.float32))):
        assert array.dtype == np.float32
    assert single.basis_vectors_.dtype == single.intercept_.dtype == np.float32


@each_kind
def test_frames_and_names(models, kind):
    model, X, y = models[0][kind], *models[1:]
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    named = clone(model).fit(table, y)
    np.testing.assert_array_equal(named.decision_function(table), model.decision_function(X))
    assert named.get_feature_names_out().tolist() == ["a", "b", "c"]
    assert named.estimators_[0].predict(table).shape == (90,)  # a part knows the names, too


@each_kind
def test_views_by_names_and_by_tables(models, kind):
    _, X, y = models
    settings = {"n_basis": {"a": 2, "b": 1}, "kernel": {"a": "rbf", "b": "linear"}, "multi_class": kind}
    frame, tables = pd.DataFrame(X, columns=["u", "v", "w"]), {"a": X[:, :2], "b": X[:, 2:]}
    by_names = SPKMClassifier(views={"a": ["u", "v"], "b": ["w"]}, tol=1e-2, random_state=0, **settings).fit(frame, y)
    by_tables = SPKMClassifier(tol=1e-2, random_state=0, **settings).fit(tables, y)
    np.testing.assert_array_equal(by_names.decision_function(frame), by_tables.decision_function(tables))
    part = by_tables.estimators_[0]
    assert list(part.view_usage_) == ["a", "b"] and not hasattr(by_tables, "view_usage_")
    assert part.predict(tables).shape == (90,) and by_names.estimators_[0].predict(frame).shape == (90,)
    assert by_tables.basis_vectors_.shape == (9, 3) and by_tables.score(tables, y) > 0.97


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


def interrupted_at(monkeypatch, call):
    """Raise KeyboardInterrupt in the given iteration of all those to come."""
    evaluate, calls = Objective.value_and_gradient, []

    def evaluate_until_interrupted(*args):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return evaluate(*args)

    monkeypatch.setattr(Objective, "value_and_gradient", evaluate_until_interrupted)
    return calls


@each_kind
def test_an_interrupt_leaves_the_last_model(models, kind, monkeypatch):
    _, X, y = models
    model = SPKMClassifier(multi_class=kind, **QUICK).fit(X, y)
    before = dict(vars(model))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupted_at(patch, 20)
        model.fit(X[:60], y[:60] + (y[:60] == 2))
    assert vars(model) == before and model.score(X, y) > 0.97
    fresh = clone(model)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupted_at(patch, 3)
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_an_interrupt_of_the_last_problem_keeps_its_best_so_far(models, monkeypatch):
    _, X, y = models
    with monkeypatch.context() as patch:
        calls = interrupted_at(patch, -1)
        SPKMClassifier(multi_class="ovo", **QUICK).fit(X, y)
    with monkeypatch.context() as patch:
        interrupted_at(patch, len(calls) - 2)
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
    SPKMClassifier(multi_class="ovo", verbose=1, **QUICK).fit(X, y)
    assert [line for line in caplog.messages if "iteration" not in line] == [
        f"SPKMClassifier {a} against {b}" for a, b in itertools.combinations(range(3), 2)
    ]


class Recorder:
    """Notes the tasks that end, and asks to stop after the one of a given name."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.names = []

    def setup(self, estimator, context):
        self.names.append("setup")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.names.append(context.task_name)
        return context.task_name == self.stop_after

    def teardown(self, estimator, context):
        self.names.append("teardown")


def test_callbacks_see_every_problem(models):
    _, X, y = models
    recorder = Recorder()
    model = SPKMClassifier(multi_class="ovr", **QUICK).set_callbacks(recorder).fit(X, y)
    problems = [f"{k} against the rest" for k in range(3)]
    told = [name for name in recorder.names if name != "iteration"]
    assert told == ["setup", *problems, "fit", "teardown"] and "iteration" in recorder.names
    # All problems make the model: who asks to stop after one of them gets a whole model all the same.
    stopped = clone(model).set_callbacks(Recorder("0 against the rest")).fit(X, y)
    np.testing.assert_array_equal(stopped.decision_function(X), model.decision_function(X))


def test_progress_bar(models, capsys):
    _, X, y = models
    SPKMClassifier(multi_class="ovo", **QUICK).set_callbacks(ProgressBar()).fit(X, y)
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
