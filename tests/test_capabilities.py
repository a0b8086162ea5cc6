"""No code asks a kernel, a loss or a penalty for its type: parts say by attributes and methods what they can do."""

import ast
from pathlib import Path

import pytest

import spkm
from spkm import kernels, losses, penalties

ROOT = Path(spkm.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
#: Questions whether an object has an attribute. It may only become less.
MOST_QUESTIONS = 47
ABSTRACT = {"Kernel", "Loss", "Penalty", "Start", "Solver"}


def concrete_parts():
    """Return all kernels, losses and penalties of the library by name, with the file that defines each."""
    bases = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = (path, set().union(*(names_in(base, {}) for base in node.bases)))
    found, before = {"Kernel", "Loss", "Penalty"}, set()
    while found != before:
        before = set(found)
        found |= {name for name, (_, parents) in bases.items() if parents & found}
    return {name: bases[name][0] for name in found - ABSTRACT}


def names_in(node, renamed):
    """Return the names of classes in an expression: plain, of a module, or joined by a tuple or |."""
    names = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            names.add(renamed.get(part.id, part.id))
        elif isinstance(part, ast.Attribute):
            names.add(part.attr)
    return names


def is_call_of(node, *functions):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions


def is_type_of(node):
    """Whether an expression is ``type(x)`` or ``x.__class__``, or the name of one."""
    return is_call_of(node, "type") or (
        isinstance(node, ast.Attribute)
        and (node.attr == "__class__" or (node.attr in ("__name__", "__qualname__") and is_type_of(node.value)))
    )


def type_questions(source, parts):
    """Return (line, names) of every question for the type of one of the parts."""
    tree = ast.parse(source)
    renamed = {
        alias.asname: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    asked = []
    for node in ast.walk(tree):
        if is_call_of(node, "isinstance", "issubclass") and len(node.args) == 2:
            names = names_in(node.args[1], renamed)
        elif isinstance(node, ast.Compare) and any(is_type_of(side) for side in (node.left, *node.comparators)):
            sides = (node.left, *node.comparators)
            names = set().union(*(names_in(side, renamed) for side in sides if not is_type_of(side)))
            names |= {c.value for side in sides for c in ast.walk(side) if isinstance(c, ast.Constant)}
        elif isinstance(node, ast.MatchClass):
            names = names_in(node.cls, renamed)
        else:
            continue
        if names & set(parts):
            asked.append((node.lineno if hasattr(node, "lineno") else node.cls.lineno, sorted(names & set(parts))))
    return asked


PARTS = concrete_parts()


def test_the_parts_of_the_library_are_known():
    assert {"RBF", "Linear", "DotKernel", "Affine", "Rescaled", "Squared", "Log", "SumLoss"} <= set(PARTS)
    assert {"SquaredL2", "RKHSNorm", "Evidence", "GroupL2"} <= set(PARTS)
    assert not ABSTRACT & set(PARTS)
    for registry in (kernels.KERNELS, losses.LOSSES, penalties.BASIS_PENALTIES, penalties.WEIGHT_PENALTIES):
        assert {kind.__name__ for kind in registry.values()} <= set(PARTS)


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_no_file_asks_for_the_type_of_a_part_that_it_does_not_define(path):
    elsewhere = {name for name, defined_in in PARTS.items() if defined_in != path}
    asked = type_questions(path.read_text(encoding="utf-8"), elsewhere)
    assert not asked, f"{path.name}: ask for what a part can do, not for its type: {asked}"


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(kernel, RBF)",
        "isinstance(kernel, kernels.RBF)",
        "isinstance(kernel, (Other, RBF))",
        "isinstance(kernel, Other | RBF)",
        "issubclass(kind, RBF)",
        "type(kernel) is RBF",
        "RBF is not type(kernel)",
        "type(kernel) == RBF",
        "type(kernel) in (Other, RBF)",
        "kernel.__class__ is RBF",
        "type(kernel).__name__ == 'RBF'",
        "from spkm.kernels import RBF as Gauss; isinstance(kernel, Gauss)",
        "match kernel:\n    case RBF():\n        pass",
    ],
)
def test_questions_are_found(line):
    assert [names for _, names in type_questions(line, {"RBF"})] == [["RBF"]]


@pytest.mark.parametrize(
    "line", ["isinstance(kernel, Kernel)", "RBF(0.3)", "type(kernel)(0.3)", "type(a) is type(b)", "a.kernel is b"]
)
def test_other_lines_are_no_questions(line):
    assert type_questions(line, {"RBF"}) == []


def attribute_questions():
    """Yield the file and the line of each ``hasattr``, and of each ``getattr`` with a default, and its text."""
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if is_call_of(node, "hasattr") or (is_call_of(node, "getattr") and len(node.args) == 3):
                lines = text.splitlines()[max(node.lineno - 2, 0) : node.end_lineno]
                yield f"{path.relative_to(ROOT)}:{node.lineno}", lines


def test_attributes_are_seldom_asked_for():
    """Parts and estimators have attributes with defaults; what is left are objects of users and of other libraries."""
    asked = dict(attribute_questions())
    assert 0 < len(asked) <= MOST_QUESTIONS
    assert [place for place, lines in asked.items() if not any("#" in line for line in lines)] == [], "give the reason"
