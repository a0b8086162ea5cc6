"""Files are written at once, or not at all."""

import os
import stat

import numpy as np
import pytest

from spkm import SPKMRegressor, write_predictions
from spkm._atomic import replacing
from tests.small_data import curve


def test_a_file_takes_its_place_at_the_end(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacing(path) as beside:
        beside.write_text("new")
        assert path.read_text() == "old" and beside.parent == tmp_path and beside.suffix == ".txt"
    assert path.read_text() == "new" and os.listdir(tmp_path) == ["a.txt"]


def test_after_an_error_there_is_the_old_file_alone(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as beside:
        beside.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_the_mode_is_that_of_other_files(tmp_path):
    (tmp_path / "plain").write_text("")
    with replacing(tmp_path / "made") as beside:
        beside.write_text("")
    plain, made = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "made"))
    assert made == plain


def test_every_writer_names_the_place_that_it_cannot_write_to(tmp_path):
    X, y = curve()
    model = SPKMRegressor(2, weight_penalty="rkhs", tol=1e-2, random_state=0).fit(X, y)
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    writers = {
        ".spkm": model.save,
        ".json": model.export,
        ".html": lambda path: model.report(path, X, y),
        ".csv": lambda path: write_predictions(model, np.asarray(X), path),
    }
    for suffix, write in writers.items():
        with pytest.raises(ValueError, match=r"path must be a file in a folder that exists; got '.*nowhere"):
            write(tmp_path / "nowhere" / f"a{suffix}")
    for write in (model.save, writers[".csv"]):
        with pytest.raises(ValueError, match=r"path must be a file in a folder that exists; got '.*folder"):
            write(folder)
    assert os.listdir(tmp_path) == ["folder.csv"] and os.listdir(folder) == []


def _writers(X, y):
    model = SPKMRegressor(2, weight_penalty="rkhs", tol=1e-2, random_state=0).fit(X, y)
    return {
        ".spkm": model.save,
        ".json": model.export,
        ".html": lambda path: model.report(path, X, y),
        ".csv": lambda path: write_predictions(model, [np.asarray(X)], path),
    }


@pytest.mark.skipif(os.name != "posix", reason="pipes and links are POSIX's")
def test_every_writer_keeps_what_is_no_file_and_follows_links(tmp_path):
    for suffix, write in _writers(*curve()).items():
        pipe, real, link = (tmp_path / f"{name}{suffix}" for name in ("pipe", "real", "link"))
        os.mkfifo(pipe)
        with pytest.raises(ValueError, match="path must be a regular file, or a new one"):
            write(pipe)
        assert stat.S_ISFIFO(pipe.lstat().st_mode)
        real.write_text("old")
        real.chmod(0o600)
        link.symlink_to(real.name)
        write(link)
        assert link.is_symlink() and real.read_bytes() != b"old"
        assert stat.S_IMODE(real.stat().st_mode) == 0o600
        new, ahead = tmp_path / f"new{suffix}", tmp_path / f"ahead{suffix}"
        ahead.symlink_to(new.name)  # of a file that is not there yet
        write(ahead)
        assert ahead.is_symlink() and new.is_file()
    assert not [name for name in os.listdir(tmp_path) if ".part" in name]


@pytest.mark.skipif(os.name != "posix", reason="devices and links are POSIX's")
def test_places_that_cannot_take_a_file(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    for path in (loop, "/dev/null"):
        with pytest.raises(ValueError, match="output must be a regular file"), replacing(path, "output"):
            raise AssertionError
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_a_private_file_is_private_while_it_is_written(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with replacing(path) as beside:
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600
        beside.write_text("new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640 and path.read_text() == "new"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_is_kept(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o400)
    with pytest.raises(ValueError, match="path must be a file that may be written"), replacing(path):
        raise AssertionError
    assert path.read_text() == "old"
