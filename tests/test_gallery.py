"""Examples of the gallery: `make docs` runs them; here it is seen that each can be, and is short."""

import ast
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "gallery"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))


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
