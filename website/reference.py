"""Pages of the reference: one for every public name of the library, found by itself."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType

import spkm

#: Modules whose names users meet, in this order; all other public modules follow under a heading of their own.
FIRST = (
    "conformal",
    "explain",
    "inspection",
    "kernels",
    "losses",
    "penalties",
    "solvers",
    "theory",
    "persistence",
    "datasets",
    "checking",
)
#: Names of the first two are those of spkm, the third is a command, the fourth serves the first.
LEFT_OUT = {"estimators", "tables", "cli", "fitting"}


def public_names(module: ModuleType) -> list[str]:
    """Return ``__all__`` of a module or, without one, the public classes and functions that it defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(thing) or inspect.isfunction(thing))
        and thing.__module__ == module.__name__
    ]


def write_reference(folder: Path) -> None:
    """Write a page for each public module, which lists its names, and the page that lists the modules."""
    folder.mkdir(parents=True, exist_ok=True)
    core = [f"core.{module.name}" for module in pkgutil.iter_modules(spkm.core.__path__)]
    known = {*FIRST, *LEFT_OUT, "core"}
    others = [*core, *(name for name in spkm._MODULES if name not in known)]
    _module_page(folder, "spkm", "Estimators", spkm)
    for name in (*FIRST, *others):
        _module_page(folder, f"spkm.{name}", f"spkm.{name}", importlib.import_module(f"spkm.{name}"))
    tree = ["spkm", *(f"spkm.{name}" for name in FIRST)]
    inside = [f"spkm.{name}" for name in others]
    (folder / "index.rst").write_text(
        _heading("Reference", "=")
        + "Every public name, with its parameters. The estimators are those of scikit-learn: ``fit``, ``predict``...\n"
        + _toctree(tree, "For users")
        + "\nNames in the modules below are for those who extend the library; they may change in any version.\n"
        + _toctree(inside, "Inside"),
        encoding="utf-8",
    )


def _module_page(folder: Path, name: str, title: str, module: ModuleType) -> None:
    text = _heading(title, "=") + f".. currentmodule:: {name}\n\n"
    summary = (inspect.getdoc(module) or "").split("\n\n")[0].replace("\n", " ")
    text += summary + "\n\n"
    kinds: dict[str, list[str]] = {"Classes": [], "Functions": [], "Constants": []}
    for public in public_names(module):
        thing = getattr(module, public)
        kind = "Classes" if inspect.isclass(thing) else "Functions" if callable(thing) else "Constants"
        kinds[kind].append(public)
    for kind, names in kinds.items():
        if names and kind != "Constants":
            template = "class" if kind == "Classes" else "base"
            lines = "".join(f"   {public}\n" for public in names)
            text += _heading(kind, "-")
            text += f".. autosummary::\n   :toctree: generated\n   :template: {template}.rst\n\n{lines}\n"
        elif names:
            text += _heading(kind, "-") + "".join(f"- ``{public}``\n" for public in names) + "\n"
    (folder / f"{name}.rst").write_text(text, encoding="utf-8")


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n\n"


def _toctree(names: list[str], caption: str) -> str:
    return f"\n{_heading(caption, '-')}.. toctree::\n   :maxdepth: 1\n\n" + "".join(f"   {name}\n" for name in names)
