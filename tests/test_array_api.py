"""Samples of other libraries, by the array API: the same numbers as NumPy's, in the library that X came from."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning

from spkm import PairwiseSPKMRegressor, SPKMClassifier, SPKMRegressor
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.kernels import (
    KERNELS,
    RBF,
    Affine,
    DistanceKernel,
    Laplacian,
    Linear,
    Matern,
    NormalizedPolynomial,
    Polynomial,
    Product,
    Sum,
    Tanimoto,
)
from spkm.losses import LOSSES, Squared
from spkm.penalties import RKHSNorm
from spkm.solvers import Adam
from spkm.sources import ArraySource, PlacedSource, Scaling, anywhere, place_of

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 4))
WEIGHT = RNG.uniform(0.5, 2.0, 90)
SCALING = Scaling(np.array([0.1, 0.0, -0.2, 0.3]), np.array([1.0, 0.5, 2.0, 1.5]), np.full(4, 1.5))


class Cauchy(DistanceKernel):
    """A kernel of one's own, of operators alone."""

    anywhere = True

    def __init__(self, gamma=0.3):
        self.gamma = gamma

    def profile(self, s):
        return 1 / (1 + s)

    def slope(self, s, value):
        return -value * value


ONE = [
    Term(3, (View(Cauchy(), None, "scale"),)),
    Term(3, (View(RBF(0.3)),)),
    Term(3, (View(Matern(1.5, 0.2), None, "scale"),)),
    Term(3, (View(KERNELS["rational_quadratic"](0.7, 0.3), None, "relevances"),)),
    Term(3, (View(Polynomial(3, 1.0, 0.2)),)),
    Term(3, (View(Linear(0.5), None, "relevances"),)),
    Term(3, (View(NormalizedPolynomial(2, 1.0, 0.5), None, "scale"),)),
    Term(3, (View(Laplacian(0.3), None, "relevances"),)),
    Term(3, (View(Laplacian(0.3), None, "scale"),)),
    Term(3, (View(Tanimoto()),)),
    Term(3, (View(Affine(Sum(RBF(0.3), Product(Matern(2.5, 0.1), Linear(0.3)))), None, "scale"),)),
    Term(3, (View(RBF(0.3).with_bandwidth(np.array([0.5, 1.0, 2.0, 1.0])), None, "relevances"),)),
]
SEVERAL = [Term(2, (View(RBF(0.3), np.array([0, 2])), View(Matern(2.5, 0.3), np.array([1, 3]), "scale")))]
MODELS = [[term] for term in ONE] + [[*SEVERAL, Term(3, (View(Polynomial(3, 1.0, 0.2)),))]]


@pytest.fixture(params=["array_api_strict", "torch"])
def library(request, monkeypatch):
    """Another library, and scikit-learn's dispatch to it."""
    library = pytest.importorskip(request.param)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield library


def on_host(array):
    """Return an array of another library as one of NumPy."""
    return np.from_dlpack(array) if hasattr(array, "__dlpack__") else np.asarray(array)


def place_in(library):
    return place_of(library.asarray(X))


@pytest.mark.parametrize("terms", MODELS, ids=str)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_gradients_are_those_of_numpy(library, terms, n_outputs, monkeypatch):
    monkeypatch.setattr("spkm.sources._array_api.ENTRIES", 64 * 13)  # two blocks
    Y = RNG.standard_normal((90, n_outputs))
    model = PreimageModel(terms, 4, n_outputs, fit_intercept=n_outputs == 2)
    theta = 0.5 * RNG.standard_normal(model.n_params)
    sources = ArraySource(X, Y, WEIGHT, SCALING), PlacedSource(X, Y, WEIGHT, SCALING, place=place_in(library))
    assert len(sources[1].placed.pieces(3)) == 2
    here, there = (Objective(model, Squared(), source, None, RKHSNorm(0.1)) for source in sources)
    assert_same_gradients(here, there, theta)
    assert_same_gradients(here.eliminated(), there.eliminated(), theta[model.basis_part])


def assert_same_gradients(here, there, point):
    (value, gradient), (value_there, gradient_there) = here.value_and_gradient(point), there.value_and_gradient(point)
    assert value_there == pytest.approx(value, rel=1e-11)
    assert isinstance(gradient_there, np.ndarray)
    np.testing.assert_allclose(gradient_there, gradient, rtol=1e-8, atol=1e-10)
    assert there.value(point) == pytest.approx(value, rel=1e-11)


@pytest.mark.parametrize("name", [name for name in LOSSES if LOSSES[name]().anywhere])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_losses_are_those_of_numpy(library, name, n_outputs):
    loss, place = LOSSES[name](), place_in(library)
    Y = -np.ones((90, n_outputs))
    Y[np.arange(90), RNG.integers(n_outputs, size=90)] = 1.0
    Y = Y if loss.target == "signs" else RNG.integers(0, 3, (90, n_outputs)).astype(float)
    F, w = 3 * RNG.standard_normal((90, n_outputs)), np.full((90, 1), 1 / 90)
    there = [place.array(part) for part in (Y, F, w)]
    np.testing.assert_allclose(loss.totals(*there), loss.totals(Y, F, w), rtol=1e-12)
    np.testing.assert_allclose(on_host(loss.directions(*there)[0]), loss.directions(Y, F, w)[0], rtol=1e-11)


@pytest.mark.parametrize(("dtype", "labels"), [("float32", [0, 1]), ("float64", [3, 5, 8])])
def test_classifier(library, dtype, labels):
    rows = X.astype(dtype)
    y = np.asarray(labels)[np.digitize(rows[:, 0] * rows[:, 1], [0.0, 0.5][: len(labels) - 1])]
    model = SPKMClassifier(3, weight_penalty="rkhs", random_state=0).fit(library.asarray(rows), library.asarray(y))
    assert isinstance(model.basis_vectors_, np.ndarray) and model.basis_vectors_.dtype == dtype
    there = library.asarray(rows)
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        found = getattr(model, method)(there)
        assert type(found) is type(there) and found.device == there.device
        np.testing.assert_allclose(on_host(found), getattr(model, method)(rows), rtol=1e-4, atol=1e-5)
    assert model.score(there, library.asarray(y)) == pytest.approx(model.score(rows, y))


@pytest.mark.parametrize("several", [False, True])
def test_regressor(library, several):
    y = np.stack([X[:, 0] * X[:, 1], X[:, 2]], axis=1) if several else X[:, 0] * X[:, 1]
    there = library.asarray(X)
    model = SPKMRegressor(6, random_state=0).fit(there, library.asarray(y), library.asarray(WEIGHT))
    prediction, deviation = model.predict(there, return_std=True)
    assert type(prediction) is type(deviation) is type(there)
    known = model.predict(X, return_std=True)
    np.testing.assert_allclose(on_host(prediction), known[0], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(on_host(deviation), known[1], rtol=1e-9)
    assert model.score(X, y) > 0.9


def test_several_binary_problems(library):
    there, y = library.asarray(X), np.digitize(X[:, 0], [-0.5, 0.5])
    model = SPKMClassifier(2, multi_class="ovo", weight_penalty="rkhs", random_state=0).fit(there, library.asarray(y))
    np.testing.assert_array_equal(on_host(model.predict(there)), model.predict(X))


def test_text_labels_stay_in_numpy(library):
    y = np.where(X[:, 0] > 0, "yes", "no")
    model = SPKMClassifier(2, weight_penalty="rkhs", random_state=0).fit(library.asarray(X), y)
    assert isinstance(model.predict(library.asarray(X)), np.ndarray)


class Own(RBF):
    """A kernel of one's own, of NumPy's functions."""

    def profile(self, s):
        return np.exp(-s) ** 2


def test_what_has_no_formula_there_is_done_by_numpy_and_told(library):
    there, y = library.asarray(X), X[:, 0] * X[:, 1]
    with pytest.warns(UserWarning, match=f"array of {library.__name__}, but Own works with NumPy's"):
        model = SPKMRegressor(3, kernel=Own(), weight_penalty="rkhs", random_state=0).fit(there, y)
    known = SPKMRegressor(3, kernel=Own(), weight_penalty="rkhs", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.basis_vectors_, known.basis_vectors_)
    with pytest.warns(UserWarning, match="but Own works with NumPy's"):
        assert type(model.predict(there)) is type(there)


@pytest.mark.parametrize("kernel", ["laplacian", "tanimoto"])
def test_kernels_without_a_plain_product(library, kernel):
    rows = np.abs(X)
    there, y = library.asarray(rows), np.minimum(rows[:, 0], rows[:, 1])
    settings = {"kernel": kernel, "weight_penalty": "rkhs", "max_iter": 20, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SPKMRegressor(3, **settings).fit(there, y)
        known = SPKMRegressor(3, **settings).fit(rows, y)
    assert type(model.predict(there)) is type(there)
    np.testing.assert_allclose(on_host(model.predict(there)), model.predict(rows), rtol=1e-9)
    assert model.score(rows, y) == pytest.approx(known.score(rows, y), abs=1e-3)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_cosine_proximity(library, n_outputs):
    Y = np.sign(RNG.standard_normal((90, n_outputs)))
    model = PreimageModel(MODELS[1], 4, n_outputs)
    theta = 0.5 * RNG.standard_normal(model.n_params)
    sources = ArraySource(X, Y, WEIGHT, SCALING), PlacedSource(X, Y, WEIGHT, SCALING, place=place_in(library))
    assert_same_gradients(
        *(Objective(model, LOSSES["cosine"](), source, None, RKHSNorm(0.1)) for source in sources), theta
    )


@pytest.mark.parametrize("scaling", [None, SCALING], ids=["plain", "scaled"])
@pytest.mark.parametrize("name", ["log", "squared"])
def test_mini_batches_are_those_of_numpy(library, scaling, name, copied_up_to, monkeypatch):
    copied_up_to(0)  # the scaling is applied to each block
    monkeypatch.setattr("spkm.sources._array_api.FETCHED", 3 * 8 * 4)  # three batches at once
    Y = np.sign(X[:, :1])
    model = PreimageModel(MODELS[1], 4, 1)
    theta = 0.5 * RNG.standard_normal(model.n_params).astype(np.float32)
    sources = ArraySource(X, Y, WEIGHT, scaling), PlacedSource(X, Y, WEIGHT, scaling, place=place_in(library))
    here, there = (Objective(model, LOSSES[name](), source) for source in sources)
    pairs = zip(*(source.batches(8, 25, np.random.default_rng(1), np.float32) for source in sources), strict=True)
    for block, placed in pairs:  # more than two passes over 90 samples
        assert type(placed.X).__module__.split(".")[0] == library.__name__
        np.testing.assert_allclose(on_host(placed.X), block.X, rtol=1e-6, atol=1e-6)
        (value, gradient), (value_there, gradient_there) = (
            here.block_loss(block, theta),
            there.block_loss(placed, theta),
        )
        assert value_there == pytest.approx(value, rel=1e-5)
        assert gradient_there.dtype == np.float32
        np.testing.assert_allclose(gradient_there, gradient, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("penalty", [None, "l1"])
def test_mini_batches_of_a_fit_are_done_by_the_other_library(library, penalty, monkeypatch):
    seen = set()
    step = Adam._loss

    def watched(objective, block, theta):
        seen.add(type(block.X).__module__.split(".")[0])
        return step(objective, block, theta)

    monkeypatch.setattr(Adam, "_loss", staticmethod(watched))
    settings = {"solver": Adam(max_iter=10, batch_size=16), "weight_penalty": "rkhs", "random_state": 0}
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = SPKMClassifier(4, basis_penalty=penalty, **settings).fit(library.asarray(X), library.asarray(y))
    assert seen == {library.__name__}
    assert model.score(X, y) > 0.75


def test_pairs_refuse_other_libraries(library):
    left, right, pairs = X[:5], X[5:9], np.array([[0, 0], [1, 1], [2, 2], [3, 3], [4, 0]])
    y = left[pairs[:, 0], 0] * right[pairs[:, 1], 0]
    estimator = PairwiseSPKMRegressor(2, random_state=0)
    with pytest.raises(TypeError, match=r"left must be an array of NumPy .* convert it"):
        estimator.fit(pairs, y, left=library.asarray(left), right=right)
    with pytest.raises(TypeError, match=r"pairs must be an array of NumPy .* convert it"):
        estimator.fit(library.asarray(pairs), y, left=left, right=right)
    model = estimator.fit(pairs, y, left=left, right=right)
    with pytest.raises(TypeError, match="right must be an array of NumPy"):
        model.predict(pairs, right=library.asarray(right))


def test_passes_are_done_by_the_other_library(library):
    seen = set()

    @anywhere
    def kinds(block):
        seen.update(type(part).__module__.split(".")[0] for part in (block.X, block.Y, block.w))
        return (np.ones(1),)

    source = PlacedSource(X, X[:, :1], WEIGHT, SCALING, place=place_in(library))
    source.reduce(kinds, width=3)
    source.columns(np.array([1, 3])).encoded(np.sign).subset(np.arange(20)).reduce(kinds, width=3)
    assert seen == {library.__name__}


def test_bad_samples_are_told(library):
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SPKMRegressor(2).fit(library.asarray(bad), X[:, 0])
    model = SPKMRegressor(2, weight_penalty="rkhs", random_state=0).fit(library.asarray(X), library.asarray(X[:, 0]))
    with pytest.raises(ValueError, match="features"):
        model.predict(library.asarray(X[:, :2]))


def test_numpy_is_left_alone(library):
    assert place_of(X) is None
    model = SPKMRegressor(2, weight_penalty="rkhs", random_state=0).fit(X, X[:, 0])
    assert isinstance(model.predict(X), np.ndarray)


def test_without_dispatch_all_goes_to_numpy():
    strict = pytest.importorskip("array_api_strict")
    assert place_of(strict.asarray(X)) is None


def test_a_subclass_with_a_formula_of_its_own_stays_with_numpy():
    class OwnLoss(Squared):
        def pointwise(self, Y, F):
            return np.square(F - Y)

    assert RBF.anywhere and not Own.anywhere
    assert Squared.anywhere and not OwnLoss.anywhere
    assert not Sum(RBF(), Own()).anywhere and not Affine(Own()).anywhere
    assert all(kernel.anywhere for kernel in map(KERNELS.get, KERNELS) if not isinstance(kernel.anywhere, property))
    assert all(loss().anywhere for loss in map(LOSSES.get, LOSSES))


def test_the_package_that_is_missing_is_named(absent, library):
    absent("array_api_compat")
    with pytest.raises(ImportError, match=r"spkm\[array-api\]"):
        place_of(library.asarray(X))
