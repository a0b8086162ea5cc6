"""The bound on the error: above the error of new samples, and made of the terms that the theorem says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spkm import theory
from spkm.kernels import RBF, Affine
from tests.bounded_models import changed, clouds, fitted, scaled_scores


@pytest.fixture(scope="module")
def easy():
    """Return a model of 5,000 samples of two clouds apart, its samples and labels."""
    return fitted(RBF(0.05), data=clouds(5000, 0, gap=3.0))


@pytest.fixture(scope="module")
def three():
    """Return a model of 4,000 samples of three clouds apart, its samples and labels."""
    return fitted(RBF(0.05), data=clouds(4000, 0, gap=4.0, n_classes=3))


@pytest.mark.parametrize(
    ("data", "options", "limit"),
    [
        ({"n": 5000, "gap": 3.0}, {}, 0.2),
        ({"n": 1500, "gap": 2.0}, {"norm": "l1"}, 0.6),
        ({"n": 4000, "gap": 4.0, "n_classes": 3}, {}, 0.7),
        ({"n": 1500, "gap": 2.0}, {"margin": 4.0, "confidence": 0.5}, 0.5),
    ],
)
def test_the_error_on_new_samples_is_below_a_bound_that_says_something(data, options, limit):
    for seed in range(3):
        X, y = clouds(seed=seed, **data)
        model, _, _ = fitted(RBF(0.05), data=(X, y))
        bound = theory.generalization_bound(model, X, y, **options)
        error = 1 - model.score(*clouds(seed=100 + seed, **{**data, "n": 20_000}))
        assert error < bound.value < limit and not bound.is_vacuous
        assert bound.empirical_margin_loss >= bound.training_error


# The bound holds wherever a descent ends.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", [RBF(30.0), Affine(RBF(30.0))])
def test_labels_learned_by_heart_get_a_bound_above_their_true_error(kernel, n_classes):
    # Labels are noise: the training error is small, the true error is that of guessing.
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.uniform(-1, 1, (60, 2)), np.arange(60) % n_classes
        model, _, _ = fitted(kernel, n_basis=60, data=(X, y), weight_penalty="l2", start=X)
        bound = theory.generalization_bound(model, X, y)
        assert bound.training_error < 0.2
        assert bound.value > 1 - 1 / n_classes


def share_of(levels):
    """Return the shares of the confidence that levels of a size have."""
    return 2 / 3 / ((np.abs(levels) + 1) * (np.abs(levels) + 2))


def test_the_bound_is_the_sum_of_terms_that_follow_from_the_formula(easy):
    model, X, y = easy
    bound = theory.generalization_bound(model, X, y, margin=2.0, confidence=0.9, kernels=7)
    sizes = theory.rademacher_complexity(model, len(X))
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    levels = np.ceil(4 * np.log2(np.array([sizes.gamma_, sizes.constant]) / 2.0))
    assert levels[0] > 0
    # Where a size is below 1, a higher level may be cheaper; this one must not be worse than the first.
    complexity = 2 * (2 ** (levels / 4)).sum() / np.sqrt(len(X))
    chance = np.sqrt((np.log(1 / 0.1) + np.log(2 * 7) - np.log(share_of(levels)).sum()) / (2 * len(X)))
    assert bound.empirical_margin_loss == pytest.approx(np.mean(np.clip(1 - margins / 2, 0, 1)))
    assert bound.complexity_term + bound.confidence_term <= complexity + chance + 1e-12
    assert bound.complexity_term >= 2 / 2.0 * sizes.rkhs
    if levels[1] >= 0:
        assert (bound.complexity_term, bound.confidence_term) == pytest.approx((complexity, chance))
    assert bound.value == bound.empirical_margin_loss + bound.complexity_term + bound.confidence_term


def test_without_a_constant_the_formula_has_one_level(easy):
    _, X, y = easy
    model, _, _ = fitted(RBF(0.05), data=(X, y), fit_intercept=False)
    bound = theory.generalization_bound(model, X, y, margin=1.0)
    level = np.ceil(4 * np.log2(theory.rademacher_complexity(model, len(X)).gamma_))
    assert bound.complexity_term == pytest.approx(2 * 2 ** (level / 4) / np.sqrt(len(X)))
    chances = np.log(20) + np.log(2 * 1.5 * (level + 1) * (level + 2))
    assert bound.confidence_term == pytest.approx(np.sqrt(chances / (2 * len(X))))
    with_intercept = theory.generalization_bound(easy[0], X, y)
    assert theory.generalization_bound(model, X, y).confidence_term < with_intercept.confidence_term


def test_several_classes_have_twice_the_term(three):
    model, X, y = three
    bound = theory.generalization_bound(model, X, y)
    sizes = theory.rademacher_complexity(model, len(X))
    assert 1 <= bound.complexity_term / (4 / bound.margin * sizes.rkhs) <= 2 ** (1 / 4) + 1e-9
    scores = model.decision_function(X)
    others = np.where(np.arange(3) == y[:, None], -np.inf, scores).max(axis=1)
    ramp = np.clip(1 - (scores[np.arange(len(y)), y] - others) / bound.margin, 0, 1)
    assert bound.empirical_margin_loss == pytest.approx(ramp.mean())
    assert bound.training_error == pytest.approx(1 - model.score(X, y))


@pytest.mark.parametrize("norm", ["rkhs", "l1"])
def test_doubled_weights_double_the_term_and_pay_for_it_in_confidence(easy, norm):
    _, X, y = easy
    model, _, _ = fitted(RBF(0.05), data=(X, y), fit_intercept=False)
    one = theory.generalization_bound(model, X, y, margin=1.0, norm=norm)
    two = theory.generalization_bound(scaled_scores(model, 2.0), X, y, margin=1.0, norm=norm)
    assert two.norm_value == pytest.approx(2 * one.norm_value)
    assert two.complexity_term == pytest.approx(2 * one.complexity_term)
    assert two.confidence_term > one.confidence_term
    level = round(4 * np.log2(one.complexity_term * np.sqrt(len(X)) / 2))
    more = np.log((level + 5) * (level + 6) / ((level + 1) * (level + 2)))
    assert two.confidence_term**2 - one.confidence_term**2 == pytest.approx(more / (2 * len(X)))


@given(st.floats(1e-3, 1e3))
@settings(max_examples=8)
def test_only_the_ratio_of_scores_to_margin_counts(easy, factor):
    model, X, y = easy
    scaled = scaled_scores(model, factor)
    best, best_scaled = (theory.generalization_bound(m, X[:500], y[:500]) for m in (model, scaled))
    assert best_scaled.value == pytest.approx(best.value, rel=1e-6)
    assert best_scaled.margin == pytest.approx(factor * best.margin, rel=1e-6)


@given(margin=st.floats(1e-6, 1e6), intercept=st.floats(-100, 100), norm=st.sampled_from(["l1", "rkhs"]))
@settings(max_examples=20)
def test_no_margin_is_better_than_the_best(easy, margin, intercept, norm):
    model, X, y = easy
    model = changed(model, lambda params: params.intercept.fill(intercept))
    best = theory.generalization_bound(model, X[:300], y[:300], norm=norm)
    assert best.value <= theory.generalization_bound(model, X[:300], y[:300], norm=norm, margin=margin).value + 1e-9


@given(st.floats(0.01, 100), st.floats(0.01, 0.99), st.floats(1.01, 10.0), st.integers(2, 1000))
@settings(max_examples=20)
def test_terms_move_as_they_must(easy, margin, confidence, factor, n_kernels):
    model, X, y = easy
    X, y = X[:300], y[:300]

    def bound(n_times=1, **changes):
        samples = np.vstack([X] * n_times), np.concatenate([y] * n_times)
        return theory.generalization_bound(model, *samples, **{"margin": margin, "confidence": confidence, **changes})

    def beyond_loss(b):
        return b.complexity_term + b.confidence_term

    one = bound()
    assert bound(margin=factor * margin).empirical_margin_loss >= one.empirical_margin_loss
    assert bound(margin=factor * margin).complexity_term <= one.complexity_term * (1 + 1e-9)
    assert bound(confidence=1 - (1 - confidence) / factor).value > one.value
    assert bound(kernels=n_kernels).value > one.value
    assert beyond_loss(bound(n_times=3)) < beyond_loss(one)
    assert bound(norm="l1").value >= one.value - 1e-9
    sizes = [theory.rademacher_complexity(model, n) for n in (100, 400)]
    assert sizes[0].l1 == pytest.approx(2 * sizes[1].l1) and sizes[0].rkhs == pytest.approx(2 * sizes[1].rkhs)


def test_shares_of_the_confidence_sum_to_one_at_most():
    assert 1 - 1e-4 < share_of(np.arange(-100_000, 100_001)).sum() <= 1


def test_a_model_of_zeros_says_nothing():
    model, X, y = fitted(fit_intercept=False)
    zero = scaled_scores(model, 0.0)
    bound = theory.generalization_bound(zero, X, y)
    assert bound.is_vacuous and bound.empirical_margin_loss == bound.training_error == 1.0


def test_a_vacuous_bound_says_so_and_is_not_cut_off():
    model, X, y = fitted(n_basis=8)
    bound = theory.generalization_bound(model, X[:20], y[:20], margin=0.1)
    assert bound.is_vacuous and bound.value > 1
    assert str(bound).startswith(f"Vacuous: {bound.value:.4f} says nothing")


def test_text_of_a_bound(easy):
    model, X, y = easy
    bound = theory.generalization_bound(model, X, y)
    text = str(bound)
    assert text.startswith(f"With probability 0.95 the error on new samples is at most {bound.value:.4f}")
    for sentence in bound.assumptions:
        assert f"- {sentence}" in text
        assert sentence.startswith(("Checked: ", "On trust: ", "Not needed: ")) and sentence.endswith(".")
    assert "kernel=RBF(gamma=0.05) was fixed before the samples were seen" in text
    assert "RKHS norm" in str(theory.rademacher_complexity(model, 100))
    grid = theory.generalization_bound(model, X, y, kernels=[RBF(0.05), "linear"])
    assert "kernel=RBF(gamma=0.05) is one of 2" in str(grid)


def test_a_radius_that_the_kernel_does_not_need_asks_nothing_of_the_samples(easy):
    model, X, y = easy
    assert np.linalg.norm(X, axis=1).max() > 0.01
    without = theory.generalization_bound(model, X, y)
    assert theory.generalization_bound(model, X, y, radius=0.01).value == without.value


def test_labels_may_be_text(easy):
    model, X, y = easy
    names = np.where(y == 1, "yes", "no")
    named, _, _ = fitted(RBF(0.05), data=(X, names))
    assert theory.generalization_bound(named, X, names).value == pytest.approx(
        theory.generalization_bound(model, X, y).value
    )
