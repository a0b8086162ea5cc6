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
    modules = {f"spkm.{name}": importlib.import_module(f"spkm.{name}") for name in (*FIRST, *others)}
    for name, module in modules.items():
        _module_page(folder, name, name, module)
    users = {"spkm": spkm, **{name: modules[name] for name in (f"spkm.{first}" for first in FIRST)}}
    inside = {name: module for name, module in modules.items() if name not in users}
    (folder / "index.rst").write_text(
        _heading("Reference", "=")
        + "Every public name, with its parameters. The estimators are those of scikit-learn: ``fit``, ``predict``...\n"
        + _contents(users, "For users")
        + _contents(
            inside, "Inside", "These names are for those who extend the library; they may change in any version."
        ),
        encoding="utf-8",
    )


def _module_page(folder: Path, name: str, title: str, module: ModuleType) -> None:
    text = _heading(title, "=") + f".. currentmodule:: {name}\n\n"
    text += _summary(module) + "\n\n"
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


def _summary(module: ModuleType) -> str:
    """Return the first paragraph of a module's docstring."""
    return (inspect.getdoc(module) or "").split("\n\n")[0].replace("\n", " ")


def _contents(modules: dict[str, ModuleType], caption: str, note: str = "") -> str:
    """Return a table of modules and what each is for, under a heading."""
    tree = "".join(f"   {name}\n" for name in modules)
    rows = "".join(f"   * - :doc:`{name}`\n     - {_summary(module)}\n" for name, module in modules.items())
    return (
        f"\n{_heading(caption, '-')}{note}\n\n.. toctree::\n   :maxdepth: 1\n   :hidden:\n\n{tree}\n"
        f".. list-table::\n   :widths: 25 75\n\n{rows}"
    )
