"""Strict selection in the estimators: what is not selected has no influence at all."""

from dataclasses import replace

import numpy as np
import pytest

from spkm import SPKMClassifier, SPKMRegressor
from spkm.kernels import KERNELS, RBF, Polynomial, Sum
from spkm.losses import LOSSES
from tests.marks import QUICK_SEARCHES
from tests.quick_search import FEWER, quick_search
from tests.small_data import scaled
from tests.strict_selection import (
    LINE,
    STORAGE,
    STRICT,
    assert_only_selected_columns_matter,
    fitted,
    labels,
    outputs,
    real_target,
    rows,
    spoiled,
)

pytestmark = QUICK_SEARCHES


@pytest.mark.parametrize("estimator", [SPKMClassifier, SPKMRegressor])
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_the_layout_of_memory_changes_nothing(estimator, kernel):
    model, X = fitted(estimator, kernel)
    small, part = model.restricted(), X[:, model.selected_features_]
    for layout in (np.ascontiguousarray, np.asfortranarray):
        for expected, whole_rows, few in zip(
            outputs(model, X), outputs(model, layout(X)), outputs(small, layout(part)), strict=True
        ):
            np.testing.assert_array_equal(whole_rows, expected)
            np.testing.assert_array_equal(few, expected)


# Exactness.


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_other_columns_change_nothing_in_a_classifier(kernel, storage):
    assert_only_selected_columns_matter(*fitted(SPKMClassifier, kernel, storage))


def test_columns_that_are_not_read_may_break_the_rules_of_the_kernel():
    model, X = fitted(SPKMClassifier, "tanimoto")
    other = spoiled(X, model.selected_features_, 1.0)
    assert other.min() < 0
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))
    with pytest.raises(ValueError, match="needs non-negative features"):
        model.predict(-X)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_other_columns_change_nothing_in_a_regressor(kernel):
    assert_only_selected_columns_matter(*fitted(SPKMRegressor, kernel, "csr" if kernel == "rbf" else "dense"))


@pytest.mark.parametrize(
    "settings",
    [
        {"scale": False},
        {"scale": "common"},
        {"learn_bandwidth": "columns"},
        {"learn_bandwidth": False, "fit_intercept": False},
        {"kernel": Sum(RBF(), Polynomial(2))},
        {"kernel": RBF(0.3)},
        {"weight_penalty": "l1"},
        {"weight_penalty": None, "solver": "proximal"},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
def test_other_columns_change_nothing_under_any_setting(settings):
    X = rows()
    assert_only_selected_columns_matter(SPKMClassifier(**{**STRICT, **settings}).fit(X, labels(X)), X)


@pytest.mark.parametrize("loss", sorted(name for name, loss in LOSSES.items() if loss.for_classes))
def test_every_loss_of_classes(loss):
    X = rows()
    model = SPKMClassifier(loss=loss, **LINE).fit(X, labels(X))
    assert_only_selected_columns_matter(model, X)
    assert model.score(X, labels(X)) > 0.6


@pytest.mark.parametrize("loss", ["squared", "huber", "epsilon_insensitive", "quantile", "poisson", "cosine"])
def test_every_loss_of_real_targets(loss):
    X = rows()
    y = np.round(np.exp(real_target(X) / 2)) if loss == "poisson" else real_target(X)
    model = SPKMRegressor(loss=loss, **LINE).fit(X, y)
    assert_only_selected_columns_matter(model, X)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.5


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf"])
def test_three_classes_and_two_outputs(kernel):
    X = rows()
    y = np.digitize(real_target(X), np.quantile(real_target(X), [0.33, 0.67]))
    model = SPKMClassifier(**{**STRICT, "kernel": kernel, "n_basis": 3}).fit(X, np.array(["a", "b", "c"])[y])
    assert model.predict_proba(X).shape == (50, 3)
    assert_only_selected_columns_matter(model, X)
    noise = np.random.default_rng(0).standard_normal(50)
    Y = np.column_stack([real_target(X), 100 * X[:, 4] + 30 * noise])
    model = SPKMRegressor(**{**STRICT, "kernel": kernel, "n_basis": 3}).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert_only_selected_columns_matter(model, X)


def test_two_outputs_without_noise():
    # More vectors than columns leave k(U, U) without full rank, and noise of nothing does not make up for it.
    X = rows()
    with quick_search(settings=replace(FEWER, first_iterations=100)):
        model = SPKMRegressor(**{**LINE, "n_basis": 2}).fit(X, X[:, [1, 4]])
    assert model.selected_features_.tolist() == [1, 4] and model.score(X, X[:, [1, 4]]) > 0.99


def test_the_right_columns_are_found(careful):
    X, new = rows(80), rows(200, seed=9)
    classifier = SPKMClassifier(**STRICT).fit(X, labels(X))
    assert set(classifier.selected_features_) >= {1, 4} and classifier.score(new, labels(new)) > 0.8
    regressor = SPKMRegressor(**STRICT).fit(X, real_target(X))
    assert set(regressor.selected_features_) >= {1, 4} and regressor.score(new, real_target(new)) > 0.8


def test_the_formula_holds_with_what_is_reported():
    model, X = fitted(SPKMClassifier, "rbf")
    s = model.selected_features_
    U = scaled(model.basis_vectors_[:, s], X[:, s], clip=np.inf)
    by_hand = model.intercept_ + model.kernel_(scaled(X[:, s], X[:, s]), U) @ model.dual_coef_
    np.testing.assert_allclose(model.decision_function(X), by_hand, rtol=1e-9, atol=1e-9)
    model, X = fitted(SPKMRegressor, "matern")
    s = model.selected_features_
    U = scaled(model.basis_vectors_[:, s], X[:, s], clip=np.inf)
    by_hand = model.intercept_ + model.kernel_(scaled(X[:, s], X[:, s]), U) @ model.dual_coef_
    np.testing.assert_allclose(model.predict(X), by_hand, rtol=1e-6, atol=1e-6)
