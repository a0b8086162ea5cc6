"""What a report consists of: tables and figures."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Parameters
    ----------
    title : str
        What it shows.
    columns : sequence of str
        Heads of the columns; the first column holds names, the others numbers.
    rows : sequence of sequences of str
        Entries.
    notes : sequence of str
        What a reader must know of the numbers.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        """Return the table with its title and notes as Markdown."""
        lines = [
            f"### {self.title}",
            "",
            _line(self.columns),
            _line(["---", *["---:"] * (len(self.columns) - 1)]),
            *(_line(row) for row in self.rows),
            "",
            *(f"- {note}" for note in self.notes),
        ]
        return "\n".join(lines).rstrip() + "\n"

    def html(self) -> str:
        """Return the same as HTML."""
        head = "".join(f"<th>{html.escape(column)}</th>" for column in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>\n" for row in self.rows
        )
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        title = f"<h3>{html.escape(self.title)}</h3>"
        table = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>'
        return f"{title}\n{table}\n" + (f'<ul class="notes">{notes}</ul>\n' if notes else "")


@dataclass(frozen=True)
class Figure:
    """A figure, drawn when it is wanted.

    Parameters
    ----------
    name : str
        Name of its files.
    caption : str
        What it shows.
    draw : callable
        Takes no argument; returns a figure of matplotlib.
    """

    name: str
    caption: str
    draw: Callable[[], Any]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
