"""Landmarks: features whose inner products are a kernel, beside scikit-learn's and formulas written out."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from spkm import PairwiseSPKMClassifier, SPKMClassifier, SPKMNystroem, SPKMRegressor, theory
from spkm.core.objective import Objective
from spkm.kernels import KERNELS, RBF, Affine, Linear, Polynomial
from tests.interrupting import interrupt_at
from tests.small_data import curve, fingerprints, scaled, three_classes, two_classes

QUICK = {"weight_penalty": "rkhs", "tol": 1e-2, "random_state": 0}


def nystroem(X, U, kernel):
    """Return k(X, U) k(U, U)^-1 k(U, X), the inner products that features must have."""
    return kernel(X, U) @ np.linalg.pinv(kernel(U, U), rcond=1e-13, hermitian=True) @ kernel(U, X)


# Oracles.


@pytest.mark.parametrize("rule", ["random", "kmeans", "learned"])
def test_inner_products_are_those_of_scikit_learn_on_the_same_landmarks(rule):
    X, y = two_classes()
    if rule == "learned":
        rule = SPKMClassifier(weight_penalty="rkhs")
    ours = SPKMNystroem(9, kernel=RBF(0.7), landmarks=rule, scale=False, random_state=0).fit(X, y)
    theirs = Nystroem(gamma=ours.kernel_.gamma, n_components=9).fit(ours.components_)
    A, B = ours.transform(X), theirs.transform(X)
    np.testing.assert_allclose(A @ A.T, B @ B.T, atol=1e-9)
    assert (ours.kernel_.gamma == 0.7) == isinstance(rule, str)


def test_a_polynomial_kernel_as_in_scikit_learn():
    X, _ = curve()
    kernel = Polynomial(degree=2, gamma=0.5, coef0=1.0)
    ours = SPKMNystroem(5, kernel=kernel, landmarks="random", scale=False, random_state=0).fit(X)
    theirs = Nystroem(kernel="poly", degree=2, gamma=0.5, coef0=1.0, n_components=5).fit(ours.components_)
    np.testing.assert_allclose(
        ours.transform(X) @ ours.transform(X).T, theirs.transform(X) @ theirs.transform(X).T, rtol=1e-8
    )
    gram = polynomial_kernel(ours.components_, degree=2, gamma=0.5, coef0=1.0)
    np.testing.assert_allclose(np.linalg.inv(ours.normalization_ @ ours.normalization_), gram, rtol=1e-6)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize("rule", ["random", "kmeans", "learned"])
def test_inner_products_are_the_formula_with_every_kernel(kernel, rule):
    X, y = fingerprints()
    learner = SPKMClassifier(**QUICK) if rule == "learned" else rule
    transformer = SPKMNystroem(4, kernel=kernel, landmarks=learner, scale=False, random_state=0).fit(X, y)
    Phi = transformer.transform(X)
    np.testing.assert_allclose(Phi @ Phi.T, nystroem(X, transformer.components_, transformer.kernel_), atol=1e-7)


@pytest.mark.parametrize("rule", ["random", "kmeans"])
def test_as_many_landmarks_as_rows_reproduce_the_kernel(rule):
    X, _ = curve(n=30)
    twice = np.concatenate([X, X])
    transformer = SPKMNystroem(30, kernel=RBF(2.0), landmarks=rule, scale=False, random_state=0).fit(twice)
    Phi = transformer.transform(X)
    np.testing.assert_allclose(Phi @ Phi.T, rbf_kernel(X, gamma=2.0), atol=1e-7)


def test_ridge_on_all_rows_as_landmarks_is_kernel_ridge():
    X, y = curve(n=40)
    features = SPKMNystroem(40, kernel=RBF(1.0), landmarks="random", scale=False, random_state=0)
    ours = make_pipeline(features, Ridge(alpha=0.3, fit_intercept=False)).fit(X, y)
    theirs = KernelRidge(alpha=0.3, kernel="rbf", gamma=1.0).fit(X, y)
    fresh, _ = curve(n=25, seed=9)
    np.testing.assert_allclose(ours.predict(fresh), theirs.predict(fresh), atol=1e-6)


def test_a_linear_model_of_the_features_can_be_the_model_itself():
    X, y = curve()
    model = SPKMRegressor(6, linear_part=False, **QUICK).fit(X, y)
    Phi = SPKMNystroem(landmarks=model).fit(X).transform(X)
    again = Ridge(alpha=1e-9).fit(Phi, model.predict(X))
    np.testing.assert_allclose(again.predict(Phi), model.predict(X), atol=1e-4)


# Where landmarks come from.


def test_random_landmarks_are_distinct_rows():
    X, _ = two_classes()
    X = np.concatenate([X, X])
    transformer = SPKMNystroem(20, landmarks="random", random_state=0).fit(X)
    np.testing.assert_array_equal(X[transformer.component_indices_], transformer.components_)
    assert len(np.unique(transformer.components_, axis=0)) == 20
    other = SPKMNystroem(20, landmarks="random", random_state=1).fit(X)
    assert not np.array_equal(other.component_indices_, transformer.component_indices_)
    # The kernel acts on scaled columns.
    expected = nystroem(scaled(X, X), scaled(transformer.components_, X), transformer.kernel_)
    Phi = transformer.transform(X)
    np.testing.assert_allclose(Phi @ Phi.T, expected, atol=1e-7)


def test_rows_of_no_weight_are_no_landmarks():
    X, _ = two_classes()
    weight = np.zeros(80)
    weight[10:20] = 1.0
    transformer = SPKMNystroem(10, landmarks="random", random_state=0).fit(X, sample_weight=weight)
    assert sorted(transformer.component_indices_) == list(range(10, 20))


def test_auto_learns_where_there_are_targets():
    X, y = two_classes()
    learned = SPKMNystroem(4, random_state=0).fit(X, y)
    assert isinstance(learned.estimator_, SPKMClassifier)
    np.testing.assert_array_equal(learned.components_, learned.estimator_.basis_vectors_)
    without = learned.fit(X)
    assert not hasattr(without, "estimator_") and not hasattr(without, "component_indices_")
    np.testing.assert_array_equal(
        without.components_, SPKMNystroem(4, landmarks="kmeans", random_state=0).fit(X, y).components_
    )
    assert hasattr(without.set_params(landmarks="random").fit(X), "component_indices_")
    assert not hasattr(without.set_params(landmarks="kmeans").fit(X), "component_indices_")


@pytest.mark.parametrize(
    ("targets", "kind"),
    [
        (lambda X: np.where(X[:, 0] > 0, "yes", "no"), SPKMClassifier),
        (lambda X: pd.Series(X[:, 0] > 0), SPKMClassifier),
        (lambda X: np.digitize(X[:, 0], [-1, 1]), SPKMClassifier),
        (lambda X: X[:, 0] ** 2, SPKMRegressor),
        (lambda X: X**2, SPKMRegressor),
        (lambda X: (X > 0).astype(int), SPKMRegressor),
    ],
    ids=["words", "flags", "classes", "numbers", "outputs", "several labels"],
)
def test_targets_of_all_kinds(targets, kind):
    X, _ = curve()
    transformer = SPKMNystroem(3, random_state=0).fit(X, targets(X))
    assert type(transformer.estimator_) is kind
    assert transformer.transform(X).shape == (80, 3)


def test_the_learned_are_better_than_the_others_where_they_are_few():
    X, y = curve(300)
    fresh, targets = curve(300, seed=7)
    score = {}
    for rule in ("learned", "kmeans", "random"):
        model = make_pipeline(SPKMNystroem(4, landmarks=rule, random_state=0), Ridge(1e-3))
        score[rule] = model.fit(X, y).score(fresh, targets)
    assert score["learned"] > 0.95 and max(score["kmeans"], score["random"]) < 0.7


def test_an_estimator_says_how_landmarks_are_learned():
    X, y = three_classes()
    template = SPKMRegressor(5, kernel="laplacian", scale=False, **QUICK)
    transformer = SPKMNystroem(landmarks=template).fit(X, y)
    assert isinstance(transformer.estimator_, SPKMRegressor)  # whole numbers may be numbers
    assert not hasattr(template, "basis_vectors_")
    np.testing.assert_array_equal(transformer.components_, clone(template).fit(X, y).basis_vectors_)
    # What is given here goes before what the estimator has.
    other = SPKMNystroem(3, kernel="linear", scale="common", random_state=5, landmarks=template).fit(X, y)
    settings = {"n_basis": 3, "kernel": "linear", "scale": "common", "random_state": 5}
    np.testing.assert_array_equal(other.components_, clone(template).set_params(**settings).fit(X, y).basis_vectors_)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_fitted_model_is_taken_as_it_is(frozen):
    X, y = two_classes()
    model = SPKMClassifier(5, **QUICK).fit(X, y)
    given = FrozenEstimator(model) if frozen else model
    transformer = SPKMNystroem(landmarks=given).fit(X[:3])
    np.testing.assert_array_equal(transformer.components_, model.basis_vectors_)
    assert transformer.estimator_ is model
    Phi = transformer.transform(X)
    U = scaled(model.basis_vectors_, X, clip=np.inf)
    np.testing.assert_allclose(Phi @ Phi.T, nystroem(scaled(X, X), U, model.kernel_), atol=1e-7)
    # It is fitted still in what scikit-learn makes copies of.
    copy = clone(transformer)
    assert not hasattr(copy, "components_")
    np.testing.assert_array_equal(copy.fit(X, 1 - y).transform(X), Phi)
    assert np.isfinite(cross_val_score(make_pipeline(transformer, LogisticRegression()), X, y, cv=2)).all()
    search = GridSearchCV(SPKMNystroem(), {"landmarks": [FrozenEstimator(model)]}, scoring=lambda *_: 0.0, cv=2)
    np.testing.assert_array_equal(search.fit(X).best_estimator_.components_, model.basis_vectors_)


def test_a_model_of_selected_columns_reads_those_alone(hasty):
    X, y = three_classes()
    X = np.hstack([X, np.random.default_rng(0).standard_normal((90, 3))])
    model = SPKMClassifier(2, kernel="linear", selection="strict", max_features=2, **QUICK).fit(X, y)
    transformer = SPKMNystroem(landmarks=model).fit(X)
    changed = np.where(model.get_support(), X, 1e6)
    np.testing.assert_array_equal(transformer.transform(changed), transformer.transform(X))
    assert np.isnan(transformer.components_[:, ~model.get_support()]).all()


def test_of_a_bipolar_kernel_the_kernel_behind_it_is_taken():
    X, y = two_classes()
    model = SPKMClassifier(4, kernel=Affine(RBF()), **QUICK).fit(X, y)
    transformer = SPKMNystroem(landmarks=model).fit(X)
    assert isinstance(transformer.kernel_, RBF) and transformer.kernel_.gamma == model.kernel_.kernel.gamma
    drawn = SPKMNystroem(4, kernel=Affine(RBF(0.7)), landmarks="random", scale=False, random_state=0).fit(X)
    plain = SPKMNystroem(4, kernel=RBF(0.7), landmarks="random", scale=False, random_state=0).fit(X)
    np.testing.assert_array_equal(drawn.transform(X), plain.transform(X))


# Rows of all kinds.


@pytest.mark.parametrize("rule", ["random", "kmeans", "learned"])
def test_csr_rows_have_the_features_of_dense_ones(rule):
    X, y = fingerprints()
    thin = sparse.csr_matrix(X)
    transformer = SPKMNystroem(5, landmarks=rule, random_state=0).fit(thin, y)
    assert isinstance(transformer.components_, np.ndarray)
    np.testing.assert_allclose(transformer.transform(X), transformer.transform(thin), atol=1e-9)
    if rule == "random":
        np.testing.assert_array_equal(X[transformer.component_indices_], transformer.components_)


@pytest.mark.parametrize("rule", ["random", "kmeans", "learned"])
def test_single_precision_stays_and_is_accurate(rule):
    X, y = two_classes()
    single = SPKMNystroem(30, landmarks=rule, random_state=0).fit(X.astype(np.float32), y)
    assert single.components_.dtype == np.float32
    Phi = single.transform(X.astype(np.float32))
    assert Phi.dtype == np.float32
    assert single.transform(X).dtype == np.float64
    # More landmarks than this kernel can tell apart: what is beyond rounding must not be blown up.
    assert np.linalg.cond(single.normalization_) > 1e4
    np.testing.assert_allclose(Phi @ Phi.T, single.transform(X) @ single.transform(X).T, atol=1e-4)


def test_many_rows_on_threads_have_the_features_of_few():
    X, _ = two_classes(12_000)
    transformer = SPKMNystroem(5, landmarks="kmeans", n_jobs=2, random_state=0).fit(X)
    Phi = transformer.transform(X)
    np.testing.assert_allclose(Phi[-7:], transformer.transform(X[-7:]), atol=1e-12)
    np.testing.assert_array_equal(Phi, transformer.set_params(n_jobs=1).transform(X))


def test_landmarks_that_are_all_zero_give_features_of_zero():
    transformer = SPKMNystroem(1, kernel=Linear(), landmarks="random", scale=False).fit(np.zeros((3, 2), np.float32))
    np.testing.assert_array_equal(transformer.transform(np.ones((2, 2), np.float32)), np.zeros((2, 1)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_in_and_out(library):
    frames = pytest.importorskip(library)
    X, y = two_classes()
    frame = frames.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    transformer = SPKMNystroem(3, random_state=0).set_output(transform=library).fit(frame, y)
    names = ["spkmnystroem0", "spkmnystroem1", "spkmnystroem2"]
    assert list(transformer.get_feature_names_out()) == names
    features = transformer.transform(frame)
    assert isinstance(features, frames.DataFrame) and list(features.columns) == names
    assert list(transformer.feature_names_in_) == ["a", "b"] == list(transformer.estimator_.feature_names_in_)


# In company.


def test_pickles_and_searches():
    X, y = two_classes()
    pipeline = make_pipeline(SPKMNystroem(random_state=0), LogisticRegression())
    grid = {"spkmnystroem__n_components": [2, 4], "spkmnystroem__landmarks": ["kmeans", SPKMClassifier(**QUICK)]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    nested = SPKMNystroem(landmarks=SPKMClassifier(loss="squared_hinge", **QUICK)).set_params(landmarks__n_basis=3)
    assert nested.fit_transform(X, y).shape == (80, 3)


def test_an_interrupted_fit_leaves_the_best_landmarks_so_far():
    X, y = two_classes()
    interrupt = interrupt_at(Objective.value_and_gradient, 5)
    with interrupt, pytest.warns(ConvergenceWarning, match="was interrupted; the best model so far is kept"):
        transformer = SPKMNystroem(4, random_state=0).fit(X, y)
    assert np.isfinite(transformer.transform(X)).all()


def test_a_fit_that_fails_leaves_the_last_one():
    X, y = two_classes()
    transformer = SPKMNystroem(4, random_state=0).fit(X, y)
    before = transformer.transform(X)
    with interrupt_at(Objective.value_and_gradient, 1), pytest.raises(KeyboardInterrupt):
        transformer.fit(X + 1, y)
    np.testing.assert_array_equal(transformer.transform(X), before)


# What cannot be.


def test_more_landmarks_than_distinct_rows():
    X, y = two_classes(10)
    X, y = np.concatenate([X, X]), np.concatenate([y, y])
    for rule in ("random", "kmeans", "learned"):
        told = r"n_components=12 is more than the 10 distinct samples of X: 10 landmarks are used\."
        with pytest.warns(UserWarning, match=told) as caught:
            transformer = SPKMNystroem(12, landmarks=rule, random_state=0).fit(X, y)
        assert transformer.transform(X).shape == (20, 10)
        assert caught[0].filename == __file__


def test_learning_needs_targets():
    X, _ = two_classes()
    for landmarks in ("learned", SPKMRegressor()):
        with pytest.raises(ValueError, match=r"requires y to be passed, but the target y is None\. Give y, or land"):
            SPKMNystroem(landmarks=landmarks).fit(X)


def test_what_a_fitted_model_has_cannot_be_asked_for():
    X, y = two_classes()
    model = SPKMClassifier(5, **QUICK).fit(X, y)
    assert SPKMNystroem(5, landmarks=model).fit(X).transform(X).shape == (80, 5)
    with pytest.raises(ValueError, match=r"n_components must be None or 5, the number of vectors .* got 6\. Give"):
        SPKMNystroem(6, landmarks=model).fit(X)
    for setting in ({"kernel": "rbf"}, {"scale": True}):
        with pytest.raises(ValueError, match=f"{next(iter(setting))} must be None where landmarks is a fitted"):
            SPKMNystroem(landmarks=model, **setting).fit(X)
    with pytest.raises(ValueError, match="X has 1 features, but SPKMClassifier is expecting 2"):
        SPKMNystroem(landmarks=model).fit(X[:, :1])
    with pytest.raises(ValueError, match="landmarks must be fitted before it is frozen; got FrozenEstimator"):
        SPKMNystroem(landmarks=FrozenEstimator(SPKMClassifier())).fit(X, y)


def test_rows_that_cannot_be():
    X, _ = two_classes()
    with pytest.raises(NotFittedError):
        SPKMNystroem().transform(X)
    transformer = SPKMNystroem(3, kernel="tanimoto", landmarks="random")
    with pytest.raises(ValueError, match="needs non-negative features"):
        transformer.fit(X)
    with pytest.raises(ValueError, match="needs non-negative features"):
        transformer.fit(np.abs(X)).transform(X)
    with pytest.raises(ValueError, match="X must hold numbers"):
        transformer.fit([["a", "b"]])
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        SPKMNystroem(3).fit(X, sample_weight=-np.ones(80))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(FloatingPointError, match=r"not finite on the landmarks\. Scale X"):
            SPKMNystroem(3, kernel="polynomial", landmarks="random", scale=False).fit(1e150 * X)


def test_the_views_of_a_model_are_features_side_by_side():
    X, y = two_classes()
    X = np.hstack([X, X[:, ::-1] ** 2])
    model = SPKMClassifier(3, views={"plain": [0, 1], "square": [2, 3]}, scale=False, **QUICK).fit(X, y)
    transformer = SPKMNystroem(landmarks=model).fit(X)
    features = transformer.transform(X)
    expected = np.zeros((len(X), len(X)))
    for name, usage in model.view_usage_.items():
        kernel, U = model.kernel_[name], model.basis_vectors_[usage.rows][:, usage.columns]
        K = kernel(X[:, usage.columns], U)
        expected += K @ np.linalg.solve(kernel(U, U), K.T)
    np.testing.assert_allclose(features @ features.T, expected, atol=1e-7)
    np.testing.assert_array_equal(transformer.components_, model.basis_vectors_)


def test_a_model_of_pairs_has_no_landmarks_of_rows():
    X, y = two_classes()
    pairs = np.column_stack([np.arange(80), np.arange(80)])
    model = PairwiseSPKMClassifier(2, **QUICK).fit(pairs, y, left=X, right=X)
    with pytest.raises(ValueError, match="which is one of pairs"):
        SPKMNystroem(landmarks=model).fit(X)
    with pytest.raises(ValueError, match="share an entity"):
        theory.generalization_bound(model, pairs, y)


def test_learned_landmarks_are_bounded_only_where_the_kernel_needs_it():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (60, 2))  # a linear rule: the one landmark that has it lies far outside
    free = SPKMNystroem(1, kernel=RBF(0.1), landmarks="learned", scale=False, random_state=0).fit(X, X.sum(axis=1) > 1)
    assert np.abs(free.components_ - 0.5).max() > 0.5
    prints = rng.integers(0, 2, (60, 8)).astype(float)
    bounded = SPKMNystroem(2, kernel="tanimoto", landmarks="learned", random_state=0).fit(prints, prints[:, 0] > 0)
    assert bounded.components_.min() >= 0
