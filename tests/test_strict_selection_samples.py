"""Strict selection: numbers of vectors, groups and budgets, samples, weights, seeds and threads."""

import numpy as np
import pytest

from spkm import SPKMClassifier, SPKMRegressor
from spkm.losses import Log
from spkm.penalties import RKHSNorm
from tests.marks import QUICK_SEARCHES
from tests.small_data import assert_same_fit, read_only, scaled, scores
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


# The number of vectors.


@pytest.mark.parametrize("most", [1, 3])
def test_a_number_of_vectors_found_by_held_out_rows(most):
    X = rows()
    classifier = SPKMClassifier(n_basis="auto", max_basis=most, max_iter=4, random_state=0).fit(X, labels(X))
    regressor = SPKMRegressor(n_basis="auto", max_basis=most, max_iter=4, random_state=0).fit(X, real_target(X))
    for model in (classifier, regressor):
        assert 1 <= len(model.basis_vectors_) == len(model.dual_coef_) <= most
        np.testing.assert_array_equal(model.selected_features_, np.arange(D))
        assert not np.isnan(model.basis_vectors_).any()
        assert "size" in model.cv_results_["stage"] and model.cv_results_["n_basis"].max() <= most
        assert not hasattr(model, "feature_importances_")


@pytest.mark.parametrize(("most", "tried"), [(1, [1]), (4, [1, 2, 3, 4]), (10, [1, 2, 3, 5, 8, 10])])
def test_the_largest_number_of_vectors_is_tried(monkeypatch, most, tried):
    X = rows()
    model = SPKMClassifier(n_basis="auto", max_basis=most, max_iter=4, random_state=0).fit(X, labels(X))
    results = model.cv_results_
    assert results["n_basis"][results["stage"] == "size"].tolist() == tried


def test_as_many_vectors_as_the_data_want(careful):
    rng = np.random.default_rng(0)
    X = read_only(rng.uniform(-2, 2, (80, 1)))[0]
    y = np.sin(3 * X[:, 0]) + 0.05 * rng.standard_normal(80)
    wavy = SPKMRegressor(n_basis="auto", max_basis=8, max_iter=20, random_state=0).fit(X, y)
    line = SPKMRegressor(n_basis="auto", max_basis=8, kernel="linear", random_state=0).fit(X, X[:, 0])
    assert len(wavy.dual_coef_) >= 3 and len(line.dual_coef_) == 1
    assert wavy.score(X, y) > 0.8


def test_both_the_columns_and_the_number_of_vectors():
    X = rows()
    for kernel in ("rbf", "polynomial"):
        model = SPKMClassifier(**{**STRICT, "kernel": kernel, "n_basis": "auto"}, max_basis=2).fit(X, labels(X))
        assert len(model.dual_coef_) <= 2 and len(model.selected_features_) <= 3
        assert_only_selected_columns_matter(model, X)
    three = np.digitize(real_target(X), np.quantile(real_target(X), [0.33, 0.67]))
    model = SPKMClassifier(**{**LINE, "n_basis": "auto"}, max_basis=2).fit(X, three)
    assert len(model.dual_coef_) <= 2  # of three classes


# Groups and budget.


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_groups_of_columns_enter_and_leave_together(careful, kernel):
    X = rows()
    groups = ["a", "b", "a", "a", "b"]
    model = SPKMClassifier(**{**STRICT, "kernel": kernel, "max_features": 2}, feature_groups=groups)
    model.fit(X, labels(X))
    assert model.selected_features_.tolist() == [1, 4]
    model.set_params(max_features=None, feature_groups=np.array([0, 1, 0, 0, 0])).fit(X, labels(X))
    assert len(model.selected_features_) in (1, 4, 5)


@pytest.mark.parametrize("most", [1, 2, 100])
def test_the_budget_is_hard(most):
    X = rows()
    model = SPKMClassifier(**{**LINE, "max_features": most}).fit(X, labels(X))
    assert 1 <= len(model.selected_features_) <= most


# Rows, weights, seeds, threads.


@pytest.mark.parametrize("estimator", [SPKMClassifier, SPKMRegressor])
@pytest.mark.parametrize("settings", [LINE, STRICT], ids=["linear", "default"])
def test_weights_are_repeats_and_the_order_of_rows_does_not_matter(estimator, settings):
    X = rows()
    y = labels(X) if estimator is SPKMClassifier else real_target(X)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, len(X))
    a = estimator(**settings).fit(X, y, sample_weight=weight)
    order = rng.permutation(weight.sum())
    b = estimator(**settings).fit(np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order])
    assert_same_fit(a, b, X)
    np.testing.assert_array_equal(a.feature_importances_, b.feature_importances_)


def test_weights_say_which_rows_count(careful):
    # In one half of the rows the target is column 0, in the other column 2.
    X = rows(80)
    y = np.where(np.arange(80) < 40, X[:, 0], X[:, 2])
    for first, column in ((1.0, 0), (1e-6, 2)):
        weight = np.where(np.arange(80) < 40, first, 1e-6 / first)
        model = SPKMRegressor(**{**LINE, "max_features": 1}).fit(X, y, sample_weight=weight)
        assert model.selected_features_.tolist() == [column]


@pytest.mark.parametrize("settings", [LINE, {**STRICT, "n_basis": "auto", "max_basis": 2}], ids=["linear", "auto"])
def test_same_seed_same_bits_on_any_number_of_threads(settings):
    X = rows()
    fits = [SPKMClassifier(**{**settings, "n_jobs": n}).fit(X, labels(X)) for n in (1, 3)]
    assert_same_fit(*fits, X)


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_every_kind_of_seed(kind):
    X = rows()
    a, b = (SPKMClassifier(**{**LINE, "random_state": kind(3)}).fit(X, labels(X)) for _ in range(2))
    assert_same_fit(a, b, X)


def test_global_randomness_and_arguments_are_left_alone():
    X, y = rows(), labels(rows())
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    model = SPKMClassifier(**{**LINE, "random_state": None}, feature_groups=[0, 1, 0, 2, 1])
    settings = model.get_params()
    model.fit(X, y, sample_weight=np.ones(50)).predict(X)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert model.get_params() == settings


def test_a_search_takes_some_of_many_rows_and_the_fit_all():
    X = rows(5200)  # a search takes 5,000
    y = labels(X)
    model = SPKMClassifier(**{**LINE, "weight_penalty": RKHSNorm(1e-3), "max_iter": 100}).fit(X, y)
    assert_only_selected_columns_matter(model, X)
    # The objective is that of all rows.
    F = model.decision_function(X)[:, None]
    s = model.selected_features_
    U = scaled(model.basis_vectors_[:, s], X[:, s], clip=np.inf)
    norm = model.dual_coef_ @ model.kernel_(U, U) @ model.dual_coef_
    loss = Log().pointwise(2.0 * y[:, None] - 1, F).mean()
    assert model.objective_ == pytest.approx(loss + 0.5e-3 * norm, rel=1e-5)


@pytest.mark.parametrize("settings", [LINE, STRICT], ids=["linear", "rbf"])
def test_rows_that_are_too_many_to_copy(copied_up_to, settings):
    X = rows()
    copied = SPKMClassifier(**settings).fit(X, labels(X))
    copied_up_to(0)
    in_place = SPKMClassifier(**settings).fit(X, labels(X))
    np.testing.assert_array_equal(in_place.selected_features_, copied.selected_features_)
    np.testing.assert_allclose(scores(in_place, X), scores(copied, X), rtol=1e-5, atol=1e-5)


def test_the_strength_of_many_rows_is_that_of_all_rows():
    # The automatic strength is a number over the rows; a search on some of them must not leave theirs behind.
    settings = {**LINE, "max_iter": 200, "kernel": "linear", "max_features": 1}
    strengths = []
    for n in (150, 8000):
        X = rows(n)
        y = labels(X)
        model = SPKMClassifier(**settings).fit(X, y)
        s = model.selected_features_
        U = scaled(model.basis_vectors_[:, s], X[:, s], clip=np.inf)
        norm = model.dual_coef_ @ model.kernel_(U, U) @ model.dual_coef_
        loss = Log().pointwise(2.0 * y[:, None] - 1, model.decision_function(X)[:, None]).mean()
        found = 2 * (model.objective_ - loss) / norm
        strengths.append(found * n / Log.rkhs_strength[0])
    # What is left is the factor that held-out rows chose, a power of ten.
    np.testing.assert_allclose(np.log10(strengths), np.round(np.log10(strengths)), atol=0.02)
