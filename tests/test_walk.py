"""The way of a fit through the files, and the recipes that it may take: as the documentation has them."""

import ast
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import spkm
from spkm import PairwiseSPKMRegressor, SPKMClassifier, SPKMClassifierCV, SPKMRegressor, SPKMRegressorCV
from spkm.kernels import Linear
from spkm.penalties import L1Ball
from tests.small_data import two_classes

ROOT = Path(__file__).parents[1]
SOURCE = Path(spkm.__file__).parent
PAGE = (ROOT / "docs" / "walk.md").read_text(encoding="utf-8")
#: Changes of the file before the first pass over the samples.
SWITCHES = {"SPKMClassifier": 44, "SPKMRegressor": 37}
#: Changes of the file before the first step of a solver. There are 34 and 35 different files, so it cannot be less; the
#: first guess of a classifier's weights is a pass of its own through sources, model and kernels.
SWITCHES_TO_SOLVER = {"SPKMClassifier": 60, "SPKMRegressor": 58}


class Started(BaseException):
    """Ends a fit where its first pass over the samples, or the first step of a solver, would start."""


def entered(estimator, X, y, ends=("minimize", "reduce", "map")):
    """Return the files that a fit enters before one of some functions, one after another."""
    files = []

    def profile(frame, event, argument):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(SOURCE)):
            return
        if code.co_name in ends:
            sys.setprofile(None)
            raise Started
        if "<" not in code.co_name and files[-1:] != [code.co_filename]:
            files.append(code.co_filename)

    estimator.fit(X, y)  # what is done once, such as imports, is done
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        with pytest.raises(Started):
            estimator.fit(X, y)
    finally:
        sys.setprofile(before)
    return [Path(name).relative_to(SOURCE).as_posix() for name in files]


@pytest.mark.parametrize("kind", [SPKMClassifier, SPKMRegressor])
def test_a_plain_fit_changes_files_seldom(kind):
    X, y = two_classes()
    files = entered(kind(n_jobs=1), X, y)
    assert len(files) <= SWITCHES[kind.__name__], "\n".join(files)


@pytest.mark.parametrize("kind", [SPKMClassifier, SPKMRegressor])
def test_the_way_to_the_solver_does_not_become_longer(kind):
    X, y = two_classes()
    files = entered(kind(n_jobs=1), X, y, ends=("minimize",))
    assert "core/model.py" in files and "kernels/_base.py" in files
    assert len(files) <= SWITCHES_TO_SOLVER[kind.__name__], "\n".join(files)


def test_the_walk_of_the_documentation_is_that_of_the_code():
    X, y = two_classes()
    files = entered(SPKMClassifier(n_jobs=1), X, y, ends=("minimize",))
    steps = PAGE[: PAGE.index("From here on")]
    named = list(dict.fromkeys(re.findall(r"`([a-z_/]+\.py)`", steps)))
    assert len(named) > 20
    assert named == [name for name in dict.fromkeys(files) if name in named]
    for name in re.findall(r"`([a-z_/]+\.py|[a-z]+/)`", PAGE):
        assert (SOURCE / name).exists() or (ROOT / name).exists(), name


def test_the_mathematics_is_short():
    files = re.findall(r"`([a-z_/]+\.py)`", PAGE[PAGE.index("For the mathematics") : PAGE.index("; for large data")])
    assert files == ["core/model.py", "core/objective.py", "kernels/_base.py", "losses/_base.py"]
    assert sum(len((SOURCE / name).read_text(encoding="utf-8").splitlines()) for name in files) < 1000


def test_recipes_are_imported_by_their_package_alone():
    inside = {path.stem for path in (SOURCE / "fitting" / "recipes").glob("*.py")} - {"__init__"}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("spkm.fitting.recipes."):
                assert path.parent.name == "recipes" and path.name == "__init__.py", path
    assert {"fixed", "folds", "evidence", "monotone", "pairs", "search"} <= inside


def wide(X):
    """Return more features than there are samples."""
    return np.hstack([X * factor for factor in np.linspace(0.5, 2.0, 3 * len(X))])


def pairs_of(X, y, new="pairs"):
    pairs = np.column_stack([np.arange(len(y)), np.arange(len(y))])
    return PairwiseSPKMRegressor(2, new=new, random_state=0).fit(pairs, y, left=X[:, :1], right=X[:, 1:])


#: Recipe by its row in the table, with a fit that takes it, some parameters added.
WITH = {
    "folds": lambda X, y, more: SPKMClassifier(3, random_state=0, **more).fit(X, y),
    "span": lambda X, y, more: SPKMClassifier(3, random_state=0, **more).fit(wide(X), y),
    "evidence": lambda X, y, more: SPKMRegressor(3, random_state=0, **more).fit(X, y),
    "squared warm-up": lambda X, y, more: SPKMRegressor(3, loss="huber", random_state=0, **more).fit(X, y + X[:, 0]),
    "fixed": lambda X, y, more: SPKMClassifier(2, views={"a": [0], "b": [1]}, random_state=0, **more).fit(X, y),
    "monotone": lambda X, y, more: SPKMClassifier(3, monotone={0: 1}, random_state=0, **more).fit(X, y),
    "search": lambda X, y, more: SPKMClassifier(3, selection="strict", random_state=0, **more).fit(X, y),
}


#: The same without more parameters, and the recipes of fits that have no such parameters.
FITS = {
    **{name: partial(fit, more={}) for name, fit in WITH.items()},
    "pairs": pairs_of,
    "new entities": lambda X, y: pairs_of(X, y, "left"),
    "batches": lambda X, y: SPKMClassifier(3, random_state=0).partial_fit(X, y, classes=[0, 1]),
    "constant": lambda X, y: SPKMRegressor(3, random_state=0).fit(X, 0.0 * y),
}


def table():
    """Return the rows of the documentation's table: by recipe, linear part, bandwidths, bounds and merging."""
    rows = re.findall(r"^\| `([a-z -]+)` \|(.+)\|$", PAGE, flags=re.M)
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}


@pytest.mark.parametrize("name", FITS)
def test_the_table_of_recipes_tells_what_they_do(name, hasty):
    X, y = two_classes()
    model = FITS[name](X, y).model_
    _, bandwidths, linear_part, bounds, strength = table()[name]
    assert model.recipe == name
    assert any(term.is_linear_part for term in model.terms) == linear_part.startswith("yes")
    views = [view for term in model.model.terms if not term.is_linear_part for view in term.views]
    learned = {"one": {"scale"}, "one for each feature": {"relevances"}, "folds choose": {"scale", "relevances"}}
    assert {view.metric for view in views} <= learned[bandwidths]
    assert all(view.bounded for view in views) == bounds.startswith("yes")
    assert (model.strength is not None) == strength.startswith(("three folds choose", "that of `folds`", "tried"))
    assert (model.noise is not None) == strength.startswith(("learned", "from a squared fit"))


@pytest.mark.parametrize("name", WITH)
def test_auto_is_what_the_table_says_and_nothing_else(name, hasty):
    X, y = two_classes()
    fits, bandwidths, linear_part, _, _ = table()[name]
    given = [{"linear_part": linear_part.startswith("yes")}]
    if "nothing given" not in fits:  # else a given bandwidth leads to another recipe
        given.append({"learn_bandwidth": {"one": True, "one for each feature": "columns"}[bandwidths]})
    usual = WITH[name](X, y, {}).model_
    for more in given:
        model = WITH[name](X, y, more).model_
        assert model.recipe == name
        np.testing.assert_array_equal(model.theta, usual.theta, err_msg=str(more))


def test_every_recipe_is_in_the_table():
    assert set(table()) == set(FITS)
    for path in (SOURCE / "fitting" / "recipes").glob("[a-z]*.py"):
        for found in re.findall(r'^    name = "([^"]+)"$', path.read_text(encoding="utf-8"), flags=re.M):
            assert found in FITS


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (SPKMClassifier(3, weight_penalty="rkhs"), "fixed"),
        (SPKMClassifier(3, kernel="linear"), "fixed"),
        (SPKMClassifier(3, basis_penalty=L1Ball(3.0)), "fixed"),
        (SPKMClassifier(3, loss="squared"), "fixed"),
        (SPKMClassifier(3, solver="alternating", max_iter=3), "fixed"),
        (SPKMClassifier(3, loss="squared_hinge"), "folds"),
        (SPKMRegressor(3, weight_penalty="rkhs"), "fixed"),
        (SPKMRegressor(3, kernel=Linear()), "evidence"),
        (SPKMRegressor(3, kernel=Linear(), learn_bandwidth=True), "fixed"),
        (SPKMRegressor(3, loss="poisson"), "fixed"),
        (SPKMRegressor(3, views={"a": [0], "b": [1]}), "evidence"),
        (SPKMRegressor(3, basis="samples"), "evidence, on samples"),
        (SPKMRegressorCV(kernel="linear", cv=2), "search"),
        (SPKMClassifierCV(kernel="linear", cv=2), "search"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_parameter_that_a_recipe_does_not_serve_leads_to_another(estimator, expected, hasty):
    X, y = two_classes()
    assert estimator.set_params(random_state=0).fit(X, y).model_.recipe == expected
