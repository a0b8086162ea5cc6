"""Outputs of the commands in ``docs/command.md`` and ``docs/start.md``: run, compared and, on request, renewed.

A block of commands that is followed by a block of text shows the first lines of what its last command prints.
``python website/outputs.py`` writes those lines again; the tests fail if a word differs, or a number by much.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from spkm.cli import main

ROOT = Path(__file__).parents[1]
PAGES = tuple(ROOT / "docs" / name for name in ("command.md", "start.md"))
BLOCK = re.compile(r"```sh\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
NUMBER = re.compile(r"[+-]?\d[\d,]*\.?\d*")
SERVICE = "spkm serve"  # runs until it is stopped: left out here, and tested on its own


class Shown(NamedTuple):
    """A block of commands: exit codes, the text of the page (None if there is none) and the text that was printed."""

    commands: list[str]
    codes: list[int]
    text: str | None
    printed: str


def run_page(page: str, folder: Path) -> Iterator[Shown]:
    """Run the commands of a page in a folder, one block after another, and yield what they print."""
    shutil.copytree(ROOT / "examples" / "data", folder / "examples" / "data")
    for block in BLOCK.finditer(page):
        lines = block[1].replace("\\\n", "").splitlines()  # a line that ends with a backslash goes on
        commands = [line for line in lines if line.startswith("spkm") and not line.startswith(SERVICE)]
        codes, output = [], io.StringIO()
        for command in commands:
            _, *words = shlex.split(command, comments=True)
            output = io.StringIO()
            with chdir(folder), redirect_stdout(output):
                codes.append(main(words))
        yield Shown(commands, codes, block[2], first_lines(output.getvalue(), block[2]))


def first_lines(printed: str, text: str | None) -> str:
    """Return as many lines as the page shows."""
    return "" if text is None else "".join(printed.splitlines(keepends=True)[: text.count("\n")])


def words_of(text: str) -> list[str]:
    """Return the words of a text, without its numbers and its layout."""
    return NUMBER.sub("#", text).split()


def numbers_of(text: str) -> list[float]:
    """Return the numbers of a text."""
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def renewed(page: str) -> str:
    """Return the page with the outputs of today's code."""
    with tempfile.TemporaryDirectory() as folder:
        found = iter(list(run_page(page, Path(folder))))

    def replaced(block: re.Match[str]) -> str:
        one = next(found)
        return block[0] if one.text is None else block[0].replace(one.text, one.printed)

    return BLOCK.sub(replaced, page)


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    for page in PAGES:
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
