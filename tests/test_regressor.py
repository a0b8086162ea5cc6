"""What SPKMRegressor promises: attributes and predictions in the units of y, losses, several outputs."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge

from spkm import SPKMRegressor
from spkm.kernels import RBF, Linear
from spkm.losses import LOSSES, Quantile
from tests.small_data import counts, curve, read_only, scaled

QUICK = {"n_basis": 6, "tol": 1e-2, "random_state": 0}
REAL_LOSSES = ["epsilon_insensitive", "huber", "quantile", "squared"]


def two_outputs():
    """Return rows with two targets of different units."""
    X, y = curve()
    return read_only(X, np.column_stack([y, 1e3 * np.cos(X[:, 0])]))


@pytest.fixture(scope="module")
def fitted():
    """Return a model with its rows and targets."""
    X, y = curve()
    return SPKMRegressor(**QUICK).fit(X, y), X, y


@pytest.fixture(scope="module")
def fitted_to_two():
    """Return a model of two outputs with its rows and targets."""
    X, Y = two_outputs()
    return SPKMRegressor(**QUICK).fit(X, Y), X, Y


def test_attributes_of_one_output(fitted):
    model, X, y = fitted
    assert model.basis_vectors_.shape == (6, 2)
    assert model.dual_coef_.shape == (6,)
    assert np.ndim(model.intercept_) == 0
    assert model.n_features_in_ == 2
    assert isinstance(model.n_iter_, int) and model.n_iter_ >= 1
    assert isinstance(model.objective_, float) and model.objective_ == model.objective_path_.min()
    assert model.predict(X).shape == y.shape
    for name in ("classes_", "predict_proba", "decision_function", "feature_names_in_"):
        assert not hasattr(model, name)


def test_attributes_of_two_outputs(fitted_to_two):
    model, X, Y = fitted_to_two
    assert model.basis_vectors_.shape == (6, 2)
    assert model.dual_coef_.shape == (6, 2)
    assert model.intercept_.shape == (2,)
    assert model.predict(X).shape == Y.shape
    assert model.score(X, Y) > 0.9


def test_one_output_in_a_column_stays_a_column(fitted):
    model, X, y = fitted
    column = clone(model).fit(X, y[:, None])
    assert column.dual_coef_.shape == (6, 1)
    assert column.intercept_.shape == (1,)
    np.testing.assert_array_equal(column.predict(X), model.predict(X)[:, None])


def test_generalises_like_a_machine_of_all_rows(fitted):
    model, X, y = fitted
    X_new, y_new = curve(300, seed=9)
    assert model.score(X_new, y_new) > 0.97
    whole = KernelRidge(kernel="rbf", gamma=0.5, alpha=0.01).fit(X, y)
    larger = SPKMRegressor(n_basis=15, tol=1e-2, random_state=0).fit(X, y)
    assert larger.score(X_new, y_new) > whole.score(X_new, y_new) - 0.005


@pytest.mark.parametrize("fixture", ["fitted", "fitted_to_two"])
def test_predictions_follow_from_the_attributes_on_scaled_columns(fixture, request):
    model, X, _ = request.getfixturevalue(fixture)
    new = np.vstack([X[:20], 30 * X[:5]])  # far rows are clipped
    U, new_scaled = scaled(model.basis_vectors_, X, clip=np.inf), scaled(new, X)
    linear = (new_scaled * X.std(axis=0)) @ model.linear_coef_
    by_hand = model.intercept_ + linear + model.kernel_(new_scaled, U) @ model.dual_coef_
    np.testing.assert_allclose(model.predict(new), by_hand, rtol=1e-7, atol=1e-7 * np.abs(by_hand).max())


@pytest.mark.parametrize("penalty", ["evidence", "rkhs"])
@pytest.mark.parametrize("learn", [True, False, "columns"])
def test_predictions_follow_from_the_attributes_without_scaling(penalty, learn):
    X, y = curve()
    model = SPKMRegressor(scale=False, learn_bandwidth=learn, weight_penalty=penalty, **QUICK).fit(X, y)
    linear = X @ model.linear_coef_ if penalty == "evidence" else 0.0
    by_hand = model.intercept_ + linear + model.kernel_(X, model.basis_vectors_) @ model.dual_coef_
    np.testing.assert_allclose(model.predict(X), by_hand, rtol=1e-7, atol=1e-7)


def test_a_gaussian_kernel_written_out():
    X, y = curve()
    model = SPKMRegressor(kernel=RBF(0.7), learn_bandwidth=False, scale=False, **QUICK).fit(X, y)
    distance = ((X[:, None, :] - model.basis_vectors_[None]) ** 2).sum(axis=2)
    by_hand = model.intercept_ + X @ model.linear_coef_ + np.exp(-0.7 * distance) @ model.dual_coef_
    np.testing.assert_allclose(model.predict(X), by_hand, rtol=1e-7, atol=1e-7)


def test_common_scale_keeps_the_shape_of_the_columns():
    X, y = curve()
    X = X * np.array([100.0, 1.0])
    model = SPKMRegressor(scale="common", **QUICK).fit(X, y)
    deviation = np.sqrt(X.var(axis=0).mean())
    U, rows = (model.basis_vectors_ - X.mean(axis=0)) / deviation, (X - X.mean(axis=0)) / deviation
    by_hand = model.intercept_ + rows * deviation @ model.linear_coef_ + model.kernel_(rows, U) @ model.dual_coef_
    np.testing.assert_allclose(model.predict(X), by_hand, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_without_an_intercept_there_is_none(loss):
    X, y = curve()
    for shift in (0, 10):
        model = SPKMRegressor(loss=loss, fit_intercept=False, scale=False, **QUICK).fit(X, y + shift)
        assert model.intercept_ == 0
        by_hand = model.kernel_(X, model.basis_vectors_) @ model.dual_coef_
        by_hand = by_hand + X @ model.linear_coef_ if loss == "squared" else by_hand
        np.testing.assert_allclose(model.predict(X), by_hand, rtol=1e-6, atol=1e-6)
        assert np.abs(model.predict(X) - y - shift).mean() < 0.5


def test_a_straight_line_is_least_squares():
    X, _ = curve()
    y = 3 * X[:, 0] - X[:, 1] + 2
    model = SPKMRegressor(n_basis=2, kernel=Linear(1.0), scale=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_ @ model.basis_vectors_, [3, -1], rtol=1e-3)
    assert model.intercept_ == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize("loss", REAL_LOSSES)
def test_every_loss_by_name(loss):
    X, y = curve()
    model = SPKMRegressor(loss=loss, **QUICK).fit(X, y)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("loss", REAL_LOSSES)
def test_every_loss_with_two_outputs(loss):
    X, Y = two_outputs()
    model = SPKMRegressor(loss=loss, **QUICK).fit(X, Y)
    assert model.score(X, Y) > 0.8


def test_cosine_finds_the_direction_of_the_target():
    X, y = curve()
    model = SPKMRegressor(loss="cosine", **QUICK).fit(X, y)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.9


def test_losses_of_classes_are_refused():
    X, y = curve()
    for loss in ("log", "squared_hinge", "smooth_hinge", "exponential"):
        assert loss in LOSSES
        with pytest.raises(ValueError, match=f"loss='{loss}' is for classes. Use 'squared'"):
            SPKMRegressor(loss=loss).fit(X, y)


def test_counts_have_positive_predictions():
    X, y = counts()
    assert np.any(y == 0)
    model = SPKMRegressor(loss="poisson", **QUICK).fit(X, y)
    assert np.all(model.predict(X) > 0)
    far = 100 * X
    assert np.all(np.isfinite(model.predict(far))) and np.all(model.predict(far) > 0)
    # The log link's intercept makes the mean of the predictions that of the counts.
    assert model.predict(X).mean() == pytest.approx(y.mean(), rel=0.05)
    assert model.score(X, y) > 0.4


def test_log_of_predicted_counts_follows_from_the_attributes():
    X, y = counts()
    model = SPKMRegressor(loss="poisson", scale=False, **QUICK).fit(X, y)
    by_hand = model.intercept_ + model.kernel_(X, model.basis_vectors_) @ model.dual_coef_
    np.testing.assert_allclose(np.log(model.predict(X)), by_hand, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_a_quantile_covers_its_share(quantile):
    rng = np.random.default_rng(6)
    X = rng.uniform(-2, 2, (300, 1))
    y = np.sin(X[:, 0]) + (0.3 + 0.1 * X[:, 0]) * rng.standard_normal(300)
    model = SPKMRegressor(n_basis=4, loss=Quantile(quantile), tol=1e-3, random_state=0).fit(X, y)
    for part in (X[:, 0] < 0, X[:, 0] >= 0):
        assert np.mean(y[part] <= model.predict(X[part])) == pytest.approx(quantile, abs=0.08)


def test_huber_withstands_outliers():
    X, y = curve()
    spoiled = y.copy()
    spoiled[::10] += 20
    new = curve(300, seed=9)
    for loss in ("huber", "quantile"):
        assert SPKMRegressor(n_basis=8, loss=loss, random_state=0).fit(X, spoiled).score(*new) > 0.6
    assert SPKMRegressor(n_basis=6, loss="squared", random_state=0).fit(X, spoiled).score(*new) < 0


def test_the_scale_of_a_robust_loss_is_not_that_of_outliers():
    # With its scale from the far half of a thousandth, delta = 1 would span all of the others.
    X, y = curve()
    spoiled = y.copy()
    spoiled[0] += 1e6
    clean = SPKMRegressor(loss="huber", **QUICK).fit(X[1:], y[1:])
    other = SPKMRegressor(loss="huber", **QUICK).fit(X, spoiled)
    assert np.abs(other.predict(X[1:]) - y[1:]).mean() < 2 * np.abs(clean.predict(X[1:]) - y[1:]).mean()


def test_not_fitted(fitted):
    _, X, _ = fitted
    with pytest.raises(NotFittedError, match="SPKMRegressor"):
        SPKMRegressor().predict(X)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_the_same_model_and_names(fitted, fitted_to_two, frame):
    for model, X, y in (fitted, fitted_to_two):
        table = frame({"height": X[:, 0], "width": X[:, 1]})
        target = frame({"a": y[:, 0], "b": y[:, 1]}) if y.ndim == 2 else y
        other = clone(model).fit(table, target)
        assert other.feature_names_in_.tolist() == ["height", "width"]
        np.testing.assert_array_equal(other.basis_vectors_, model.basis_vectors_)
        np.testing.assert_array_equal(other.dual_coef_, model.dual_coef_)
        np.testing.assert_allclose(other.predict(table), model.predict(X), rtol=1e-10)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_are_as_good(kind):
    X, y = curve()
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    model = SPKMRegressor(**QUICK).fit(kind(X), y)
    assert model.score(kind(X), y) > 0.9
    np.testing.assert_allclose(model.predict(kind(X)), model.predict(X), atol=1e-6)


def test_float32_stays_float32(fitted, fitted_to_two):
    for model, X, y in (fitted, fitted_to_two):
        other = clone(model).fit(X.astype(np.float32), y)
        for name in ("basis_vectors_", "dual_coef_", "intercept_"):
            assert np.asarray(getattr(other, name)).dtype == np.float32
        assert other.predict(X.astype(np.float32)).dtype == np.float32
        assert other.score(X.astype(np.float32), y) > 0.9


def test_memory_map(fitted, tmp_path):
    model, X, y = fitted
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.testing.assert_array_equal(clone(model).fit(mapped, y).predict(mapped), model.predict(X))


def test_whole_numbers_and_lists_as_targets(fitted):
    model, X, y = fitted
    whole = np.round(100 * y).astype(int)
    expected = clone(model).fit(X, whole.astype(float)).predict(X)
    for target in (whole, whole.tolist(), whole.astype(object), pd.Series(whole), whole.astype(np.float32)):
        np.testing.assert_array_equal(clone(model).fit(X, target).predict(X), expected)


@pytest.mark.parametrize("power", [-660, -100, 660])
def test_targets_of_any_size(fitted, power):
    # Powers of two: nothing is rounded, so that the fit is the same to the bit.
    model, X, y = fitted
    size = 2.0**power
    other = clone(model).fit(X, size * y)
    assert np.all(np.isfinite(other.dual_coef_)) and np.isfinite(other.intercept_)
    np.testing.assert_array_equal(other.predict(X), size * model.predict(X))


@pytest.mark.parametrize("value", [0.0, -3.5, 1e200])
def test_a_constant_target_is_predicted(fitted, value):
    model, X, _ = fitted
    np.testing.assert_allclose(clone(model).fit(X, np.full(len(X), value)).predict(X), value, rtol=1e-6, atol=1e-6)


def test_a_constant_output_beside_another(fitted):
    model, X, y = fitted
    both = clone(model).fit(X, np.column_stack([y, np.full(len(y), 7.0)]))
    np.testing.assert_allclose(both.predict(X)[:, 1], 7.0, rtol=1e-6)
    assert np.corrcoef(both.predict(X)[:, 0], y)[0, 1] > 0.95


def test_a_constant_output_is_predicted_without_rounding(fitted):
    model, X, y = fitted
    for value in (3.0, 0.1):  # the mean of so many equal numbers may be another one
        both = clone(model).fit(X[:60], np.column_stack([y[:60], np.full(60, value)]))
        np.testing.assert_array_equal(both.predict(X)[:, 1], value)
        assert clone(model).fit(X[:60], np.full(60, value)).score(X[:60], np.full(60, value)) == 1.0


FOUR = {"n_basis": 4, "n_jobs": 1, "random_state": 0}


@pytest.mark.parametrize("kernel", ["matern", "rbf", "linear", "polynomial"])
@pytest.mark.parametrize("n_basis", [1, 20, "auto"])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_a_constant_target_is_predicted_so(kernel, n_basis, loss):
    X, _ = curve(60)
    model = SPKMRegressor(n_basis, kernel=kernel, loss=loss, n_jobs=1, random_state=0).fit(X, np.full(60, 7.0))
    np.testing.assert_allclose(model.predict(X + 100.0), 7.0, rtol=1e-12)


@pytest.mark.parametrize("loss", sorted(name for name, loss in LOSSES.items() if loss.target == "real"))
@pytest.mark.parametrize("value", [0.0, 3.0, 1e-200, 1e200])
def test_constant_targets_of_every_loss_and_size(loss, value):
    if loss == "poisson" and value in (0.0, 1e200):
        pytest.skip("a rate of zero has no logarithm, and no count is so large")
    X, _ = curve(40)
    found = SPKMRegressor(loss=loss, **FOUR).fit(X, np.full(40, value)).predict(X)
    np.testing.assert_allclose(found, value, rtol=1e-2 if loss == "poisson" else 1e-9)


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile"])
@pytest.mark.parametrize("kernel", ["matern", "linear"])
def test_one_constant_output_of_two(loss, kernel):
    X, y = curve()
    Y = np.column_stack([y, np.full(len(y), -2.5)])
    model = SPKMRegressor(loss=loss, kernel=kernel, **FOUR).fit(X, Y)
    found = model.predict(X)
    np.testing.assert_allclose(found[:, 1], -2.5, rtol=1e-12)
    alone = SPKMRegressor(loss=loss, kernel=kernel, **FOUR).fit(X, y).predict(X)
    np.testing.assert_allclose(found[:, 0], alone, rtol=0, atol=1e-6 * np.abs(y).max())


@pytest.mark.parametrize("kernel", ["matern", "linear", "polynomial"])
def test_counts_do_not_overflow_on_the_samples_of_the_fit(kernel):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = np.where(X[:, 0] > 1, 1e9, 1.0) * rng.poisson(3, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such counts may take more iterations than there are
        model = SPKMRegressor(loss="poisson", kernel=kernel, **FOUR).fit(X, y)
    found = model.predict(X)
    assert np.all(np.isfinite(found)) and np.all(found >= 0)
    assert np.all(np.isfinite(model.predict(1e8 * X)))
