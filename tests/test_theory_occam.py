"""Rounded models and the bound by their length: a code that is one, the model that is deployed, and coin tosses."""

from math import comb, log, log2

import numpy as np
import pytest
from scipy.stats import beta, binom
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier

from spkm import SPKMClassifier, SPKMOrdinalClassifier, SPKMRegressor, load, theory
from spkm.kernels import KERNELS, Polynomial, Rescaled
from spkm.penalties import L1
from spkm.theory._quantized import MOST_BITS, bits_of_choice, bits_of_integer, rounded, rounded_kernel, rounded_number


def rings(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, ((X[:, :2] ** 2).sum(axis=1) > 1.4).astype(int)


def test_integers_have_a_prefix_free_code():
    """By Kraft's inequality; half of all words are not yet used up by small numbers."""
    total = sum(2.0 ** -bits_of_integer(k) for k in range(-5000, 5001))
    assert 0.99 < total <= 1
    assert bits_of_integer(0) == 1 and bits_of_integer(-1) == bits_of_integer(1) == 3


@pytest.mark.parametrize("n", [1, 7, 40])
def test_choices_have_a_prefix_free_code(n):
    assert sum(comb(n, k) * 2.0 ** -bits_of_choice(n, k) for k in range(n + 1)) <= 1


@pytest.mark.parametrize("bits", [1, 2, 5, 11])
@pytest.mark.parametrize("kind", ["normal", "one sign", "alike", "far from zero", "one number", "tiny", "single"])
def test_rounded_values_are_few_and_near(bits, kind):
    rng = np.random.default_rng(0)
    values = {
        "normal": rng.normal(size=50),
        "one sign": rng.exponential(size=50),
        "alike": np.full(9, -3.7),
        "far from zero": 1e6 + rng.normal(size=50),
        "one number": np.array([0.3]),
        "tiny": 1e-200 * rng.normal(size=50),
        "single": rng.normal(size=50).astype(np.float32),
    }[kind]
    near, length = rounded(values, bits)
    assert near.dtype == values.dtype and len(np.unique(near)) <= 2**bits
    spread = max(np.ptp(values), np.abs(values).max() / 16)
    assert np.abs(near - values).max() <= spread / (2**bits - 1) * (1 + 1e-6)  # a step is below twice that
    assert length >= bits * values.size
    again, same = rounded(near, bits)
    assert np.array_equal(again, near) or same <= length  # what is rounded stays, or gets shorter


def test_zeros_are_kept_where_that_is_shorter():
    values = np.zeros((10, 30))
    values[:, :2] = np.random.default_rng(0).normal(size=(10, 2)) + 5
    near, length = rounded(values, 6)
    assert np.array_equal(near == 0, values == 0) and length < 6 * 300 / 2
    assert rounded(np.zeros(4), 3)[1] <= 1 + bits_of_choice(4, 0) and not rounded(np.zeros(4), 3)[0].any()


def test_single_numbers_have_eight_bits():
    for value in (1.0, 2.5, -0.1, 3e-300, 7e200):
        near, length = rounded_number(value)
        assert abs(near - value) <= abs(value) / 2**8 and length > 8
    assert rounded_number(2.5)[0] == 2.5 and rounded_number(0.0) == (0.0, 1.0)


def test_numbers_of_kernels_inside_kernels_are_rounded_and_counted():
    metric = np.array([0.3, 0.7, 1.1])
    near, length = rounded_kernel(Rescaled(Polynomial(3, 1.0, 0.3), metric))
    inner, of_inner = rounded_kernel(Polynomial(3, 1.0, 0.3))
    expected, of_metric = rounded(metric, MOST_BITS)
    np.testing.assert_array_equal(near.factor, expected)
    assert near.kernel.get_params() == inner.get_params() and near.kernel.gamma != 0.3
    assert length == pytest.approx(of_inner + of_metric + log2(len(KERNELS)))


@pytest.mark.parametrize("kind", ["defaults", "classes", "regression", "polynomial", "selection"])
def test_a_rounded_estimator_predicts_by_its_rounded_numbers(kind, tmp_path):
    X, y = load_iris(return_X_y=True) if kind == "classes" else rings()
    made = {
        "regression": SPKMRegressor(4, random_state=0),
        "polynomial": SPKMClassifier(2, kernel="polynomial", random_state=0),
        "selection": SPKMClassifier(2, selection="strict", max_features=2, kernel="rbf", random_state=0),
    }
    model = made.get(kind, SPKMClassifier(3, random_state=0)).fit(X, y)
    before = model.predict(X)
    small = theory.quantized(model, 10)
    assert np.array_equal(model.predict(X), before) and type(small) is type(model)
    if kind == "regression":
        assert np.corrcoef(small.predict(X), before)[0, 1] > 0.999
        with pytest.raises(ValueError, match="return_std"):
            small.predict(X, return_std=True)
    else:
        assert (small.predict(X) == before).mean() > 0.97
    coarse = theory.quantized(model, 2)
    for term in coarse.model_.terms:
        for view in term.views:
            assert len(np.unique(view.basis)) <= 5  # four values, and zeros that are kept
    scaling = coarse.model_.scaling
    assert np.array_equal(scaling.center, np.rint(scaling.center / scaling.scale * 4) / 4 * scaling.scale)
    assert len(np.unique(np.log2(scaling.scale))) <= 4
    small.save(tmp_path / "small.spkm")
    np.testing.assert_array_equal(load(tmp_path / "small.spkm").predict(X), small.predict(X))
    np.testing.assert_array_equal(small.basis_vectors_, small.model_.basis_vectors[small.model_.vector_rows])


def test_every_learned_number_is_counted():
    X, y = rings()
    estimator = SPKMClassifier(3, random_state=0).fit(X, y)
    model, lengths = estimator.model_, theory.occam_bound(estimator, X, y, bits=7).lengths
    params = model.model.unpack(model.theta)
    counted = {
        "basis": sum(
            U.size for U, term in zip(params.basis, model.model.terms, strict=True) if not term.is_linear_part
        ),
        "relevances": sum(p.size for p in params.log_metric),
        "weights": np.count_nonzero(model.vector_rows) * model.n_outputs,
        "intercept": model.n_outputs,
        "linear part": 3 * model.n_outputs,
    }
    for name, size in counted.items():
        assert lengths[name] >= 7 * size, name
    assert lengths["scaling"] >= 7 * 3 + 3 and lengths["structure"] > 8 and set(lengths) == {*counted, *OTHERS}


OTHERS = ("features", "scaling", "structure")


def test_sparsity_makes_the_model_shorter():
    X, y = (part[::2] for part in load_breast_cancer(return_X_y=True))
    common = {"weight_penalty": "rkhs", "linear_part": False, "random_state": 0}
    full = SPKMClassifier(2, kernel="rbf", **common).fit(X, y)
    few = SPKMClassifier(2, kernel="rbf", selection="strict", max_features=3, **common).fit(X, y)
    zeros = SPKMClassifier(2, kernel="polynomial", basis_penalty=L1(0.05), **common).fit(X, y)
    whole, selected, sparse = (theory.occam_bound(model, X, y, bits=6).lengths for model in (full, few, zeros))
    count = len(few.selected_features_)
    number = 2 * int(log2(2 * count + 1)) + 1  # Elias' gamma code of 1, 2, 3, ... for 0, -1, 1, -2, 2, ...
    assert selected["features"] == pytest.approx(1 + number + log2(comb(30, count))) and whole["features"] == 1
    assert sum(selected.values()) < sum(whole.values()) / 2
    assert np.mean(zeros.model_.terms[0].views[0].basis == 0) > 0.5 and sparse["basis"] < whole["basis"]


@pytest.mark.parametrize(("wrong", "n"), [(0, 50), (3, 50), (49, 50), (50, 50), (120, 5000)])
def test_the_largest_error_is_that_of_clopper_and_pearson(wrong, n):
    expected = 1.0 if wrong == n else beta.ppf(0.95, wrong + 1, n - wrong)
    constant = DummyClassifier().fit([[0], [0]], [1, 1])
    labels = np.where(np.arange(n) < wrong, 0, 1)
    assert theory.held_out_bound(constant, np.zeros((n, 1)), labels) == pytest.approx(expected, rel=1e-8)


def test_the_bound_is_the_binomial_one_at_the_models_share_and_below_that_of_the_divergence():
    X, y = rings(2000)
    model = SPKMClassifier(2, random_state=0).fit(X, y)
    bound = theory.occam_bound(model, X, y, bits=[4, 6], confidence=0.9)
    wrong = int(np.count_nonzero(bound.estimator.predict(X) != y))
    assert bound.training_error == wrong / 2000 and bound.bits in (4, 6)
    share = 2.0**-bound.length * 0.1 / 2
    assert binom.cdf(wrong, 2000, bound.value) == pytest.approx(share, rel=1e-4)
    q, p = bound.training_error, bound.value
    divergence = q * log(q / p) + (1 - q) * log((1 - q) / (1 - p)) if q else -log(1 - p)
    assert divergence <= (bound.length * log(2) + log(2 / 0.1)) / 2000
    fresh = rings(20_000, 1)
    assert 1 - bound.estimator.score(*fresh) < bound.value < 0.2
    assert theory.held_out_bound(bound.estimator, *fresh) < bound.value
    assert "bits for a number" in str(bound) and "On trust" in str(bound)


def test_models_of_coin_tosses_are_not_bounded_below_one_half():
    """No classifier has another error than one half, however well it fits: the bound must not be below it."""
    below = without_bits = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 5)), rng.integers(2, size=40)
        y[:2] = 0, 1
        model = SPKMClassifier(10, weight_penalty="rkhs", random_state=0).fit(X, y)
        bound = theory.occam_bound(model, X, y, bits=5)
        below += bound.value < 0.5
        without_bits += theory.held_out_bound(bound.estimator, X, y) < 0.5
    assert below <= 1 and without_bits >= 10  # as if the samples had been held out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bits": 0}, "bits must be an integer"),
        ({"bits": 40}, "bits must be an integer of at most 32"),
        ({"bits": []}, "bits must be"),
        ({"confidence": 1.0}, "confidence must be below 1"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    X, y = rings(60)
    model = SPKMClassifier(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=message):
        theory.occam_bound(model, X, y, **change)


def test_what_has_no_share_of_wrong_labels_is_refused():
    X, y = rings(60)
    with pytest.raises(ValueError, match="must be a classifier"):
        theory.occam_bound(SPKMRegressor(2, random_state=0).fit(X, y), X, y)
    several = SPKMClassifier(2, multi_class="ovo", random_state=0).fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="one model"):
        theory.quantized(several, 6)
    with pytest.raises(TypeError, match="fitted SPKMClassifier"):
        theory.quantized(object(), 6)


@pytest.mark.parametrize("bits", [1, 3, 9])
def test_thresholds_of_ordered_classes_are_rounded_and_counted(bits, tmp_path):
    """They are learned: a receiver without them does not predict as the model does."""
    X = rings(300)[0]
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.8, -0.75, 0.5])
    model = SPKMOrdinalClassifier(2, random_state=0).fit(X, y)
    bound = theory.occam_bound(model, X, y, bits=bits)
    small, near = bound.estimator, bound.estimator.thresholds_
    more = next(k for k in range(60) if np.all(np.diff(rounded(model.thresholds_, bits + k)[0]) > 0))
    expected, length = rounded(model.thresholds_, bits + more)
    assert np.array_equal(near, expected)
    assert bound.lengths["thresholds"] == length + bits_of_integer(more)
    assert (small.predict(X) != y).mean() == bound.training_error
    assert np.array_equal(small.classes_[small.predict_proba(X).argmax(axis=1)], small.predict(X))
    small.save(tmp_path / "small.spkm")
    assert np.array_equal(load(tmp_path / "small.spkm").predict(X), small.predict(X))


def test_margins_bound_no_ordered_classes():
    X, y = rings()
    model = SPKMOrdinalClassifier(2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="for ordered classes, whose thresholds are learned"):
        theory.generalization_bound(model, X, y)
