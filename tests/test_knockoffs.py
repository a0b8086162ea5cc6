"""Copies that change places with their features unnoticed, the threshold by its definition, and the selector."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from spkm import SPKMClassifier, SPKMSelector
from spkm.selection import (
    additive_importances,
    knockoff_threshold,
    knockoffs,
    misfit_of_copies,
    normal_scores,
)
from spkm.selection._knockoffs import correlation_of_scores, gaussian_copies, reconstruction_variances


def autoregressive(d, rho=0.6):
    return rho ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))


def draw(n, d, seed=0, rho=0.6):
    return np.random.default_rng(seed).standard_normal((n, d)) @ np.linalg.cholesky(autoregressive(d, rho)).T


def reconstructability(correlation, s):
    joint = np.block([[correlation, correlation - np.diag(s)], [correlation - np.diag(s), correlation]])
    return np.trace(np.linalg.inv(joint))


def test_variances_minimise_the_trace_of_the_inverse_of_features_and_copies():
    correlation = autoregressive(7)
    s = reconstruction_variances(correlation)
    best = reconstructability(correlation, s)
    for j in range(7):
        for factor in (0.8, 0.95, 1.05, 1.2):
            other = s.copy()
            other[j] *= factor
            assert reconstructability(correlation, other) > best * (1 - 1e-3)


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.98])
def test_features_and_copies_have_a_covariance(rho):
    correlation = autoregressive(6, rho)
    s = reconstruction_variances(correlation)
    assert (s > 0).all()
    assert np.linalg.eigvalsh(2 * correlation - np.diag(s))[0] > 0
    if rho == 0:  # independent features have independent copies
        np.testing.assert_allclose(s, 1, rtol=1e-6)


def test_second_moments_stay_when_features_and_copies_change_places():
    d, n = 4, 200_000
    correlation = autoregressive(d)
    s = reconstruction_variances(correlation)
    Z = draw(n, d)
    joint = np.cov(np.hstack([Z, gaussian_copies(Z, correlation, s, np.random.default_rng(1))]).T)
    expected = np.block([[correlation, correlation - np.diag(s)], [correlation - np.diag(s), correlation]])
    # An entry has a standard error of at most sqrt(2 / n); six of them are out of reach of all 64.
    assert np.abs(joint - expected).max() < 6 * np.sqrt(2 / n)
    swapped = np.array([4, 1, 6, 3, 0, 5, 2, 7])  # features 0 and 2 with their copies
    np.testing.assert_allclose(expected[np.ix_(swapped, swapped)], expected, atol=1e-12)


def test_a_copy_is_a_rearrangement_of_the_values():
    X = draw(300, 5)
    X[:, 1] = X[:, 1] > 0
    X[:, 2] = np.exp(3 * X[:, 2])
    X[:, 3] = 7.0
    copies = knockoffs(X, np.random.default_rng(0))
    assert np.array_equal(np.sort(copies, axis=0), np.sort(X, axis=0))
    assert not np.array_equal(copies[:, :3], X[:, :3])


def test_copies_do_not_depend_on_monotone_transformations():
    X = draw(200, 4)
    curved = np.exp(X)
    copies, of_curved = (knockoffs(table, np.random.default_rng(0)) for table in (X, curved))
    np.testing.assert_allclose(np.exp(copies), of_curved)


def test_normal_scores_break_ties_at_random_and_are_normal():
    Z = normal_scores(np.repeat([[0.0], [1.0]], 500, axis=0), np.random.default_rng(0))
    assert (Z[:500] < Z[500:].min()).all() and abs(Z.mean()) < 1e-12 and Z.std() == pytest.approx(1, abs=0.02)
    assert np.abs(np.corrcoef(Z[:500, 0], np.arange(500))[0, 1]) < 6 / np.sqrt(500)


def test_shrunk_correlations_are_positive_definite_with_fewer_samples_than_features():
    correlation = correlation_of_scores(normal_scores(draw(20, 50), np.random.default_rng(0)))
    np.testing.assert_allclose(np.diag(correlation), 1)
    assert np.linalg.eigvalsh(correlation)[0] > 0


def test_correlations_are_those_of_the_samples_where_these_are_many_even_if_features_are_dependent():
    Z = normal_scores(draw(200, 5), np.random.default_rng(0))
    Z = np.hstack([Z, Z[:, :1]])
    correlation = correlation_of_scores(Z)
    np.testing.assert_allclose(correlation - 0.99 * np.corrcoef(Z.T), 0.01 * np.eye(6), atol=1e-12)
    s = reconstruction_variances(correlation)
    assert s[0] < 0.1 and s[5] < 0.1 < s[2]  # a feature and its double have copies that say the same
    assert np.isfinite(gaussian_copies(Z, correlation, s, np.random.default_rng(0))).all()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("fdr", [0.1, 0.34])
def test_the_threshold_is_the_least_of_its_definition(seed, fdr):
    rng = np.random.default_rng(seed)
    W = np.round(rng.standard_normal(40) + (np.arange(40) < 25) * 2, 1)  # rounded: ties and zeros
    allowed = [t for t in np.unique(np.abs(W)) if t > 0 and (1 + (W <= -t).sum()) / max(1, (W >= t).sum()) <= fdr]
    assert knockoff_threshold(W, fdr) == (min(allowed) if allowed else np.inf)


def test_nothing_passes_the_threshold_with_few_or_no_statistics():
    assert knockoff_threshold(np.ones(9), 0.1) == np.inf and knockoff_threshold(np.ones(10), 0.1) == 1
    assert knockoff_threshold(np.zeros(30), 0.5) == np.inf


def test_the_order_of_features_does_not_matter_to_importances():
    X = draw(150, 12, rho=0.2)
    Y = (X[:, :1] * X[:, 1:2] + np.cos(2 * X[:, 2:3])) > 0.3
    order = np.random.default_rng(5).permutation(12)
    plain = additive_importances(X, Y.astype(float), np.ones(150), np.random.default_rng(0))
    moved = additive_importances(X[:, order], Y.astype(float), np.ones(150), np.random.default_rng(0))
    np.testing.assert_allclose(moved, plain[order], atol=0.01 * plain.max())  # the lasso ends by a tolerance


@pytest.mark.parametrize(
    ("relation", "relevant"),
    [
        (lambda X: X[:, 3], [3]),
        (lambda X: X[:, 4] ** 2, [4]),
        (lambda X: np.sin(4 * X[:, 0]), [0]),
        (lambda X: X[:, 1] * X[:, 7], [1, 7]),
        (lambda X: (X[:, 2] > 0) & (X[:, 5] > 0), [2, 5]),
    ],
)
def test_importances_see_effects_of_many_shapes(relation, relevant):
    X = np.random.default_rng(0).standard_normal((400, 20))
    importances = additive_importances(X, relation(X)[:, None].astype(float), np.ones(400), np.random.default_rng(0))
    assert set(np.argsort(-importances)[: len(relevant)]) == set(relevant)


def test_constant_targets_need_no_feature():
    X = draw(60, 5)
    assert additive_importances(X, np.ones((60, 1)), np.ones(60), np.random.default_rng(0)).tolist() == [0] * 5


def twelve_of_forty(n=300, seed=0):
    X = draw(n, 40, seed, rho=0.3)
    return X, X[:, :12] @ np.where(np.arange(12) % 2, -1.0, 1.0)


@pytest.mark.parametrize("kind", ["numbers", "two classes", "three classes"])
def test_a_selector_keeps_what_stands_out_from_its_copies(kind):
    X, f = twelve_of_forty(600)
    y = f if kind == "numbers" else np.digitize(f, [0] if kind == "two classes" else [-1.5, 1.5])
    selector = SPKMSelector(fdr=0.2, random_state=0).fit(X, y)
    kept = selector.get_support(indices=True)
    assert np.isin(np.arange(12), kept).sum() >= 10
    W = selector.knockoff_statistics_
    assert np.array_equal(selector.support_, W >= selector.knockoff_threshold_)
    assert (1 + (W <= -selector.knockoff_threshold_).sum()) / len(kept) <= 0.2
    assert np.array_equal(selector.transform(X), X[:, kept])


def test_noise_gives_no_columns_and_says_so():
    X = draw(200, 30)
    y = np.random.default_rng(9).standard_normal(200)
    with pytest.warns(UserWarning, match="at least 10 features"):
        selector = SPKMSelector(fdr=0.1, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(X).shape == (200, 0)


def test_signs_of_noise_are_coins():
    """The statistics of features without a part in the targets are as often negative as positive."""
    above = below = 0
    for seed in range(12):
        X = draw(120, 30, seed)
        y = X[:, 0] + np.random.default_rng(100 + seed).standard_normal(120)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            W = SPKMSelector(fdr=0.1, random_state=seed).fit(X, y).knockoff_statistics_[1:]
        above, below = above + (W > 0).sum(), below + (W < 0).sum()
    assert abs(above - below) < 4 * np.sqrt(above + below)  # four standard deviations


def test_an_estimator_compares_by_its_importances():
    X = draw(120, 10, rho=0.2)
    clf = SPKMClassifier(kernel="linear", selection="strict", random_state=0)
    selector = SPKMSelector(clf, fdr=0.25, random_state=0).fit(X, X[:, :7].sum(axis=1) > 0)
    assert np.isin(np.arange(7), selector.get_support(indices=True)).sum() >= 5
    assert not hasattr(clf, "model_")


def test_names_weights_and_repeatable_draws(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = twelve_of_forty()
    frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(40)])
    first, again = (SPKMSelector(fdr=0.2, random_state=3).fit(frame, y, sample_weight=np.ones(300)) for _ in range(2))
    assert np.array_equal(first.knockoff_statistics_, again.knockoff_statistics_)
    assert first.get_feature_names_out().tolist() == [f"c{j}" for j in first.get_support(indices=True)]
    from spkm import load

    first.save(tmp_path / "selector.spkm")
    loaded = load(tmp_path / "selector.spkm")
    assert np.array_equal(loaded.transform(frame), first.transform(frame)) and loaded.fdr == 0.2


@pytest.mark.parametrize(
    ("params", "change", "message"),
    [
        ({"fdr": 0.0}, None, "fdr must"),
        ({"fdr": 1.5}, None, "fdr must"),
        ({"fdr": 0.01}, None, "fdr must be at least 1 / 40"),
        ({"fdr": 0.1, "knockoff_offset": 2}, None, "knockoff_offset"),
        ({"fdr": 0.1, "max_features": 3}, None, "exclude one another"),
        ({"fdr": 0.1}, sparse.csr_matrix, "dense"),
        ({"fdr": 0.1}, lambda X: np.zeros((300, 2001)), "at most 2,000 features"),
        ({"fdr": 0.1, "estimator": SPKMClassifier()}, None, "selection='strict'"),
        (
            {"fdr": 0.1, "estimator": SPKMClassifier(selection="strict", feature_groups=[0] * 40)},
            None,
            "leave feature_groups",
        ),
    ],
)
def test_what_cannot_be_controlled_is_refused(params, change, message):
    X, y = twelve_of_forty()
    selector = SPKMSelector(**params)
    with pytest.raises(ValueError, match=message):
        selector.fit(X if change is None else change(X), y)
    assert not hasattr(selector, "n_features_in_")


@pytest.mark.parametrize(("case", "message"), [("few samples", "30 samples are too few"), ("codes", "one-hot")])
def test_doubtful_assumptions_are_told(case, message):
    X, y = twelve_of_forty()
    if case == "few samples":
        X, y = X[:30], y[:30]
    else:
        X = np.hstack([X, np.eye(4)[np.random.default_rng(0).integers(4, size=300)]])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        SPKMSelector(fdr=0.5, random_state=0).fit(X, y)
    assert sum(message in str(warning.message) for warning in told) == 1


def test_a_product_of_two_features_is_found_wherever_they_are():
    # Pairs of 1,500 features are more than are looked at together.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 1500))
    for pair in ([3, 1490], [700, 701], [1498, 1499]):
        y = np.sign(X[:, pair]).prod(axis=1)
        found = additive_importances(X, y[:, None], np.ones(80), np.random.default_rng(0))
        assert sorted(np.argsort(-found)[:2]) == pair


def functions_of_others(n=300, seed=0):
    """Return 20 features, noisy absolute values and noisy squares of them, and targets of the first ten."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 20))
    X = np.hstack([X, np.abs(X) + 0.3 * rng.standard_normal((n, 20)), X**2 + 0.5 * rng.standard_normal((n, 20))])
    return X, np.abs(X[:, :10]).sum(axis=1)


def test_features_that_are_functions_of_others_are_told():
    X, y = functions_of_others()
    with pytest.warns(UserWarning, match=r"not controlled: x\d+ depends on x\d+"):
        selector = SPKMSelector(fdr=0.2, random_state=0).fit(X, y)
    assert selector.knockoff_misfit_ > 1.5


@pytest.mark.parametrize("seed", range(5))
def test_copies_of_a_gaussian_copula_are_not_doubted(seed):
    X = np.exp(draw(300, 60, seed, rho=0.5))
    misfit = misfit_of_copies(X, knockoffs(X, np.random.default_rng(seed)))
    assert misfit.z < misfit.limit


def test_a_dependence_of_the_tails_is_found():
    """Features with a common scale are not correlated, and yet depend on each other: a t copula."""
    rng = np.random.default_rng(0)
    X = draw(3000, 10, rho=0.3) / np.sqrt(rng.chisquare(2, 3000) / 2)[:, None]
    misfit = misfit_of_copies(X, knockoffs(X, rng))
    assert misfit.z > misfit.limit and misfit.feature != misfit.other


def test_the_pair_that_is_named_is_the_one_that_is_bent():
    X = draw(500, 6, rho=0.0)
    X[:, 4] = np.abs(X[:, 1]) + 0.1 * X[:, 4]
    misfit = misfit_of_copies(X, knockoffs(X, np.random.default_rng(0)))
    assert {misfit.feature, misfit.other} == {1, 4} and misfit.z > misfit.limit


def test_four_features_are_found_without_the_offset_and_never_with_it():
    X = draw(300, 30, rho=0.3)
    y = X[:, :4].sum(axis=1)
    with pytest.warns(UserWarning, match="knockoff_offset=0"):
        assert not SPKMSelector(fdr=0.1, random_state=0).fit(X, y).support_.any()
    assert SPKMSelector(fdr=0.1, knockoff_offset=0, random_state=0).fit(X, y).support_[:4].all()


@pytest.mark.parametrize("offset", [0, 1])
def test_each_offset_keeps_its_promise_for_statistics_with_coins_for_signs(offset):
    """Signs of false features are fair coins, given the sizes: all that the theorem asks for."""
    rng, fdr, draws = np.random.default_rng(0), 0.2, 2000
    shares = np.empty(draws)
    for k in range(draws):
        W = np.abs(rng.standard_normal(40))
        W[:4] += 2
        W[4:] *= rng.choice([-1.0, 1.0], 36)
        chosen = knockoff_threshold(W, fdr, offset) <= W
        shares[k] = chosen[4:].sum() / (max(chosen.sum(), 1) if offset else chosen.sum() + 1 / fdr)
    assert shares.mean() <= fdr + 4 * shares.std() / np.sqrt(draws)
    assert shares.mean() > fdr / 10  # a promise that no statistic comes near would be no test of it
