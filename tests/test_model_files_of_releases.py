"""Files of every release load in this version, and say what they said."""

import json
from pathlib import Path

import numpy as np
import pytest

from spkm import load
from spkm.persistence import describe
from tests.write_model_files import FOLDER, answer, table_of

FILES = sorted(FOLDER.glob("*/*.spkm"))
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")


def test_there_are_files():
    assert len(FILES) >= 25


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name} {path.stem}" for path in FILES])
def test_files_of_all_releases_load(path: Path):
    known = json.loads(path.with_suffix(".json").read_text())
    estimator = load(path)
    rows = table_of(known)
    if estimator.__class__.__name__.startswith("Pairwise"):
        rows = rows.astype(int)
    # The last digits are those of the machine that wrote them; float32 has seven.
    near = 1e-4 if path.stem == "float32" else 1e-9
    np.testing.assert_allclose(answer(estimator, rows), known["answer"], rtol=near, atol=near)
    assert describe(path)["estimator"] == type(estimator).__name__.removeprefix("Loaded")
    if estimator.__class__.__name__ != "SPKMSelector":
        assert load(path, runtime="numpy").n_features > 0
