"""The base of all displays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from spkm.inspection._style import axes_of

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
        self.figure_, self.ax_ = axes_of(ax, size)
        return self.ax_
