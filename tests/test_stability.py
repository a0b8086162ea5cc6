"""Stability selection: halves that are judged by themselves, and the bounds by their theorems."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from spkm import SPKMClassifier, stability_selection
from spkm.estimators.stability import unimodal_constant


def samples(n=200, d=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] - X[:, 1] + X[:, 2] * X[:, 3] + 0.3 * rng.standard_normal(n)


def test_stable_features_matter_and_the_number_chosen_follows_from_the_bound():
    X, y = samples()
    result = stability_selection(None, X, y, n_pairs=10, max_false=1, random_state=0)
    assert result.exact and {0, 1} <= set(result.selected.tolist())
    assert result.n_features == int(np.sqrt(0.5 * 30)) and result.bound == pytest.approx(9 / (0.5 * 30))
    assert result.bound <= 1 and result.probabilities.sum() <= 3 + 1e-12
    told = repr(result)
    assert "75% of 20 halves" in told and "At most 0.6 false ones" in told and "array" not in told
    assert "At most about 0.6 false ones" in repr(replace(result, exact=False))  # a bound still, and no estimate
    assert all(result.feature_names[j] in told for j in result.selected)


def test_half_of_the_samples_has_no_say_in_the_choice_of_the_other():
    """With one pair, other targets in one half leave the choice of the other as it was."""
    X, y = samples()
    order = np.random.default_rng(0).permutation(200)  # as the function draws it
    other = y.copy()
    other[order[100:]] = np.random.default_rng(5).standard_normal(100)
    first = stability_selection(None, X, y, n_pairs=1, random_state=0).probabilities
    changed = stability_selection(None, X, other, n_pairs=1, random_state=0).probabilities
    # Signal in both halves against signal in one: the first half chose 0, 1 and one more both times.
    assert not np.array_equal(first, changed)
    assert (changed[first == 1] >= 0.5).all()


def test_the_bound_is_of_the_number_that_was_set_and_not_of_the_most_that_was_seen():
    """With constant targets no half chooses a feature, and yet it may have chosen q."""
    X, _ = samples(60, 30)
    result = stability_selection(None, X, np.zeros(60), n_pairs=2, max_false=1, random_state=0)
    assert result.probabilities.max() == 0 and result.n_features == 3 and result.bound == pytest.approx(9 / (0.5 * 30))


@pytest.mark.parametrize("kind", ["classes", "many classes", "several outputs", "weights"])
def test_all_kinds_of_targets(kind):
    X, y = samples()
    weight = np.linspace(1, 2, 200) if kind == "weights" else None
    targets = {"classes": y > 0, "many classes": np.digitize(y, [-1, 1]), "several outputs": np.c_[y, -y]}
    result = stability_selection(None, X, targets.get(kind, y), sample_weight=weight, n_pairs=5, random_state=0)
    assert {0, 1} <= set(np.argsort(-result.probabilities)[:4].tolist())


def test_no_more_noise_is_stable_than_the_bound_says():
    false = [
        len(stability_selection(None, *noise, n_pairs=5, max_false=1, random_state=seed).selected)
        for seed in range(4)
        for noise in [(samples(60, 20, seed)[0], np.random.default_rng(50 + seed).standard_normal(60))]
    ]
    assert np.mean(false) <= 1


def test_the_unimodal_constant_is_that_of_the_theorem():
    assert unimodal_constant(0.75, 50, 0.1) == pytest.approx(1 / (2 * (0.5 - 0.01)))
    assert unimodal_constant(0.9, 50, 0.1) == pytest.approx(4 * (0.1 + 0.01) / 1.02)
    # Both forms meet where one takes over from the other, as the number of pairs grows.
    assert unimodal_constant(0.75, 10**6, 0.1) == pytest.approx(unimodal_constant(0.75 + 1e-9, 10**6, 0.1), rel=1e-4)
    assert np.isnan(unimodal_constant(0.9, 50, 0.6)) and np.isnan(unimodal_constant(0.505, 50, 0.2))
    assert all(unimodal_constant(t, 50, 0.1) < 1 / (2 * t - 1) for t in (0.6, 0.75, 0.9, 1.0))


def test_a_budget_from_the_bound_is_the_estimators_max_features():
    X, y = samples(60, 12)
    clf = SPKMClassifier(kernel="linear", n_basis=1, selection="strict", random_state=0)
    result = stability_selection(clf, X, y > 0, n_pairs=1, max_false=0.7, random_state=0)
    assert result.n_features <= 2 and not result.exact and result.bound <= 0.7 and clf.max_features is None


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (None, {"max_false": 0}, "max_false must"),
        (None, {"max_false": 0.01}, "max_false must be at least 0.0667"),
        (None, {"threshold": 0.5}, "threshold"),
        (sparse.csr_matrix, {}, "dense"),
    ],
)
def test_what_has_no_bound_is_refused(change, options, message):
    X, y = samples()
    with pytest.raises(ValueError, match=message):
        stability_selection(None, X if change is None else change(X), y, n_pairs=1, **options)
