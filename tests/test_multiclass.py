"""Several classes by binary models, one against the rest or one against one: identities, attributes, samples."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import logit
from sklearn.base import clone

from spkm import SPKMClassifier
from spkm.core.decisions import decision, probabilities
from spkm.losses import Log
from tests.plain_cases import ensemble
from tests.several_classes import CLASS_LOSSES, FOLDS, QUICK, each_kind, four_classes, same_fit, three_class_models
from tests.small_data import assert_same_fit, three_classes, two_classes


@pytest.fixture(scope="module")
def models():
    """Return models of three classes by kind, with rows and labels."""
    return three_class_models()


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


def coupled(P):
    """Return probabilities of classes, and votes for them, from the probabilities of their pairs."""
    n_classes = round((1 + np.sqrt(1 + 8 * P.shape[1])) / 2)
    model = ensemble(list(range(n_classes)), Log(), pairs=True)
    return probabilities(model, logit(P)), decision(model, logit(P))


@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_coupling_recovers_probabilities_that_the_pairs_agree_on(n_classes):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(n_classes), size=50)
    pairs = list(itertools.combinations(range(n_classes), 2))
    P = np.column_stack([p[:, b] / (p[:, a] + p[:, b]) for a, b in pairs])
    found, votes = coupled(P)
    np.testing.assert_allclose(found, p, atol=1e-6)
    np.testing.assert_allclose(votes, (n_classes - 1) * p, atol=1e-5)
    assert coupled(P.astype(np.float32))[0].dtype == np.float32


def test_coupling_minimises_what_it_says():
    rng = np.random.default_rng(1)
    P = rng.uniform(size=(7, 6))
    p = coupled(P)[0]
    R = np.zeros((7, 4, 4))
    for k, (a, b) in enumerate(itertools.combinations(range(4), 2)):
        R[:, b, a], R[:, a, b] = P[:, k], 1 - P[:, k]

    def cost(p):
        return np.square(R.transpose(0, 2, 1) * p[:, :, None] - R * p[:, None, :]).sum(axis=(1, 2))

    for _ in range(20):
        other = np.abs(p + 0.05 * rng.standard_normal(p.shape))
        assert np.all(cost(p) <= cost(other / other.sum(axis=1, keepdims=True)) + 1e-12)
    many = np.tile(P, (25_000, 1))  # more than are coupled at once
    np.testing.assert_allclose(coupled(many)[0], np.tile(p, (25_000, 1)), atol=1e-12)


def test_coupling_of_pairs_without_doubt_and_of_none():
    sure = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])  # the last goes round in a circle
    with np.errstate(divide="ignore"):
        p = coupled(sure)[0]
    np.testing.assert_allclose(p, [[1, 0, 0], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]], atol=1e-5)
    assert np.all(p > 0)
    np.testing.assert_allclose(coupled(np.full((1, 3), 0.5))[0], 1 / 3)


@each_kind
def test_two_classes_are_one_binary_model(kind):
    X, y = two_classes()
    joint = SPKMClassifier(**QUICK).fit(X, y)
    model = SPKMClassifier(multi_class=kind, **QUICK).fit(X, y)
    assert_same_fit(model, joint, X)
    assert not hasattr(model, "estimators_")
    np.testing.assert_array_equal(model.relevances_, joint.relevances_)
    assert model.estimator_for(1, 0) is model


@each_kind
@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_every_loss(kind, loss):
    X, y = three_classes()
    penalty = None if loss == "cosine" else "rkhs"
    model = SPKMClassifier(multi_class=kind, loss=loss, **{**QUICK, "weight_penalty": penalty}).fit(X, y)
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
    by_row = SPKMClassifier(multi_class=kind, **FOLDS).fit(X, y, sample_weight=weight)
    by_class = SPKMClassifier(multi_class=kind, class_weight={0: 1, 1: 3, 2: 2, 3: 1}, **FOLDS).fit(X, y)
    same_fit(by_row, by_class, X)
    shares = len(y) / (4 * np.bincount(y))  # of all classes, also in a problem of two of them
    given = SPKMClassifier(multi_class=kind, **QUICK)  # folds with weights are those above
    balanced = clone(given).set_params(class_weight="balanced").fit(X, y)
    same_fit(balanced, given.fit(X, y, sample_weight=shares[y]), X)


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
    # The same models, whose sums over features a frame's layout in memory may round in another order.
    np.testing.assert_array_equal(named.dual_coef_, model.dual_coef_)
    np.testing.assert_allclose(named.decision_function(table), model.decision_function(X), rtol=1e-10, atol=1e-10)
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
