"""What SPKMClassifier promises: attributes, formula, labels, inputs, losses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from spkm import SPKMClassifier
from spkm.kernels import RBF, Affine
from spkm.losses import LOSSES, Log, SmoothHinge
from tests.small_data import read_only, scaled, three_classes, two_classes

#: The folds of the default have tests of their own (test_classifier_defaults).
QUICK = {"n_basis": 4, "weight_penalty": "rkhs", "linear_part": True, "tol": 1e-2, "random_state": 0}
CLASS_LOSSES = sorted(name for name, loss in LOSSES.items() if loss.for_classes)


@pytest.fixture(scope="module")
def two():
    """Return a model of two classes with its rows and labels."""
    X, y = two_classes()
    return SPKMClassifier(**QUICK).fit(X, y), X, y


@pytest.fixture(scope="module")
def three():
    """Return a model of three classes with its rows and labels."""
    X, y = three_classes()
    return SPKMClassifier(**QUICK).fit(X, y), X, y


def test_attributes_of_two_classes(two):
    model, X, _ = two
    n_basis = len(model.basis_vectors_)
    assert 1 <= n_basis <= 4 and model.basis_vectors_.shape[1] == 2  # those of one place are merged
    assert model.dual_coef_.shape == (n_basis,)
    assert np.ndim(model.intercept_) == 0
    assert model.classes_.tolist() == [0, 1]
    assert model.n_features_in_ == 2
    assert isinstance(model.n_iter_, int) and model.n_iter_ >= 1
    assert isinstance(model.objective_, float) and model.objective_ == model.objective_path_.min()
    assert model.decision_function(X).shape == (80,)
    assert model.predict_proba(X).shape == (80, 2)
    assert model.linear_coef_.shape == (2,) and model.cancellation_ >= 1
    assert isinstance(getattr(model.kernel_, "kernel", model.kernel_), RBF) and model.relevances_.shape == (2,)


def test_attributes_of_three_classes(three):
    model, X, y = three
    n_basis = len(model.basis_vectors_)
    assert 1 <= n_basis <= 4 and model.basis_vectors_.shape[1] == 3
    assert model.dual_coef_.shape == (n_basis, 3)
    assert model.intercept_.shape == (3,)
    assert model.decision_function(X).shape == (90, 3)
    assert model.predict_proba(X).shape == (90, 3)
    assert model.score(X, y) > 0.97


def test_a_curved_border_is_found(two):
    model, X, y = two
    assert model.score(*two_classes(200, seed=9)) > 0.97
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    assert model.score(X, y) == np.mean(model.predict(X) == y)


def test_as_good_as_fixed_basis_vectors_in_the_same_number(two):
    model, X, y = two
    fixed = make_pipeline(Nystroem(gamma=0.5, n_components=4, random_state=0), LogisticRegression()).fit(X, y)
    assert model.score(X, y) >= fixed.score(X, y)


@pytest.mark.parametrize("fixture", ["two", "three"])
def test_scores_follow_from_the_attributes_on_scaled_columns(fixture, request):
    model, X, _ = request.getfixturevalue(fixture)
    new = np.vstack([X[:20], 30 * X[:5]])  # far rows are clipped
    U, new_scaled = scaled(model.basis_vectors_, X, clip=np.inf), scaled(new, X)
    linear = new_scaled @ (model.linear_coef_.T * model.model_.scaling.scale).T
    by_hand = model.intercept_ + linear + model.kernel_(new_scaled, U) @ model.dual_coef_
    np.testing.assert_allclose(model.decision_function(new), by_hand, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("data", [two_classes, three_classes])
@pytest.mark.parametrize("learn", [True, False, "columns"])
def test_scores_follow_from_the_attributes_without_scaling(data, learn):
    X, y = data()
    model = SPKMClassifier(scale=False, learn_bandwidth=learn, **QUICK).fit(X, y)
    by_hand = model.intercept_ + X @ model.linear_coef_ + model.kernel_(X, model.basis_vectors_) @ model.dual_coef_
    np.testing.assert_allclose(model.decision_function(X), by_hand, rtol=1e-10, atol=1e-10)


def test_a_gaussian_kernel_written_out():
    X, y = two_classes()
    model = SPKMClassifier(kernel=RBF(0.7), learn_bandwidth=False, scale=False, **QUICK).fit(X, y)
    distance = ((X[:, None, :] - model.basis_vectors_[None]) ** 2).sum(axis=2)
    by_hand = model.intercept_ + X @ model.linear_coef_ + np.exp(-0.7 * distance) @ model.dual_coef_
    np.testing.assert_allclose(model.decision_function(X), by_hand, rtol=1e-10, atol=1e-10)


def test_probabilities_are_the_logistic_function_or_the_softmax_of_the_scores(two, three):
    model, X, _ = two
    positive = 1 / (1 + np.exp(-model.decision_function(X)))
    np.testing.assert_allclose(model.predict_proba(X), np.column_stack([1 - positive, positive]), atol=1e-12)
    model, X, _ = three
    odds = np.exp(model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X), odds / odds.sum(axis=1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize("fixture", ["two", "three"])
def test_the_most_probable_class_is_the_predicted_one(fixture, request):
    model, X, _ = request.getfixturevalue(fixture)
    probability = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(probability))


@pytest.mark.parametrize("data", [two_classes, three_classes])
@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_every_loss_by_name(loss, data):
    X, y = data()
    penalty = None if loss == "cosine" else "rkhs"
    model = SPKMClassifier(**{**QUICK, "loss": loss, "weight_penalty": penalty}).fit(X, y)
    assert model.score(X, y) > 0.95
    assert hasattr(model, "predict_proba") == hasattr(model, "predict_log_proba") == (loss == "log")


def test_probabilities_are_absent_where_the_loss_gives_none():
    for loss in ("auto", "log", Log()):
        assert hasattr(SPKMClassifier(loss=loss), "predict_proba")
    for loss in ("squared_hinge", SmoothHinge(), "no such loss"):
        assert not hasattr(SPKMClassifier(loss=loss), "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        SPKMClassifier(loss="squared_hinge").predict_proba([[0.0]])
    X, y = two_classes()
    model = SPKMClassifier(loss="squared_hinge", **QUICK).fit(X, y).set_params(loss="log")
    assert not hasattr(model, "predict_proba")  # what counts is the loss it was fitted with


def test_not_fitted(two):
    _, X, _ = two
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        with pytest.raises(NotFittedError, match="SPKMClassifier"):
            getattr(SPKMClassifier(), method)(X)


LABELS = {
    "strings": np.array(["no", "yes"]),
    "bytes-long strings": np.array(["a" * 40, "b"]),
    "bool": np.array([False, True]),
    "object": np.array(["no", "yes"], dtype=object),
    "negative": np.array([-1, 1]),
    "far apart": np.array([-7, 10**9]),
    "whole floats": np.array([1.0, 2.0]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind(two, kind):
    model, X, y = two
    names = LABELS[kind]
    other = clone(model).fit(X, names[y])
    assert other.classes_.dtype == names.dtype
    np.testing.assert_array_equal(other.classes_, names)
    np.testing.assert_array_equal(other.predict(X), names[model.predict(X)])
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


def test_three_classes_by_name_and_rows_in_any_order(three):
    model, X, y = three
    names = np.array(["ape", "bee", "cat"])
    order = np.random.default_rng(0).permutation(len(X))
    other = clone(model).fit(X[order], names[y][order].tolist())
    np.testing.assert_array_equal(other.predict(X), names[model.predict(X)])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_the_same_model_and_names(two, frame):
    model, X, y = two
    table = frame({"height": X[:, 0], "width": X[:, 1]})
    column = pd.Series(y) if frame is pd.DataFrame else pl.Series(y)
    other = clone(model).fit(table, column)
    assert other.feature_names_in_.tolist() == ["height", "width"]
    assert not hasattr(model, "feature_names_in_")
    # Columns of a frame lie side by side in memory, so that sums over them are rounded in another order.
    np.testing.assert_allclose(other.decision_function(table), model.decision_function(X), rtol=1e-12)


def test_labels_in_columns_of_pandas(two):
    model, X, y = two
    for dtype in ("category", "string", "object"):
        other = clone(model).fit(X, pd.Series(np.array(["no", "yes"])[y], dtype=dtype))
        np.testing.assert_array_equal(other.predict(X) == "yes", model.predict(X) == 1)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix])
def test_sparse_rows_are_as_good(kind):
    X, y = three_classes()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = SPKMClassifier(**QUICK).fit(kind(X), y)
    assert model.score(kind(X), y) > 0.95
    np.testing.assert_allclose(model.decision_function(kind(X)), model.decision_function(X), atol=1e-8)
    as_array = SPKMClassifier(**QUICK).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(model.decision_function(X), as_array.decision_function(X))


def test_csr_with_entries_in_parts_and_out_of_order():
    X, y = three_classes()
    whole = sparse.csr_array(X)
    # Every row as columns 2, 0, 1, and column 0 as the sum of two entries.
    data = np.column_stack([X[:, 2], 0.25 * X[:, 0], X[:, 1], 0.75 * X[:, 0]]).ravel()
    indices = np.tile([2, 0, 1, 0], len(X))
    parts = sparse.csr_array((data, indices, np.arange(0, 4 * len(X) + 1, 4)), shape=X.shape)
    before = parts.data.copy(), parts.indices.copy()
    model = SPKMClassifier(max_iter=400, **QUICK).fit(parts, y)
    other = SPKMClassifier(max_iter=400, **QUICK).fit(whole, y)
    np.testing.assert_array_equal(parts.data, before[0])
    np.testing.assert_array_equal(parts.indices, before[1])
    for far in (1, 30):  # far entries are clipped, and must not be in parts
        np.testing.assert_allclose(
            model.decision_function(far * parts), other.decision_function(far * whole), rtol=1e-6, atol=1e-6
        )


def test_float32_stays_float32(two, three):
    for model, X, y in (two, three):
        X32 = X.astype(np.float32)
        other = clone(model).fit(X32, y)
        for name in ("basis_vectors_", "dual_coef_", "intercept_"):
            assert np.asarray(getattr(other, name)).dtype == np.float32
        assert other.decision_function(X32).dtype == np.float32
        assert other.predict_proba(X32).dtype == np.float32
        assert other.score(X32, y) > 0.95
    assert model.basis_vectors_.dtype == np.float64


def test_other_numbers_become_float64(two):
    model, X, y = two
    whole = np.round(10 * X).astype(int)
    as_float = clone(model).fit(whole.astype(float), y).decision_function(whole)
    for other in (
        whole,
        whole.tolist(),
        whole.astype(object),
        whole.astype(np.int8),
        pd.DataFrame(whole, dtype="Int64"),
    ):
        np.testing.assert_array_equal(clone(model).fit(other, y).decision_function(whole), as_float)


def test_memory_map(two, tmp_path):
    model, X, y = two
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.testing.assert_array_equal(clone(model).fit(mapped, y).decision_function(mapped), model.decision_function(X))


def test_class_weight_is_a_weight_of_rows():
    X, y = three_classes()
    given = SPKMClassifier(class_weight={0: 1, 1: 3, 2: 2}, **QUICK).fit(X, y)
    by_row = SPKMClassifier(**QUICK).fit(X, y, sample_weight=np.array([1, 3, 2])[y])
    np.testing.assert_array_equal(given.decision_function(X), by_row.decision_function(X))


def test_balanced_classes_weigh_the_same():
    X, y = two_classes(120)
    kept = (y == 0) | (np.arange(120) % 12 == 1)  # one row of class 1 for six of class 0
    X, y = read_only(X[kept], y[kept])
    share = np.bincount(y)
    balanced = SPKMClassifier(class_weight="balanced", **QUICK).fit(X, y)
    by_hand = SPKMClassifier(class_weight=dict(enumerate(len(y) / (2 * share))), **QUICK).fit(X, y)
    np.testing.assert_array_equal(balanced.decision_function(X), by_hand.decision_function(X))
    plain = SPKMClassifier(**QUICK).fit(X, y)
    assert balanced.decision_function(X).mean() > plain.decision_function(X).mean()


def test_class_weight_of_labels_that_are_strings():
    X, y = two_classes()
    named = SPKMClassifier(class_weight={"no": 1, "yes": 2}, **QUICK).fit(X, np.array(["no", "yes"])[y])
    numbered = SPKMClassifier(class_weight={0: 1, 1: 2}, **QUICK).fit(X, y)
    np.testing.assert_array_equal(named.decision_function(X), numbered.decision_function(X))


def test_many_classes_share_few_basis_vectors():
    rng = np.random.default_rng(5)
    y = np.arange(120) % 6
    angle = np.pi / 3 * y
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.standard_normal((120, 2))
    model = SPKMClassifier(n_basis=3, tol=1e-2, random_state=0).fit(X, y)
    assert model.dual_coef_.shape == (3, 6)
    assert model.score(X, y) > 0.95


def test_a_bandwidth_given_as_a_number_is_left_alone_within_another_kernel():
    X, y = three_classes()
    model = SPKMClassifier(**QUICK, kernel=Affine(RBF(0.5)), learn_bandwidth=False).fit(X, y)
    assert model.kernel_.kernel.gamma == 0.5


FOUR = {"n_basis": 4, "n_jobs": 1, "random_state": 0}


@pytest.mark.parametrize(
    "seed", [np.random.RandomState(0), np.random.RandomState(0)._bit_generator, np.random.MT19937(0)]
)
def test_seeds_of_the_old_kind(seed):
    X, y = two_classes()
    SPKMClassifier(2, n_restarts=2, n_jobs=1, random_state=seed).fit(X, y)
    legacy = np.random.MT19937()
    legacy._legacy_seeding(3)
    SPKMClassifier(2, n_restarts=2, n_jobs=1, random_state=legacy).fit(X, y)


@pytest.mark.parametrize("multi_class", ["joint", "ovr", "ovo"])
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_logarithms_of_probabilities_that_round_to_zero_are_finite(data, multi_class):
    X, y = data()
    clf = SPKMClassifier(multi_class=multi_class, kernel="linear", scale=False, **FOUR).fit(X, y)
    far = 1e4 * X
    logs = clf.predict_log_proba(far)
    assert np.all(np.isfinite(logs)) and np.all(logs <= 0)
    if multi_class == "joint":
        assert logs.min() < -800  # no probability of double precision is so small
        f = clf.decision_function(far)
        F = f if f.ndim == 2 else np.column_stack([np.zeros(len(f)), f])
        exact = F - np.logaddexp.reduce(F, axis=1)[:, None]
        np.testing.assert_allclose(logs, exact, rtol=1e-10, atol=1e-10)
    near = clf.predict_proba(X)
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(X)), near, rtol=1e-9, atol=1e-300)


def test_a_warm_start_with_renamed_columns_is_refused():
    X, y = two_classes()
    clf = SPKMClassifier(warm_start=True, **FOUR).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    with pytest.raises(
        ValueError, match=r"warm_start=True needs the columns of the last fit, \['a', 'b'\]; got \['b', 'a'\]"
    ):
        clf.fit(pd.DataFrame(X, columns=["b", "a"]), y)
    tables = SPKMClassifier(warm_start=True, **FOUR).fit({"one": X, "two": X}, y)
    with pytest.raises(ValueError, match=r"warm_start=True needs the tables of the last fit, \['one', 'two'\]"):
        tables.fit({"one": X, "three": X}, y)
    first, second = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(X, columns=["c", "b"])
    tables = SPKMClassifier(warm_start=True, **FOUR).fit({"one": first, "two": X}, y)
    with pytest.raises(ValueError, match=r"warm_start=True needs the columns of X\['one'\] of the last fit"):
        tables.fit({"one": second, "two": X}, y)
    tables.fit({"one": first, "two": X}, y)
