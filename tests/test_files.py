"""Functions are short, and docstrings are plain."""

import ast
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

import spkm

ROOT = Path(__file__).parents[1]
SOURCE = Path(spkm.__file__).parent
LONGEST = 60  # lines of a function, without its docstring
MOST_PRIVATE_IMPORTS = 19  # of tests; it may only become less
MOST_REPLACED = 25  # parts that tests replace; it may only become less
#: Sentences begin with the noun that they describe, or with If or For: not with these words, unless they are questions.
RIDDLES = re.compile(r"(?:^|(?<=[.!?:;] )|(?<=[*]{2} ))(Of|Those|What|Where|Which)\b(?![^.]*[?])(?! if\b)")
#: Code does not speak, and has no eyes.
SPEAKING = re.compile(r"\b(tells?|told|knows?|asks?|sees|looks|said)\b")
#: Most that each kind of text may have, of both together; the numbers may only become less.
MOST_RIDDLES = {"docstrings": 0, "comments": 0, "messages": 0, "pages": 0}


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


@cache
def trees():
    """Return the files of the library with their syntax trees."""
    return [(file, ast.parse(file.read_text(encoding="utf-8"))) for file in sorted(SOURCE.rglob("*.py"))]


def documented():
    """Yield the file, the node and the docstring (None if there is none) of all modules, classes and functions."""
    for file, tree in trees():
        for node in ast.walk(tree):
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
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name != "__init__":  # parameters of an estimator are many
                length = lines_of_code(node, lines)
                if length > LONGEST:
                    long[f"{file.relative_to(ROOT)}:{node.name}"] = length
    assert long == {}


def docstrings():
    """Yield the place and the text of every line of the docstrings."""
    for file, _, text in documented():
        yield from ((file, line) for line in (text or "").splitlines())


def comments():
    """Yield the place and the text of every comment."""
    for file in sorted(SOURCE.rglob("*.py")):
        with tokenize.open(file) as lines:
            found = [token for token in tokenize.generate_tokens(lines.readline) if token.type == tokenize.COMMENT]
        yield from ((f"{file.name}:{token.start[0]}", token.string.lstrip("#: ")) for token in found)


def messages():
    """Yield the place and the text of every string of several words that is no docstring."""
    for file, tree in trees():
        bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
        told = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                if id(node) not in told:
                    yield f"{file.name}:{node.lineno}", node.value


def pages():
    """Yield the place and the text of every line of the pages but headings and code."""
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = re.sub(r"^(```|:::).*?^(```|:::)", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for line in text.splitlines():
            if not line.startswith(("#", "    ")):
                yield page.name, re.sub(r"^[\s>|*0-9.-]*", "", line)


@pytest.mark.parametrize("kind", (docstrings, comments, messages, pages))
def test_sentences_are_no_riddles(kind):
    lines = [(place, line.strip()) for place, line in kind()]
    assert len(lines) > 500
    found = [(place, line[:100]) for place, line in lines if RIDDLES.search(line) or SPEAKING.search(line)]
    assert len(found) <= MOST_RIDDLES[kind.__name__], found
