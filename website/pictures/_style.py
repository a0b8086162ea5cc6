"""Colours and small helps that all pictures share."""

from __future__ import annotations

import doctest
import warnings
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

ROOT = Path(__file__).parents[2]
BLUE, ORANGE, GREEN, GREY, PALE = "#0072B2", "#D55E00", "#009E73", "0.45", "#EAF1F7"
plt.rcParams.update({"font.size": 10, "axes.titlesize": 10.5, "axes.titlelocation": "left"})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})


def run_page(name: str, until: str | None = None) -> dict[str, Any]:
    """Return the names that the examples of a page define; ``until`` is the first line that is not run any more."""
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for example in doctest.DocTestParser().get_examples(text, name):
            if until is not None and example.source.startswith(until):
                break
            exec(compile(example.source, name, "exec"), found)
    return found


def boxes(ax: Any, texts: list[tuple[float, float, str]], arrows: list[tuple[int, int]], width: float = 1.7) -> None:
    """Draw boxes with texts, centred at points, and arrows between some of them."""
    height = 0.62
    for x, y, text in texts:
        edge = BLUE if "\n" in text else GREY
        corner = (x - width / 2, y - height / 2)
        ax.add_patch(FancyBboxPatch(corner, width, height, boxstyle="round,pad=0.06", fc=PALE, ec=edge, lw=1.2))
        ax.text(x, y, text, ha="center", va="center", fontsize=9)
    for a, b in arrows:
        (x0, y0, _), (x1, y1, _) = texts[a], texts[b]
        level = abs(y1 - y0) < 0.3
        start = (x0 + width / 2 + 0.08, y0) if level else (x0, y0 - height / 2 - 0.08)
        end = (x1 - width / 2 - 0.08, y1) if level else (x1, y1 + height / 2 + 0.08)
        if level and x1 < x0:
            start, end = (x0 - width / 2 - 0.08, y0), (x1 + width / 2 + 0.08, y1)
        ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": GREY, "shrinkA": 0, "shrinkB": 0})
    ax.set_axis_off()
    xs, ys = [x for x, _, _ in texts], [y for _, y, _ in texts]
    ax.set(xlim=(min(xs) - width / 2 - 0.2, max(xs) + width / 2 + 0.2), ylim=(min(ys) - 0.55, max(ys) + 0.55))
