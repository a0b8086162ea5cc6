"""Types: users get real ones, wrong uses are errors, and ``Any`` only becomes rarer."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spkm

ROOT = Path(__file__).parents[1]
SOURCE = Path(spkm.__file__).parent
#: Percent of the parameters of all functions that may have the type Any, or none. It may only become less. The type
#: `object` is not counted: a type checker allows nothing with it before its real type is checked.
MOST_ANY = 12.0
#: Lines with ``# type: ignore`` in the library. It may only become less.
MOST_IGNORED = 30

RIGHT = """
import numpy as np
from scipy import sparse
from spkm import FileTable, PairwiseSPKMClassifier, PairwiseSPKMRegressor, SPKMCCA, SPKMClassifier, SPKMClassifierCV
from spkm import SPKMNystroem, SPKMOrdinalClassifier, SPKMRegressor, SPKMRegressorCV, SPKMSurvival, Term, View
from spkm import PairKFold, SPKMSelector, TableEncoder
from spkm.conformal import ConditionalConformalClassifier, CrossConformalRegressor, SplitConformalClassifier
from spkm.conformal import SplitConformalRegressor
from spkm.kernels import RBF
from spkm.penalties import L1

X, y = np.ones((4, 2)), np.ones(4)
classifier: SPKMClassifier = SPKMClassifier(n_basis="auto", kernel=RBF(0.5), basis_penalty=[L1(0.1)]).fit(X, y)
SPKMClassifier(3, views={"a": [0], "b": slice(1, 2)}, kernel={"a": "rbf", "b": "linear"}, scale="common").fit(X, y, y)
SPKMClassifier(monotone={0: 1}, class_weight="balanced", random_state=np.random.default_rng(0)).fit({"a": X}, [0, 1])
SPKMClassifier().fit(sparse.csr_array(X), y).predict_proba(X).sum()
SPKMClassifier().fit("folder", target="label", checkpoint="file").predict([[1.0, 2.0]]).sum()
SPKMClassifier().fit(FileTable("folder"), "label").partial_fit(X, y, [0, 1])
SPKMRegressor(terms=[Term(2, (View("rbf"),))], learn_bandwidth="columns").fit(lambda: iter([(X, y)]))
mean, deviation = SPKMRegressor(20, basis="samples").fit(X, y).predict(X, return_std=True)
SPKMRegressor().fit(X, y).predict(X).mean()
SPKMRegressorCV(cv=3).fit(X, y, groups=[0, 1, 0, 1])
PairwiseSPKMRegressor(left_kernel=["rbf", "linear"]).fit([[0, 1]], [1.0], left=X, right=X).predict([[0, 0]])
SPKMNystroem(kernel="rbf").fit(X, y).transform(X).sum()
PairwiseSPKMClassifier(2, right_kernel=RBF(0.5)).fit([[0, 1]], [1], left=X, right=X).predict_proba([[0, 0]])
SPKMClassifierCV(kernel=["rbf", "linear"], cv=3).fit(X, y, y).predict_proba(X).sum()
ordinal: SPKMOrdinalClassifier = SPKMOrdinalClassifier(order=["low", "high"], views={"a": [0]}).fit(X, ["low", "high"])
ordinal.predict_proba(X).sum(), ordinal.latent_score(X).mean()
survival: SPKMSurvival = SPKMSurvival(3, monotone={0: 1}, linear_part=False).fit(X, y, y, features=["a"])
survival.predict_survival_function(X, times=[0.5]).mean()
cca: SPKMCCA = SPKMCCA(1, random_state=0).fit(X, X)
cca.correlations(X, X), cca.transform(X).sum()
split: SplitConformalRegressor = SplitConformalRegressor(SPKMRegressor(), confidence_level=[0.8, 0.9], prefit=False)
low_and_high = split.fit(X, y).conformalize(X, y).predict_interval(X)[1].min(axis=1)
CrossConformalRegressor(method="minmax", cv=[([0, 1], [2, 3])]).fit_conformalize(X, y).guaranteed_coverage_.min()
SplitConformalClassifier(classifier, conformity_score="aps").conformalize(X, y).predict_set(X)[1].sum()
ConditionalConformalClassifier(classifier, features=lambda X: X, random_state=0).conformalize(X, y).predict_cutoff(X)
SPKMSelector(classifier, fdr=0.1, knockoff_offset=0).fit(X, y).get_support().sum()
TableEncoder(categorical=["a", 1], min_frequency=3, sparse="auto").fit(X).column_groups()
[train.sum() for train, test in PairKFold(new="left", n_splits=2).split(X)]
"""
#: A wrong use, and what mypy says of it.
WRONG = {
    "SPKMClassifier().fit([[1.0]], [1], chekpoint=3)": 'Unexpected keyword argument "chekpoint"',
    "SPKMRegressor().fit([[1.0]], [1], sample_wieght=[1.0])": 'Unexpected keyword argument "sample_wieght"',
    "SPKMClassifier(n_basis='many')": 'Argument "n_basis" to "SPKMClassifier" has incompatible type',
    "SPKMClassifier(n_bases=3)": 'Unexpected keyword argument "n_bases"',
    "SPKMRegressor(basis='sample')": 'Argument "basis" to "SPKMRegressor" has incompatible type',
    "SPKMClassifier(multi_class='all')": 'Argument "multi_class" to "SPKMClassifier" has incompatible type',
    "SPKMClassifier(selection='lasso')": 'Argument "selection" to "SPKMClassifier" has incompatible type',
    "SPKMRegressor(kernel=3.0)": 'Argument "kernel" to "SPKMRegressor" has incompatible type',
    "SPKMRegressor().fit([[1.0]], target=7)": 'Argument "target" to "fit" of "FitsTables" has incompatible type',
    "PairwiseSPKMRegressor().fit([[0, 1]], [1.0], lefd=[[1.0]])": 'Unexpected keyword argument "lefd"',
    "SPKMClassifier().predict()": 'Missing positional argument "X" in call to "predict"',
    "SPKMClassifier().partial_fit([[1.0]], [1], clases=[0, 1])": 'Unexpected keyword argument "clases"',
    "SPKMSurvival(n_basis='many')": 'Argument "n_basis" to "SPKMSurvival" has incompatible type',
    "SPKMSurvival().fit([[1.0]], [1], sample_wieght=[1.0])": 'Unexpected keyword argument "sample_wieght"',
    "SPKMSurvival(basis_bounds='box')": 'Argument "basis_bounds" to "SPKMSurvival" has incompatible type',
    "SPKMOrdinalClassifier(kernel=3.0)": 'Argument "kernel" to "SPKMOrdinalClassifier" has incompatible type',
    "SPKMOrdinalClassifier(order=3)": 'Argument "order" to "SPKMOrdinalClassifier" has incompatible type',
    "SPKMOrdinalClassifier().fit([[1.0]], [1], weights='w')": 'Unexpected keyword argument "weights"',
    "SPKMCCA(n_component=3)": 'Unexpected keyword argument "n_component"',
    "SPKMCCA().fit([[1.0]], [[1.0]], sample_weight=[1.0])": 'Unexpected keyword argument "sample_weight"',
    "SPKMClassifierCV(cv=2).fit([[1.0]], [1], group=[0])": 'Unexpected keyword argument "group"',
    "SPKMRegressorCV(n_basis=3.5)": 'Argument "n_basis" to "SPKMRegressorCV" has incompatible type',
    "SPKMSurvival(ties='effron')": 'Argument "ties" to "SPKMSurvival" has incompatible type',
    "SPKMCCA(radius='wide')": 'Argument "radius" to "SPKMCCA" has incompatible type',
    "PairwiseSPKMRegressor(new='rows')": 'Argument "new" to "PairwiseSPKMRegressor" has incompatible type',
    "SPKMSelector(knockoff_offset=2)": 'Argument "knockoff_offset" to "SPKMSelector" has incompatible type',
    "TableEncoder(sparse='yes')": 'Argument "sparse" to "TableEncoder" has incompatible type',
    "SplitConformalRegressor(conformity_score='lac')": 'Argument "conformity_score" to "SplitConformalRegressor" has',
    "SplitConformalRegressor(confidence=0.9)": 'Unexpected keyword argument "confidence"',
    "CrossConformalRegressor(method='jackknife')": 'Argument "method" to "CrossConformalRegressor" has incompatible',
    "CrossConformalRegressor().fit_conformalize([[1.0]], [1], group=[0])": 'Unexpected keyword argument "group"',
    "PairwiseSPKMClassifier(left_kernel=2)": 'Argument "left_kernel" to "PairwiseSPKMClassifier" has incompatible type',
}
NAMES = (
    "SPKMClassifier",
    "SPKMRegressor",
    "SPKMClassifierCV",
    "SPKMRegressorCV",
    "PairwiseSPKMClassifier",
    "SPKMOrdinalClassifier",
    "SPKMSurvival",
    "SPKMCCA",
    "SPKMNystroem",
    "SPKMSelector",
    "TableEncoder",
    "SplitConformalRegressor",
)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Return what mypy says of right uses, of types revealed, and of wrong uses, a line each.

    A second where `make lint` has filled mypy's cache; half a minute without a cache.
    """
    pytest.importorskip("mypy")
    imports = f"from spkm import {', '.join(NAMES[:-1])}, PairwiseSPKMRegressor\n"
    imports += "from spkm.conformal import CrossConformalRegressor, SplitConformalRegressor\n"
    revealed = "".join(f"reveal_type({name}().fit)\n" for name in NAMES)
    texts = {"right": RIGHT, "revealed": imports + revealed, "wrong": imports + "\n".join(WRONG) + "\n"}
    folder = tmp_path_factory.mktemp("uses")
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    files = [str(folder / f"{name}.py") for name in texts]
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary"]
    result = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    return {name: [line for line in lines if f"{name}.py:" in line] for name in texts}


def test_right_uses_are_right(told):
    assert told["right"] == []


def test_wrong_uses_are_errors(told):
    errors = [line for line in told["wrong"] if ": error:" in line]
    places = [int(re.search(r"\.py:(\d+):", line).group(1)) - 3 for line in errors]
    for i, (use, message) in enumerate(WRONG.items()):
        assert any(place == i and message in line for place, line in zip(places, errors, strict=True)), (use, errors)


def test_the_type_of_fit_is_not_any(told):
    types = [line for line in told["revealed"] if "Revealed type" in line]
    assert len(types) == len(NAMES)
    for name, line in zip(NAMES, types, strict=True):
        assert 'is "def (' in line and f".{name}" in line.rpartition("->")[2], line


def parameters():
    """Yield the annotation of every parameter of the library, but for self and cls; fields by keyword are some."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and "kw_only=True" in "".join(map(ast.unparse, node.decorator_list)):
                yield from (part.annotation for part in node.body if isinstance(part, ast.AnnAssign))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args
                every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
                yield from (one.annotation for one in every if one is not None and one.arg not in ("self", "cls"))


def test_any_becomes_rarer():
    found = [annotation is None or ast.unparse(annotation) == "Any" for annotation in parameters()]
    assert len(found) > 3000
    assert 100 * sum(found) / len(found) <= MOST_ANY


def test_ignored_types_become_rarer():
    lines = [line for file in SOURCE.rglob("*.py") for line in file.read_text(encoding="utf-8").splitlines()]
    assert sum("# type: ignore" in line for line in lines) <= MOST_IGNORED


def test_no_alias_stands_for_any():
    aliases = re.compile(r"^\w+(: TypeAlias)? = (Any|object)\b")
    files = SOURCE.rglob("*.py")
    found = [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if aliases.match(line)]
    assert found == []
