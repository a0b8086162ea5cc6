"""Files are short, and a reader of a plain fit need not leave them often."""

import re
import sys
from pathlib import Path

import pytest

import spkm
from spkm import SPKMClassifier
from tests.small_data import two_classes

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "paper/src", "paper/tests", "tests", "benchmarks", "examples", "website")
LONGEST = 400  # lines
#: Files that are yet to be split. This list may only become shorter.
WAITING = {}
SWITCHES = 40  # 102 before the estimators were rebuilt


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_file_is_long(folder):
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    lengths = {str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    assert {name: length for name, length in lengths.items() if length > LONGEST and name not in WAITING} == {}


class Started(BaseException):
    """Ends a fit where its solver would start."""


@pytest.fixture(scope="module")
def entered():
    """Return the files that a plain fit enters before its first descent begins, one after another."""
    root, files = Path(spkm.__file__).parent, []

    def profile(frame, event, argument):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(root)):
            return
        if code.co_name in ("choose_strength", "best_of_restarts", "minimize"):
            sys.setprofile(None)
            raise Started
        if "<" not in code.co_name and files[-1:] != [code.co_filename]:
            files.append(code.co_filename)

    X, y = two_classes()
    SPKMClassifier(n_jobs=1).fit(X, y)  # what is done once, such as imports, is done
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        with pytest.raises(Started):
            SPKMClassifier(n_jobs=1).fit(X, y)
    finally:
        sys.setprofile(before)
    return [Path(name).relative_to(root).as_posix() for name in files]


def test_a_plain_fit_enters_few_files_before_the_solver_starts(entered):
    assert len(entered) < SWITCHES, "\n".join(entered)


def test_the_walk_of_the_documentation_is_that_of_the_code(entered):
    text = (ROOT / "docs" / "walk.md").read_text(encoding="utf-8")
    steps = text[: text.index("From here on")]
    named = list(dict.fromkeys(re.findall(r"`([a-z_/]+\.py)`", steps)))
    assert len(named) > 20
    assert named == [name for name in dict.fromkeys(entered) if name in named]
    for name in re.findall(r"`([a-z_/]+\.py|[a-z]+/)`", text):
        assert (Path(spkm.__file__).parent / name).exists() or name.startswith("src/") or (ROOT / name).exists()
