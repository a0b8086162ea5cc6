"""Figures: panels for the displays of spkm.inspection, a legend for all of them, and files."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.hashsalt": "spkm",  # the same figure gives the same file
}


class PlotExtraMissing(ImportError):
    """Matplotlib is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "figures need matplotlib: install the extra 'plot' (pip install 'spkm[plot]'), or leave them out with "
            "--no-figures."
        )


def require_matplotlib() -> None:
    """Raise an error that names the extra, unless matplotlib is there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise PlotExtraMissing from error


def panels(n: int, columns: int = 4, width: float = 2.9, height: float = 2.6, **kwargs: Any) -> tuple[Any, list[Any]]:
    """Return a figure and n axes in rows of at most so many columns; sizes in inches, of one panel."""
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    columns = min(n, columns)
    rows = -(-n // columns)
    # Not by pyplot, which keeps every figure and has a window system in mind.
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **kwargs).ravel().tolist()
    for extra in axes[n:]:
        extra.remove()
    return figure, axes[:n]


def legend_below(figure: Any, axes: Iterable[Any]) -> None:
    """Give a figure one legend for all panels, under them, where it hides nothing."""
    entries: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    inches = 0.6 + 0.08 * max(map(len, entries))  # of an entry
    columns = max(1, min(len(entries), int(figure.get_figwidth() / inches)))
    figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=columns, frameon=False)


def files(figure: Any) -> dict[str, bytes]:
    """Return a figure as PNG and SVG, without dates, so that equal figures are equal files."""
    import matplotlib

    found = {}
    options: dict[str, Any] = {"png": {"dpi": 150}, "svg": {"metadata": {"Date": None}}}
    for kind, more in options.items():
        stream = io.BytesIO()
        with matplotlib.rc_context(STYLE):
            figure.savefig(stream, format=kind, **more)
        found[kind] = stream.getvalue()
    return found
