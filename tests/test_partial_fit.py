"""Fits in small steps: scikit-learn's contract, near the fit of all samples, weights, CSR, single precision."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

import spkm
from spkm import SPKMClassifier, SPKMRegressor
from spkm.fitting import partial
from tests.small_data import two_classes

RNG = np.random.default_rng(0)
N, D = 3000, 4
X = RNG.standard_normal((N, D)) * [1.0, 3.0, 0.5, 10.0] + [0.0, 5.0, -1.0, 100.0]
SCORE = X[:, 0] * (X[:, 1] - 5) / 3 + np.sin(4 * X[:, 2])
Y = SCORE + 0.2 * RNG.standard_normal(N)
LABELS = np.where(Y > 0, "up", "down")
TRAIN, TEST = slice(0, 2000), slice(2000, N)


def fed(model, targets, passes=4, size=250, rows=X, weight=None, **options):
    for _ in range(passes):
        for i in range(0, 2000, size):
            part = slice(i, i + size)
            own = None if weight is None else weight[part]
            model.partial_fit(rows[part], targets[part], sample_weight=own, **options)
    return model


def test_a_classifier_comes_near_the_fit_of_all_samples():
    model = fed(SPKMClassifier(12, random_state=0), LABELS, classes=["up", "down"])
    whole = SPKMClassifier(12, random_state=0).fit(X[TRAIN], LABELS[TRAIN])
    assert model.score(X[TEST], LABELS[TEST]) > whole.score(X[TEST], LABELS[TEST]) - 0.03
    assert model.classes_.tolist() == ["down", "up"] and model.objective_path_.shape == (32,)


def test_a_regressor_comes_near_the_fit_of_all_samples():
    both = np.column_stack([Y, 5 - 100 * Y])
    model = fed(SPKMRegressor(12, random_state=0), both, passes=24)
    whole = SPKMRegressor(12, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert model.score(X[TEST], both[TEST]) > 0.9 * whole.score(X[TEST], Y[TEST])
    assert model.predict(X[:3]).shape == (3, 2)


def test_three_classes_one_of_which_comes_late():
    labels = np.digitize(SCORE, [-0.5, 0.5])
    order = np.argsort(labels == 2, kind="stable")
    model = SPKMClassifier(12, random_state=0)
    for _ in range(4):
        for part in np.array_split(order, 12):
            model.partial_fit(X[part], labels[part], classes=[0, 1, 2])
    assert model.predict_proba(X[:2]).shape == (2, 3)
    assert np.mean(model.predict(X) == 2) > 0.1


def test_weights_count_from_call_to_call():
    # Labels are turned round in half of the batches, which have a tenth of the weight.
    turned = np.repeat(np.arange(N // 250) % 2 == 1, 250)
    wrong = np.where(turned, np.where(SCORE > 0, 0, 1), np.where(SCORE > 0, 1, 0))
    model = fed(SPKMClassifier(8, random_state=0), wrong, weight=np.where(turned, 0.1, 1.0), classes=[0, 1])
    assert model.score(X[TEST], SCORE[TEST] > 0) > 0.85


def test_samples_of_no_weight_change_nothing():
    weight = np.ones(500)
    weight[250:] = 0
    one = SPKMRegressor(4, random_state=0).partial_fit(X[:500], Y[:500], sample_weight=weight)
    two = SPKMRegressor(4, random_state=0).partial_fit(X[:250], Y[:250])
    np.testing.assert_array_equal(one.basis_vectors_, two.basis_vectors_)
    before = one.predict(X[:5])
    one.partial_fit(X[:9], Y[:9], sample_weight=np.zeros(9))
    np.testing.assert_array_equal(one.predict(X[:5]), before)
    one.partial_fit(X[:300], Y[:300])
    assert not np.array_equal(one.predict(X[:5]), before)


def test_sparse_samples_and_single_precision():
    counts = RNG.poisson(0.3, (600, 8)).astype(float)
    y = counts[:, 0] - counts[:, 1]
    dense, some = (SPKMRegressor(4, random_state=0, scale=False, linear_part=False) for _ in range(2))
    for part in (slice(0, 300), slice(300, 600)):
        dense.partial_fit(counts[part], y[part])
        some.partial_fit(sparse.csr_array(counts[part]), y[part])
    np.testing.assert_allclose(some.predict(counts), dense.predict(counts), rtol=1e-2, atol=1e-2)
    single = SPKMRegressor(4, random_state=0).partial_fit(X[:300].astype(np.float32), Y[:300])
    assert single.basis_vectors_.dtype == np.float32 and single.predict(X[:2].astype(np.float32)).dtype == np.float32


def test_it_goes_on_after_pickle_to_the_bit():
    one = SPKMClassifier(5, random_state=0).partial_fit(X[:500], LABELS[:500], classes=["down", "up"])
    two = pickle.loads(pickle.dumps(one))
    for model in (one, two):
        model.partial_fit(X[500:900], LABELS[500:900])
    np.testing.assert_array_equal(one.model_.theta, two.model_.theta)


@pytest.mark.parametrize("stored", [False, True])
def test_it_goes_on_from_a_fit(stored, tmp_path):
    model = SPKMRegressor(10, random_state=0).fit(X[TRAIN], Y[TRAIN])
    first = model.score(X[TEST], Y[TEST])
    if stored:
        model.save(tmp_path / "model.spkm")
        model = spkm.load(tmp_path / "model.spkm")
    model.partial_fit(X[:100], Y[:100])
    assert model.score(X[TEST], Y[TEST]) > first - 0.05
    # The relation moves: half of the way is made up for at least.
    moved = Y + 2 * X[:, 0]
    error = np.mean((model.predict(X[TEST]) - moved[TEST]) ** 2)
    fed(model, moved, passes=2)
    assert np.mean((model.predict(X[TEST]) - moved[TEST]) ** 2) < 0.5 * error


def test_single_samples_are_batches():
    model = SPKMRegressor(3, random_state=0).partial_fit(X[:50], Y[:50])
    for i in range(50, 60):
        model.partial_fit(X[i : i + 1], Y[i : i + 1])
    assert np.isfinite(model.predict(X)).all()


def test_a_clone_knows_nothing_and_a_fit_begins_anew():
    A, y = two_classes(60)
    model = SPKMClassifier(3, random_state=0).partial_fit(A, y, classes=np.unique(y)).fit(A, y)
    np.testing.assert_array_equal(model.model_.theta, SPKMClassifier(3, random_state=0).fit(A, y).model_.theta)


def test_views_have_names():
    model = SPKMRegressor(3, views={"a": [0, 1], "b": [2, 3]}, random_state=0)
    fed(model, Y, passes=1)
    assert set(model.view_usage_) == {"a", "b"}


@pytest.mark.parametrize(
    ("options", "call", "message"),
    [
        ({}, {}, "classes must name all labels"),
        ({}, {"classes": ["up"]}, "y must hold labels of classes"),
        ({"class_weight": "balanced"}, {"classes": ["up", "down"]}, "shares of all classes"),
        ({}, {"classes": ["up", "down"], "sample_weight": np.zeros(50)}, "all are zero"),
        ({}, {"classes": ["up", "down"], "sample_weight": -np.ones(50)}, "of at least zero"),
    ],
)
def test_what_cannot_be_is_told(options, call, message):
    model = SPKMClassifier(random_state=0).set_params(**options)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X[:50], LABELS[:50], **call)
    assert not hasattr(model, "model_")


def test_a_failed_call_leaves_the_model_as_it_was():
    model = SPKMClassifier(3, random_state=0).partial_fit(X[:99], LABELS[:99], classes=["down", "up"])
    state = dict(vars(model))
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        model.partial_fit(X[:9], LABELS[:9], classes=["a", "b"])
    with pytest.raises(ValueError, match="X has 3 features"):
        model.partial_fit(X[:9, :3], LABELS[:9])
    with pytest.raises(ValueError, match="y must have an entry"):
        model.partial_fit(X[:9], LABELS[:8])
    assert vars(model) == state


@pytest.mark.parametrize(
    "options",
    [{"solver": "lbfgs"}, {"selection": "strict"}, {"n_basis": "auto"}, {"multi_class": "ovr"}, {"monotone": {0: 1}}],
)
def test_estimators_that_need_all_samples_have_none(options):
    model = SPKMClassifier(**options)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit") as error:
        model.partial_fit(X[:50], LABELS[:50], classes=["up", "down"])
    assert next(iter(options)) in str(error.value.__cause__ or error.value)


def test_a_batch_of_zero_counts_is_learned_from():
    counts = RNG.poisson(np.exp(SCORE.clip(-2, 2))).astype(float)
    model = SPKMRegressor(4, loss="poisson", random_state=0)
    with pytest.raises(ValueError, match="all of y is zero"):
        model.partial_fit(X[:50], np.zeros(50))
    model.partial_fit(X[:500], counts[:500])
    before = model.predict(X).mean()
    for i in range(20):
        model.partial_fit(X[i : i + 1], np.zeros(1))
    assert 0 < model.predict(X).mean() < before
    with pytest.raises(ValueError, match="non-negative targets"):
        model.partial_fit(X[:1], [-1.0])


def test_gradients_beyond_single_precision_are_left_out():
    # Raw features of size 1e3 in a cubic kernel: squares of the gradient do not fit in float32.
    rows, y = 1e3 * RNG.standard_normal((200, 3)), RNG.poisson(2.0, 200)
    model = SPKMRegressor(3, loss="poisson", kernel="polynomial", scale=False, linear_part=False, random_state=0)
    for part in (slice(0, 100), slice(100, 200)):
        model.partial_fit(rows[part], y[part])
    assert np.isfinite(model.model_.theta).all() and np.isfinite(model.predict(rows)).all()


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern"])
@pytest.mark.parametrize("size", [1e-12, 1e18])
def test_bandwidths_stay_in_a_range_whatever_comes_first(kernel, size, tmp_path):
    model = SPKMRegressor(3, kernel=kernel, scale=False, learn_bandwidth=True, random_state=0)
    few = X[:40] - X[:40].mean(axis=0)
    model.partial_fit(size * few, few[:, 0])
    for _ in range(3):
        model.partial_fit(few, few[:, 0])
    (factor,) = model.model_.model.unpack(model.model_.theta).log_metric[0]
    assert abs(factor) <= partial.WIDEST
    spkm.save(model, tmp_path / "model.spkm")
    assert np.array_equal(spkm.load(tmp_path / "model.spkm").predict(few), model.predict(few))


def test_a_batch_beyond_single_precision_is_refused_and_leaves_the_model():
    model = SPKMRegressor(3, scale=False, random_state=0)
    tiny = (1e-25 * (X[:40] - X[:40].mean(axis=0))).astype(np.float32)
    with pytest.raises(ValueError, match=r"range of single precision.*scale=True"):
        model.partial_fit(tiny, SCORE[:40])
    assert not hasattr(model, "model_")
