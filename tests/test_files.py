"""Functions are short, and docstrings are plain."""

import ast
import re
from pathlib import Path

import pytest

import spkm

ROOT = Path(__file__).parents[1]
SOURCE = Path(spkm.__file__).parent
LONGEST = 60  # lines of a function, without its docstring
MOST_PRIVATE_IMPORTS = 19  # of tests; it may only become less
MOST_REPLACED = 21  # parts that tests replace; it may only become less
#: First words of riddles: a docstring begins with the noun that it describes, or with If or For.
MOST_RIDDLES = 10  # 283 before; it may only become less
PLAIN = ("kernels/", "losses/", "penalties", "selection/", "sources/", "solvers/")
RIDDLES = re.compile(r"(Of|Those|What|Where|Which)\b")


def private_imports(text):
    """Return the lines of a file that import a private module, or a private name of a public one."""
    found = []
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        module = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        of_library = (module or names or [""])[0].split(".")[0] == "spkm"
        if of_library and any(part.startswith("_") for name in (*module, *names) for part in name.split(".")):
            found.append(node.lineno)
    return found


def test_tests_speak_of_public_names():
    """Tests of private names and of replaced parts break when code moves: their number may only fall."""
    replaced = re.compile(r"\b(monkeypatch|patch)\.\w|MonkeyPatch")
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted((ROOT / "tests").rglob("*.py"))}
    del texts["test_files.py"]
    private = {name: lines for name, text in texts.items() if (lines := private_imports(text))}
    assert sum(map(len, private.values())) <= MOST_PRIVATE_IMPORTS, private
    places = [line for text in texts.values() for line in text.splitlines() if replaced.search(line)]
    assert len(places) <= MOST_REPLACED, places


def documented():
    """Yield the file, the node and the docstring (None if there is none) of all modules, classes and functions."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield file.relative_to(SOURCE).as_posix(), node, ast.get_docstring(node)


def lines_of_code(function, lines):
    """Return the number of lines of a function without its docstring, blank lines and comments."""
    first = function.body[0]
    told = range(first.lineno, first.end_lineno + 1) if ast.get_docstring(function) else ()
    own = (n for n in range(function.lineno, function.end_lineno + 1) if n not in told)
    return sum(bool(lines[n - 1].strip()) and not lines[n - 1].strip().startswith("#") for n in own)


@pytest.mark.parametrize("folder", ("src", "paper/src", "benchmarks", "examples", "website"))
def test_no_function_is_long(folder):
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    long = {}
    for file in files:
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name != "__init__":  # parameters of an estimator are many
                length = lines_of_code(node, text.splitlines())
                if length > LONGEST:
                    long[f"{file.relative_to(ROOT)}:{node.name}"] = length
    assert long == {}


def test_docstrings_have_no_riddles():
    lines = [(file, line) for file, _, text in documented() for line in (text or "").splitlines()]
    assert len(lines) > 5000
    found = [(file, line) for file, line in lines if RIDDLES.match(line.strip())]
    assert len(found) <= MOST_RIDDLES, found
    assert [file for file, _ in found if file.startswith(PLAIN)] == []
