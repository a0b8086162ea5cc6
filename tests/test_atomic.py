"""Files are written at once, or not at all."""

import os
import stat

import numpy as np
import pytest

from spkm import SPKMRegressor, write_predictions
from tests.small_data import curve


@pytest.fixture(scope="module")
def model():
    X, y = curve()
    return SPKMRegressor(2, weight_penalty="rkhs", tol=1e-2, random_state=0).fit(X, y)


def written(model, path, meanwhile):
    """Write predictions of two chunks; a function of the file beside is called between them."""

    def chunks():
        X = np.asarray(curve()[0])
        yield X[:20]
        (beside,) = (other for other in path.parent.iterdir() if ".part" in other.name)
        meanwhile(beside)
        yield X[20:]

    return write_predictions(model, chunks, path)


def test_a_file_takes_its_place_at_the_end(model, tmp_path):
    path, seen = tmp_path / "a.csv", []
    path.write_text("old")
    n = written(model, path, lambda beside: seen.append((path.read_text(), beside.suffix)))
    assert seen == [("old", ".csv")]
    assert len(path.read_text().splitlines()) == n + 1 and os.listdir(tmp_path) == ["a.csv"]


def test_after_an_error_there_is_the_old_file_alone(model, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def interrupt(beside):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        written(model, path, interrupt)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_the_mode_is_that_of_other_files(model, tmp_path):
    (tmp_path / "plain").write_text("")
    model.save(tmp_path / "made")
    plain, made = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "made"))
    assert made == plain


def _writers(model):
    X, y = curve()
    return {
        ".spkm": model.save,
        ".json": model.export,
        ".html": lambda path: model.report(path, X, y),
        ".csv": lambda path: write_predictions(model, [np.asarray(X)], path),
    }


def test_every_writer_names_the_place_that_it_cannot_write_to(model, tmp_path):
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    writers = _writers(model)
    for suffix, write in writers.items():
        with pytest.raises(ValueError, match=r"path must be a file in a folder that exists; got '.*nowhere"):
            write(tmp_path / "nowhere" / f"a{suffix}")
    for write in (writers[".spkm"], writers[".csv"]):
        with pytest.raises(ValueError, match=r"path must be a file in a folder that exists; got '.*folder"):
            write(folder)
    assert os.listdir(tmp_path) == ["folder.csv"] and os.listdir(folder) == []


@pytest.mark.skipif(os.name != "posix", reason="pipes and links are POSIX's")
def test_every_writer_keeps_what_is_no_file_and_follows_links(model, tmp_path):
    for suffix, write in _writers(model).items():
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
def test_places_that_cannot_take_a_file(model, tmp_path):
    loop = tmp_path / "loop.spkm"
    loop.symlink_to("loop.spkm")
    for path in (loop, "/dev/null"):
        with pytest.raises(ValueError, match="path must be a regular file"):
            model.save(path)
    assert loop.is_symlink() and stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_a_private_file_is_private_while_it_is_written(model, tmp_path):
    path, modes = tmp_path / "a.csv", []
    path.write_text("old")
    path.chmod(0o640)
    written(model, path, lambda beside: modes.append(stat.S_IMODE(beside.stat().st_mode)))
    assert modes == [0o600]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640 and path.read_text() != "old"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_is_kept(model, tmp_path):
    path = tmp_path / "a.spkm"
    path.write_text("old")
    path.chmod(0o400)
    with pytest.raises(ValueError, match="path must be a file that may be written"):
        model.save(path)
    assert path.read_text() == "old"
