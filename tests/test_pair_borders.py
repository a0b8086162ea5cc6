"""Pairs at the border: columns in their order, tables that cross-validation would cut, tables that change later."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from spkm import PairwiseSPKMClassifier, PairwiseSPKMRegressor

QUICK = {"n_basis": 4, "max_iter": 20, "n_jobs": 1, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def pairs_of(n_left=12, n_right=9, seed=0):
    """Return all pairs of two tables, a target of each, and the tables."""
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((n_left, 2)), rng.standard_normal((n_right, 3))
    pairs = np.array([(i, j) for i in range(n_left) for j in range(n_right)])
    return pairs, left[pairs[:, 0], 0] * right[pairs[:, 1], 0], left, right


def test_swapped_columns_of_a_frame_are_refused():
    pairs, y, left, right = pairs_of(9, 9)
    frame = pd.DataFrame(pairs, columns=["drug", "protein"])
    model = PairwiseSPKMRegressor(**QUICK).fit(frame, y, left=left, right=right)
    with pytest.raises(ValueError, match=r"columns of pairs must be \['drug', 'protein'\], as in the fit; got"):
        model.predict(frame[["protein", "drug"]])


@pytest.mark.parametrize("make", [PairwiseSPKMClassifier, PairwiseSPKMRegressor])
def test_a_frame_of_pairs_brings_no_warning(make):
    pairs, y, left, right = pairs_of()
    target = y > 0 if make is PairwiseSPKMClassifier else y
    frame = pd.DataFrame(pairs, columns=["drug", "protein"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", message=".*stopped after")
        model = make(**QUICK).fit(frame, target, left=pd.DataFrame(left, columns=list("ab")), right=right)
        by_frame = model.predict(frame)
        np.testing.assert_array_equal(model.predict(pairs), by_frame)
        np.testing.assert_array_equal(model.predict(frame, left=pd.DataFrame(left, columns=list("ab"))), by_frame)
    np.testing.assert_array_equal(make(**QUICK).fit(pairs, target, left=left, right=right).predict(pairs), by_frame)


def test_integers_of_pandas_are_integers():
    pairs, y, left, right = pairs_of()
    expected = PairwiseSPKMRegressor(**QUICK).fit(pairs, y, left=left, right=right).predict(pairs)
    frame = pd.DataFrame(pairs, columns=["drug", "protein"]).astype("Int64")
    model = PairwiseSPKMRegressor(**QUICK).fit(frame, y, left=left, right=right)
    np.testing.assert_array_equal(model.predict(frame), expected)
    frame.iloc[3, 0] = pd.NA
    with pytest.raises(ValueError, match="pairs must be integers"):
        model.predict(frame)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_table_that_cross_validation_would_cut_is_refused(side):
    rng = np.random.default_rng(0)
    tables = {"left": rng.standard_normal((8, 2)), "right": rng.standard_normal((8, 2))}
    tables[side] = rng.standard_normal((30, 2))
    pairs = rng.integers(8, size=(30, 2))
    y = tables["left"][pairs[:, 0], 0]
    model = PairwiseSPKMRegressor(**QUICK)
    model.fit(pairs, y, **tables)  # by itself there is nothing wrong with it
    for cv in (2, 3):
        with pytest.raises(ValueError, match=f"{side} has as many rows as there are pairs"):
            cross_val_score(model, pairs, y, cv=cv, params=tables, error_score="raise")
    tables[side] = np.vstack([tables[side], np.zeros(2)])
    assert np.all(np.isfinite(cross_val_score(model, pairs, y, cv=2, params=tables, error_score="raise")))


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_predictions_do_not_follow_later_changes_of_the_tables(kind):
    pairs, y, left, right = pairs_of()
    tables = [left.copy(), right.copy()] if kind == "array" else [pd.DataFrame(left), pd.DataFrame(right)]
    model = PairwiseSPKMRegressor(**QUICK).fit(pairs, y, left=tables[0], right=tables[1])
    before = model.predict(pairs)
    for table in tables:
        if kind == "array":
            table[:] = 0.0
        else:
            table.iloc[:, :] = 0.0
    np.testing.assert_array_equal(model.predict(pairs), before)
