"""Public names of the package: they exist, are sorted and documented."""

import importlib
import inspect
import pkgutil
import re

import pytest

import spkm
import spkm_paper

MODULES = sorted(
    name
    for _, name, _ in pkgutil.walk_packages(spkm_paper.__path__, "spkm_paper.")
    if not any(part.startswith("_") for part in name.split("."))
)


@pytest.mark.parametrize("name", ["spkm_paper", *MODULES])
def test_public_names_are_sorted_importable_and_documented(name):
    module = importlib.import_module(name)
    public = list(getattr(module, "__all__", ()))
    assert module.__doc__ and (public or not hasattr(module, "__path__"))
    # Constants, then classes, then the rest, as ruff has it.
    assert public == sorted(set(public), key=lambda n: (0 if n.isupper() else 1 if n[0].isupper() else 2, n))
    for thing in (getattr(module, n) for n in public if name != "spkm_paper"):
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert (inspect.getdoc(thing) or "").strip().split("\n")[0].endswith((".", ":")), thing


def test_the_rooms_are_those_of_the_package():
    assert {name.split(".")[1] for name in MODULES} == {*spkm_paper.__all__, "cli"}


def test_both_packages_have_one_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", spkm_paper.__version__)
    assert spkm_paper.__version__ == spkm.__version__
