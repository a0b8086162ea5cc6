"""Pictures of the tables in ``benchmarks/results``, for the pages of numbers: ``python -m benchmarks --pages``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._tables import FOLDER, ROOT, Table, parts

IMAGES = ROOT / "docs" / "images" / "numbers"
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#6E6E6E"


@dataclass(frozen=True)
class Dots:
    """A dot for every row of a table that matches, with its bar, beside a line at the figure to reach.

    Parameters
    ----------
    benchmark : str
        Whose table it is.
    rows : str
        Expression that the names of rows match; its first group is the label.
    value : str
        How the name of the column begins that holds values.
    bars : tuple of str
        How the names of the columns begin that hold standard errors (one name) or both ends of bars (two); none if
        empty.
    line : (float, str) or None
        Where the line is, and what it is called.
    label : str
        What the axis is called.
    scale : {"linear", "log", "symlog"}
        Scale of the axis.
    zero : bool
        Whether the axis begins at zero.
    name : str
        What the dots are called.
    beside : (str, str) or None
        How the name of the column begins that holds a second value, drawn as a ring, and what that is called.
    """

    benchmark: str
    rows: str
    value: str
    bars: tuple[str, ...]
    line: tuple[float, str] | None
    label: str
    scale: str = "linear"
    zero: bool = False
    name: str = "spkm"
    beside: tuple[str, str] | None = None

    def points(self, folder: Path) -> list[tuple[str, float, float, float]]:
        """Return label, value and both ends of the bar of every row that matches."""
        found = []
        for table in map(Table.read, parts(self.benchmark, folder)):
            at, *ends = (
                next(k for k, column in enumerate(table.columns) if column.startswith(name))
                for name in (self.value, *self.bars)
            )
            for row in table.rows:
                if (match := re.match(self.rows, row[0])) and (value := _number(row[at])) is not None:
                    bars = [_number(row[k]) or 0.0 for k in ends] or [0.0]
                    low, high = bars if len(bars) == 2 else (value - bars[0], value + bars[0])
                    found.append((match[1], value, low, high))
        return found

    def rings(self, folder: Path) -> dict[str, float]:
        """Return the second values by label."""
        if self.beside is None:
            return {}
        second = replace(self, value=self.beside[0], bars=(), beside=None)
        return {label: value for label, value, *_ in second.points(folder)}


FIGURES = (
    Dots(
        "selection_panel",
        r"[AB], ((?:classes|numbers): .+), minus oracle$",
        "precision",
        (),
        None,
        "precision and recall of the selected features",
        zero=True,
        name="precision",
        beside=("recall", "recall"),
    ),
    Dots(
        "panel",
        r"regression, half \w, (.+): R² minus tuned KRR or SVR",
        "measured",
        ("error",),
        (0.0, "better of tuned kernel ridge and SVR"),
        "R² × 100 minus theirs (beyond 1 a logarithmic axis), with standard error over splits",
        scale="symlog",
    ),
    Dots(
        "out_of_core",
        r"(n = [\d,]+), peak memory",
        "measured",
        (),
        (500.0, "goal"),
        "peak memory of a fit from Parquet files, MB",
        zero=True,
    ),
    Dots(
        "drug_target",
        r"(.+), \d+ vectors: AUC$",
        "measured",
        (),
        None,
        "area under the curve",
        beside=("kernel ridge", "kernel ridge on the product kernel"),
    ),
    Dots(
        "model_files",
        r"kB of .+, (\.\w+)$",
        "measured",
        (),
        None,
        "size of a model of 10 vectors and 30 features, kB",
        zero=True,
    ),
    Dots(
        "fdr", r"(.+): ours$", "measured", ("±",), (0.1, "rate asked for"), "false discovery rate, with standard error"
    ),
    Dots(
        "panel_classes",
        r"(.+): accuracy minus tuned SVC",
        "measured",
        ("error",),
        (0.0, "tuned SVM"),
        "accuracy minus tuned SVM, points, with standard error",
    ),
    Dots("explain", r"(.+), ms a (?:row|sample)$", "measured", (), None, "milliseconds for one sample", scale="log"),
    Dots(
        "coverage",
        r"(.+?): share of 90",
        "measured",
        ("least", "most"),
        (0.9, "asked for"),
        "share of targets in 90 % intervals: mean and range of tables",
    ),
)


def draw_all(folder: Path = FOLDER, images: Path = IMAGES) -> list[str]:
    """Draw the figures whose tables are there; return the names of their files."""
    import matplotlib.pyplot as plt

    images.mkdir(parents=True, exist_ok=True)
    drawn = []
    for figure in FIGURES:
        if not (points := figure.points(folder)):
            continue
        height = 1.2 + (0.3 if len(points) < 15 else 0.22) * len(points)
        shown, ax = plt.subplots(figsize=(7.2, height), layout="constrained")
        draw(ax, figure, points, figure.rings(folder))
        shown.legend(loc="outside upper right", ncols=3, frameon=False)
        shown.savefig(images / f"{figure.benchmark}.png", dpi=110)
        plt.close(shown)
        drawn.append(f"{figure.benchmark}.png")
    return drawn


def draw(ax: Any, figure: Dots, points: list[tuple[str, float, float, float]], rings: dict[str, float]) -> None:
    """Draw dots, bars, rings and the line of a figure."""
    labels, *numbers = zip(*points, strict=True)
    values, low, high = map(np.array, numbers)
    places = np.arange(len(points))[::-1]
    if figure.line is not None:
        ax.axvline(figure.line[0], color=ORANGE, linewidth=1.2, label=figure.line[1])
    ax.errorbar(values, places, xerr=(values - low, high - values), fmt="none", ecolor=GREY)
    is_peer = np.array([label.startswith("shap") for label in labels])
    for which, color, name in ((~is_peer, BLUE, figure.name), (is_peer, ORANGE, "others")):
        if which.any():
            ax.scatter(values[which], places[which], c=color, s=30, zorder=3, label=name)
    if figure.beside is not None:
        second = [rings.get(label, np.nan) for label in labels]
        ax.scatter(second, places, s=80, facecolors="none", edgecolors=ORANGE, linewidths=1.4, label=figure.beside[1])
    ax.set_ylim(-0.6, len(points) - 0.4)
    ax.set_yticks(places, labels)
    ax.set_xlabel(figure.label)
    if figure.scale != "linear":
        ax.set_xscale(figure.scale)
        ax.xaxis.set_major_formatter("{x:g}")
    ax.margins(x=0.06)
    if figure.zero:
        ax.set_xlim(left=0.0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x", color="#E4E4E4")
    ax.set_axisbelow(True)


def _number(text: str) -> float | None:
    found = re.search(r"[-+]?\d*\.?\d+(?:e[-+]?\d+)?", text)
    return float(found[0]) if found else None
