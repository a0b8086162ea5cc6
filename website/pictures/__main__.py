"""``python website/pictures [NAME ...]`` draws the pictures of some pages, or of all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def pictures() -> dict[str, Callable[[], Any]]:
    """Return the functions that draw, by the name of the page."""
    modules = [import_module(f"pictures.{name}") for name in ("_use", "_understand")]
    return {
        name.replace("_not", "-not"): drawn
        for module in modules
        for name, drawn in vars(module).items()
        if getattr(drawn, "__module__", "") == module.__name__ and not name.startswith("_")
    }


def main(names: list[str]) -> None:
    """Draw the pictures of some pages, or of all of them."""
    sys.path[:0] = [str(ROOT / "website"), str(ROOT)]
    os.chdir(ROOT)
    known = pictures()
    for name in names or known:
        figure = known[name]()
        figure.savefig(ROOT / "docs" / "images" / "pages" / f"{name}.png", dpi=100)
        print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
