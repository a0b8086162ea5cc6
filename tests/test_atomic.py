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
