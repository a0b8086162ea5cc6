"""Data sets: found, fetched, checked and kept; nothing here reaches the network."""

import re
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import pytest
import sklearn.datasets
from numpy.lib import format

from spkm_paper import datasets
from spkm_paper.datasets import BrokenDatasetError, DatasetNotFoundError, _files, _loaders
from spkm_paper.datasets._catalog import CATALOG
from spkm_paper.datasets._errors import DownloadError
from spkm_paper.datasets._info import Original
from spkm_paper.datasets._store import Store, cache_folder, data_folder
from spkm_paper.datasets._web import Web
from tiny_set import CSV, INFO, PAGE, TINY, URL, FakeWeb, same

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


def promising(path, claimed, compression=ZIP_DEFLATED, size=None):
    """Write a file whose array X claims a shape that it does not hold; ``size`` is what the archive claims of it."""
    content = BytesIO()
    format.write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": claimed})
    content.write(bytes(64))
    with ZipFile(path, "w", compression) as archive:
        archive.writestr("X.npy", content.getvalue())
        archive.writestr("y.npy", npy(TINY["y"]))
        if size is not None:  # in the directory at the end, from which readers take it
            archive.getinfo("X.npy").file_size = size


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
    "8 TB": lambda path: promising(path, (10**12,)),
    "8 TB, stored": lambda path: promising(path, (10**12,), ZIP_STORED),
    "8 TB, twice": lambda path: promising(path, (10**12,), size=8 * 10**12 + 128),
    "negative": lambda path: promising(path, (-1, 2)),
    "overflow": lambda path: promising(path, (2**62, 2**62)),
    "other packing": lambda path: promising(path, (3, 2), ZIP_BZIP2),
}


@pytest.mark.parametrize("name", [name for name in BREAKS if name.startswith("8 TB")])
def test_a_header_cannot_claim_memory(name, tmp_path, monkeypatch):
    def allocate(*args, **params):
        pytest.fail("the array is made before its size is looked at")

    BREAKS[name](tmp_path / "tiny.npz")
    monkeypatch.setattr(format, "read_array", allocate)
    with pytest.raises(BrokenDatasetError, match=r"X\.npy must hold 8,000,000,000,000 bytes by its header"):
        _files.read_npz(tmp_path / "tiny.npz")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_that_are_packed_most_tightly_are_read(tmp_path, save):
    arrays = {
        "X": np.zeros((2000, 500)),
        "empty": np.zeros((0, 3)),
        "number": np.array(2.0),
        "names": np.array(["é", "b"]),
    }
    save(tmp_path / "zeros.npz", **arrays)
    found = _files.read_npz(tmp_path / "zeros.npz")
    assert list(found) == list(arrays) and same(found, arrays)


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
    with pytest.raises(
        DatasetNotFoundError, match=r"fetching is off \(download=False.* name it by folder=... or SPKM_DATA"
    ):
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
    monkeypatch.setattr("spkm_paper.datasets._store.sys.platform", platform)
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
