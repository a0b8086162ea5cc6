"""Public names: they exist, are sorted, documented, and cheap to import."""

import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import spkm

MODULES = sorted(
    name
    for _, name, _ in pkgutil.walk_packages(spkm.__path__, "spkm.")
    if not any(part.startswith("_") for part in name.split("."))
)
HEAVY = ("matplotlib", "pandas", "polars", "rich", "dask", "torch")


def sort_key(name):
    """Return ruff's order of __all__: constants, then classes, then the rest."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@pytest.mark.parametrize("name", ["spkm", *MODULES])
def test_all_is_sorted_and_importable(name):
    module = importlib.import_module(name)
    assert module.__doc__
    if hasattr(module, "__all__"):
        assert list(module.__all__) == sorted(module.__all__, key=sort_key)
        assert len(set(module.__all__)) == len(module.__all__)
        for public in module.__all__:
            assert hasattr(module, public), public
    elif hasattr(module, "__path__"):
        pytest.fail(f"the package {name} has no __all__")


def public_things(module):
    """Yield (name, object) of every public class of ours in a module, its public methods and every public function."""
    for name in dir(module):  # some are there only once they are asked for
        thing = getattr(module, name)
        ours = (getattr(thing, "__module__", None) or "").startswith("spkm")
        if name.startswith("_") or not ours or not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        yield name, thing
        if inspect.isclass(thing):
            for method, member in vars(thing).items():
                if not method.startswith("_") and callable(member):
                    yield f"{name}.{method}", getattr(thing, method)


@pytest.mark.parametrize("name", ["spkm", *MODULES])
def test_everything_public_has_a_docstring_that_begins_with_a_sentence(name):
    things = list(public_things(importlib.import_module(name)))
    # The docstring of a method may be that of its base class.
    first_lines = {public: (inspect.getdoc(thing) or "").strip().split("\n")[0] for public, thing in things}
    assert [public for public, line in first_lines.items() if not line.endswith((".", ":"))] == []


@pytest.mark.parametrize(
    "estimator",
    [spkm.SPKMClassifier, spkm.SPKMClassifierCV, spkm.SPKMNystroem, spkm.SPKMRegressor, spkm.SPKMRegressorCV],
)
def test_every_parameter_of_an_estimator_is_documented(estimator):
    text = inspect.getdoc(estimator)
    for name in estimator().get_params():
        assert name in text


def test_a_misspelt_parameter_is_an_error_of_the_estimator():
    things = [getattr(spkm.estimators, name) for name in spkm.estimators.__all__]
    found = [thing for thing in things if hasattr(thing, "get_params")]
    assert len(found) > 8
    for cls in found:
        wanted = rf"^{cls.__name__}\.__init__\(\) got an unexpected keyword argument 'basi'"
        with pytest.raises(TypeError, match=wanted):
            cls(basi=3)


def test_the_version_has_one_source():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", spkm.__version__)
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/spkm/__init__.py"


def test_every_public_module_is_reachable_after_import():
    names = {name.split(".")[1] for name in MODULES}
    assert set(spkm._MODULES) == names and list(spkm._MODULES) == sorted(names)
    assert (
        run(f"import spkm; print(all(getattr(spkm, name).__name__ == 'spkm.' + name for name in {names!r}))") == "True"
    )
    assert names | set(spkm.__all__) == {name for name in dir(spkm) if not name.startswith("_")}
    assert "__version__" in dir(spkm)


def test_every_public_name_is_reachable_after_import():
    code = "import spkm; print([name for name in spkm.__all__ if getattr(spkm, name).__name__ != name]); "
    code += "from spkm import *; print(SPKMClassifier.__name__, View.__name__)"
    assert run(code).splitlines() == ["[]", "SPKMClassifier View"]


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'spkm' has no attribute 'SPKMTransformer'"):
        _ = spkm.SPKMTransformer


def run(code):
    """Return what a fresh Python prints."""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return result.stdout.strip()


def test_import_brings_nothing_heavy():
    heavy = ("numpy", "scipy", "sklearn", "joblib", "threadpoolctl", "spkm_paper", *HEAVY)
    assert run(f"import sys, spkm; print([name for name in {heavy!r} if name in sys.modules])") == "[]"


def test_estimators_bring_nothing_optional():
    # scikit-learn itself imports pandas and rich where they are installed.
    code = "import sys, sklearn, sklearn.cluster; "
    if importlib.util.find_spec("sklearn.callback"):  # 1.9 and later
        code += "import sklearn.callback; "
    code += "before = set(sys.modules); import spkm.estimators; "
    assert run(code + f"print([name for name in {HEAVY!r} if name in set(sys.modules) - before])") == "[]"


def test_works_where_nothing_optional_is_installed():
    code = f"""
import sys

class NotInstalled:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in {(*HEAVY, "array_api_compat")!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled)
from spkm import SPKMClassifier
for learned in ("auto", True, False):  # bandwidths of features, one of all, none
    model = SPKMClassifier(n_basis=2, learn_bandwidth=learned, weight_penalty="rkhs")
    print(model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[0.0], [3.0]]))
"""
    assert run(code).split("\n") == 3 * ["[0 1]"]
