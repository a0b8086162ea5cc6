"""The base of all displays, and their style: colours that differ for every eye, marks that differ in shape too."""

from __future__ import annotations

from dataclasses import dataclass, fields
from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

import numpy as np

BLUE, ORANGE, GREEN, PURPLE, SKY, INK, GREY = (
    "#0072B2",
    "#D55E00",
    "#007A5A",
    "#A6508A",
    "#3A97CC",
    "#222222",
    "#6E6E6E",
)
PALE = "#E4E4E4"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, INK, SKY)
LINES = ("-", "--", "-.", ":")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*", "<", ">")


def pyplot() -> Any:
    """Return matplotlib's pyplot."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError("Displays need matplotlib: pip install 'spkm[plot]'.") from missing
    return plt


def diverging(pale: bool = False) -> Any:
    """Return the colours of deviations: blue below, white at zero, orange above; pale ones lie behind other marks."""
    from matplotlib.colors import LinearSegmentedColormap

    if pale:
        return LinearSegmentedColormap.from_list("spkm pale", ["#7FB2D6", "#C5DDEC", "white", "#F8DDA8", "#E9A866"])
    return LinearSegmentedColormap.from_list("spkm", ["#00406B", BLUE, "#F7F7F7", "#E69F00", "#A63F00"])


def line_style(k: int) -> dict[str, Any]:
    """Return colour and dashes of the k-th of some lines: twelve differ, neighbours in both."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": LINES[k % len(LINES)]}


def colour_bar(figure: Any, picture: Any, ax: Any, label: str, **place: Any) -> Any:
    """Draw the scale of colours of a picture beside some axes, without a frame."""
    bar = figure.colorbar(picture, ax=ax, **{"fraction": 0.05, "pad": 0.02} | place)
    bar.set_label(folded(label, 0.8 * figure.get_figheight()), fontsize=9)
    bar.outline.set_visible(False)
    return bar


def legend_beside(ax: Any, title: str | None = None) -> None:
    """Write to the right of some axes what is what."""
    ax.legend(frameon=False, fontsize=9, title=title, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def named_rows(ax: Any, names: list[str]) -> np.ndarray:
    """Write names beside the rows of some axes, the first on top; return the places of the rows."""
    places = np.arange(len(names))[::-1]
    ax.set_yticks(places, names)
    ax.tick_params(axis="y", length=0)
    return places


def plain(ax: Any, grid: str | None = None) -> None:
    """Take off the frame at the top and right, and draw a pale grid along an axis behind everything."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if grid is not None:
        ax.grid(axis=grid, color=PALE, linewidth=0.8)


def short(text: Any, most: int = 32) -> str:
    """Return a name in at most so many letters; what mathtext would take for a formula is escaped."""
    text = str(text)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text.replace("$", r"\$")


def folded(text: str, inches: float) -> str:
    """Return text in as many lines as it takes to fit a length."""
    return fill(text, max(12, int(11 * inches)))


def number(value: float, digits: int = 3) -> str:
    """Return a number as people write it: three digits; very small and very large ones as 5.83×10⁻¹⁸."""
    if not np.isfinite(value):
        return "–"
    if value != 0 and not 1e-3 <= abs(value) < 1e5:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}×10{str(int(power)).translate(RAISED)}"
    whole = len(str(int(abs(value))))
    return f"{value:.{max(0, digits - whole)}f}" if abs(value) >= 1 else f"{value:.{digits}g}"


def cell(value: str | float) -> str:
    """Return a value of a table as people write it: a number, or the name of a level."""
    return short(value) if isinstance(value, str) else number(float(value))


def signed(value: float, digits: int = 3) -> str:
    """Return a number with its sign, a true minus among them."""
    return f"{'−' if value < 0 else '+'}{number(abs(value), digits)}"


def text_on(shade: Any) -> str:
    """Return the colour of text on a shade (red, green, blue from 0 to 1): the one of the larger contrast."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shade[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "white" if luminance < 0.19 else INK


def best_columns(count: int, most: int = 10) -> int:
    """Return the number of columns of a grid of ``count`` cells with the fewest empty ones; of several the largest."""
    if count <= 5:
        return count
    options = range(max(3, min(count, most) // 2), min(count, most) + 1)
    return min(options, key=lambda columns: (-count % columns, -columns))


def label_bars(ax: Any, positions: np.ndarray, ends: np.ndarray, texts: list[str], right: np.ndarray) -> None:
    """Write texts beside the ends of horizontal bars: to the right of some, to the left of others."""
    for y, x, text, on_right in zip(positions, ends, texts, right, strict=True):
        ax.annotate(
            text,
            (x, y),
            xytext=(3 if on_right else -3, 0),
            textcoords="offset points",
            va="center",
            ha="left" if on_right else "right",
            fontsize=8,
            color=INK,
        )


if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:
    Axes = Any  # matplotlib is an extra


@dataclass(eq=False, repr=False)
class Display:
    """Numbers that can be drawn: ``frame()`` has them as a table, ``plot()`` draws them.

    Sequences of names are kept as lists.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure of the last drawing.
    """

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            if part.name.endswith(("names", "titles", "labels")) and value is not None:
                setattr(self, part.name, list(value))

    def plot(self, ax: Any = None) -> Self:
        """Draw the numbers.

        Parameters
        ----------
        ax : Axes, default=None
            Axes to draw on, which several panels divide among themselves; if None, those of a new figure.

        Returns
        -------
        self : object
            The display, with ``ax_`` and ``figure_``.
        """
        self._draw(ax)
        return self

    def _draw(self, ax: Any) -> None:
        """Draw on the given axes, or on a new figure."""
        raise NotImplementedError(f"{type(self).__name__} must define _draw(ax).")

    def drawn_on(self, ax: Any, size: tuple[float, float]) -> Any:
        """Return the axes to draw on: those given, or those of a new figure of a size in inches."""
        if ax is None:
            self.figure_, self.ax_ = pyplot().subplots(figsize=size, layout="constrained")
        else:
            self.figure_, self.ax_ = ax.figure, ax
        return self.ax_

    def panels_on(self, ax: Any, rows: int, columns: int, size: tuple[float, float], **ratios: Any) -> np.ndarray:
        """Return a grid of axes, in the place of the given axes or in a figure of their own."""
        if ax is None:
            self.figure_ = pyplot().figure(figsize=size, layout="constrained")
            grid = self.figure_.add_gridspec(rows, columns, **ratios)
        elif ax.get_subplotspec() is None:
            raise ValueError("ax must be made by subplots or a gridspec, as this display divides it; got free axes.")
        else:
            self.figure_ = ax.figure
            ax.set_axis_off()
            grid = ax.get_subplotspec().subgridspec(rows, columns, **ratios)
        return np.array([[self.figure_.add_subplot(grid[i, j]) for j in range(columns)] for i in range(rows)])
