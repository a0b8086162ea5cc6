"""Data sets: found, fetched, checked and kept; nothing here reaches the network."""

import os
import re
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from scipy.io import savemat
from scipy.sparse import csc_array

from spkm import datasets
from spkm.datasets import BrokenDatasetError, DatasetNotFoundError, _files, _loaders, _originals, _uwave
from spkm.datasets._catalog import CATALOG
from spkm.datasets._checksum import checksum
from spkm.datasets._dataset import dataset
from spkm.datasets._errors import DownloadError
from spkm.datasets._info import DatasetInfo, Original
from spkm.datasets._store import Store, cache_folder, data_folder
from spkm.datasets._web import Web

REAL = os.environ.get("SPKM_DATA")
TINY = {"X": np.array([[0.5, 2.0], [1.0, -3.0], [4.0, 0.0]]), "y": np.array([0, 1, 1])}
URL = "https://example.org/tiny.csv"
PAGE = b"<html>moved</html>"
CSV = b"0.5,2,0\n1,-3,1\n4,0,1\n"


def from_csv(contents):
    table = np.loadtxt(BytesIO(contents[0]), delimiter=",")
    return {"X": table[:, :-1], "y": table[:, -1].astype(int)}


INFO = DatasetInfo(
    name="tiny",
    title="A tiny set",
    arrays={"X": (3, 2), "y": (3,)},
    checksum=checksum(TINY),
    terms="free",
    source="made up",
    remarks=("Three rows.",),
    originals=(Original("tiny.csv", URL),),
    convert=from_csv,
)


class FakeWeb(Web):
    """Answers with given contents, and counts how often it is asked."""

    def __init__(self, content=CSV):
        self.content = content
        self.asked = []

    def file(self, url):
        self.asked.append(url)
        if self.content is None:
            raise DownloadError(f"{url}: no route")
        return self.content


@pytest.fixture(autouse=True)
def nothing_of_the_users(monkeypatch, tmp_path):
    """Keep the tests off the user's folders."""
    monkeypatch.delenv("SPKM_DATA", raising=False)
    monkeypatch.setenv("SPKM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "own"
    path.mkdir()
    return path


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def same(arrays, expected):
    return all(np.array_equal(arrays[name], expected[name]) for name in expected)


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


# Where a set is looked for


def test_what_was_fetched_is_kept(cache):
    web = FakeWeb()
    assert same(Store(None, cache, web).arrays(INFO), TINY)
    assert [path.name for path in cache.iterdir()] == ["tiny.npz"]
    assert same(Store(None, cache, web).arrays(INFO), TINY)
    assert same(Store(None, cache, None).arrays(INFO), TINY)
    assert web.asked == [URL]


def test_the_users_folder_comes_first(folder, cache):
    np.savez(folder / "tiny.npz", **TINY)
    cache.mkdir()
    (cache / "tiny.npz").write_bytes(b"not looked at")
    assert same(Store(folder, cache, None).arrays(INFO), TINY)


def test_original_files_in_the_folder_will_do(folder, cache):
    (folder / "tiny.csv").write_bytes(CSV)
    assert same(Store(folder, cache, None).arrays(INFO), TINY)
    assert not cache.exists()


def test_some_of_the_original_files_will_not_do(folder, cache):
    info = replace(INFO, originals=(*INFO.originals, Original("labels.csv")), why_no_download="no checksum")
    (folder / "tiny.csv").write_bytes(CSV)
    with pytest.raises(
        DatasetNotFoundError, match=r"it is not downloaded: no checksum\..* the original labels.csv, into"
    ):
        Store(folder, cache, FakeWeb()).arrays(info)


def npy(array):
    file = BytesIO()
    np.save(file, array)
    return file.getvalue()


BREAKS = {
    "empty": lambda path: path.write_bytes(b""),
    "no archive": lambda path: path.write_bytes(PAGE),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "damaged": lambda path: path.write_bytes(path.read_bytes().replace(TINY["X"].tobytes(), bytes(TINY["X"].nbytes))),
    "one array": lambda path: path.write_bytes(npy(TINY["X"])),
    "pickled": lambda path: np.savez(path, X=np.array([None]), y=TINY["y"]),
    "array absent": lambda path: np.savez(path, X=TINY["X"]),
    "shape": lambda path: np.savez(path, X=TINY["X"].T, y=TINY["y"]),
    "number": lambda path: np.savez(path, X=1.0, y=TINY["y"]),
    "values": lambda path: np.savez(path, X=TINY["X"] + 1, y=TINY["y"]),
}


@pytest.fixture(params=BREAKS)
def break_file(request):
    def write(path):
        path.parent.mkdir(exist_ok=True)
        np.savez(path, **TINY)
        BREAKS[request.param](path)

    return write


def test_a_broken_file_of_the_cache_is_told_removed_and_fetched_again(cache, break_file):
    break_file(cache / "tiny.npz")
    with pytest.warns(UserWarning, match=r"cache is broken and was removed: .*tiny\.npz"):
        assert same(Store(None, cache, FakeWeb()).arrays(INFO), TINY)
    assert same(Store(None, cache, None).arrays(INFO), TINY)


def test_a_broken_file_of_the_user_is_named_and_left(folder, cache, break_file):
    path, web = folder / "tiny.npz", FakeWeb()
    break_file(path)
    before = path.read_bytes()
    with pytest.raises(BrokenDatasetError, match=r"own.tiny\.npz.* It is left as it is: replace or remove it"):
        Store(folder, cache, web).arrays(INFO)
    assert path.read_bytes() == before and not web.asked and not cache.exists()


def test_a_broken_original_of_the_user_is_named_and_left(folder, cache):
    (folder / "tiny.csv").write_bytes(PAGE)
    with pytest.raises(BrokenDatasetError, match=r"tiny\.csv cannot be read as tiny: .* It is left as it is"):
        Store(folder, cache, FakeWeb()).arrays(INFO)
    assert (folder / "tiny.csv").read_bytes() == PAGE


@pytest.mark.parametrize("content", [PAGE, CSV.replace(b"4", b"5")], ids=["page", "values"])
def test_what_is_not_the_set_is_not_kept(cache, content):
    with pytest.raises(BrokenDatasetError, match=rf"What was downloaded is not kept: {URL}.* Put tiny\.npz"):
        Store(None, cache, FakeWeb(content)).arrays(INFO)
    assert not cache.exists()


def test_offline_and_absent_says_what_to_put_where(folder, cache):
    with pytest.raises(
        FileNotFoundError, match=r"the download failed: https://example.org/tiny.csv: no route"
    ) as caught:
        Store(folder, cache, FakeWeb(None)).arrays(INFO)
    assert isinstance(caught.value, DatasetNotFoundError)
    expected = f"Put tiny.npz with X 3 x 2, y 3, or the original tiny.csv, into {folder}. Source: made up."
    assert str(caught.value).endswith(expected)


def test_without_a_folder_the_ways_to_name_one_are_told(cache):
    with pytest.raises(DatasetNotFoundError, match=r"download=False forbids .* name it by folder=... or SPKM_DATA"):
        Store(None, cache, None).arrays(INFO)


def test_a_cache_that_cannot_be_written_is_told_and_nothing_else(tmp_path):
    (tmp_path / "file").touch()
    with pytest.warns(UserWarning, match="tiny was downloaded but cannot be kept in"):
        assert same(Store(None, tmp_path / "file", FakeWeb()).arrays(INFO), TINY)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError])
def test_an_interrupted_write_leaves_what_was_there(cache, monkeypatch, stop):
    def write_half(file, **arrays):
        file.write(b"half")
        raise stop

    monkeypatch.setattr(np, "savez_compressed", write_half)
    with pytest.raises(stop):
        _files.write_npz(cache / "tiny.npz", TINY)
    assert list(cache.iterdir()) == []
    (cache / "tiny.npz").write_bytes(b"before")
    with pytest.raises(stop):
        _files.write_npz(cache / "tiny.npz", TINY)
    assert [path.read_bytes() for path in cache.iterdir()] == [b"before"]


# load


@pytest.fixture
def tiny_known(monkeypatch):
    monkeypatch.setitem(CATALOG, "tiny", INFO)


def test_load_reads_the_folder_of_the_argument_else_of_the_environment(folder, tmp_path, monkeypatch, tiny_known):
    np.savez(folder / "tiny.npz", **TINY)
    assert same(vars(datasets.load("tiny", folder)), TINY)
    monkeypatch.setenv("SPKM_DATA", str(folder))
    found = datasets.load("tiny")
    assert (found.name, found.description, found.terms, found.source) == ("tiny", "A tiny set", "free", "made up")
    assert found.remarks == ("Three rows.",) and repr(found) == "<tiny: X 3 x 2, y 3>"
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(DatasetNotFoundError, match=f"in {re.escape(str(other))} or the cache"):
        datasets.load("tiny", other, download=False)


def test_load_arrays_reads_one_file_as_it_is(folder, tiny_known):
    np.savez(folder / "tiny.npz", **TINY, more=np.arange(2))
    assert set(datasets.load_arrays(folder / "tiny.npz")) == {"X", "y", "more"}


def test_load_fetches_into_the_cache(cache, monkeypatch, tiny_known):
    monkeypatch.setattr(_loaders, "Web", FakeWeb)
    assert datasets.load("tiny").X.shape == (3, 2)
    assert (cache / "tiny.npz").is_file()


def test_a_folder_that_is_none_is_told(tmp_path, monkeypatch):
    with pytest.raises(NotADirectoryError, match=r"folder must be an existing folder; got .*absent"):
        data_folder(tmp_path / "absent")
    monkeypatch.setenv("SPKM_DATA", str(tmp_path / "gone"))
    with pytest.raises(NotADirectoryError, match=r"SPKM_DATA must be an existing folder; got .*gone"):
        data_folder(None)
    monkeypatch.setenv("SPKM_DATA", "")
    assert data_folder(None) is None


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "home/.cache/spkm"),
        ("linux", {"XDG_CACHE_HOME": "xdg"}, "xdg/spkm"),
        ("linux", {"SPKM_CACHE": "here", "XDG_CACHE_HOME": "xdg"}, "here"),
        ("darwin", {}, "home/Library/Caches/spkm"),
        ("win32", {"LOCALAPPDATA": "local"}, "local/spkm/Cache"),
    ],
)
def test_the_cache_lies_where_the_platform_keeps_such(monkeypatch, platform, variables, expected):
    for name in ("SPKM_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("spkm.datasets._store.sys.platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("home"))
    assert cache_folder() == Path(expected)


def test_sarcos_says_which_of_its_versions_it_is(folder, monkeypatch):
    monkeypatch.setitem(CATALOG, "sarcos_test", replace(CATALOG["sarcos_test"], checksum=None))
    with pytest.raises(DatasetNotFoundError, match=r"sarcos_test\.npz"):
        datasets.load_sarcos(folder, download=False)
    np.savez(folder / "sarcos_test.npz", X=np.zeros((4449, 21)), y=np.zeros((4449, 7)))
    part = datasets.load_sarcos(folder, download=False)
    assert part.name == "sarcos_test" and len(part.X) == 4449 and "the test file only" in part.description
    arrays = {name: np.zeros(shape) for name, shape in CATALOG["sarcos"].arrays.items()}
    np.savez_compressed(folder / "sarcos.npz", **arrays)
    full = datasets.load_sarcos(folder, download=False)
    assert full.name == "sarcos" and len(full.X) == 48_933
    assert [len(full.parts[part]) for part in ("train", "test")] == [44_484, 4449]


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


# Original files


def mat(**arrays):
    file = BytesIO()
    savemat(file, arrays)
    return file.getvalue()


CONVERSIONS = {
    "breast_cancer_wisconsin": (
        [b"7,5,1,1,1,2,1,3,1,1,2\n8,5,1,1,1,2,?,3,1,1,2\n9,8,1,1,1,2,10,3,1,1,4\n"],
        {"X": [[5, 1, 1, 1, 2, 1, 3, 1, 1], [8, 1, 1, 1, 2, 10, 3, 1, 1]], "y": [0, 1]},
    ),
    "early_diabetes": (
        [b"Age,Gender,Polyuria,class\r\n40,Male,No,Positive\r\n30,Female,Yes,Negative\r\n"],
        {"X": [[40, 1, 0], [30, 0, 1]], "y": [1, 0]},
    ),
    "ionosphere": ([b"1,0,-0.5,g\n0,0,0.25,b\n"], {"X": [[1, 0, -0.5], [0, 0, 0.25]], "y": [1, 0]}),
    "qsar_biodeg": ([b"3.9;2;RB\n4.1;0;NRB\n"], {"X": [[3.9, 2], [4.1, 0]], "y": [1, 0]}),
    "parkinsons_telemonitoring": (
        [b"subject#,age,sex,test_time,motor_UPDRS,total_UPDRS,PPE\n1,72,0,5.6,28.2,34.4,0.1\n"],
        {"X": [[72, 0, 5.6, 0.1]], "y": [[28.2, 34.4]], "groups": [1]},
    ),
    "boston_housing": (
        [b" 0.5 1 2 3 4 5 6 7 8 9 10\n 11 12 24.0\n"],
        {"X": [[0.5, *range(1, 13)]], "y": [24.0]},
    ),
    "sarcos_test": (
        [mat(sarcos_inv_test=np.arange(28.0)[None])],
        {"X": [np.arange(21)], "y": [np.arange(21, 28)]},
    ),
    "sarcos": (
        [mat(sarcos_inv=np.ones((2, 28))), mat(sarcos_inv_test=np.arange(28.0)[None])],
        {"X_train": np.ones((2, 21)), "y_train": np.ones((2, 7)), "X_test": [np.arange(21)], "y_test": [range(21, 28)]},
    ),
    "basehock": (
        [mat(X=csc_array([[0.0, 3.0], [1.0, 0.0]]), Y=[[1], [2]])],
        {"X": [[0, 3], [1, 0]], "y": [0, 1]},
    ),
    "leukemia": ([mat(X=[[-2, 2], [0, 2]], Y=[[1], [-1]])], {"X": [[-2, 2], [0, 2]], "y": [1, 0]}),
    "gisette": (
        [b"550 0 \n0 991 \n", b"1\n-1\n", b"3 4 \n", b"-1\n"],
        {"X": [[550, 0], [0, 991], [3, 4]], "y": [1, 0, 0]},
    ),
    "uci_multiple_features": (
        [b"a,label\n0.5,0\n1.5,9\n"] + [b"a,b,label\n1,2,0\n3,4,9\n"] * 5,
        {"fou": [[0.5], [1.5]], "pix": [[1, 2], [3, 4]], "y": [0, 9]},
    ),
    "dti_gpcr": (
        [b"\tD1\tD2\nh1\t0\t1\nh2\t1\t1\nh3\t0\t0\n", b"\tD1\tD2\nD1\t1\t.5\nD2\t.4\t1\n", b"\th1\nh1\t1\n"],
        {
            "y": [0, 1, 0, 1, 1, 0],
            "drug_index": [0, 0, 0, 1, 1, 1],
            "target_index": [0, 1, 2, 0, 1, 2],
            "drug_similarity": [[1, 0.5], [0.4, 1]],
            "target_similarity": [[1]],
            "drug_names": ["D1", "D2"],
            "target_names": ["h1", "h2", "h3"],
        },
    ),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_original_files_become_the_arrays_of_the_catalogue(name):
    contents, expected = CONVERSIONS[name]
    arrays = CATALOG[name].convert(contents)
    assert set(expected) <= set(arrays) and set(arrays) == set(CATALOG[name].arrays)
    for key, values in expected.items():
        np.testing.assert_array_equal(arrays[key], np.asarray(values), err_msg=key)


def test_mnist_of_openml_is_cut_at_the_official_place():
    rows = np.arange(60_003.0)[:, None] % 256
    found = _originals.mnist(rows, np.array(["7"] * 60_000 + ["1", "2", "3"], dtype=object))
    assert found["X_train"].shape == (60_000, 1) and found["y_test"].tolist() == [1, 2, 3]
    assert found["X_test"].dtype == np.uint8 and found["X_test"].ravel().tolist() == [96, 97, 98]


UWAVE = {  # two training rows and one test row, of three values
    "TRAIN": ([2, 7], np.array([[0.5, -1.0, 2.0], [1.5, 0.25, 0.0]])),
    "TEST": ([8], np.array([[3.0, 1e-3, -4.0]])),
}
FORMS = {
    "": lambda label, values: ",".join([f"{label}.0", *values]),
    ".txt": lambda label, values: "  " + "  ".join([f"{label:.7e}", *values]),
    ".tsv": lambda label, values: "\t".join([str(label), *values]),
    ".ts": lambda label, values: ",".join(values) + f":{label}",
}
UWAVE_INFO = replace(CATALOG["uwave"], arrays={**dict.fromkeys(_uwave.VIEWS, (3, 3)), "y": (3,), "fold": (3,)})


def write_uwave(folder, suffix, in_subfolders=False, labels_of_z=None):
    for part, (labels, X) in UWAVE.items():
        for shift, axis in enumerate("XYZ"):
            name = f"UWaveGestureLibrary{axis}"
            parent = folder / name if in_subfolders else folder
            parent.mkdir(exist_ok=True)
            labels = labels_of_z[: len(labels)] if labels_of_z and axis == "Z" else labels
            head = ["# made up", "@problemName " + name, "@data"] if suffix == ".ts" else []
            lines = [
                FORMS[suffix](label, map(repr, map(float, row + shift))) for label, row in zip(labels, X, strict=True)
            ]
            (parent / f"{name}_{part}{suffix}").write_text("\n".join(head + lines) + "\n")


@pytest.mark.parametrize("in_subfolders", [False, True])
@pytest.mark.parametrize("suffix", FORMS)
def test_uwave_is_read_from_files_of_the_archive(folder, cache, suffix, in_subfolders):
    write_uwave(folder, suffix, in_subfolders)
    found = dataset(UWAVE_INFO, Store(folder, cache, None).arrays(UWAVE_INFO))
    rows = np.vstack([X for _, X in UWAVE.values()])
    for shift, view in enumerate(_uwave.VIEWS):
        np.testing.assert_array_equal(found.views[view], rows + shift)
    assert found.y.tolist() == [1, 6, 7] and found.target_names[found.y[2]] == "8"
    assert found.parts["train"].tolist() == [0, 1] and found.parts["test"].tolist() == [2]


def test_uwave_with_axes_of_other_gestures_is_refused(folder, cache):
    write_uwave(folder, ".tsv", labels_of_z=[2, 3])
    with pytest.raises(BrokenDatasetError, match="must list the same gestures in the same order"):
        Store(folder, cache, None).arrays(UWAVE_INFO)


def test_uwave_with_series_of_several_lengths_is_refused():
    with pytest.raises(ValueError, match="series must have one length"):
        _uwave.series(b"1,2,3\n1,2\n")


# The web


def test_the_web_reads_files_and_tells_what_failed(tmp_path):
    (tmp_path / "file").write_bytes(CSV)
    assert Web().file((tmp_path / "file").as_uri()) == CSV
    with pytest.raises(DownloadError, match="absent"):
        Web().file((tmp_path / "absent").as_uri())


def test_the_web_asks_openml_and_tells_what_failed(cache, monkeypatch):
    asked = {}

    def fetch_openml(name, **params):
        asked.update(params, name=name)
        return sklearn.utils.Bunch(data=TINY["X"], target=TINY["y"].astype(str))

    info = replace(
        INFO, originals=(), openml=("tiny", 3), convert_openml=lambda X, y: {"X": X, "y": y.astype(int)}, convert=None
    )
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    assert same(Store(None, cache, Web()).arrays(info), TINY)
    assert (asked["name"], asked["version"]) == ("tiny", 3)

    def fail(name, **params):
        raise ValueError("Dataset tiny with status active not found.")  # as OpenMLError is one

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    (cache / "tiny.npz").unlink()
    with pytest.raises(DatasetNotFoundError, match="download failed: OpenML, 'tiny' version 3: Dataset tiny"):
        Store(None, cache, Web()).arrays(info)


# Made-up data


@pytest.mark.parametrize("kind", ["linear", "quadratic", "quintic"])
@pytest.mark.parametrize("n_features", [100, 37])
def test_sparse_relations_are_those_of_the_definition(kind, n_features):
    X, y, relevant = datasets.make_sparse_relation(kind, 401, n_features, random_state=3)
    rng = np.random.default_rng(3)
    np.testing.assert_array_equal(X, rng.standard_normal((401, n_features)))
    d = n_features // 10
    np.testing.assert_array_equal(relevant, np.sort(rng.choice(n_features, d, replace=False)))
    b = rng.normal(0, d**-0.5, (d, 2))  # of variance 1 / d
    p, q = X[:, relevant] @ b[:, 0], X[:, relevant] @ b[:, 1]
    f = {"linear": p, "quadratic": p * p - q * q, "quintic": np.power(p + 1 / 2, 5) - 3 * q * q}[kind]
    np.testing.assert_array_equal(y, f > np.median(f))
    assert y.sum() == 200


def test_spirals_are_those_of_the_definition():
    X, y = datasets.make_spirals(301, noise=0, random_state=1)
    radius = np.hypot(*X.T)
    assert radius.max() <= 1 and np.bincount(y).tolist() == [151, 150]
    side = np.where(y == 0, 1, -1)
    np.testing.assert_allclose(X[:, 0], side * radius * np.cos(3 * np.pi * radius), atol=1e-12)
    np.testing.assert_allclose(X[:, 1], side * radius * np.sin(3 * np.pi * radius), atol=1e-12)


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_waves_are_those_of_the_definition(n_features):
    X, y = datasets.make_waves(50, n_features, noise=0, random_state=1)
    assert X.shape == (50, n_features) and np.abs(X).max() <= 1
    expected = [np.sin(np.pi * row[0]) * np.prod([np.cos(np.pi * x) for x in row[1:]]) for row in X]
    np.testing.assert_allclose(y, expected, atol=1e-12)


def test_inverse_dynamics_are_those_of_the_definition():
    X, y = datasets.make_inverse_dynamics(40, noise=0, random_state=1)
    torques = []
    for row in X:
        q, v, a = row[:7] / 2, row[7:14], row[14:]
        moved = [(np.cos(q[0] - q[j]) * a[j] + np.sin(q[0] - q[j]) * v[j] ** 2 / 2) / (j + 1) for j in range(7)]
        torques.append(2 * np.sin(q[0]) + sum(moved))
    np.testing.assert_allclose(y, torques / np.std(torques), atol=1e-12)


MAKERS = [
    lambda seed: datasets.make_sparse_relation("quintic", 20, random_state=seed),
    lambda seed: datasets.make_spirals(20, random_state=seed),
    lambda seed: datasets.make_waves(20, random_state=seed),
    lambda seed: datasets.make_inverse_dynamics(20, random_state=seed),
]


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_seed_makes_the_same_rows(make):
    for first, again, generator in zip(make(0), make(0), make(np.random.default_rng(0)), strict=True):
        np.testing.assert_array_equal(first, again)
        np.testing.assert_array_equal(first, generator)
    assert not np.array_equal(make(0)[0], make(1)[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.make_sparse_relation("cubic"), "kind must be one of 'linear', .*; got 'cubic'"),
        (lambda: datasets.make_sparse_relation(n_features=9), "n_features must be an integer of at least 10; got 9"),
        (lambda: datasets.make_spirals(0), "n_samples must be an integer of at least 1; got 0"),
        (lambda: datasets.make_waves(noise=-1), "noise must be a number of at least 0; got -1"),
        (lambda: datasets.make_inverse_dynamics(1), "n_samples must be an integer of at least 2; got 1"),
    ],
)
def test_what_cannot_be_made_is_told(call, message):
    with pytest.raises(ValueError, match=message):
        call()


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
