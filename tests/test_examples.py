"""Examples: those of the gallery can be run, as `make docs` does, and are short; the demo needs what users install."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "gallery"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))
DEMO = FOLDER.parent / "demo.py"
NOT_FOR_USERS = ("hypothesis", "mypy", "pandas", "polars", "pyarrow", "pytest", "rich", "spkm_paper")


def test_there_are_examples():
    assert len(EXAMPLES) >= 15


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_has_a_title_and_ends_with_a_picture(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    title, line, *_, story = (ast.get_docstring(tree) or "").split("\n")
    assert line == "=" * len(title) and story
    assert len(text.splitlines()) < 80
    assert text.rstrip().endswith("plt.show()")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_names_that_an_example_imports_of_ours_exist(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "spkm":
            module = __import__(node.module, fromlist=["_"])
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def test_the_demo_needs_the_extra_plot_only():
    code = f"""
import runpy, sys

class NotInstalled:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in {NOT_FOR_USERS!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled)
demo = runpy.run_path({str(DEMO)!r}, run_name="demo")
for rows in ("breast_cancer", "digits", "diabetes", "moons", "few_of_many"):
    X, y = demo[rows]()
    assert len(X) == len(y)
demo["write_out_breast_cancer"]()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "f(x) = " in done.stdout and "u2" in done.stdout
