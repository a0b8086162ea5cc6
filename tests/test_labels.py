"""Any number of labels for each row: identities with binary models, forms of y, constant labels."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_classifier_multioutput

from spkm import SPKMClassifier, SPKMClassifierCV, sparsity_path
from spkm.losses import LOSSES, Log
from spkm.sources import kinds_of
from tests.quick_search import quick_search
from tests.small_data import assert_same_fit, read_only, two_classes

QUICK = {"n_basis": 4, "weight_penalty": "rkhs", "tol": 1e-2, "random_state": 0}
CLASS_LOSSES = sorted(name for name, loss in LOSSES.items() if loss.for_classes)
each_kind = pytest.mark.parametrize("kind", ["joint", "ovr"])


def labelled(n=120, seed=6):
    """Return two columns, and three labels that each half of the plane, a circle and a strip have."""
    X = np.random.default_rng(seed).uniform(-2, 2, (n, 2))
    inside = [X[:, 0] > 0.2, np.sum(X**2, axis=1) < 2.5, np.abs(X[:, 1]) < 1]
    return read_only(X, np.column_stack(inside).astype(int))


@pytest.fixture(scope="module")
def models():
    """Return models of three labels by kind, with rows and labels."""
    X, y = labelled()
    return (
        {
            kind: SPKMClassifier(8, multi_class=kind, weight_penalty="rkhs", tol=1e-2, random_state=0).fit(X, y)
            for kind in ("joint", "ovr")
        },
        X,
        y,
    )


@each_kind
def test_attributes_and_forms_of_answers(models, kind):
    model, X, y = models[0][kind], *models[1:]
    assert model.classes_.tolist() == [0, 1, 2]
    for array in (model.decision_function(X), model.predict_proba(X), model.predict(X)):
        assert array.shape == (120, 3)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    np.testing.assert_allclose(model.predict_proba(X), 1 / (1 + np.exp(-model.decision_function(X))))
    assert model.score(X, y) == accuracy_score(y, model.predict(X)) > 0.8
    if kind == "joint":
        assert model.dual_coef_.shape == (len(model.basis_vectors_), 3) and model.intercept_.shape == (3,)
        assert 1 <= len(model.basis_vectors_) <= 8  # those of one place are merged
    else:
        sizes = [len(part.basis_vectors_) for part in model.estimators_]
        assert len(sizes) == 3 and min(sizes) >= 1 and max(sizes) <= 8
        assert model.dual_coef_.shape == (sum(sizes),) == (len(model.basis_vectors_),)


def test_one_against_the_rest_is_a_binary_model_of_each_label(models):
    model, X, y = models[0]["ovr"], *models[1:]
    for label, part in enumerate(model.estimators_):
        alone = SPKMClassifier(8, weight_penalty="rkhs", tol=1e-2, random_state=part.random_state).fit(
            X, y[:, label] == 1
        )
        assert_same_fit(part, alone, X)
        assert model.estimator_for(label) is part


def test_the_joint_loss_is_the_sum_of_binary_losses(models):
    model, X, y = models[0]["joint"], *models[1:]
    Y, F, w = np.where(y == 1, 1.0, -1.0), model.decision_function(X), np.full((len(X), 1), 1 / len(X))
    together, alone = Log("labels"), Log()
    apart = [alone.value(alone.totals(Y[:, [k]], F[:, [k]], w)) for k in range(3)]
    assert together.value(together.totals(Y, F, w)) == pytest.approx(np.sum(apart))
    assert model.model_.loss.columns == "labels"


def test_one_column_is_a_binary_problem():
    X, y = two_classes()
    binary = SPKMClassifier(**QUICK).fit(X, y)
    with pytest.warns(DataConversionWarning):
        assert_same_fit(SPKMClassifier(**QUICK).fit(X, y[:, None]), binary, X)


@each_kind
def test_one_label_beside_a_constant_one_is_a_binary_model(kind):
    X, y = two_classes()
    binary = SPKMClassifier(**QUICK).fit(X, y)
    model = SPKMClassifier(multi_class=kind, **QUICK)
    model.fit(X, np.column_stack([np.zeros_like(y), y, np.ones_like(y)]))
    learned = binary.decision_function(X)
    if kind == "joint":
        np.testing.assert_allclose(model.decision_function(X)[:, 1], learned, rtol=1e-10)
        assert model.dual_coef_.shape == (len(binary.dual_coef_), 3) and np.all(model.dual_coef_[:, [0, 2]] == 0)
        np.testing.assert_allclose(model.intercept_[[0, 2]], [-np.log(81), np.log(81)])
    else:
        assert model.estimator_for(1) is model.estimators_[0]
        with pytest.raises(ValueError, match="Label 2 was the same in all samples of the fit, so it has no estimator"):
            model.estimator_for(2)
    assert np.all(model.predict(X)[:, [0, 2]] == [0, 1])
    np.testing.assert_allclose(model.predict_proba(X)[:, [0, 2]], np.tile([1 / 82, 81 / 82], (80, 1)))


@each_kind
@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_every_loss(kind, loss):
    X, y = labelled()
    settings = {"loss": loss, "multi_class": kind, "weight_penalty": None if loss == "cosine" else "rkhs"}
    model = SPKMClassifier(8, **settings, tol=1e-2, random_state=0).fit(X, y)
    assert np.all(np.mean(model.predict(X) == y, axis=0) > 0.85)
    assert hasattr(model, "predict_proba") == (loss == "log")


FORMS = {
    "sparse": sparse.csr_array,
    "sparse, columns first": sparse.csc_matrix,
    "list": lambda y: y.tolist(),
    "bool": lambda y: y.astype(bool),
    "float": lambda y: y.astype(float),
    "frame": lambda y: pd.DataFrame(y, columns=["a", "b", "c"]),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_indicator_matrix(models, form):
    model, X, y = models[0]["joint"], *models[1:]
    same = clone(model).fit(X, FORMS[form](y))
    assert_same_fit(same, model, X)
    assert same.predict(X).dtype.kind == "i" and isinstance(same.predict(X), np.ndarray)
    assert same.score(X, FORMS[form](y)) == model.score(X, y)


@each_kind
def test_weights_of_rows(models, kind):
    model, X, y = models[0][kind], *models[1:]
    weight = 1.0 + np.arange(len(X)) % 2
    twice = np.repeat(np.arange(len(X)), weight.astype(int))
    weighted = clone(model).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(
        weighted.decision_function(X), clone(model).fit(X[twice], y[twice]).decision_function(X)
    )


def test_rows_without_labels_and_rows_of_single_precision(models):
    model, X, y = models[0]["joint"], *models[1:]
    assert np.any(y.sum(axis=1) == 0) and np.any(y.sum(axis=1) == 3)
    single = clone(model).fit(X.astype(np.float32), y)
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float32


@each_kind
def test_company(models, kind):
    model, X, y = models[0][kind], *models[1:]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
    plain = clone(model).set_params(weight_penalty="rkhs")  # folds in folds add time alone
    assert cross_val_score(plain, X, y, cv=2).min() > 0.5
    search = GridSearchCV(plain, {"multi_class": ["joint", "ovr"]}, cv=2, scoring="f1_macro").fit(
        X, sparse.csr_array(y)
    )
    assert search.best_score_ > 0.7
    warm = clone(plain).set_params(warm_start=True).fit(X, y)
    assert warm.fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize("kind", ["joint", "ovr"])
def test_scikit_learns_check_of_several_outputs(kind):
    check_classifier_multioutput("SPKMClassifier", SPKMClassifier(multi_class=kind, **QUICK))


@pytest.mark.filterwarnings("ignore:The best .* lies at the edge:UserWarning")
def test_a_search_over_labels():
    X, y = labelled(60)
    X = np.column_stack([X, np.random.default_rng(1).standard_normal((60, 2))])
    settings = {"selection": "strict", "weight_penalty": "rkhs", "random_state": 0}
    with quick_search(hasty=True):
        best = SPKMClassifierCV("rbf", n_basis=4, cv=2, scoring="accuracy", **settings).fit(X, y)
        assert best.predict(X).shape == (60, 3)
        path = sparsity_path(SPKMClassifier(4, **settings), X, y)
    assert np.all((path.scores >= 0) & (path.scores <= 1)) and path.n_features[-1] == 1


@pytest.mark.parametrize(
    ("settings", "change", "message"),
    [
        ({"multi_class": "ovo"}, lambda y: y, "multi_class='ovo' needs one label for every sample; y is an indicator"),
        (
            {"class_weight": "balanced"},
            lambda y: y,
            "class_weight is for one label for every sample; got 'balanced' and",
        ),
        ({}, lambda y: 2 * y - 1, r"y of two dimensions must be an indicator matrix of 0 and 1; got \[-1, 1\]"),
        ({}, lambda y: 0 * y, "y must hold at least one label that is not the same in all samples of positive weight"),
        ({}, lambda y: y + np.arange(3), r"y should be a 1d array, got an array of shape \(120, 3\)"),
    ],
)
def test_bad_labels(settings, change, message):
    X, y = labelled()
    with pytest.raises(ValueError, match=message):
        SPKMClassifier(**settings).fit(X, change(y))


def test_a_warm_start_needs_the_same_labels():
    X, y = labelled()
    model = SPKMClassifier(warm_start=True, **QUICK).fit(X, y)
    with pytest.raises(
        ValueError, match=r"warm_start=True needs the classes of the last fit, \[0, 1, 2\]; got \[0, 1\]"
    ):
        model.fit(X, y[:, :2])


def test_kinds_of_signs():
    assert kinds_of(np.array([[1.0], [-0.5]])) is None
    assert kinds_of(np.array([[1.0], [-1.0]])).tolist() == [1, 0]
    assert kinds_of(np.array([[1.0, -1, -1], [-1, -1, 1]])).tolist() == [0, 2]
    labels = kinds_of(np.array([[1.0, 1.0], [-1, -1], [1, 1], [-1, 1]]))
    assert labels[0] == labels[2] and len(set(labels.tolist())) == 3
