"""Pictures of the tables in ``benchmarks/results``, for the pages of numbers: ``python -m benchmarks --pages``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._tables import FOLDER, ROOT, Table, parts

IMAGES = ROOT / "docs" / "images" / "numbers"
BLUE, ORANGE, GREY, PALE = "#0072B2", "#D55E00", "#6E6E6E", "#E4E4E4"
COLORS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#B8860B", GREY)  # of lines: apart for the colour-blind, too
MARKERS = "osv^Dx"


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

    def draw(self, folder: Path) -> Any:
        """Return the figure: dots, bars, rings and the line; None where no row matches."""
        import matplotlib.pyplot as plt

        if not (points := self.points(folder)):
            return None
        height = 1.2 + (0.3 if len(points) < 15 else 0.22) * len(points)
        shown, ax = plt.subplots(figsize=(7.2, height), layout="constrained")
        labels, *numbers = zip(*points, strict=True)
        values, low, high = map(np.array, numbers)
        places = np.arange(len(points))[::-1]
        if self.line is not None:
            ax.axvline(self.line[0], color=ORANGE, linewidth=1.2, label=self.line[1])
        ax.errorbar(values, places, xerr=(values - low, high - values), fmt="none", ecolor=GREY)
        is_peer = np.array([label.startswith("shap") for label in labels])
        for which, color, name in ((~is_peer, BLUE, self.name), (is_peer, ORANGE, "others")):
            if which.any():
                ax.scatter(values[which], places[which], c=color, s=30, zorder=3, label=name)
        if self.beside is not None:
            rings = self.rings(folder)
            second = [rings.get(label, np.nan) for label in labels]
            ax.scatter(
                second,
                places,
                s=80,
                facecolors="none",
                edgecolors=ORANGE,
                linewidths=1.4,
                clip_on=False,
                label=self.beside[1],
            )
        ax.set_ylim(-0.6, len(points) - 0.4)
        ax.set_yticks(places, labels)
        ax.set_xlabel(self.label)
        if self.scale != "linear":
            ax.set_xscale(self.scale)
            ax.xaxis.set_major_formatter("{x:g}")
        ax.margins(x=0.06)
        if self.zero:
            ax.set_xlim(left=0.0)
        _plain(ax, "x")
        shown.legend(loc="outside upper right", ncols=3, frameon=False)
        return shown


@dataclass(frozen=True)
class Lines:
    """A line through the columns of every row that matches, one panel for each group of rows.

    Parameters
    ----------
    benchmark : str
        Whose table it is. Its columns after "measured" are named by numbers, where the points are.
    rows : str
        Expression that the names of rows match; its groups are the panel, the label, and where "measured" is.
    label : str
        What the axis of the columns is called.
    """

    benchmark: str
    rows: str
    label: str

    def lines(self, folder: Path) -> dict[str, dict[str, list[tuple[float, float]]]]:
        """Return the points of every row that matches, by panel and label."""
        found: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for table in map(Table.read, parts(self.benchmark, folder)):
            first = table.columns.index("measured")
            for row in table.rows:
                if match := re.match(self.rows, row[0]):
                    places = [match[3], *table.columns[first + 1 :]]
                    read = ((float(place), _number(cell)) for place, cell in zip(places, row[first:], strict=True))
                    points = [(place, value) for place, value in read if value is not None]
                    found.setdefault(match[1], {})[match[2]] = points
        return found

    def draw(self, folder: Path) -> Any:
        """Return the figure; None where no row matches."""
        import matplotlib.pyplot as plt

        if not (panels := self.lines(folder)):
            return None
        size = (4.6 * len(panels), 4.0)
        shown, axes = plt.subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False)
        for ax, (title, lines) in zip(axes[0], panels.items(), strict=True):
            for k, (label, points) in enumerate(lines.items()):
                style = {"lw": 2.6, "zorder": 3} if label == "ours" else {"lw": 1.2}
                ax.plot(*zip(*points, strict=True), color=COLORS[k], marker=MARKERS[k], ms=4, label=label, **style)
            places = sorted({place for points in lines.values() for place, _ in points})
            ax.set_xscale("log")
            ax.set_xticks(places, [f"{place:g}" for place in places])
            ax.minorticks_off()
            ax.set(xlabel=self.label, title=title)
            _plain(ax, "y")
        shown.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
        return shown


FIGURES: tuple[Dots | Lines, ...] = (
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
    Lines("vectors", r"(.+): (.+), (1) vector$", "number of vectors"),
)


def draw_all(folder: Path = FOLDER, images: Path = IMAGES) -> list[str]:
    """Draw the figures whose tables are there; return the names of their files."""
    import matplotlib.pyplot as plt

    images.mkdir(parents=True, exist_ok=True)
    drawn = []
    for figure in FIGURES:
        if (shown := figure.draw(folder)) is None:
            continue
        shown.savefig(images / f"{figure.benchmark}.png", dpi=110)
        plt.close(shown)
        drawn.append(f"{figure.benchmark}.png")
    return drawn


def _plain(ax: Any, axis: str) -> None:
    """Leave out the frame, and draw pale lines behind the points."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=axis, color=PALE)
    ax.set_axisbelow(True)


def _number(text: str) -> float | None:
    found = re.search(r"[-+]?\d*\.?\d+(?:e[-+]?\d+)?", text)
    return float(found[0]) if found else None
