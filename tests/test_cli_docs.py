"""The commands of the page about the command, run one after another."""

import csv
import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest

from spkm.cli import VERBS, main
from tests.cli_files import needs_model_files

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "command.md").read_text()


@needs_model_files
def test_the_commands_of_the_page_work(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyarrow")
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    monkeypatch.chdir(tmp_path)
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    assert len(lines) > 5
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "spkm" and main(words) == 0, line
    assert (tmp_path / "predictions.csv").read_text().count("\n") == 501


def test_the_page_tells_of_every_verb():
    assert all(f"`{name}" in PAGE or f"spkm {name}" in PAGE for name in VERBS)


def test_the_bundled_table_is_of_the_kind_its_script_makes():
    made = runpy.run_path(str(ROOT / "examples" / "data" / "make_seedlings.py"))
    with open(ROOT / "examples" / "data" / "seedlings.csv", newline="") as file:
        head, *rows = list(csv.reader(file))
    assert head == list(made["COLUMNS"]) and len(rows) == len(made["seedlings"]()) == 500
    for table in (rows, made["seedlings"]()):  # NumPy may draw other numbers one day
        species, thrives = ({row[head.index(name)] for row in table} for name in ("species", "thrives"))
        assert species == set(made["OPTIMUM"]) and thrives == {"yes", "no"}
        assert any("" in row for row in table)
