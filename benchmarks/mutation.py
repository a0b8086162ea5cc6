"""Mutation testing of the core: small faults are put into the source, one at a time, and the tests must find them.

A fault changes one operator, comparison, number, truth value or condition. Faults are drawn at random with a fixed
seed, as many from each module as it has places for them; ``--families`` draws from the modules named so alone. Each is
tried in a process of its own, with the tests of that module, those first that reach its line, until one fails. Messages
of errors, annotations and docstrings are left alone.
"""

from __future__ import annotations

import ast
import copy
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._data import Settings
from benchmarks._report import Row, at_least

ROOT = Path(__file__).parents[1]
COUNT = 200
SECONDS = 150  # of processor time, for the tests of one fault; an endless loop is found, too
LONGEST = 3600.0  # by the clock, for tests that wait for something


def _files(folder: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{path.name}" for path in sorted((ROOT / "src/spkm" / folder).glob("*.py")))


#: The modules, and the files of tests that must find their faults, the quickest first. Defaults are tested with all.
MODULES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "kernels": (
        _files("kernels"),
        (
            "test_kernels",
            "test_kernel_forms",
            "test_fast_paths",
            "test_parts",
            "test_array_api",
            "test_model",
            "test_explain",
        ),
    ),
    "losses": (
        ("losses/_base.py", "losses/_classes.py", "losses/_real.py"),
        (
            "test_losses",
            "test_parts",
            "test_array_api",
            "test_profiled",
            "test_labels",
            "test_objective",
        ),
    ),
    "targets": (
        ("losses/_hazard.py", "losses/_ordinal.py"),
        ("test_survival", "test_ordinal"),
    ),
    "penalties": (
        ("penalties.py", "_proxes.py"),
        ("test_penalties", "test_parts", "test_objective"),
    ),
    "model": (
        ("core/model.py",),
        ("test_model", "test_fast_paths", "test_solver_choice", "test_fitted", "test_objective", "test_array_api"),
    ),
    "objective": (
        ("core/objective.py", "core/regularization.py"),
        ("test_objective", "test_solver_choice", "test_profiled"),
    ),
    "recipes": (
        _files("fitting/recipes"),
        (
            "test_recipes",
            "test_strengths",
            "test_walk",
            "test_span",
            "test_sample_basis",
            "test_classifier_defaults",
            "test_regressor_defaults",
            "test_monotone",
            "test_pairwise",
            "test_posterior",
            "test_partial_fit",
        ),
    ),
    "evidence": (
        ("core/evidence.py", "core/posterior.py", "core/profiled.py"),
        ("test_profiled", "test_posterior", "test_objective", "test_parts", "test_evidence_stages"),
    ),
    "starts": (
        ("core/starts.py", "core/nearest.py"),
        ("test_starts", "test_parts", "test_sample_basis", "test_recipes", "test_fit"),
    ),
    "coding": (
        ("core/targets.py", "core/decisions.py"),
        (
            "test_target_units",
            "test_explain_regions",
            "test_labels",
            "test_parts",
            "test_multiclass",
            "test_ordinal",
            "test_survival",
        ),
    ),
    "solvers": (
        _files("solvers"),
        ("test_solvers", "test_solver_choice", "test_descent", "test_algorithm1", "test_paper_algorithm", "test_fit"),
    ),
    "sources": (
        _files("sources"),
        (
            "test_sources",
            "test_source_samples",
            "test_sums",
            "test_scaling",
            "test_pair_table",
            "test_span",
            "test_streams",
            "test_array_api",
            "test_dask",
            "test_starts",
        ),
    ),
    "selection": (
        _files("selection"),
        (
            "test_selection_feature_groups",
            "test_selection_sparse_path",
            "test_selection_validation",
            "test_selection_elimination",
            "test_selection_entering",
            "test_selection_screening",
            "test_selection_one_standard_error",
            "test_selection_search",
            "test_selection_search_budget",
            "test_selection_guides",
            "test_knockoffs",
        ),
    ),
    "conformal": (_files("conformal"), ("test_conformal", "test_conformal_conditional")),
    "theory": (
        _files("theory"),
        ("test_theory_sizes", "test_theory_bounds", "test_theory_conditions", "test_theory_occam"),
    ),
    "encoder": (
        ("tables/encoder.py", "tables/columns.py"),
        ("test_table_encoder", "test_encoded", "test_encoded_files", "test_encoded_chunks"),
    ),
    "explain": (
        _files("explain"),
        (
            "test_explain",
            "test_explain_quadrature",
            "test_explain_conditional",
            "test_explain_effects",
            "test_explain_sobol",
            "test_explain_differential",
            "test_explain_gaps",
            "test_explain_error_bars",
            "test_explain_importance",
            "test_explain_regions",
            "test_explain_edit",
            "test_explain_cautions",
            "test_explain_tables",
            "test_explain_estimators",
            "test_counterfactual",
            "test_prove",
            "test_cca_reading",
        ),
    ),
}
#: Faults that no test can find, or none should: the file, a part of the line, what becomes what, and why.
EXPLAINED: tuple[tuple[str, str, str, str], ...] = (
    ("core/model.py", "cuts[:-1:2]", "1 -> 2", "the cuts are odd in number, so that both slices are the same"),
    ("core/model.py", "last and self.n_outputs == 1", "1 -> 2", "a shorter way to the same gradient, or the long one"),
    ("losses/_classes.py", "rkhs_strength =", "", "a strength that was measured, for fits and not for formulas"),
    ("losses/_base.py", "rkhs_strength =", "", "a strength that was measured, for fits and not for formulas"),
    ("kernels/_forms.py", "np.maximum(v - fold", "", "a guard far below all weight"),
    ("kernels/_forms.py", "np.linspace(-8.0", "", "how finely a quadrature is sought; its error is checked"),
    ("kernels/_forms.py", "np.logspace(", "", "where a quadrature is checked, far beyond what it is for"),
    ("kernels/_base.py", "contract(G", "1 -> 2", "the sum is over the first axis, or over the other one"),
    ("core/model.py", "strict=True", "True", "lists of one length, made in the lines before"),
    ("core/model.py", "frozen=True", "True", "keeps callers from a mistake, and changes no result"),
    ("core/model.py", "key not in block.cache", "", "what is not cached is computed again"),
    ("core/objective.py", "strict=True", "True", "lists of one length, made from the same terms"),
    ("kernels/_forms.py", "frozen=True", "True", "keeps callers from a mistake, and changes no result"),
    ("kernels/_forms.py", "NODES", "", "sizes of quadratures that are tried; their errors are checked"),
    ("kernels/_forms.py", "for bend, right in", "", "how a quadrature is sought; its error is checked"),
    ("kernels/_forms.py", "MIXTURE_ERROR / 10", "10", "how a quadrature is sought; its error is checked"),
    ("kernels/_forms.py", "<= largest_error", "", "how a quadrature is sought; its error is checked"),
    ("kernels/_products.py", "if count == 1", "", "how a product is cut for speed"),
    ("kernels/_products.py", "size % WHOLE", "", "how a product is cut for speed"),
    ("losses/_hazard.py", "zeros = np.concatenate", "0 -> 1", "the event itself comes before every part"),
    ("kernels/_forms.py", "rtol=1e-14", "", "whether two inner products are proportional, up to rounding"),
    ("kernels/_products.py", "SMALL_PRODUCT", "", "how a product is cut for speed"),
    ("kernels/_products.py", "FEWEST_ROWS", "", "how a product is cut for speed"),
    ("kernels/_distance.py", "np.zeros((1, 1))", "1", "of an array of equal numbers the first is read"),
    ("core/model.py", "copy=False", "False", "a copy that nobody changes"),
    ("core/model.py", "last: bool = False", "False", "callers say which call is the last"),
    ("kernels/_dot.py", "np.full((1, 1), number(self)", "1", "of an array of equal numbers the first is read"),
    ("kernels/_base.py", "get_params(deep=False)", "False", "parameters of inner kernels have other names"),
    ("core/objective.py", "factors[0] == 1", "1 -> 2", "a shorter way to the same gradient, or the long one"),
    ("losses/_ordinal.py", "np.diff(new) > 0", "np.diff(new) >", "equal thresholds have an infinite loss"),
    ("losses/_ordinal.py", "weight / weight.sum()", "weight /", "the best thresholds are those of any size of weights"),
    ("_proxes.py", "difference > 0, least", "", "at a root either end may move"),
    ("fitting/recipes/pairs.py", "np.random.default_rng(0)", "0 -> 1", "L-BFGS draws no random numbers"),
    ("fitting/recipes/pairs.py", "tried.value < best.value", "tried.value <", "of two fits of equal value, either"),
    ("fitting/recipes/pairs.py", "loss_of(objective, best) <= limit", "loss_of", "two losses that are never equal"),
    ("fitting/recipes/__init__.py", "SquaredWarmUp(ByEvidence(", "", "of the squared fit only the problem counts"),
    ("fitting/recipes/pairs.py", "LINEAR_ITERATIONS = 30", "", "iterations; one more is as good"),
    ("fitting/recipes/folds.py", "ALONE_ITERATIONS, FIRST_ITERATIONS", "", "iterations, measured; one more is as good"),
    ("core/targets.py", "if not low < high", "low", "a class of one score alone"),
    ("kernels/_forms.py", "root < 1e-4", "root", "two formulas at the one number where either is exact"),
    ("penalties.py", "np.min(A, initial=0.0) < 0", "0.0", "any first value that is not negative"),
    ("kernels/_forms.py", "best = (np.inf, np.empty(0)", "0", "an empty array that is replaced"),
    ("core/starts.py", "residual = root * (sample.Y -", "", "features are centred: a constant has no part in them"),
    ("core/starts.py", "rng.integers(2**31)", "", "any seed will do"),
    ("core/starts.py", "strict=True", "True", "lists of one length, made from the same terms"),
    ("core/nearest.py", "norms > 0, norms, 1.0", "1.0", "a number that the next condition leaves out"),
    ("selection/_first_models.py", "rank[self.certain(fold)] = -1.0", "1.0", "any number below all ranks"),
    ("theory/_sizes.py", "scale, shift, tau, needs_radius = 1.0", "0.0", "every term has a view, which sets it"),
    ("theory/_code.py", "ALIKE = ", "", "which of two codes is taken; either can be read"),
    ("conformal/_conditional.py", "size > RANK * size[0]", "size >", "a singular value exactly at the border"),
    *(
        (f"fitting/recipes/{name}.py", "frozen=True", "True", "keeps callers from a mistake, and changes no result")
        for name in "evidence folds monotone search squared_warmup steps".split()
    ),
)
SWAPS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Fault:
    """One change of the source.

    Attributes
    ----------
    group, path : str
        Where it is; the path is below ``src/spkm``.
    line, first_line, last_line : int
        Of the source: where the fault is, where the statement begins that it is part of, and where the fault ends.
    text, code : str
        What becomes what, and the line of the source.
    source : str
        The whole file with the change.
    """

    group: str
    path: str
    line: int
    first_line: int
    last_line: int
    text: str
    code: str
    source: str

    @property
    def why(self) -> str | None:
        """Why no test should find it; None for all others."""
        known = (
            why
            for path, code, text, why in EXPLAINED
            if (path, code in self.code) == (self.path, True) and self.text.startswith(text)
        )
        return next(known, None)


def run(settings: Settings) -> Iterator[Row]:
    """Yield the share of faults that the tests find, by module, and the faults that they did not."""
    groups = [group for group in MODULES if settings.wants(group)]
    drawn = sample(5 if settings.quick else COUNT, settings.seeds or 0, groups)
    reach = {group: Reach(group) for group in {fault.group: None for fault in drawn}}
    found: dict[str, list[bool]] = {group: [] for group in groups}
    without = []
    for fault in drawn:
        try:
            killed = is_found(fault, reach[fault.group])
        except KeyboardInterrupt:  # what there is until now
            break
        found[fault.group].append(killed)
        without += [] if fault.why else [killed]
        word = "found " if killed else "explained" if fault.why else "MISSED"
        print(f"{word} {fault.path}:{fault.line} {fault.text}", file=sys.stderr, flush=True)
    for group, results in found.items():
        if results:
            yield Row(f"% of {len(results)} faults in {group} that tests find", 100 * float(np.mean(results)))
    every = [one for results in found.values() for one in results]
    yield Row(f"% of all {len(every)} faults", 100 * float(np.mean(every)))
    yield Row(f"% of the {len(without)} that are not explained", 100 * float(np.mean(without)), at_least(90))


def sample(count: int, seed: int, groups: Sequence[str]) -> list[Fault]:
    """Return random faults, as many of each file as it has places for them."""
    places = [
        (group, path, k)
        for group in groups
        for path in MODULES[group][0]
        for k in range(len(Places(ast.parse((ROOT / "src/spkm" / path).read_text())).found))
    ]
    chosen = np.random.default_rng(seed).permutation(len(places))[:count]
    return [fault_at(*places[i]) for i in chosen]


def fault_at(group: str, path: str, k: int) -> Fault:
    """Return the k-th fault of a file."""
    whole = (ROOT / "src/spkm" / path).read_text()
    tree = ast.parse(whole)
    node, part = Places(tree).found[k]
    before = ast.unparse(node)
    line, whole_part = node.lineno, node.test if isinstance(node, ast.If | ast.While) else node
    last_line = whole_part.end_lineno or line
    around = [one.lineno for one in ast.walk(tree) if isinstance(one, ast.stmt) and one.lineno <= line]
    _change(node, part)
    ast.fix_missing_locations(tree)
    after = "not " + before if isinstance(node, ast.If | ast.While | ast.IfExp) else ast.unparse(node)
    if isinstance(node, ast.If | ast.While):
        before, after = (f"if {text}" for text in (ast.unparse(node.test.operand), ast.unparse(node.test)))  # type: ignore[attr-defined]
    return Fault(
        group,
        path,
        line,
        max(around),
        last_line,
        f"{_short(before)} -> {_short(after)}",
        whole.splitlines()[line - 1].strip(),
        ast.unparse(tree),
    )


def _short(text: str) -> str:
    return " ".join(text.split())[:70]


class Places(ast.NodeVisitor):
    """The places of a tree where a fault can be, as pairs of a node and which part of it changes."""

    def __init__(self, tree: ast.AST) -> None:
        self.found: list[tuple[ast.AST, int]] = []
        self.visit(tree)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Messages are no behaviour."""

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Texts are messages."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Annotations are no behaviour."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name == "__repr__":
            return
        for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]:
            self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self.found.append((node, 0))
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self.found.append((node, 0))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        is_type = isinstance(node.op, ast.BitOr) and "None" in ast.unparse(node)
        if type(node.op) in SWAPS and not is_type:
            self.found.append((node, 0))
        self.generic_visit(node)

    visit_AugAssign = visit_BinOp  # type: ignore[assignment]

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.found.append((node, 0))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        self.found += [(node, k) for k, op in enumerate(node.ops) if type(op) in SWAPS]
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub | ast.Not):
            self.found.append((node, 0))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool | int | float):
            self.found.append((node, 0))


def _change(node: ast.AST, part: int) -> None:
    if isinstance(node, ast.If | ast.While):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        node.op = SWAPS[type(node.op)]()
    elif isinstance(node, ast.Compare):
        node.ops[part] = SWAPS[type(node.ops[part])]()
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), copy.deepcopy(node.operand))
    elif isinstance(node, ast.Constant):
        node.value = (not node.value) if isinstance(node.value, bool) else node.value + 1


class Reach:
    """Which tests of a module reach which of its lines, by one run without faults; a plugin of pytest.

    Attributes
    ----------
    lines : dict from str to dict from int to list of str
        The tests that reach a line of a file. Lines that run at import have an empty list.
    seconds : dict from str to float
        How long each test takes.
    """

    def __init__(self, group: str) -> None:
        self.group = group
        self.lines: dict[str, dict[int, list[str]]] = {}
        self.seconds: dict[str, float] = {}
        code, found = _in_fork(ROOT / "src", self._measure)
        if code:
            raise RuntimeError(f"the tests of {group} fail without a fault")
        self.lines, self.seconds = found

    def _measure(self) -> tuple[int, Any]:
        import coverage

        paths, tests = MODULES[self.group]
        files = [str(ROOT / "src/spkm" / path) for path in paths]
        tests = ("test_defaults", *tests)
        self.coverage = coverage.Coverage(data_file=None, include=files)
        self.coverage.start()
        code = _pytest([_file(name) for name in tests], self)
        self.coverage.stop()
        data = self.coverage.get_data()
        self.lines = {
            path: {line: [t for t in tests if t] for line, tests in data.contexts_by_lineno(file).items()}
            for path, file in zip(paths, files, strict=True)
        }
        return code, (self.lines, self.seconds)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Count the lines from here on for this test."""
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Add the time of a test, or of what it needs before or after."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def tests(self, fault: Fault) -> list[str]:
        """Return the tests that reach the line of a fault; those of all lines, if it runs at import."""
        here = self.lines[fault.path]
        found = [here[line] for line in range(fault.first_line, fault.last_line + 1) if line in here]
        at_import = any(not tests for tests in found)
        return sorted(self.seconds if at_import else {test for tests in found for test in tests})


class Order:
    """A plugin of pytest: tests that reach a fault come first, quick files before slow ones."""

    def __init__(self, first: list[str], seconds: dict[str, float]) -> None:
        self.first, self.seconds = set(first), seconds
        self.of_file: dict[str, float] = {}
        for test in first:
            name = test.split("::")[0]
            self.of_file[name] = self.of_file.get(name, 0.0) + seconds[test]

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Sort the tests."""
        items.sort(key=lambda item: (item.nodeid not in self.first, self._place(item.nodeid)))

    def _place(self, test: str) -> tuple[float, str, float]:
        name = test.split("::")[0]
        return self.of_file[name], name, self.seconds.get(test, 0.0)


def is_found(fault: Fault, reach: Reach) -> bool:
    """Whether a test fails, an import does, or the tests take too long, with the fault in place.

    All tests of a file are run of which one reaches the fault: what it makes there, others may share.
    """
    tests = reach.tests(fault)
    order = Order(tests, reach.seconds)
    files = sorted(order.of_file, key=lambda name: order.of_file[name])
    if not files:
        return False
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", Path(folder) / "src")
        (Path(folder) / "src/spkm" / fault.path).write_text(fault.source)
        code, _ = _in_fork(Path(folder) / "src", lambda: (_pytest([str(ROOT / name) for name in files], order), None))
        return code != 0


def _file(name: str) -> str:
    return str(ROOT / "tests" / f"{name}.py")


def _pytest(files: list[str], plugin: object) -> int:
    import pytest

    words = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={ROOT}"]
    return int(pytest.main([*words, *files], plugins=[plugin]))


def _in_fork(source: Path, work: Callable[[], tuple[int, Any]]) -> tuple[int, Any]:
    """Return what a function returns in a fork, with the sources of a folder; what that imports is here already."""
    import resource  # not on Windows, as fork

    import pytest  # noqa: F401

    for name in [name for name in sys.modules if name == "spkm" or name.startswith(("spkm.", "tests."))]:
        del sys.modules[name]
    with tempfile.NamedTemporaryFile() as answer:
        process = os.fork()
        if process == 0:
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
                sys.path.insert(0, str(source))
                silent = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silent, 1)
                os.dup2(silent, 2)
                os.chdir(ROOT)
                code, found = work()
                Path(answer.name).write_bytes(pickle.dumps(found))
            except BaseException:
                code = 1
            os._exit(code)
        return _exit_code(process), pickle.loads(Path(answer.name).read_bytes() or pickle.dumps(None))


def _exit_code(process: int) -> int:
    """Return the exit code of a process, which ends at last after LONGEST seconds."""
    started, done = time.monotonic(), 0
    try:
        while time.monotonic() - started < LONGEST:
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
        return 1
    finally:
        if not done:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
