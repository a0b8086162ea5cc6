"""Competitors: beside their definitions written out, and scikit-learn's own checks."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from spkm.kernels import RBF
from spkm_paper.competitors import MMDCriticClassifier, SCAClassifier, SignClassifier
from tests.small_data import noisy, three_classes, two_classes

BAD_PARAMETERS = {
    SCAClassifier: {
        "C": [0, -1.0, "one", None, True, float("nan")],
        "gamma": [0, -1.0, "auto", None, True, float("inf")],
        "misclassified": ["drop", None, True],
        "separating_C": [0.0, "large", None],
    },
    MMDCriticClassifier: {
        "n_prototypes": [0, 2.5, True, "ten", None],
        "gamma": [0, -1.0, "auto", None, True, float("inf")],
        "kernel_scope": ["class", None, True],
        "n_criticisms": [-1, 2.5, True, None],
    },
    SignClassifier: {"regressor": ["ridge", 3, KernelRidge]},
}


# Some of the checks have very few rows.
@pytest.mark.filterwarnings("ignore:n_.*=.* is more than the .* rows:UserWarning")
@parametrize_with_checks(
    [
        SCAClassifier(),
        SCAClassifier(C=10.0, gamma="scale", misclassified="remove"),
        MMDCriticClassifier(),
        MMDCriticClassifier(20, gamma="median", kernel_scope="global"),
        MMDCriticClassifier(5, n_criticisms=2),
        SignClassifier(),
        SignClassifier(KernelRidge(kernel="rbf")),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", BAD_PARAMETERS)
def test_every_parameter_is_documented(estimator):
    text = inspect.getdoc(estimator)
    assert all(f"{name} : " in text for name in BAD_PARAMETERS[estimator])


@pytest.mark.parametrize("estimator", BAD_PARAMETERS)
def test_every_parameter_is_checked_by_fit_and_named_in_the_message(estimator):
    assert set(estimator().get_params(deep=False)) == set(BAD_PARAMETERS[estimator])
    for name, values in BAD_PARAMETERS[estimator].items():
        for value in values:
            with pytest.raises(ValueError, match=name) as caught:
                estimator(**{name: value}).fit(*two_classes())
            assert repr(value) in str(caught.value)


@pytest.mark.parametrize("estimator", [SCAClassifier(), SignClassifier()])
def test_one_class_is_too_few(estimator):
    with pytest.raises(ValueError, match="y must hold at least two classes; got one class, 1"):
        estimator.fit([[0.0], [1.0]], [1, 1])


# The separable case approximation.


@pytest.mark.parametrize("misclassified", ["relabel", "remove"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [1.0, 30.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_sca_separates_the_cleaned_rows_with_fewer_vectors(misclassified, n_classes, C, seed):
    X, y = noisy(n_classes=n_classes, seed=seed)
    model = SCAClassifier(C, misclassified=misclassified).fit(X, y)
    svm = SVC(C=C, gamma=model.gamma_).fit(X, y)
    assert model.reduced_
    assert model.n_support_.sum() < svm.n_support_.sum()
    says = svm.predict(X)
    assert np.any(says != y)
    kept = np.ones(len(y), dtype=bool) if misclassified == "relabel" else says == y
    np.testing.assert_array_equal(model.predict(X[kept]), says[kept])
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert kept[model.support_].all()
    assert model.n_support_.sum() == len(model.support_) == model.dual_coef_.shape[1]


def test_sca_of_two_classes_is_a_sum_over_its_vectors_with_a_hard_margin():
    X, y = noisy()
    model = SCAClassifier().fit(X, y)
    scores = rbf_kernel(X, model.support_vectors_, gamma=model.gamma_) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), scores)
    signs = np.where(model.svm_.predict(X) == 1, 1.0, -1.0)
    margins = signs * scores
    assert margins.min() > 0.99  # hard, up to the tolerance of libsvm
    np.testing.assert_allclose(margins[model.support_], 1.0, atol=5e-3)


def test_sca_of_separable_rows_is_the_hard_margin_machine():
    X, y = two_classes()
    model = SCAClassifier(C=1e6, gamma=1.0).fit(X, y)
    np.testing.assert_array_equal(model.support_, SVC(C=1e6, gamma=1.0).fit(X, y).support_)


@pytest.mark.parametrize("misclassified", ["relabel", "remove"])
def test_sca_keeps_its_svm_where_a_class_vanishes(misclassified):
    X, y = noisy(60)
    y = np.where(np.arange(60) < 6, "rare", "usual")
    model = SCAClassifier(C=1e-3, misclassified=misclassified).fit(X, y)
    assert not model.reduced_ and set(model.predict(X)) == {"usual"}
    np.testing.assert_array_equal(model.support_, model.svm_.support_)
    np.testing.assert_array_equal(model.decision_function(X), model.svm_.decision_function(X))


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_gamma_is_that_of_our_kernels(rule):
    X, y = noisy()
    gamma = RBF(rule).resolved(X, np.ones(len(X))).gamma
    assert SCAClassifier(gamma=rule).fit(X, y).gamma_ == pytest.approx(gamma)
    assert MMDCriticClassifier(gamma=rule).fit(X, y).gamma_ == pytest.approx(gamma)


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array])
def test_gamma_scale_is_that_of_scikit_learn(as_rows):
    X, y = noisy()
    assert SCAClassifier(gamma="scale").fit(as_rows(X), y).gamma_ == pytest.approx(SVC().fit(X, y)._gamma)
    assert SCAClassifier(gamma="scale", C=0.1).fit(np.ones((4, 2)), [0, 0, 1, 1]).gamma_ == 1.0


def test_gamma_of_many_rows_is_that_of_some_of_them():
    X = np.random.default_rng(0).standard_normal((2500, 3))
    some = MMDCriticClassifier(1).fit(X, X[:, 0] > 0).gamma_
    assert some == pytest.approx(RBF().resolved(X, np.ones(len(X))).gamma, rel=0.02)


# Regressors of signs.


def test_signs_of_two_and_of_more_classes():
    X, y = three_classes()
    model = SignClassifier(KernelRidge(kernel="rbf", alpha=0.1)).fit(X, y)
    columns = [KernelRidge(kernel="rbf", alpha=0.1).fit(X, np.where(y == c, 1.0, -1.0)).predict(X) for c in range(3)]
    np.testing.assert_allclose(model.decision_function(X), np.transpose(columns))
    np.testing.assert_array_equal(model.predict(X), np.argmax(columns, axis=0))
    X, y = noisy()
    scores = Lasso(alpha=0.1).fit(X, 2.0 * y - 1).predict(X)
    labels = np.where(y == 1, "yes", "no")
    np.testing.assert_array_equal(
        SignClassifier(Lasso(alpha=0.1)).fit(X, labels).predict(X), np.where(scores > 0, "yes", "no")
    )
