"""Data sets: the catalogue, and what the arrays of a file become."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spkm_paper import datasets
from spkm_paper.datasets import BrokenDatasetError, _files, _loaders
from spkm_paper.datasets._catalog import CATALOG
from spkm_paper.datasets._checksum import checksum
from spkm_paper.datasets._dataset import dataset
from tiny_set import INFO, REAL, TINY

# Checksums


def test_the_checksum_sees_values_not_their_storage(tmp_path):
    expected = checksum(TINY)
    assert checksum({"X": np.asfortranarray(TINY["X"]), "y": TINY["y"].astype(np.int8)}) == expected
    assert checksum({"X": TINY["X"].astype(np.float32), "y": TINY["y"].astype(">f8")}) == expected
    assert checksum({**TINY, "target_names": np.array(["a", "b"])}) == expected
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "tiny.npz", **TINY)
        assert checksum(_files.read_npz(tmp_path / "tiny.npz")) == expected


@pytest.mark.parametrize(
    "other",
    [
        {"X": TINY["X"] + 1e-15, "y": TINY["y"]},
        {"X": TINY["X"].reshape(2, 3), "y": TINY["y"]},
        {"X": TINY["X"], "z": TINY["y"]},
        {"X": TINY["X"], "y": 1 - TINY["y"]},
        {"y": TINY["y"], "X": TINY["X"]},
        {"X": np.where(TINY["X"] == 4, np.nan, TINY["X"]), "y": TINY["y"]},
    ],
    ids=["value", "shape", "name", "labels", "order", "nan"],
)
def test_the_checksum_sees_every_difference(other):
    assert checksum(other) != checksum(TINY)


def test_the_checksum_of_what_is_no_number_is_refused():
    with pytest.raises(ValueError, match="'X' must hold real numbers; got type complex128"):
        checksum({"X": np.array([1j])})


# The catalogue


@pytest.mark.parametrize("info", CATALOG.values(), ids=CATALOG)
def test_every_entry_is_whole(info):
    assert info.title and info.terms and info.source
    if info.why_no_download:
        assert "not downloaded" in info.where_from()
    else:  # only what can be confirmed is fetched
        assert info.checksum
        assert (info.openml and info.convert_openml) or all(original.url for original in info.originals)
    assert info.checksum is None or re.fullmatch("[0-9a-f]{64}", info.checksum)
    assert bool(info.originals) == bool(info.convert)
    columns = info.arrays.get("X", info.arrays.get("X_train", (0, 0)))[1]
    assert info.feature_names is None or len(info.feature_names) == columns
    assert info.instead is None or info.instead in CATALOG
    assert info.shapes() in datasets.describe(info.name)


@pytest.mark.parametrize("name", [name for name in CATALOG if name != "sarcos_test"])
def test_every_set_has_a_loader_that_tells_shape_and_terms(name, monkeypatch):
    loader = getattr(datasets, f"load_{name}")
    assert loader.__name__ in datasets.__all__
    assert CATALOG[name].shapes() in loader.__doc__ and CATALOG[name].terms in loader.__doc__
    asked = []
    monkeypatch.setattr(_loaders, "load", lambda *args, **params: asked.append((args, params)))
    loader("there", download=False)
    assert asked == [((name, "there"), {"download": False})]


def test_an_unknown_name_is_told():
    with pytest.raises(ValueError, match=r"name must be one of 'basehock', .*; got 'iris'"):
        datasets.load("iris")


# What arrays become


def test_views_are_joined_in_the_order_of_the_catalogue():
    info = replace(INFO, layout="views", arrays={"b": (2, 2), "a": (2, 1), "y": (2,), "fold": (2,)})
    arrays = {"a": np.ones((2, 1)), "b": np.zeros((2, 2)), "y": np.arange(2), "fold": np.array([0, -1])}
    found = dataset(info, arrays)
    assert found.X.tolist() == [[0, 0, 1]] * 2 and list(found.views) == ["b", "a"]
    assert found.feature_names == ("b_0", "b_1", "a_0")
    assert {name: rows.tolist() for name, rows in found.parts.items()} == {"train": [0], "test": [1]}
    assert repr(found) == "<tiny: X 2 x 3, y 2, views: b, a, parts: train, test>"


def test_pairs_have_row_numbers_tables_and_folds():
    shapes = {"drug_similarity": (1, 1), "drug_index": (3,), "target_index": (3,), "y": (3,), "fold": (3,)}
    arrays = {
        "drug_similarity": np.eye(1),
        "drug_index": np.zeros(3, dtype=np.int32),
        "target_index": np.arange(3, dtype=np.int32),
        "y": np.array([5.0, 6.0, 7.0]),
        "fold": np.array([1, -1, 0], dtype=np.int8),
    }
    found = dataset(replace(INFO, layout="pairs", arrays=shapes), arrays)
    assert found.X.tolist() == [[0, 0], [0, 1], [0, 2]] and list(found.tables) == ["drug_similarity"]
    parts = {name: rows.tolist() for name, rows in found.parts.items()}
    assert parts == {"train": [0, 2], "test": [1], "fold_0": [2], "fold_1": [0]}


def test_a_table_has_groups_labels_of_one_type_and_names_of_its_own_if_none_are_known():
    arrays = {**TINY, "y": TINY["y"].astype(np.uint8), "groups": np.arange(3), "feature_names": np.array(["a", "b"])}
    found = dataset(INFO, arrays)
    assert found.y.dtype == np.int64 and found.groups.tolist() == [0, 1, 2]
    assert found.feature_names == ("a", "b") and found.target_names is None
    assert dataset(replace(INFO, feature_names=("c", "d")), arrays).feature_names == ("c", "d")


def test_rows_without_targets_are_told(folder):
    np.savez(folder / "pseudomonas.npz", X=np.zeros((3, 2)), y=np.zeros(2))
    with pytest.raises(BrokenDatasetError, match="X and y of pseudomonas must have one row per sample; got 3 and 2"):
        datasets.load_pseudomonas(folder)


# The files themselves, where there are any


@pytest.mark.skipif(not REAL, reason="SPKM_DATA is not set")
@pytest.mark.parametrize("name", CATALOG)
def test_files_at_hand_are_those_of_the_catalogue(name):
    if not (Path(REAL) / f"{name}.npz").is_file():
        pytest.skip(f"no {name}.npz")
    found = datasets.load(name, REAL, download=False)
    assert found.name == name and len(found.X) == len(found.y)
    if name == "early_diabetes":
        assert len(np.unique(np.column_stack([found.X, found.y]), axis=0)) == 251
    if name == "parkinsons_telemonitoring":
        assert len(np.unique(found.groups)) == 42
