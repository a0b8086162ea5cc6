"""The commands of the page about the command, run one after another."""

import csv
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from spkm import SPKMClassifier, TableEncoder
from spkm.cli import VERBS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "command.md").read_text()


def test_the_commands_of_the_pages_print_what_they_show(tmp_path):
    pytest.importorskip("pyarrow")
    outputs = runpy.run_path(str(ROOT / "website" / "outputs.py"))
    words, numbers = outputs["words_of"], outputs["numbers_of"]
    shown = 0
    for page in outputs["PAGES"]:
        for block in outputs["run_page"](page.read_text(encoding="utf-8"), tmp_path / page.stem):
            assert not any(block.codes), block.commands
            if block.text is not None:
                shown += 1
                told = f"{page.name} is stale: run `python website/outputs.py`"
                assert words(block.printed) == words(block.text), told
                # The kernels of OpenBLAS for five CPUs print the same; one held-out sample in 200 may change sides.
                np.testing.assert_allclose(
                    numbers(block.printed), numbers(block.text), rtol=0.01, atol=0.006, err_msg=told
                )
    assert shown == 4
    assert (tmp_path / "command" / "predictions.csv").read_text().count("\n") == 1001


def test_the_page_tells_of_every_verb():
    assert all(f"`{name}" in PAGE or f"spkm {name}" in PAGE for name in VERBS)


@pytest.mark.parametrize(("name", "count", "category"), [("seedlings", 500, "species"), ("espresso", 1000, "roast")])
def test_a_bundled_table_is_of_the_kind_its_script_makes(name, count, category):
    made = runpy.run_path(str(ROOT / "examples" / "data" / f"make_{name}.py"))
    with open(ROOT / "examples" / "data" / f"{name}.csv", newline="") as file:
        head, *rows = list(csv.reader(file))
    assert head == list(made["COLUMNS"]) and len(rows) == len(made["made"]()) == count
    for table in (rows, made["made"]()):  # NumPy may draw other numbers one day
        levels, target = ({row[place] for row in table} for place in (head.index(category), -1))
        assert levels - {""} == set(made["OPTIMUM"]) and target == {"yes", "no"}
        assert any("" in row for row in table)


def test_the_model_of_the_demo_can_be_read():
    table = pd.read_csv(ROOT / "examples" / "data" / "espresso.csv")
    X, y = table[["roast", "water_c", "seconds", "dose_g"]], table["liked"]
    model = make_pipeline(TableEncoder(), SPKMClassifier(n_basis=3, random_state=0)).fit(X[:800], y[:800])
    assert model[-1].cancellation_ < 3
    assert (np.ravel(model[-1].dual_coef_) > 0).all()  # each is a cup that is liked
    assert model.score(X[800:], y[800:]) > 0.85
