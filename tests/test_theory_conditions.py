"""What the theory refuses, and why."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import (
    PairwiseSPKMClassifier,
    PairwiseSPKMRegressor,
    SPKMClassifier,
    SPKMClassifierCV,
    SPKMRegressor,
    SPKMRegressorCV,
    SPKMSelector,
    theory,
)
from spkm.core.model import PreimageModel, Term, View
from spkm.kernels import RBF, Affine, DotKernel, Kernel, Linear, Polynomial, Product, Sum
from tests.bounded_models import FIXED, changed, fitted, with_model
from tests.small_data import three_classes, two_classes


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"scale": True}, "features were scaled by statistics of the samples: use scale=False"),
        ({"scale": "common"}, "features were scaled by statistics"),
        ({"kernel": RBF()}, r"parameters of kernel=RBF\(\) were set by the samples: give numbers"),
        ({"kernel": Affine(RBF("median"))}, "were set by the samples"),
        ({"kernel": Sum(RBF("mean"), Linear())}, "were set by the samples"),
        ({"learn_bandwidth": True}, "a bandwidth was learned from the samples: use learn_bandwidth=False"),
        ({"learn_bandwidth": "columns"}, "a bandwidth for every feature was learned"),
        ({"selection": "strict", "kernel": Linear()}, "features were selected by the samples: use selection=None"),
    ],
)
def test_a_kernel_that_came_from_the_samples_is_refused(options, reason):
    X, y = two_classes(40)
    model = SPKMClassifier(**{"n_basis": 2, "kernel": RBF(0.5), **FIXED, **options}).fit(X, y)
    for refused in (theory.rademacher_complexity, lambda m, n: theory.generalization_bound(m, X, y)):
        with pytest.raises(ValueError, match="not fixed before the samples were seen: .*" + reason):
            refused(model, 40)


def test_all_reasons_of_the_defaults_come_at_once():
    model = SPKMClassifier(2, random_state=0).fit(*two_classes(40))
    with pytest.raises(ValueError, match=r"scaled by .*; parameters of .*; a bandwidth .* say so by kernels=\.$"):
        theory.rademacher_complexity(model, 40)


@pytest.mark.parametrize("regressor", [SPKMRegressor(), SPKMRegressorCV(), PairwiseSPKMRegressor()], ids=str)
def test_regressors_are_refused(regressor):
    with pytest.raises(ValueError, match=f"must be a classifier; got {type(regressor).__name__}.*no upper limit"):
        theory.rademacher_complexity(regressor, 40)


@pytest.mark.parametrize("other", [make_pipeline(StandardScaler(), SPKMClassifier()), SPKMSelector(), "model"], ids=str)
def test_what_is_no_estimator_of_ours_is_refused(other):
    with pytest.raises(TypeError, match=f"must be a fitted SPKMClassifier; got {type(other).__name__}"):
        theory.rademacher_complexity(other, 40)


@pytest.mark.parametrize("classifier", [SPKMClassifier(), SPKMClassifierCV()], ids=str)
def test_classifiers_must_be_fitted(classifier):
    with pytest.raises(NotFittedError):
        theory.rademacher_complexity(classifier, 40)


def test_models_of_pairs_of_parts_and_of_labels_are_refused():
    with pytest.raises(ValueError, match="pairs that share an entity"):
        theory.rademacher_complexity(PairwiseSPKMClassifier(), 40)
    parts, X, y = fitted(data=three_classes(), multi_class="ovr")
    with pytest.raises(ValueError, match="one model of two or more classes; got one of several binary models"):
        theory.rademacher_complexity(parts, 40)
    assert theory.rademacher_complexity(parts.estimators_[0], 40).rkhs > 0
    labels, _, _ = fitted(data=(X, np.column_stack([y == 0, y != 1]).astype(int)))
    with pytest.raises(ValueError, match="one model of two or more classes; got one of several labels"):
        theory.rademacher_complexity(labels, 40)


def test_features_that_the_samples_chose_are_refused_also_where_no_other_is_left():
    X, y = two_classes(40)
    sparse = SPKMClassifier(2, kernel=Linear(gamma=1.0), **FIXED).fit(X, y)
    assert theory.rademacher_complexity(sparse.restricted(), 40, radius=3.0).tau == 9.0  # all are left: the same model
    sparse = changed(sparse, lambda params: params.basis[0][:, 1:].fill(0.0))
    sparse.selected_features_ = sparse.model_.features_read()
    with pytest.raises(ValueError, match="features were selected by the samples"):
        theory.rademacher_complexity(sparse.restricted(), 40, radius=3.0)


def test_a_model_that_does_not_know_what_was_asked_for_is_refused():
    model, _, _ = fitted()
    with pytest.raises(ValueError, match="kernel that it was fitted with is unknown: fit it anew"):
        theory.rademacher_complexity(with_model(model, asked=()), 40)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Sum(RBF(1.0), Linear()), Affine(Polynomial(2))])
def test_a_kernel_of_a_dot_product_needs_a_radius_that_holds(kernel):
    model, X, y = fitted(kernel)
    with pytest.raises(ValueError, match=r"is bounded only on samples of bounded length. Give radius="):
        theory.generalization_bound(model, X, y)
    longest = np.linalg.norm(X, axis=1).max()
    with pytest.raises(ValueError, match=f"sample {np.argmax(np.linalg.norm(X, axis=1))} of X has length"):
        theory.generalization_bound(model, X, y, radius=0.99 * longest)
    bound = theory.generalization_bound(model, X, y, radius=3.0)
    assert any("radius=3, set beforehand" in sentence for sentence in bound.assumptions)


def test_the_l1_form_needs_basis_vectors_within_the_radius_and_the_rkhs_form_does_not():
    model, X, y = fitted(Polynomial(2))
    model = changed(model, lambda params: np.copyto(params.basis[0], [3.0, 4.0]))
    with pytest.raises(ValueError, match=r"longest basis vector has length 5, beyond radius=4.5. Use norm='rkhs'"):
        theory.generalization_bound(model, X, y, radius=4.5, norm="l1")
    assert theory.generalization_bound(model, X, y, radius=4.5).norm == "rkhs"
    bound = theory.rademacher_complexity(model, 80, radius=4.5)
    assert bound.l1 is None and "No bound from the l1 norm" in bound.assumptions[-1] and "not known" in str(bound)
    assert theory.rademacher_complexity(model, 80, radius=6.0).l1 > 0


def test_a_shift_inside_a_sum_or_a_product_is_refused():
    for kernel in (Sum(Affine(RBF(0.5)), RBF(1.0)), Product(RBF(1.0), Affine(RBF(0.5), 2.0, 0.0))):
        model, X, y = fitted(kernel)
        with pytest.raises(ValueError, match=r"2k - 1 is part of a sum or a product. Put Affine around the whole"):
            theory.generalization_bound(model, X, y)


def test_a_shift_of_a_view_in_a_product_of_views_is_refused():
    model, _, _ = fitted(n_basis=1)
    terms = (Term(1, (View(Affine(RBF(0.5)), np.array([0])), View(RBF(1.0), np.array([1])))),)
    joint = PreimageModel(list(terms), 2, 1)
    model = with_model(model, model=joint, theta=joint.zeros()[0], asked=terms)
    with pytest.raises(ValueError, match="2k - 1 is part of a sum or a product"):
        theory.rademacher_complexity(model, 100)


class Constant(Kernel):
    """A kernel of which nothing is known."""

    def vjp(self, X, U, metric=1.0, xx=None, learn_metric=False):
        return np.ones((X.shape[0], len(U))), lambda G: (np.zeros_like(U), 0.0 if learn_metric else None)


class ConstantThatSaysSo(Constant):
    """The same, with what is known of it."""

    def largest_diagonal(self, squared_radius=np.inf):
        return 1.0


class Exponential(DotKernel):
    """exp(gamma x.u), a kernel of someone's own."""

    def __init__(self, gamma=0.1):
        self.gamma = gamma

    def value(self, dot, xx=None, uu=None):
        return np.exp(dot)

    def slope(self, dot, value):
        return value


def test_kernels_of_ones_own():
    model, _, _ = fitted(Constant())
    with pytest.raises(ValueError, match=r"No bound on k\(x, x\) is known for kernel=Constant"):
        theory.rademacher_complexity(model, 80)
    model, _, _ = fitted(Exponential(0.1))
    bound = theory.rademacher_complexity(model, 80, radius=3.0)
    assert bound.tau == pytest.approx(np.exp(0.9))
    assert any(sentence.startswith("On trust: the kernel is positive semi-def") for sentence in bound.assumptions)
    model, _, _ = fitted(Sum(RBF(0.5), ConstantThatSaysSo()))
    bound = theory.rademacher_complexity(model, 80)
    assert bound.tau == 2.0
    assert any(sentence.startswith("On trust: the kernel is positive semi-def") for sentence in bound.assumptions)


def test_values_of_ones_own_around_a_kernel_are_not_taken_for_those_of_the_parent():
    class Tripled(Affine):
        def vjp(self, *args, **kwargs):
            K, pull = super().vjp(*args, **kwargs)
            return 3 * K, lambda G: pull(3 * G)

    model, _, _ = fitted(Tripled(RBF(0.5)))
    with pytest.raises(ValueError, match="No bound is worked out for Tripled"):
        theory.rademacher_complexity(model, 80)


def test_kernels_of_a_stated_grid():
    model, X, y = fitted()
    alone = theory.generalization_bound(model, X, y, margin=1.0)
    grid = theory.generalization_bound(model, X, y, margin=1.0, kernels=[RBF(0.1), RBF(0.5), Linear()])
    number = theory.generalization_bound(model, X, y, margin=1.0, kernels=3)
    assert grid.value == number.value > alone.value
    assert grid.confidence_term**2 - alone.confidence_term**2 == pytest.approx(np.log(3) / (2 * len(X)), abs=1e-3)
    with pytest.raises(ValueError, match=r"kernels must hold the kernel of the model, RBF\(gamma=0.5\); got \[RBF"):
        theory.generalization_bound(model, X, y, kernels=[RBF(0.1)])
    with pytest.raises(TypeError, match="kernels must be an integer or a list of kernels; got 'rbf'"):
        theory.generalization_bound(model, X, y, kernels="rbf")


def test_a_kernel_that_won_a_race_needs_the_list():
    X, y = two_classes(60)
    race = [RBF(0.3), RBF(3.0)]
    model = SPKMClassifierCV(
        race, selection=None, n_basis=2, scale=False, learn_bandwidth=False, cv=2, weight_penalty="rkhs", random_state=0
    ).fit(X, y)
    with pytest.raises(ValueError, match="was chosen by the samples, from 2: give kernels="):
        theory.generalization_bound(model, X, y)
    with pytest.raises(ValueError, match="kernels must be an integer of at least 2; got 1"):
        theory.generalization_bound(model, X, y, kernels=1)
    with pytest.raises(ValueError, match="kernels must hold all 2 kernels"):
        theory.generalization_bound(model, X, y, kernels=[model.kernel_])
    assert "one of 2 that were fixed" in str(theory.generalization_bound(model, X, y, kernels=race))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": 0.0}, "margin must be a number above 0; got 0.0"),
        ({"margin": "large"}, "margin must be a number above 0; got 'large'"),
        ({"confidence": 1.0}, "confidence must be below 1"),
        ({"confidence": 0.0}, "confidence must be a number above 0"),
        ({"norm": "l2"}, "norm must be one of 'rkhs', 'l1'"),
        ({"radius": -1.0}, "radius must be a number above 0"),
        ({"kernels": 0}, "kernels must be an integer of at least 1"),
    ],
)
def test_arguments_are_checked(options, message):
    model, X, y = fitted()
    with pytest.raises(ValueError, match=message):
        theory.generalization_bound(model, X, y, **options)


def test_samples_and_labels_are_checked():
    model, X, y = fitted()
    with pytest.raises(ValueError, match=r"y must hold the labels of the fit, \[0, 1\]; got 7"):
        theory.generalization_bound(model, X, np.where(y == 1, 7, 0))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        theory.generalization_bound(model, X, y[:-1])
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1; got 0"):
        theory.rademacher_complexity(model, 0)


def test_a_linear_part_is_refused_with_the_reason():
    X, y = two_classes(40)
    model = SPKMClassifier(2, kernel=RBF(0.5), learn_bandwidth=False, scale=False, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="a linear part has no bound of its own here: use linear_part=False"):
        theory.generalization_bound(model, X, y)
