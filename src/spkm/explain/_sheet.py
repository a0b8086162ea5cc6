"""Text with tables in it: it prints in a terminal, and a notebook shows its tables as such."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from textwrap import wrap

Rows = Sequence[Sequence[str]]  # of a table, the first is its head
CELL = "padding:.15em .8em;text-align:left;border-bottom:1px solid #ccc;vertical-align:top"


class Sheet(str):
    """A string, with the paragraphs and tables that it was made of.

    Attributes
    ----------
    parts : tuple of str and tables
        Paragraphs, and tables as rows of cells, the head first. Lines that begin with a tab are code.
    """

    parts: tuple[str | Rows, ...]

    def __new__(cls, text: str, parts: Sequence[str | Rows] = ()) -> Sheet:
        """Make a sheet of its text and its parts."""
        made = super().__new__(cls, text)
        made.parts = tuple(parts) or (f"\t{text}",)
        return made

    @staticmethod
    def of(parts: Sequence[str | Rows], width: int) -> Sheet:
        """Lay paragraphs and tables out in lines; sentences are wrapped at a width, rows of tables cut off."""
        lines: list[str] = []
        for part in parts:
            if isinstance(part, str):
                lines += wrap(part, width)
            else:
                rows = _aligned(part)
                lines += [""] if lines else []
                lines += [row.rstrip() if len(row) <= width else row[: width - 1] + "…" for row in rows]
        return Sheet("\n".join(lines), parts)

    def __repr__(self) -> str:
        """Return the text itself: what a prompt shows is what print shows."""
        return str(self)

    def _repr_html_(self) -> str:
        """Return the sheet as notebooks show it."""
        return "".join(_table(part) if not isinstance(part, str) else _paragraph(part) for part in self.parts)


def _paragraph(text: str) -> str:
    if text.startswith("\t"):
        return f"<pre>{escape(text[1:])}</pre>"
    lead, mark, rest = text.partition(": ")
    if mark and lead == "Caution":
        return f"<p><strong>{lead}:</strong> {escape(rest)}</p>"
    return f"<p>{escape(text)}</p>"


def _table(rows: Rows) -> str:
    head, *body = ("".join(_cell(cell, "td" if k else "th") for cell in row) for k, row in enumerate(rows))
    below = "".join(f"<tr>{row}</tr>" for row in body)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{below}</tbody></table>"


def _cell(text: str, tag: str) -> str:
    return f'<{tag} style="{CELL}">{escape(text)}</{tag}>'


def _aligned(rows: Rows) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
