"""Pictures of the tables in ``benchmarks/results``, for the pages of numbers: ``python -m benchmarks --pages``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._tables import FOLDER, ROOT, Table, parts

IMAGES = ROOT / "docs" / "images" / "numbers"
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#6E6E6E"


@dataclass(frozen=True)
class Dots:
    """A dot for every row of a table that matches, with its error, beside a line at the figure to reach.

    Parameters
    ----------
    benchmark : str
        Whose table it is.
    rows : str
        Expression that the names of rows match; its first group is the label.
    value, error : str
        How the names of the columns begin that hold values and standard errors; no errors if "".
    line : float
        Where the line is.
    label : str
        What the axis is called.
    log : bool
        Whether the axis is logarithmic.
    """

    benchmark: str
    rows: str
    value: str
    error: str
    line: float | None
    label: str
    log: bool = False

    def points(self, folder: Path) -> list[tuple[str, float, float]]:
        """Return label, value and error of every row that matches."""
        found = []
        for table in map(Table.read, parts(self.benchmark, folder)):
            at = next(k for k, column in enumerate(table.columns) if column.startswith(self.value))
            errors = [k for k, column in enumerate(table.columns) if self.error and column.startswith(self.error)]
            for row in table.rows:
                if (match := re.match(self.rows, row[0])) and (value := _number(row[at])) is not None:
                    error = _number(row[errors[0]]) if errors else None
                    found.append((match[1], value, error or 0.0))
        return found


FIGURES = (
    Dots("fdr", r"(.+): ours$", "measured", "±", 0.1, "false discovery rate, with standard error"),
    Dots(
        "panel_classes", r"(.+): accuracy minus tuned SVC", "measured", "error", 0.0, "accuracy minus tuned SVM, points"
    ),
    Dots("explain", r"(.+), ms a (?:row|sample)$", "measured", "", None, "milliseconds for one sample", log=True),
    Dots("coverage", r"(.+?): share of 90", "measured", "", 0.9, "share of targets inside 90 % intervals"),
)


def draw_all(folder: Path = FOLDER, images: Path = IMAGES) -> list[str]:
    """Draw the figures whose tables are there; return the names of their files."""
    import matplotlib.pyplot as plt

    images.mkdir(parents=True, exist_ok=True)
    drawn = []
    for figure in FIGURES:
        if not (points := figure.points(folder)):
            continue
        labels, values, errors = zip(*points, strict=True)
        shown, ax = plt.subplots(figsize=(7.2, 0.9 + 0.3 * len(points)), layout="constrained")
        places = np.arange(len(points))[::-1]
        if figure.line is not None:
            ax.axvline(figure.line, color=ORANGE, linewidth=1.2)
        peers = [ORANGE if label.startswith("shap") else BLUE for label in labels]
        ax.errorbar(values, places, xerr=errors, fmt="none", ecolor=GREY)
        ax.scatter(values, places, c=peers, s=30, zorder=3)
        ax.set_ylim(-0.6, len(points) - 0.4)
        ax.set_yticks(places, labels)
        ax.set_xlabel(figure.label)
        if figure.log:
            ax.set_xscale("log")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="x", color="#E4E4E4")
        ax.set_axisbelow(True)
        shown.savefig(images / f"{figure.benchmark}.png", dpi=110)
        plt.close(shown)
        drawn.append(f"{figure.benchmark}.png")
    return drawn


def _number(text: str) -> float | None:
    found = re.search(r"[-+]?\d*\.?\d+(?:e[-+]?\d+)?", text)
    return float(found[0]) if found else None
