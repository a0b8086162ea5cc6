"""Groups of columns with a budget: it is spent where it brings most, not on the largest groups."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spkm import SPKMClassifier, SPKMRegressor
from spkm.selection._elimination import within_budget


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.integers(1, 5)), min_size=1, max_size=7),
    st.integers(1, 12),
)
def test_a_budget_is_spent_as_well_as_by_trying_everything(units, most):
    gain, size = np.array([g for g, _ in units]), np.array([s for _, s in units])
    chosen = within_budget(gain, size, most)
    assert size[chosen].sum() <= most
    choices = (np.array(c, dtype=bool) for c in product([False, True], repeat=len(units)))
    best = max(gain[c].sum() for c in choices if size[c].sum() <= most)
    assert gain[chosen].sum() == pytest.approx(best, abs=1e-12)


def one_hot_beside_numbers(n=300, seed=0):
    """Return five columns of numbers beside three encoded categories of five columns each, their groups, and f.

    Each of two categories tells more than any number, and less than four of them, which its columns would pay for.
    """
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((n, 5))
    categories = rng.integers(5, size=(3, n))
    effect = 1.3 * np.array([-1.2, -0.6, 0.0, 0.6, 1.2])
    X = np.hstack([numbers, *(np.eye(5)[c] for c in categories)])
    groups = np.r_[np.arange(5), np.repeat([5, 6, 7], 5)]
    return X, groups, 0.9 * numbers.sum(axis=1) + effect[categories[0]] + effect[categories[1]], rng


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The best .* lies at the edge:UserWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_a_budget_goes_to_numbers_rather_than_to_one_large_group(seed):
    X, groups, f, rng = one_hot_beside_numbers(seed=seed)
    settings = {"kernel": "linear", "selection": "strict", "max_features": 6, "feature_groups": groups}
    quick = {"n_basis": 2, "n_jobs": 1, "random_state": 0}
    y = rng.uniform(size=len(f)) < 1 / (1 + np.exp(-1.5 * f))
    clf = SPKMClassifier(**settings, **quick).fit(X, y)
    np.testing.assert_array_equal(clf.selected_features_, np.arange(5))
    model = SPKMRegressor(**settings, **quick).fit(X, f + rng.standard_normal(len(f)))
    np.testing.assert_array_equal(model.selected_features_, np.arange(5))
