"""Model files: what is loaded is what was saved, to the bit, and nothing else is taken for a model."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import spkm
from spkm import SPKMClassifier, SPKMClassifierCV, SPKMRegressor, kernels
from spkm.persistence import ModelFileError, describe, load, register
from tests.fitted_cases import MAKERS, answers, fitted, samples
from tests.interrupting import interrupt_at
from tests.saving import from_bytes, to_bytes
from tests.small_data import curve, two_classes


def assert_same(a, b, name=""):
    """Compare values, and all that they are made of, to the bit."""
    assert type(a) is type(b), name
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, name
        np.testing.assert_array_equal(a, b, err_msg=name)
    elif sparse.issparse(a):
        assert_same(a.toarray(), b.toarray(), name)
    elif isinstance(a, dict):
        assert a.keys() == b.keys(), name
        for key in a:
            assert_same(a[key], b[key], f"{name}.{key}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), name
        for k, (one, other) in enumerate(zip(a, b, strict=True)):
            assert_same(one, other, f"{name}[{k}]")
    elif hasattr(a, "__dict__"):
        own = {k: v for k, v in vars(a).items() if not k.startswith("_view_cuts")}
        other = {k: v for k, v in vars(b).items() if not k.startswith("_view_cuts")}
        # What is worked out on demand may not be there yet.
        lazy = {"terms", "basis_vectors"} if type(a).__name__ == "FittedModel" else set()
        for key in own.keys() - lazy:
            assert_same(own[key], other[key], f"{name}.{key}")
    else:
        assert a == b or (a != a and b != b), name


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_a_loaded_estimator_is_the_saved_one_to_the_bit(name, tmp_path):
    estimator, X = fitted(name), samples(name)
    estimator.save(tmp_path / "model.spkm")
    loaded = spkm.load(tmp_path / "model.spkm")
    assert type(loaded) is type(estimator)
    assert vars(loaded).keys() == vars(estimator).keys()
    for key, value in vars(estimator).items():
        assert_same(value, getattr(loaded, key), key)
    before, after = answers(estimator, X), answers(loaded, X)
    assert before.keys() == after.keys() and before
    for method, value in before.items():
        np.testing.assert_array_equal(value, after[method], err_msg=method)
    clone(loaded)
    assert os.listdir(tmp_path) == ["model.spkm"]
    assert to_bytes(loaded) == to_bytes(estimator)  # the same model is the same file


def in_rows(name, X):
    """Return samples as one array: what the light runtime wants."""
    estimator = fitted(name)
    if isinstance(X, dict):
        return np.hstack([np.asarray(X[key]) for key in X])
    if hasattr(estimator, "_pairs"):
        tables = [t.toarray() if sparse.issparse(t) else t for t in estimator._pairs.tables]
        return np.hstack([tables[0][X[:, 0]], tables[1][X[:, 1]]])
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"selector"}))
def test_light_runtime_says_the_same(name):
    estimator = fitted(name)
    light = from_bytes(to_bytes(estimator), "numpy")
    X = samples(name)
    rows = in_rows(name, X)
    near = {"rtol": 1e-4, "atol": 1e-4} if name == "float32" else {"rtol": 1e-9, "atol": 1e-9}
    for method in ("predict_proba", "decision_function", "transform"):
        if hasattr(estimator, method):
            # Landmarks that are near one another make the matrix of a transform large, and rounding with it.
            near_too = {"rtol": 1e-5, "atol": 1e-5} if method == "transform" else near
            np.testing.assert_allclose(getattr(light, method)(rows), getattr(estimator, method)(X), **near_too)
    if hasattr(estimator, "predict"):
        found, want = light.predict(rows), estimator.predict(X)
        assert found.shape == want.shape
        if want.dtype.kind == "f":
            np.testing.assert_allclose(found, want, **near)
        else:
            assert np.mean(found == want) > 0.98
    if hasattr(estimator, "model_") and not hasattr(estimator, "_pairs") and not hasattr(estimator, "normalization_"):
        model = estimator.model_
        np.testing.assert_allclose(light.similarities(rows), model.similarities(rows), **near)
        np.testing.assert_allclose(light.contributions(rows), model.contributions(rows), **near)


def test_light_runtime_needs_numpy_alone(tmp_path):
    fitted("one against one").save(tmp_path / "model.spkm")
    code = f"""
import sys
from itertools import pairwise
import spkm
model = spkm.load({str(tmp_path / "model.spkm")!r}, runtime="numpy")
model.predict([[0.0, 1.0, 2.0]])
print([name for name in ("sklearn", "scipy", "joblib", "pandas") if name in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip() == "[]"


def test_light_runtime_refuses_what_it_cannot_do():
    with pytest.raises(ModelFileError, match="SPKMSelector"):
        from_bytes(to_bytes(fitted("selector")), "numpy")
    light = from_bytes(to_bytes(fitted("regression")), "numpy")
    for method in ("predict_proba", "decision_function", "transform"):
        with pytest.raises(AttributeError):
            getattr(light, method)([[0.0, 1.0]])
    with pytest.raises(ValueError, match=r"\(n_samples, 2\)"):
        light.predict([[0.0]])
    with pytest.raises(ValueError, match="finite"):
        light.predict([[0.0, np.nan]])
    with pytest.raises(ValueError, match="runtime must be"):
        load("nowhere", runtime="torch")


def test_files_are_those_of_safetensors():
    whole = to_bytes(fitted("three classes"))
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size])
    metadata = header.pop("__metadata__")
    assert all(isinstance(value, str) for value in metadata.values())
    ends = sorted(entry["data_offsets"] for entry in header.values())
    assert ends[0][0] == 0 and ends[-1][1] == len(whole) - 8 - size and size % 8 == 0
    assert all(a[1] == b[0] for a, b in pairwise(ends))
    tensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed").load(whole)
    assert tensors.keys() == header.keys()


def test_describe_tells_of_the_model_without_building_it(tmp_path):
    X, y = two_classes()
    model = SPKMClassifier(n_basis=2, tol=1e-2, random_state=0).fit(X, y)
    model.save(tmp_path / "model.spkm", data=X, metrics={"accuracy": np.float64(0.9), "by": "me"})
    about = describe(tmp_path / "model.spkm")
    assert about["estimator"] == "SPKMClassifier" and about["library"] == spkm.__version__
    assert about["metrics"] == {"accuracy": 0.9, "by": "me"} and about["data"]["shape"] == [80, 2]
    assert about["fit"]["n_iter"] == model.n_iter_
    model.save(tmp_path / "other.spkm", data=X + 1)
    assert describe(tmp_path / "other.spkm")["data"]["sha256"] != about["data"]["sha256"]
    with pytest.raises(TypeError, match="metrics must be"):
        model.save(tmp_path / "model.spkm", metrics={"curve": [1, 2]})
    assert describe(tmp_path / "model.spkm") == about


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.spkm"
    fitted("regression").save(path)
    before = path.read_bytes()

    with interrupt_at(Path.write_bytes, 1), pytest.raises(KeyboardInterrupt):
        fitted("two classes").save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["model.spkm"]


def test_parameters_that_cannot_be_saved_are_told_of(tmp_path):
    X, y = two_classes()
    model = SPKMClassifier(n_basis=2, tol=1e-2, random_state=np.random.default_rng(0)).fit(X, y)
    with pytest.warns(UserWarning, match="random_state="):
        model.save(tmp_path / "model.spkm")
    loaded = load(tmp_path / "model.spkm")
    assert loaded.random_state is None
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


@pytest.mark.usefixtures("hasty")
def test_a_splitter_cannot_be_saved_but_the_search_can(tmp_path):
    X, y = two_classes()
    model = SPKMClassifierCV("rbf", n_basis=2, selection=None, cv=KFold(2), tol=1e-2, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="cv=KFold"):
        model.save(tmp_path / "model.spkm")
    assert load(tmp_path / "model.spkm").cv is None


def test_only_fitted_estimators_of_ours_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        SPKMClassifier().save(tmp_path / "model.spkm")

    class Mine(SPKMRegressor):
        pass

    X, y = curve()
    with pytest.raises(TypeError, match=r"estimator must be one of .* got tests.*Mine"):
        Mine(n_basis=2, tol=1e-2, random_state=0).fit(X, y).save(tmp_path / "model.spkm")
    with pytest.raises(TypeError, match=r"step 'ridge' of the pipeline, Ridge, is not of this library.*skops"):
        spkm.persistence.save(make_pipeline(Ridge()).fit(X, y), tmp_path / "model.spkm")
    assert os.listdir(tmp_path) == []


class Wide(kernels.RBF):
    def profile(self, s):
        return 1 / (1 + s)

    def slope(self, s, value):
        return -value * value


def test_a_kernel_of_ones_own_is_refused_until_it_is_registered(tmp_path):
    X, y = curve()
    model = SPKMRegressor(kernel=Wide(), n_basis=2, tol=1e-2, random_state=0).fit(X, y)
    path = tmp_path / "model.spkm"
    with pytest.raises(TypeError, match=r"spkm.persistence.register\(Wide\)"):
        model.save(path)
    register(Wide)
    model.save(path)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
    with pytest.raises(ModelFileError, match="formula of its own"):
        load(path, runtime="numpy")
    code = f"import spkm; spkm.load({str(path)!r})"  # where it is not registered
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert re.search(r"ModelFileError: .*test_model_files.Wide.*register", done.stderr)
    with pytest.raises(TypeError, match="part must be a class"):
        register(Wide())


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_skops_loads_our_types(name):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    stored = io.dumps(fitted(name))
    loaded = io.loads(stored, trusted=spkm.persistence.TRUSTED_TYPES)
    after = answers(loaded, samples(name))
    for method, value in answers(fitted(name), samples(name)).items():
        np.testing.assert_array_equal(value, after[method], err_msg=method)


def test_skops_needs_what_the_documentation_says_for_steps_of_others():
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    X, y = two_classes()
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), SPKMClassifier(2, tol=1e-2, random_state=0)).fit(X, y)
    stored, known = io.dumps(pipeline), spkm.persistence.TRUSTED_TYPES
    assert set(io.get_untrusted_types(data=stored)) - set(known) == {"numpy.dtype"}
    loaded = io.loads(stored, trusted=[*known, "numpy.dtype"])
    np.testing.assert_array_equal(loaded.predict(X), pipeline.predict(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_light_runtime_finds_columns_of_a_frame_by_name(tmp_path, library):
    frame = pytest.importorskip("pandas").DataFrame(np.random.default_rng(0).random((30, 2)), columns=["a", "b"])
    model = SPKMRegressor(2, random_state=0).fit(frame, frame["a"])
    model.save(tmp_path / "model.spkm")
    light, expected, other = load(tmp_path / "model.spkm", runtime="numpy"), model.predict(frame), frame[["b", "a"]]
    other = other if library == "pandas" else pytest.importorskip("polars").from_pandas(other)
    np.testing.assert_allclose(light.predict(other), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="'a' are missing"):
        light.predict(other[["b"]])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers overflow, on purpose
def test_a_model_that_could_not_be_loaded_again_is_not_saved(tmp_path):
    """Columns of very different sizes, not scaled: bandwidths of batches stay in range; one beyond it is refused."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((40, 4)) * np.array([1.0, 1e9, 100.0, 1.0]), rng.poisson(2.0, 40)
        model = SPKMRegressor(1, scale=False, linear_part=True, learn_bandwidth=True, loss="poisson", random_state=0)
        model.set_params(fit_intercept=False).partial_fit(X[:10], y[:10]).partial_fit(X[10:], y[10:])
        model.save(tmp_path / f"{seed}.spkm")
        np.testing.assert_array_equal(load(tmp_path / f"{seed}.spkm").predict(X), model.predict(X))
    fitted, path = model.model_, tmp_path / "beyond.spkm"
    for log_metric in (-1000.0, 1000.0):
        theta = fitted.theta.copy()
        fitted.model.unpack(theta).log_metric[0][...] = log_metric
        model.model_ = replace(fitted, theta=theta)
        with pytest.raises(ValueError, match=r"cannot be saved.*scale=True"):
            model.save(path)
        assert not path.exists()
