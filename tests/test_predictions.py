"""Predictions of every estimator: kinds of input, chunks, company, files and compiled functions change nothing.

Fits are few and kept; hypothesis draws the samples that they are asked about.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from spkm.persistence import CompiledModel, NumpyModel
from tests.fitted_cases import answers, fitted, samples
from tests.saving import from_bytes, plain_of, to_bytes

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # few iterations on purpose
few = settings(max_examples=6, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)
# Estimators of one table of numbers, by the names of their fits.
ONE_TABLE = (
    "two classes", "three classes", "one against the rest", "one against one", "labels", "regression", "counts",
    "several outputs", "views", "strict", "search", "landmarks", "selector",
)  # fmt: skip
tables = st.sampled_from(ONE_TABLE)


def rows_for(name, seed, n=12):
    """Return random samples like those of a fit, and a generator for more."""
    rng = np.random.default_rng(seed)
    X = np.asarray(samples(name), dtype=float)
    return X[rng.integers(0, len(X), n)] + 0.1 * rng.standard_normal((n, X.shape[1])) * (name != "counts"), rng


def named(name, X):
    """Return samples as the fit had them: a frame, where it had one."""
    known = samples(name)
    return pd.DataFrame(X, columns=known.columns) if hasattr(known, "columns") else X


def same(a, b, tolerance=1e-9):
    assert a.keys() == b.keys() and a
    for method, value in a.items():
        value, other = (v.toarray() if sparse.issparse(v) else np.asarray(v) for v in (value, b[method]))
        if value.dtype.kind in "fc":
            np.testing.assert_allclose(other, value, rtol=tolerance, atol=tolerance * np.abs(value).max(initial=1.0))
        else:
            np.testing.assert_array_equal(other, value)


KINDS = {
    "lists": lambda X: X.tolist(),
    "Fortran order": np.asfortranarray,
    "every second row of a larger array": lambda X: np.repeat(X, 2, axis=0)[::2],
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "big-endian": lambda X: X.astype(">f8"),
    "objects": lambda X: X.astype(object),
}


@few
@given(tables, seeds, st.sampled_from(sorted(KINDS)))
def test_any_kind_of_array(name, seed, kind):
    X, _ = rows_for(name, seed)
    if hasattr(samples(name), "columns"):
        return
    same(answers(fitted(name), X), answers(fitted(name), KINDS[kind](X)))


@few
@given(tables, seeds)
def test_sparse_samples_are_dense_samples(name, seed):
    X, rng = rows_for(name, seed)
    X[rng.random(X.shape) < 0.3] = 0.0
    if not hasattr(samples(name), "columns"):
        same(answers(fitted(name), X), answers(fitted(name), sparse.csr_array(X)), 1e-8)


@few
@given(tables, seeds)
def test_the_order_of_samples_in_predictions(name, seed):
    X, rng = rows_for(name, seed)
    order = rng.permutation(len(X))
    found, moved = (answers(fitted(name), named(name, Z)) for Z in (X, X[order]))
    found = {method: value if method == "get_support" else np.asarray(value)[order] for method, value in found.items()}
    same(found, moved)


@few
@given(tables, seeds, st.integers(1, 11))
def test_parts_of_samples_are_the_whole(name, seed, cut):
    X, _ = rows_for(name, seed)
    parts = [answers(fitted(name), named(name, Z)) for Z in (X[:cut], X[cut:])]
    whole = answers(fitted(name), named(name, X))
    for method in whole.keys() - {"get_support"}:
        both = np.concatenate([np.asarray(part[method]) for part in parts])
        same({method: whole[method]}, {method: both})


@few
@given(st.sampled_from(["two classes", "three classes", "regression", "counts"]), seeds, st.lists(st.integers(0, 12)))
def test_predictions_in_chunks(name, seed, cuts):
    X, _ = rows_for(name, seed)
    chunks = [part for part in np.split(X, sorted(cuts)) if len(part)]
    found = np.concatenate(list(fitted(name).predict_chunks(lambda: iter(chunks))))
    same({"predict": fitted(name).predict(X)}, {"predict": found})


@few
@given(tables, seeds)
def test_asking_changes_nothing(name, seed):
    estimator, (X, _) = fitted(name), rows_for(name, seed)
    before, kept = to_bytes(estimator), X.copy()
    first, second = answers(estimator, named(name, X)), answers(estimator, named(name, X))
    same(first, second, 0.0)
    assert to_bytes(estimator) == before and np.array_equal(X, kept)


@few
@given(st.sampled_from(["two classes", "three classes", "one against the rest", "one against one"]), seeds)
def test_probabilities_are_shares_that_agree_with_predictions(name, seed):
    X, _ = rows_for(name, seed)
    estimator = fitted(name)
    if hasattr(estimator, "predict_proba"):
        shares = estimator.predict_proba(X)
        assert np.all((shares >= 0) & (shares <= 1))
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
        if name in ("two classes", "three classes"):
            np.testing.assert_array_equal(estimator.classes_[shares.argmax(axis=1)], estimator.predict(X))
    F = np.atleast_2d(estimator.decision_function(X).T).T
    codes = (F[:, 0] > 0).astype(int) if F.shape[1] == 1 else F.argmax(axis=1)
    np.testing.assert_array_equal(estimator.classes_[codes], estimator.predict(X))


@few
@given(st.sampled_from(["two classes", "three classes", "regression", "counts", "several outputs", "views"]), seeds)
def test_contributions_add_up(name, seed):
    X, _ = rows_for(name, seed)
    model = fitted(name).model_
    total = model.contributions(X).sum(axis=1) + model.intercept
    np.testing.assert_allclose(total, model.scores(X), rtol=1e-9, atol=1e-9)


@few
@given(st.sampled_from(["two classes", "three classes", "regression", "strict", "one against the rest"]), seeds)
def test_restricted_models_say_the_same(name, seed):
    estimator, (X, _) = fitted(name), rows_for(name, seed)
    small = estimator.restricted()
    same({"p": estimator.predict(X)}, {"p": small.predict(X[:, estimator.selected_features_])})


@few
@given(st.sampled_from(sorted(set(ONE_TABLE) - {"selector", "landmarks"})), seeds)
def test_one_sample_by_a_compiled_function_and_by_numpy_alone(name, seed):
    estimator, (X, _) = fitted(name), rows_for(name, seed, n=3)
    plain = plain_of(estimator)
    want = np.asarray(estimator.predict(named(name, X)))
    function, light = CompiledModel(plain), NumpyModel(plain)
    if want.dtype.kind == "f":
        np.testing.assert_allclose([function(row) for row in X], want, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(light.predict(X), want, rtol=1e-7, atol=1e-7)
        return
    F = np.abs(np.atleast_2d(np.asarray(estimator.decision_function(named(name, X))).T).T)
    if F.min() > 1e-6:  # where a decision is as good as even, rounding may decide
        np.testing.assert_array_equal(np.array([function(row) for row in X]), want)
        np.testing.assert_array_equal(light.predict(X), want)


@few
@given(tables)
def test_a_copy_from_a_file_is_the_same_estimator(name):
    again = from_bytes(to_bytes(fitted(name)))
    assert repr(again) == repr(fitted(name))
    same(answers(fitted(name), samples(name)), answers(again, samples(name)), 0.0)
