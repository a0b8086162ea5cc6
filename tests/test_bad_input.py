"""Bad and odd input: an error names the argument, what it must be, what came and what to do; what can work does."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone

from spkm import PairwiseSPKMRegressor, SPKMClassifier, SPKMClassifierCV, SPKMOrdinalClassifier, SPKMRegressor
from spkm.core.starts import Greedy, KMeans
from spkm.kernels import RBF, Affine, Matern, Polynomial, RationalQuadratic
from spkm.losses import LOSSES, EpsilonInsensitive, Huber, Log, Quantile, SmoothHinge, SumLoss
from spkm.penalties import L1, ElasticNet, Evidence, GroupL2, L1Ball, RKHSNorm
from spkm.solvers import LBFGS, Adam
from tests.small_data import counts, curve, fingerprints, three_classes, two_classes

QUICK = {"n_basis": 4, "tol": 1e-2, "random_state": 0}


def classifier(**settings):
    return SPKMClassifier(**{**QUICK, **settings})


def regressor(**settings):
    return SPKMRegressor(**{**QUICK, **settings})


def with_entry(X, value):
    """Return a copy of X with one entry replaced."""
    X = X.copy()
    X[3, 1] = value
    return X


# Rows.


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_that_are_not_finite(value, kind):
    X, y = two_classes()
    bad = kind(with_entry(X, value))
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        classifier().fit(bad, y)
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        classifier().fit(X, y).predict(bad)


def test_rows_of_another_width_or_other_names():
    X, y = two_classes()
    table = pd.DataFrame(X, columns=["a", "b"])
    model = classifier().fit(table, y)
    with pytest.raises(ValueError, match="X has 1 features, but SPKMClassifier is expecting 2"):
        classifier().fit(X, y).predict(X[:, :1])
    with pytest.raises(ValueError, match=r"feature names should match[^$]*unseen at fit time:\n- c"):
        model.predict(table.rename(columns={"b": "c"}))
    with pytest.raises(ValueError, match="same order as they were in fit"):
        model.predict(table[["b", "a"]])
    with pytest.raises(ValueError, match="same order as they were in fit"):
        model.predict(pl.DataFrame({"b": X[:, 1], "a": X[:, 0]}))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[:0], r"0 sample\(s\) \(shape=\(0, 2\)\) while a minimum of 1 is required"),
        (lambda X: X[:, :0], r"0 feature\(s\) \(shape=\(80, 0\)\) while a minimum of 1 is required"),
        (lambda X: X[None], "Found array with dim 3"),
        (lambda X: X[:, 0], "Expected 2D array, got 1D array instead"),
        (lambda X: 1j * X, "Complex data not supported"),
        (lambda X: X[:-1], r"inconsistent numbers of samples: \[79, 80\]"),
        (lambda X: np.full(X.shape, "a"), "X must hold numbers: could not convert string .* Encode text"),
        (lambda X: np.full(X.shape, "a", dtype=object), "X must hold numbers: could not convert string .*'a'"),
        (lambda X: pd.DataFrame({"a": X[:, 0], "b": "x"}), "X must hold numbers: .*'x'. Encode text"),
        (lambda X: pl.DataFrame({"a": X[:, 0], "b": ["x"] * 80}), "X must hold numbers: .*'x'. Encode text"),
        (
            lambda X: pd.DataFrame({"a": X[:, 0], "b": pd.date_range("2020", periods=80)}),
            "X must hold numbers; .* dates",
        ),
        (lambda X: [{"a": 1.0}] * 80, "X must hold numbers: .*'dict'"),
    ],
)
def test_rows_of_the_wrong_shape_or_kind(change, message):
    X, y = two_classes()
    change = change(X)
    with pytest.raises((TypeError, ValueError), match=message):
        classifier().fit(change, y if len(change) else y[:0])


def test_missing_rows_or_targets():
    X, y = two_classes()
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        classifier().fit(X, None)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        classifier().fit(X, y).predict(X[:0])


def test_negative_rows_under_a_kernel_of_counts():
    X, y = fingerprints()
    message = r"kernel=Tanimoto\(\) needs non-negative features; feature 1 of X has minimum -1. .* kernel='rbf'"
    for kind in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match=message):
            classifier(kernel="tanimoto").fit(kind(with_entry(X, -1.0)), y)
        with pytest.raises(ValueError, match=message):
            classifier(kernel="tanimoto").fit(X, y).predict(kind(with_entry(X, -1.0)))


def test_rows_on_which_the_kernel_overflows():
    X, y = two_classes()
    with pytest.raises(FloatingPointError, match=r"kernel is not finite on these samples. Scale X \(scale=True\)"):
        classifier(kernel="polynomial", scale=False).fit(1e150 * X, y)


# Targets and weights.


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            lambda X, y: np.zeros(80, int),
            "y must hold at least two classes in samples of positive weight; got one class, 0",
        ),
        (lambda X, y: np.full(80, "a"), "got one class, 'a'"),
        (lambda X, y: X[:, 0], "Unknown label type: continuous"),
        (lambda X, y: np.where(y, np.nan, 1.0), "Input y contains NaN"),
        (lambda X, y: np.array([None, "a"])[y], "y must have a value for every sample; 40 of 80"),
        (lambda X, y: np.array([1, "a"], dtype=object)[y], "y must hold labels of one type.* got int, str"),
        (lambda X, y: np.column_stack([y, y + 1]), r"y should be a 1d array, got an array of shape \(80, 2\)"),
    ],
)
def test_bad_labels(target, message):
    X, y = two_classes()
    with pytest.raises((TypeError, ValueError), match=message):
        classifier().fit(X, target(X, y))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (lambda y: np.where(y > 1, np.nan, y), r"Input y contains NaN\. Leave these samples out\.$"),
        (lambda y: np.where(y > 1, np.inf, y), "Input y contains infinity"),
        (lambda y: np.where(y > 1, np.inf, y).astype(object), "y must hold finite numbers; got inf"),
        (lambda y: np.full(80, "a"), "y must hold numbers, .* For labels use SPKMClassifier"),
        (lambda y: np.full(80, "a", dtype=object), "y must hold numbers, .* got ndarray of dtype object"),
        (lambda y: sparse.csr_array(y[:, None]), "y must hold numbers, as a dense array .* got csr_array"),
        (lambda y: np.zeros((80, 1, 1)), "Found array with dim 3"),
        (lambda y: np.zeros((80, 0)), r"0 feature\(s\)"),
        (lambda y: 1j * y, "Complex data not supported"),
    ],
)
def test_bad_targets(target, message):
    X, y = curve()
    with pytest.raises(ValueError, match=message):
        regressor().fit(X, target(y))


def test_counts_below_zero_and_counts_that_are_all_zero():
    X, y = counts()
    with pytest.raises(ValueError, match=r"loss='poisson' needs non-negative targets; y has minimum -1. Use 'squared'"):
        regressor(loss="poisson").fit(X, y - 1)
    with pytest.raises(ValueError, match="loss='poisson' needs a positive target; all of y is zero"):
        regressor(loss="poisson").fit(X, 0 * y)
    with pytest.raises(ValueError, match=r"loss='poisson' is for real targets. Use 'log'"):
        classifier(loss="poisson").fit(*two_classes())


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.r_[-2.0, np.ones(79)], "sample_weight must not be negative; its minimum is -2. Drop such samples"),
        (np.zeros(80), "(Sample weights must contain at least one non-zero|sample_weight must be positive for some)"),
        (np.full(80, np.nan), "Input sample_weight contains NaN"),
        (np.ones(79), r"sample_weight.shape == \(79,\), expected \(80,\)"),
        (np.ones((80, 1)), "Sample weights must be 1D array or scalar"),
        (["a"] * 80, "sample_weight must hold numbers: .*'a'"),
        (np.arange(80) % 2, "at least two classes in samples of positive weight"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        classifier().fit(*two_classes(), sample_weight=weight)


def test_bad_class_weights():
    X, y = two_classes()
    for given in ({0: 1, 1: 0}, {0: 1, 1: -2}):
        with pytest.raises(ValueError, match=r"class_weight must hold positive numbers; got {0: 1, 1: (0|-2)}"):
            classifier(class_weight=given).fit(X, y)
    with pytest.raises(ValueError, match=r"class_weight must name classes of y, \[0, 1\]; got \[5\]"):
        classifier(class_weight={0: 1, 5: 1}).fit(X, y)


def test_targets_beyond_float32():
    X, y = curve()
    with pytest.raises(ValueError, match=r"numbers beyond float32, the type of X. Give X as float64"):
        regressor().fit(X.astype(np.float32), 1e50 * y)


# Settings. That every parameter is checked is in test_estimators_common.py.


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_basis": 0}, "n_basis must be an integer of at least 1; got 0."),
        ({"n_basis": -1}, "n_basis must be an integer of at least 1; got -1."),
        ({"n_basis": 2.5}, "n_basis must be an integer of at least 1; got 2.5."),
        ({"n_basis": True}, "n_basis must be an integer of at least 1; got True."),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1; got 0."),
        ({"tol": -1.0}, "tol must be a number of at least 0; got -1.0."),
        ({"n_jobs": 0}, "n_jobs must be None (all cores), a positive integer, or -1; got 0."),
        (
            {"random_state": -1},
            "random_state must be None, an integer of at least 0, a RandomState or a Generator; got -1.",
        ),
        ({"scale": "comon"}, "scale must be one of True, False, 'common'; got 'comon'."),
        ({"kernel": "rbff"}, "Unknown kernel 'rbff'. Did you mean 'rbf'? Known: laplacian, linear,"),
        ({"kernel": "RBF"}, "Unknown kernel 'RBF'. Did you mean 'rbf'?"),
        ({"kernel": "poly"}, "Unknown kernel 'poly'. Did you mean 'polynomial'?"),
        ({"kernel": RBF}, "kernel must be an object, not a class; got RBF. Write RBF()."),
        ({"kernel": 3}, "kernel must be a name or a Kernel object; got 3 of type int. Known names: laplacian,"),
        ({"kernel": RBF(-1.0)}, "gamma must be a positive number; got -1.0."),
        ({"kernel": RBF("big")}, "gamma must be a positive number, 'mean' or 'median'; got 'big'."),
        ({"kernel": Polynomial(0)}, "degree of kernel must be an integer of at least 1; got 0."),
        ({"kernel": Matern(3)}, "nu of kernel must be 1.5 or 2.5; got 3."),
        ({"kernel": RationalQuadratic(-1)}, "alpha of kernel must be a number above 0; got -1."),
        ({"loss": "hinge"}, "Unknown loss 'hinge'. Did you mean 'smooth_hinge'?"),
        ({"loss": Log}, "loss must be an object, not a class; got Log. Write Log()."),
        ({"loss": SmoothHinge(0)}, "width of loss must be a number above 0; got 0."),
        ({"loss": Huber(-1)}, "delta of loss must be a number above 0; got -1."),
        ({"loss": Quantile(1.5)}, "quantile of loss must lie between 0 and 1; got 1.5."),
        ({"loss": EpsilonInsensitive(-1)}, "epsilon of loss must be a number of at least 0; got -1."),
        ({"solver": "lbgfs"}, "Unknown solver 'lbgfs'. Did you mean 'lbfgs'? Known: adam, alternating, lbfgs,"),
        ({"solver": LBFGS}, "solver must be an object, not a class; got LBFGS. Write LBFGS()."),
        ({"solver": LBFGS(max_iter=0)}, "max_iter of solver must be an integer of at least 1; got 0."),
        ({"solver": LBFGS(tol=-1)}, "tol of solver must be a number of at least 0; got -1."),
        ({"solver": Adam(batch_size=0)}, "batch_size of solver must be an integer of at least 1; got 0."),
        ({"basis_penalty": "l11"}, "Unknown basis_penalty 'l11'. Did you mean 'l1'?"),
        ({"basis_penalty": L1}, "basis_penalty must be an object, not a class; got L1. Write L1()."),
        ({"basis_penalty": L1(-1)}, "strength of basis_penalty must be a number of at least 0; got -1."),
        ({"basis_penalty": L1Ball(-1)}, "radius of basis_penalty must be a number of at least 0; got -1."),
        (
            {"basis_penalty": ElasticNet(l1_ratio=2)},
            "l1_ratio of basis_penalty must be a number of at least 0 and at most 1",
        ),
        (
            {"basis_penalty": GroupL2(groups=[1, 2, 3])},
            "groups must hold one label for each of the 2 features; got (3,).",
        ),
        ({"basis_penalty": RKHSNorm()}, "basis_penalty cannot be RKHSNorm(): it acts on the weights. Known names: "),
        (
            {"basis_penalty": ["l1", "features"]},
            "basis_penalty may hold one penalty without a gradient; got [L1(), GroupL2()]",
        ),
        ({"weight_penalty": GroupL2()}, "weight_penalty cannot be GroupL2(): it acts on the basis. Known names: "),
        (
            {"weight_penalty": RKHSNorm("weak")},
            "strength of weight_penalty must be a number of at least 0; got 'weak'.",
        ),
        ({"start": "k-means"}, "Unknown start 'k-means'. Did you mean 'kmeans'?"),
        ({"start": KMeans}, "start must be an object, not a class; got KMeans. Write KMeans()."),
        ({"start": np.zeros((3, 2))}, "shape (n_basis, n_features) = (4, 2); got one of shape (3, 2)."),
        ({"start": np.full((4, 2), np.nan)}, "shape (n_basis, n_features) = (4, 2); got one with NaN or infinity."),
        (
            {"start": [[1], [2, 3]]},
            "start must be 'auto', 'greedy', 'kmeans', 'random', 'rows', a Start object or an array",
        ),
        ({"start": Greedy(0)}, "n_candidates of start must be an integer of at least 1; got 0."),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        classifier(**settings).fit(*two_classes())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "lbfgs", "basis_penalty": "l1"}, "LBFGS .* needs penalties with a gradient. Use solver='proximal'"),
        (
            {"solver": "lbfgs", "weight_penalty": "l1"},
            "LBFGS .* needs penalties with a gradient. Use solver='proximal'",
        ),
        ({"solver": "varpro", "loss": "huber"}, "VarPro .* Use solver='lbfgs', or loss='squared'"),
        (
            {"solver": "varpro", "weight_penalty": "l1"},
            "VarPro .* needs weight_penalty 'rkhs', .* Use solver='proximal'",
        ),
        ({"solver": "proximal", "weight_penalty": "evidence"}, "Proximal .*'evidence' needs .* solver='varpro'"),
        ({"solver": "adam", "weight_penalty": "evidence"}, "Adam .*'evidence' needs .* solver='varpro'"),
        (
            {"loss": "huber", "weight_penalty": "evidence"},
            "needs loss='squared'; got loss='huber'. Use weight_penalty='rkhs'",
        ),
        (
            {"kernel": Affine(RBF()), "weight_penalty": "evidence"},
            "kernel without a shift .* Use weight_penalty='rkhs'",
        ),
        (
            {"basis_penalty": "l1", "weight_penalty": "evidence"},
            "'evidence' needs .* got 'l1'. Use weight_penalty='rkhs'",
        ),
        ({"kernel": "linear", "learn_bandwidth": True, "weight_penalty": "evidence"}, "Use learn_bandwidth=False"),
        ({"weight_penalty": Evidence(noise=-1)}, "noise of weight_penalty must be a number above 0; got -1"),
        (
            {"loss": "cosine", "weight_penalty": "rkhs"},
            "takes no weight_penalty: .* Use weight_penalty=None",
        ),
    ],
)
def test_settings_that_do_not_go_together_name_the_remedy(settings, message):
    with pytest.raises(ValueError, match=message):
        regressor(**settings).fit(*curve())


# Odd input that works.


def test_one_row_and_two_rows():
    X, y = curve()
    np.testing.assert_allclose(regressor().fit(X[:1], y[:1]).predict(X[:3]), y[0])
    X, y = two_classes()
    np.testing.assert_array_equal(classifier().fit(X[:2], y[:2]).predict(X[:2]), y[:2])


@pytest.mark.parametrize("start", ["kmeans", "rows", "greedy", "random"])
def test_fewer_rows_than_basis_vectors(start):
    X, y = two_classes()
    model = classifier(n_basis=20, start=start).fit(X[:6], y[:6])
    assert 1 <= len(model.basis_vectors_) <= 20 and model.score(X[:6], y[:6]) == 1.0  # those of one place are merged
    X, y = curve()
    model = regressor(n_basis=20, start=start).fit(X[:6], y[:6])
    assert 1 <= len(model.basis_vectors_) <= 20 and np.all(np.isfinite(model.predict(X)))  # likewise


def test_columns_that_say_nothing_and_columns_twice():
    X, y = two_classes()
    constant = np.column_stack([X, np.full(80, 3.3), np.zeros(80)])
    for rows in (constant, np.hstack([X, X]), sparse.csr_array(constant)):
        assert classifier().fit(rows, y).score(rows, y) > 0.97
    nothing = np.ones((80, 2))
    assert np.all(np.isfinite(classifier().fit(nothing, y).decision_function(nothing)))
    target = curve()[1]
    np.testing.assert_allclose(regressor().fit(nothing, target).predict(nothing), target.mean(), rtol=1e-6)


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e300])
def test_columns_of_any_size(size):
    sizes = np.array([size, 1.0])
    X, y = two_classes()
    model, plain = classifier().fit(sizes * X, y), classifier().fit(X, y)
    assert np.all(np.isfinite(model.basis_vectors_)) and np.all(np.isfinite(model.decision_function(sizes * X)))
    assert model.score(sizes * X, y) >= plain.score(X, y)
    X, y = curve()
    assert regressor().fit(sizes * X, y).score(sizes * X, y) == pytest.approx(
        regressor().fit(X, y).score(X, y), abs=1e-3
    )
    sparse_rows = sparse.csr_array(sizes * X)
    assert regressor().fit(sparse_rows, y).score(sparse_rows, y) > 0.9


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_columns_of_any_size_in_float32(size):
    X, y = curve()
    rows = (X * np.array([size, 1.0])).astype(np.float32)
    model = regressor().fit(rows, y)
    assert np.all(np.isfinite(model.basis_vectors_)) and model.score(rows, y) > 0.9


@pytest.mark.parametrize("estimator", [SPKMClassifier(2), SPKMRegressor(2)])
def test_missing_targets_are_counted(estimator):
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).standard_normal((8, 2))
    words = ["a", "b", "a", "b", "a", "b", None, None]
    targets = [
        pd.Series([pd.NA if word is None else word for word in words], dtype="string"),
        pd.Series(words, dtype="category"),
        pd.Series([1, 0, 1, 0, 1, 0, pd.NA, pd.NA], dtype="Int64"),
        pd.Series([True, False] * 3 + [pd.NA] * 2, dtype="boolean"),
        np.array(words, dtype=object),
        [pd.NA if word is None else word for word in words],
    ]
    for y in targets:
        with pytest.raises(ValueError, match=r"y must have a value for every sample; 2 of 8 are missing"):
            estimator.fit(X, y)


FOUR = {"n_basis": 4, "n_jobs": 1, "random_state": 0}


def frames_of_dates():
    days = np.datetime64("2024-01-01") + np.arange(20)
    yield "numpy", np.column_stack([days, days])
    yield "spans", np.column_stack([days, days]) - days[0]
    yield "objects", np.array([[1.0, day] for day in days.astype(object)], dtype=object)
    for name, late in {
        "late object": days.astype(object)[0],
        "late date": days[0],
        "late span": days[1] - days[0],
    }.items():
        X = np.full((20, 2), 1.0, dtype=object)
        X[19, 1] = late
        yield name, X
    yield "lists", [[day, day] for day in days]


@pytest.mark.parametrize("kind", ["numpy", "spans", "objects", "late object", "late date", "late span", "lists"])
def test_dates_are_no_numbers(kind):
    X = dict(frames_of_dates())[kind]
    with pytest.raises((TypeError, ValueError), match=r"X must hold numbers; .* Turn dates into numbers first"):
        SPKMClassifier(**FOUR).fit(X, np.arange(20) % 2)


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]"])
@pytest.mark.parametrize("make", [SPKMClassifier, SPKMOrdinalClassifier])
def test_labels_of_pandas_own_types_stay_apart(make, kind):
    X, _ = two_classes()
    labels = 2**53 + np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.6]))
    model = make(n_basis=2, random_state=0).fit(X, pd.Series(labels, dtype=kind))
    assert model.classes_.tolist() == [2**53, 2**53 + 1, 2**53 + 2]
    assert np.mean(model.predict(X) == labels) > 0.8


def test_truths_of_pandas_own_type_are_truths():
    X, _ = two_classes()
    y = pd.Series(X[:, 0] > 0, dtype="boolean")
    assert SPKMClassifier(n_basis=2, random_state=0).fit(X, y).predict(X).dtype == bool
    batch = SPKMClassifier(n_basis=2, random_state=0).partial_fit(X, y, classes=[False, True])
    assert batch.predict(X).dtype == bool


def test_masked_cells_and_targets_are_missing():
    X, y = curve()
    cells, targets = (np.ma.masked_array(part, mask=np.zeros(part.shape, bool)) for part in (X, y))
    model = SPKMRegressor(n_basis=2, random_state=0).fit(cells, targets)
    cells[1, 0] = targets[3] = np.ma.masked
    with pytest.raises(ValueError, match="every cell; 1 are masked"):
        SPKMRegressor(n_basis=2).fit(cells, y)
    with pytest.raises(ValueError, match="every cell; 1 are masked"):
        model.predict(cells)
    with pytest.raises(ValueError, match=f"1 of {len(y)} are missing"):
        SPKMRegressor(n_basis=2).fit(X, targets)


def test_dates_are_no_targets_of_regression():
    """They would be counted in units that nobody sees, and predictions could not be read."""
    days = np.arange("2020-01-01", "2020-02-10", dtype="M8[D]")
    for y in (days, days - days[0]):
        with pytest.raises(ValueError, match="y must hold numbers"):
            SPKMRegressor(**FOUR).fit(np.arange(40.0)[:, None], y)


@pytest.mark.parametrize("lib", ["pandas", "polars"])
@pytest.mark.parametrize("kind", ["days", "zone", "span"])
def test_dates_in_frames_are_no_numbers(lib, kind):
    frames = pytest.importorskip(lib)
    days = np.array(np.datetime64("2024-01-01") + np.arange(20), dtype="datetime64[us]")
    column = days - days[0] if kind == "span" else days
    frame = frames.DataFrame({"size": np.arange(20.0), "when": column})
    if kind == "zone":
        if lib == "pandas":
            frame["when"] = frame["when"].dt.tz_localize("UTC")
        else:
            frame = frame.with_columns(frames.col("when").cast(frames.Date))
    y = np.arange(20) % 2
    with pytest.raises(ValueError, match=r"column 'when' holds dates .* Turn dates into numbers first"):
        SPKMClassifier(**FOUR).fit(frame, y)
    model = SPKMClassifier(**FOUR).fit(frame.assign(when=0.0) if lib == "pandas" else frame.with_columns(when=0.0), y)
    with pytest.raises(ValueError, match=r"column 'when' holds dates"):
        model.predict(frame)


class Misspelt(SumLoss):
    """A loss of classes whose author forgot a letter."""

    target = "sign"

    def pointwise(self, Y, F):
        return (F - Y) ** 2

    def slope(self, Y, F):
        return 2 * (F - Y)


@pytest.mark.parametrize("make", [SPKMClassifier, SPKMRegressor])
def test_a_misspelt_kind_of_target_is_refused(make):
    with pytest.raises(ValueError, match="target of loss must be 'real' or 'signs'; got 'sign'"):
        make(loss=Misspelt(), **FOUR).fit(*two_classes())


@pytest.mark.parametrize("make", [SPKMClassifier, SPKMClassifierCV])
@pytest.mark.parametrize("loss", ["quantile", "poisson", LOSSES["quantile"]()])
def test_a_loss_of_numbers_is_none_of_classes(make, loss):
    with pytest.raises(ValueError, match="is for real targets"):
        make(loss=loss).fit(*two_classes())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", [SPKMClassifier, SPKMRegressor])
def test_more_vectors_than_samples_are_told_of(make):
    X, y = two_classes(30)
    with pytest.warns(UserWarning, match="n_basis=31 is more than the 30 different samples"):
        make(31, max_iter=1, n_jobs=1, random_state=0).fit(X, y)


def test_groups_of_features_need_a_label_for_each():
    X, y = three_classes()
    for groups in (["a", None, "b"], [1, None, 2], [None, None, None]):
        with pytest.raises(ValueError, match=r"feature_groups must .*None"):
            SPKMClassifier(selection="strict", feature_groups=groups, **FOUR).fit(X, y)


@pytest.mark.parametrize("estimator", [SPKMClassifier(2), SPKMRegressor(2)], ids=["classifier", "regressor"])
def test_missing_values_come_with_what_handles_them(estimator):
    X, y = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40) % 2
    fitted = clone(estimator).fit(X, y)
    X[3, 1] = np.nan
    for fails in (lambda: clone(estimator).fit(X, y), lambda: fitted.predict(X)):
        with pytest.raises(ValueError, match=r"^Input X contains NaN\. Put a TableEncoder before .*with_gaps\.$"):
            fails()
    with pytest.raises(ValueError, match=r"^Input left contains NaN\. Fill missing values in\.$"):
        PairwiseSPKMRegressor(2).fit([[0, 1], [1, 0]], [1.0, 2.0], left=X[:4], right=X[:2])
