"""A damaged file is never taken for a model; a forged one never does harm. ``benchmarks model_files`` tries 10,000."""

import json
import tracemalloc
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from spkm import SPKMCCA
from spkm.persistence import CompiledModel, ModelFileError, NumpyModel
from tests.fitted_cases import answers, fitted, samples
from tests.mutated_files import damaged, forged
from tests.saving import from_bytes, packed, plain_of, to_bytes, unpacked

NAMES = ["two words, frame", "one against one", "views", "pairs, sparse", "landmarks", "labels, rest", "search"]
MOST = 1000  # bytes allocated for each byte of a file


@cache
def file_of(name):
    """Return the file of a fitted estimator."""
    return to_bytes(fitted(name))


@pytest.mark.parametrize("runtime", [None, "numpy"])
@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_refused(name, runtime):
    whole = file_of(name)
    rng = np.random.default_rng(0)
    for _ in range(25):
        changed = damaged(whole, rng)
        if changed != whole:
            with pytest.raises(ModelFileError):
                from_bytes(changed, runtime)


@pytest.mark.parametrize("runtime", [None, "numpy"])
@pytest.mark.parametrize("name", NAMES)
def test_forged_files_are_refused_or_are_harmless(name, runtime):
    whole = file_of(name)
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(25):
        changed = forged(whole, rng)
        tracemalloc.start()
        try:
            from_bytes(changed, runtime)
        except ModelFileError:
            refused += 1
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < MOST * len(changed)
    assert refused > (5 if runtime is None else 0)  # the light runtime reads a part of the document


def resealed(name, change):
    """Return the file of an estimator whose document and arrays a function has changed."""
    document, arrays = unpacked(file_of(name))
    arrays = {key: array.copy() for key, array in arrays.items()}
    change(document, arrays)
    return packed(document, arrays)


def test_a_model_that_claims_more_features_than_it_has_takes_no_memory_for_them():
    whole = resealed("views", lambda document, _: document["estimator"]["model"]["plain"].update(n_features=10**18))
    tracemalloc.start()
    try:
        from_bytes(whole, "numpy")
        assert tracemalloc.get_traced_memory()[1] < MOST * len(whole)
    finally:
        tracemalloc.stop()


def refused(name, change, match):
    with pytest.raises(ModelFileError, match=match):
        from_bytes(resealed(name, change))


def test_versions_of_the_future_are_refused_in_words():
    refused(
        "regression", lambda d, _: d.update(schema=2, library="9.0"), r"schema 2, written by spkm 9\.0.*Update spkm"
    )


def test_many_features_are_no_bomb():
    def many(document, arrays):
        document["estimator"]["model"]["plain"]["n_features"] = 10**12

    refused("strict", many, "too small for the number of features")


def test_the_same_array_cannot_be_asked_for_without_end():
    def often(document, arrays):
        arrays["big"] = np.zeros(100_000)
        document["estimator"]["attributes"]["more_"] = [{"$": "array", "name": "big"}] * 1000

    refused("regression", often, "too often")


def test_wide_strings_are_no_bomb():
    def wide(document, arrays):
        node = {"$": "strings", "width": 10**9, "shape": [2], "items": ["a", "b"]}
        document["estimator"]["attributes"]["more_"] = node

    refused("regression", wide, "too wide")


def test_deep_documents_are_refused():
    def deep(document, arrays):
        node = []
        for _ in range(200):
            node = [node]
        document["estimator"]["attributes"]["more_"] = node

    refused("regression", deep, "too deeply")
    header = b'{"__metadata__":{"sha256":"' + b"0" * 64 + b'","format":"spkm","document":"' + b"[" * 10**5 + b'"}}'
    import hashlib

    whole = len(header).to_bytes(8, "little") + header
    digest = hashlib.sha256(whole).hexdigest().encode()
    with pytest.raises(ModelFileError, match="cannot be read"):
        from_bytes(whole.replace(b"0" * 64, digest))


def test_classes_outside_our_list_are_never_looked_for():
    def other(document, arrays):
        document["estimator"]["model"]["rest"]["members"][0]["loss"] = {"$": "part", "class": "os.system", "params": {}}

    refused("regression", other, r"os\.system.*not one of this library")
    refused("regression", lambda d, _: d["estimator"].update({"class": "Pipeline"}), "unknown estimator 'Pipeline'")


def test_methods_cannot_be_overwritten():
    for name in ("predict", "__class__", "model_", "fit_"):

        def put(document, arrays, name=name):
            document["estimator"]["attributes"][name] = 1

        if name == "fit_":
            from_bytes(resealed("regression", put))  # no method of ours: harmless
        else:
            refused("regression", put, "attribute")


def test_a_plain_form_of_another_model_is_refused():
    def change(document, arrays):
        document["estimator"]["model"]["plain"]["steepness"] = 2.0

    refused("one against one", change, "plain form is that of another model")


def test_numbers_that_overflow_are_refused():
    def change(document, arrays):
        arrays["huge"] = np.array([1e4])
        document["estimator"]["model"]["rest"]["members"][0]["log_metrics"][0] = {"$": "array", "name": "huge"}

    refused("two classes", change, "not a valid model file")


def test_an_untouched_file_that_is_sealed_anew_is_the_model():
    loaded = from_bytes(resealed("three classes", lambda d, _: None))
    X = samples("three classes")
    np.testing.assert_array_equal(loaded.predict(X), answers(fitted("three classes"), X)["predict"])


@pytest.mark.parametrize(
    "content", [b"", b"x" * 50, b"PK\x03\x04" + b"0" * 500, (10**9).to_bytes(8, "little") + b"{" * 300]
)
def test_other_files_are_refused(content, tmp_path):
    from spkm import load

    path = tmp_path / "model.spkm"
    path.write_bytes(content)
    with pytest.raises(ModelFileError):
        load(path)


def plain_node(document):
    """Return the JSON of the plain model of an estimator."""
    return document["estimator"]["model"]["plain"]


def places(node, path=()):
    """Yield the paths to all values of a JSON document."""
    for key, part in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield (*path, key)
        yield from places(part, (*path, key))


def at(node, path):
    for key in path:
        node = node[key]
    return node


@pytest.mark.parametrize("name", NAMES)
def test_incomplete_plain_forms_are_refused(name):
    document, _ = unpacked(file_of(name))
    paths = [
        path for path in places(plain_node(document)) if isinstance(path[-1], str) and path[-1] not in ("$", "order")
    ]
    whole = [path for path in paths if "$" not in at(plain_node(document), path[:-1])]  # not inside of an array
    assert len(whole) > 20
    for path in whole:
        changed = resealed(name, lambda document, _, path=path: at(plain_node(document), path[:-1]).pop(path[-1]))
        for runtime in (None, "numpy"):
            with pytest.raises(ModelFileError):
                from_bytes(changed, runtime)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_that_are_none_are_refused(name):
    document, arrays = unpacked(file_of(name))
    text = json.dumps(plain_node(document))
    used = [key for key, array in arrays.items() if f'"{key}"' in text and array.dtype.kind == "f" and array.size]
    assert used
    for key in used:
        for value in (np.nan, np.inf) if name != "labels, rest" else (np.nan,):

            def put(document, arrays, key=key, value=value):
                arrays[key].flat[-1] = value

            for runtime in (None, "numpy"):
                try:
                    from_bytes(resealed(name, put), runtime)
                except ModelFileError:
                    continue
                # Bounds of the scaling may be infinite, and an upper one is.
                assert np.isinf(value) and "high" in text


@pytest.mark.parametrize("part", ["parameters", "mean", "mixing"])
def test_numbers_of_a_cca_are_numbers(part):
    X = np.random.default_rng(0).standard_normal((30, 3))
    model = SPKMCCA(n_components=1, max_iter=20, tol=1e-2, random_state=0).fit(X, X[:, :2] ** 2 + X[:, 1:])
    document, arrays = unpacked(to_bytes(model))
    values = getattr(model.x_side_, part)
    (key,) = [key for key, array in arrays.items() if np.array_equal(array, values)][:1]
    arrays = {**arrays, key: np.full_like(arrays[key], np.nan)}
    with pytest.raises(ModelFileError, match="FittedSide has numbers that are none"):
        from_bytes(packed(document, arrays))


def test_tables_beside_a_model_are_numbers():
    landmarks, pairs = (deepcopy(fitted(name)) for name in ("landmarks", "pairs, sparse"))
    landmarks.normalization_[0, 0] = np.nan
    table = pairs._pairs.tables[0]
    (table.data if sparse.issparse(table) else table).flat[0] = np.nan
    for model, text in ((landmarks, "normalization is none"), (pairs, "numbers that are none")):
        with pytest.raises(ValueError, match=text):
            to_bytes(model)
    whole = to_bytes(fitted("landmarks"))
    matrix = fitted("landmarks").normalization_

    def broken(document, arrays):
        (key,) = (key for key, array in arrays.items() if np.array_equal(array, matrix))
        arrays[key].flat[0] = np.nan

    assert from_bytes(whole, "numpy").normalization is not None
    for runtime in (None, "numpy"):
        with pytest.raises(ModelFileError, match="normalization is none"):
            from_bytes(resealed("landmarks", broken), runtime)


def test_the_plain_form_of_json_predicts():
    for name in ("two classes", "one against one", "three classes", "labels, rest"):
        plain = plain_of(fitted(name))
        X = samples(name)[:9]
        light, direct = NumpyModel(plain), from_bytes(file_of(name), "numpy")
        np.testing.assert_array_equal(light.scores(X), direct.scores(X))
        function = CompiledModel(plain, "decision_function")
        want = direct.decision_function(X)
        np.testing.assert_allclose([function(row) for row in X], want, rtol=1e-9, atol=1e-12)
