"""The base of all displays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from spkm.inspection._style import pyplot

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
