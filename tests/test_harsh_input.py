"""Input that once crashed a fit, or met a message that helps nobody: it works, or the error says what to do."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from spkm import PairwiseSPKMRegressor, SPKMClassifier, SPKMRegressor, SPKMSelector
from spkm._checks import n_threads
from spkm.checking import check_kernel
from spkm.kernels import DotKernel
from spkm.losses import LOSSES
from tests.small_data import counts, curve, three_classes, two_classes

QUICK = {"n_basis": 4, "n_jobs": 1, "random_state": 0}


# Constant targets


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
    found = SPKMRegressor(loss=loss, **QUICK).fit(X, np.full(40, value)).predict(X)
    np.testing.assert_allclose(found, value, rtol=1e-2 if loss == "poisson" else 1e-9)


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile"])
@pytest.mark.parametrize("kernel", ["matern", "linear"])
def test_one_constant_output_of_two(loss, kernel):
    X, y = curve()
    Y = np.column_stack([y, np.full(len(y), -2.5)])
    model = SPKMRegressor(loss=loss, kernel=kernel, **QUICK).fit(X, Y)
    found = model.predict(X)
    np.testing.assert_allclose(found[:, 1], -2.5, rtol=1e-12)
    alone = SPKMRegressor(loss=loss, kernel=kernel, **QUICK).fit(X, y).predict(X)
    np.testing.assert_allclose(found[:, 0], alone, rtol=0, atol=1e-6 * np.abs(y).max())


# Settings from outside


@pytest.mark.parametrize("text", ["4,2", "", " ", "0", "many", "-3", "2 "])
def test_any_number_of_threads_that_the_environment_may_name(monkeypatch, text):
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert n_threads(None) >= 1
    SPKMClassifier(2, random_state=0).fit(*two_classes())


@pytest.mark.parametrize(
    "seed", [np.random.RandomState(0), np.random.RandomState(0)._bit_generator, np.random.MT19937(0)]
)
def test_seeds_of_the_old_kind(seed):
    X, y = two_classes()
    SPKMClassifier(2, n_restarts=2, n_jobs=1, random_state=seed).fit(X, y)
    legacy = np.random.MT19937()
    legacy._legacy_seeding(3)
    SPKMClassifier(2, n_restarts=2, n_jobs=1, random_state=legacy).fit(X, y)


def test_groups_of_features_need_a_label_for_each():
    X, y = three_classes()
    for groups in (["a", None, "b"], [1, None, 2], [None, None, None]):
        with pytest.raises(ValueError, match=r"feature_groups must .*None"):
            SPKMClassifier(selection="strict", feature_groups=groups, **QUICK).fit(X, y)


# Numbers at the edge


@pytest.mark.parametrize("multi_class", ["joint", "ovr", "ovo"])
@pytest.mark.parametrize("data", [two_classes, three_classes])
def test_logarithms_of_probabilities_that_round_to_zero_are_finite(data, multi_class):
    X, y = data()
    clf = SPKMClassifier(multi_class=multi_class, kernel="linear", scale=False, **QUICK).fit(X, y)
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


@pytest.mark.parametrize("kernel", ["matern", "linear", "polynomial"])
def test_counts_do_not_overflow_on_the_samples_of_the_fit(kernel):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = np.where(X[:, 0] > 1, 1e9, 1.0) * rng.poisson(3, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such counts may take more iterations than there are
        model = SPKMRegressor(loss="poisson", kernel=kernel, **QUICK).fit(X, y)
    found = model.predict(X)
    assert np.all(np.isfinite(found)) and np.all(found >= 0)
    assert np.all(np.isfinite(model.predict(1e8 * X)))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("make", ["classifier", "ovo", "regressor", "poisson", "pairs"])
def test_a_user_who_wants_every_floating_point_error_raised_gets_a_model(make, storage):
    X, y = {"classifier": two_classes, "ovo": three_classes, "poisson": counts}.get(make, curve)()
    far = storage(1e3 * X)
    with np.errstate(all="raise"):
        if make == "pairs":
            pairs = np.column_stack([np.arange(len(X)), np.arange(len(X))[::-1]])
            model = PairwiseSPKMRegressor(**QUICK).fit(pairs, y, left=storage(X), right=storage(X))
            assert np.all(np.isfinite(model.predict(pairs, left=far)))
            return
        model = {
            "classifier": SPKMClassifier(**QUICK),
            "ovo": SPKMClassifier(multi_class="ovo", **QUICK),
            "regressor": SPKMRegressor(**QUICK),
            "poisson": SPKMRegressor(loss="poisson", **QUICK),
        }[make].fit(storage(X), y)
        for rows in (storage(X), far):
            assert len(model.predict(rows)) == len(y)
            if hasattr(model, "predict_proba"):
                model.predict_proba(rows)
                model.predict_log_proba(rows)


# Frames and tables


def test_a_selector_reads_a_dict_of_tables():
    X, y = three_classes()
    tables = {"a": X[:, :1], "b": X[:, 1:]}
    settings = {"kernel": {"a": "linear", "b": "linear"}, "selection": "strict", "max_features": 2}
    selector = SPKMSelector(SPKMClassifier(**{**QUICK, "n_basis": 1}, **settings)).fit(tables, y)
    np.testing.assert_array_equal(selector.transform(tables), X[:, selector.get_support()])


def test_a_lazy_frame_of_polars_is_collected():
    pl = pytest.importorskip("polars")
    X, y = two_classes()
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    eager = SPKMClassifier(**QUICK).fit(frame, y)
    lazy = SPKMClassifier(**QUICK).fit(frame.lazy(), y)
    np.testing.assert_array_equal(lazy.feature_names_in_, ["a", "b"])
    np.testing.assert_array_equal(lazy.decision_function(frame.lazy()), eager.decision_function(frame))
    tables = SPKMClassifier(**QUICK).fit({"one": frame.lazy(), "two": X}, y)
    np.testing.assert_array_equal(
        tables.predict({"one": frame, "two": X}), tables.predict({"one": frame.lazy(), "two": X})
    )


def test_a_warm_start_with_renamed_columns_is_refused():
    X, y = two_classes()
    clf = SPKMClassifier(warm_start=True, **QUICK).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    with pytest.raises(
        ValueError, match=r"warm_start=True needs the columns of the last fit, \['a', 'b'\]; got \['b', 'a'\]"
    ):
        clf.fit(pd.DataFrame(X, columns=["b", "a"]), y)
    tables = SPKMClassifier(warm_start=True, **QUICK).fit({"one": X, "two": X}, y)
    with pytest.raises(ValueError, match=r"warm_start=True needs the tables of the last fit, \['one', 'two'\]"):
        tables.fit({"one": X, "three": X}, y)
    first, second = pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(X, columns=["c", "b"])
    tables = SPKMClassifier(warm_start=True, **QUICK).fit({"one": first, "two": X}, y)
    with pytest.raises(ValueError, match=r"warm_start=True needs the columns of X\['one'\] of the last fit"):
        tables.fit({"one": second, "two": X}, y)
    tables.fit({"one": first, "two": X}, y)


# A kernel as the documentation describes it


class Exponential(DotKernel):
    """k(x, u) = exp(gamma x.u)."""

    def __init__(self, gamma="auto"):
        self.gamma = gamma

    def value(self, dot):
        return np.exp(dot)

    def slope(self, dot, value):
        return value


def test_a_kernel_of_a_dot_product_is_two_formulas():
    assert check_kernel(Exponential(gamma=0.2)) < 1e-6
    X, y = two_classes()
    assert SPKMClassifier(kernel=Exponential(), **QUICK).fit(X, y).score(X, y) > 0.9
