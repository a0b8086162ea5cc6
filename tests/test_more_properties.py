"""More of what must not change an answer: kinds of input, chunks, company, names, weights, files, for every estimator.

Fits are few and kept; hypothesis draws the samples that they are asked about, or seeds of very short fits.
"""

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from spkm import SPKMClassifier, SPKMNystroem, SPKMRegressor, TableEncoder
from spkm.fitting.recipes.monotone import certificate
from spkm.kernels import KERNELS
from spkm.persistence import CompiledModel, NumpyModel
from spkm.persistence._export import plain_of
from spkm.persistence._files import to_bytes
from spkm.persistence._load import from_bytes
from tests.fitted_cases import answers, fitted, samples
from tests.pipeline_cases import mixed, targets

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # few iterations on purpose
few = settings(max_examples=6, derandomize=True, deadline=None, database=None)
seeds = st.integers(0, 2**32 - 1)
# Estimators of one table of numbers, by the names of their fits.
ONE_TABLE = (
    "two classes", "three classes", "one against the rest", "one against one", "labels", "regression", "counts",
    "several outputs", "views", "strict", "search", "landmarks", "selector",
)  # fmt: skip
tables = st.sampled_from(ONE_TABLE)
SHORT = {"n_basis": 3, "max_iter": 3, "weight_penalty": "rkhs", "learn_bandwidth": True, "random_state": 0}
short = st.sampled_from([partial(SPKMClassifier, **SHORT), partial(SPKMRegressor, **SHORT)])


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


def data(estimator, seed, n=40, d=3):
    """Return random samples and targets for a short fit."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2, d)
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, (y > np.median(y)).astype(int) if estimator.func is SPKMClassifier else y, rng


# What a fitted estimator says of samples


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


# What a fit makes of samples


@few
@given(short, seeds)
def test_the_same_seed_is_the_same_model(estimator, seed):
    X, y, _ = data(estimator, seed)
    model = estimator().fit(X, y)
    assert to_bytes(clone(model).fit(X, y)) == to_bytes(model)


@few
@given(seeds, st.sampled_from([["a", "b"], [False, True], [-1.0, 2.0], [10, 20]]))
def test_names_of_classes_in_the_same_order(seed, names):
    estimator = partial(SPKMClassifier, **SHORT)
    X, y, _ = data(estimator, seed)
    a, b = estimator().fit(X, y), estimator().fit(X, np.array(names)[y])
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    assert b.classes_.tolist() == names


@few
@given(short, seeds, st.integers(-8, 8))
def test_weights_that_are_no_integers_count_by_their_ratios(estimator, seed, exponent):
    X, y, rng = data(estimator, seed)
    weight = rng.uniform(0.5, 2, len(X)) + 1e-3
    a = estimator().fit(X, y, sample_weight=weight)
    b = estimator().fit(X, y, sample_weight=np.ldexp(weight, exponent))
    same({"p": a.predict(X)}, {"p": b.predict(X)}, 1e-7)


@few
@given(short, seeds)
def test_frames_and_arrays_are_fitted_alike(estimator, seed):
    X, y, _ = data(estimator, seed)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    a, b = estimator().fit(X, y), estimator().fit(frame, pd.Series(y))
    same({"p": a.predict(X)}, {"p": b.predict(frame)}, 0.0)
    c = estimator().fit(X.tolist(), list(y))
    same({"p": a.predict(X)}, {"p": c.predict(X)}, 0.0)


@few
@given(short, seeds)
def test_the_layout_of_samples_is_none_of_the_models_business(estimator, seed):
    X, y, _ = data(estimator, seed)
    a, b = estimator().fit(X, y), estimator().fit(np.asfortranarray(X), y)
    same({"p": a.predict(X)}, {"p": b.predict(X)}, 0.0)


@few
@given(seeds, st.integers(-20, 20))
def test_units_of_features_for_landmarks(seed, exponent):
    X, _, _ = data(partial(SPKMRegressor), seed)
    a, b = (SPKMNystroem(4, landmarks="random", random_state=0).fit(np.ldexp(X, e)) for e in (0, exponent))
    np.testing.assert_array_equal(a.transform(X), b.transform(np.ldexp(X, exponent)))


@few
@given(seeds, st.sampled_from(["rbf", "matern", "laplacian"]), st.sampled_from([1, -1]))
def test_monotone_models_are_proved(seed, kernel, direction):
    X, y, _ = data(partial(SPKMRegressor), seed)
    model = SPKMRegressor(3, kernel=kernel, monotone={1: direction}, max_iter=3, random_state=0).fit(X, y)
    assert certificate(model.model_, 1, direction)
    moved = X + np.array([0.0, 0.7, 0.0])
    assert np.all(direction * (model.predict(moved) - model.predict(X)) >= -1e-12)


@few
@given(seeds, st.sampled_from(sorted(KERNELS)))
def test_files_of_every_kernel(seed, kernel):
    X, y, _ = data(partial(SPKMRegressor), seed)
    model = SPKMRegressor(2, kernel=kernel, weight_penalty="rkhs", max_iter=2, random_state=0).fit(np.abs(X), y)
    np.testing.assert_array_equal(from_bytes(to_bytes(model)).predict(np.abs(X)), model.predict(np.abs(X)))


# Encoders


@cache
def encoder():
    return TableEncoder(categorical=["region"]).fit(mixed())


@few
@given(seeds)
def test_encoders_see_each_sample_by_itself(seed):
    frame = mixed(20, seed=seed % 1000)
    order = np.random.default_rng(seed).permutation(20)
    whole = encoder().transform(frame)
    np.testing.assert_array_equal(encoder().transform(frame.iloc[order]), whole[order])
    parts = [encoder().transform(frame.iloc[[i]]) for i in range(20)]
    np.testing.assert_array_equal(np.vstack(parts), whole)


@few
@given(seeds)
def test_encoders_do_not_mind_the_order_of_samples_in_the_fit(seed):
    frame = mixed(60, seed=seed % 1000)
    order = np.random.default_rng(seed).permutation(60)
    a, b = TableEncoder().fit(frame), TableEncoder().fit(frame.iloc[order])
    np.testing.assert_array_equal(a.transform(frame), b.transform(frame))
    assert len(targets(frame)) == 60


@few
@given(seeds)
def test_names_of_levels_are_names(seed):
    frame = mixed(60, seed=seed % 1000)
    renamed = frame.assign(
        **{"work; DROP": frame["work; DROP"].map(lambda level: None if pd.isna(level) else f"z{level}")}
    )
    a, b = TableEncoder().fit(frame), TableEncoder().fit(renamed)
    np.testing.assert_array_equal(a.transform(frame), b.transform(renamed))
