"""A report as one HTML page: the facts, a template, and scripts that compute and draw in the browser."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from spkm._arrays import FileName
from spkm._atomic import check_place, replacing
from spkm.inspection._report._lean import lean

#: Scripts by subject, in the order of the page; they share one scope.
SCRIPTS = (
    "dom.js",
    "charts.js",
    "shapley.js",
    "machine.js",
    "bars.js",
    "paste.js",
    "change.js",
    "overview.js",
    "axis.js",
    "pairs.js",
    "targets.js",
    "sections.js",
    "edit.js",
    "parts.js",
    "rows.js",
    "explain.js",
    "what-if.js",
    "main.js",
)

FEWEST = 16  # numbers that are written as bytes together

#: Scripts that a page has only if some of these facts are there.
ONLY_WITH = {"bars.js": ("refits",), "axis.js": ("axis",), "pairs.js": ("pairs",), "targets.js": ("order", "survival")}


def to_html(facts: dict[str, Any]) -> str:
    """Return the page of some facts: one file that needs nothing else and makes no request."""
    engine = (files("spkm.persistence") / "_engine.js").read_text(encoding="utf-8")
    absent = [name for name, needed in ONLY_WITH.items() if all(facts[part] is None for part in needed)]
    scripts = [name for name in SCRIPTS if name not in absent]
    return page_of(facts["title"], facts["answer"][0], scripts, embedded(for_page(facts)), lean(engine))


def page_of(title: str, sentence: str, scripts: Sequence[str], facts: str, engine: str = "") -> str:
    """Return a page: its title and first sentence, some of the scripts, facts as JSON, and what computes in it."""
    page = files("spkm.inspection._report") / "page"
    parts = {
        "title": escape(title),
        "sentence": escape(sentence),
        "style": _narrow((page / "style.css").read_text(encoding="utf-8")),
        "engine": engine,
        "scripts": "\n".join(lean((page / name).read_text(encoding="utf-8")) for name in scripts),
        "facts": facts,
    }
    template = (page / "page.html").read_text(encoding="utf-8")
    pieces = []
    for piece in template.split("{{"):  # one pass: what is filled in is not looked through again
        name, mark, rest = piece.partition("}}")
        pieces.append(parts[name] + rest if mark and name in parts else piece)
    return "".join(pieces)


def _narrow(style: str) -> str:
    """Return a style sheet without indentation."""
    return "\n".join(line.strip() for line in style.splitlines() if line.strip())


def check_suffix(path: FileName, kinds: Mapping[str, Any]) -> None:
    """Raise ValueError if no report can be written to a path, or if its suffix is of no known format."""
    if Path(path).suffix.lower() not in kinds:
        raise ValueError(f"path must end with {', '.join(kinds)}; got {Path(path).name!r}.")
    check_place(Path(path))


def write_facts(path: FileName, kinds: Mapping[str, Callable[[dict[str, Any]], str]], facts: dict[str, Any]) -> Path:
    """Write facts in the format of the path's suffix; return the path."""
    path = Path(path)
    with replacing(path) as beside:
        beside.write_text(kinds[path.suffix.lower()](facts), encoding="utf-8", newline="\n")
    return path


def for_page(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts as a page holds them: numbers of the model in half the letters, curves of cards not once more."""
    if facts["rows"] is not None:
        facts = facts | {"rows": facts["rows"] | {"columns": _in_letters(facts["rows"]["columns"])}}
    if facts["page"] is None:
        return facts
    page = facts["page"]
    plain = page["plain"] | {"members": _in_bytes(page["plain"]["members"])}
    del plain["feature_names"]  # those of the features, once more
    read = facts["features"]["read"]
    if isinstance(read, dict) and page["middle"] == read.get("median"):
        page = page | {"middle": None}  # of an axis the usual row is that of medians
    page = page | {"plain": plain, "shapes": _in_bytes(page["shapes"]), "edit": _in_bytes(page["edit"])}
    cards = [card | {"curve": None} for card in facts["basis"]["cards"]]
    return facts | {"page": page, "refits": _in_bytes(facts["refits"]), "basis": facts["basis"] | {"cards": cards}}


def _in_letters(columns: list[list[Any]]) -> dict[str, Any]:
    """Return columns of samples with all codes as bytes together (base 64), one or two a code: none is above 20,001."""
    first, digits, codes = ([column[k] for column in columns] for k in range(3))  # no column: a model that reads none
    widths = [1 if max(own) < 256 else 2 for own in codes]
    raw = b"".join(np.asarray(own, dtype=f"<u{width}").tobytes() for own, width in zip(codes, widths, strict=True))
    return {"first": first, "digits": digits, "widths": widths, "codes": base64.b64encode(raw).decode("ascii")}


def _in_bytes(value: object) -> object:
    """Return nested data with long lists and tables of numbers as the bytes of these, in letters (base 64).

    Lists of one number, again and again, and lists of 0, 1, 2 and so on take less.
    """
    if isinstance(value, dict):
        return {key: _in_bytes(part) for key, part in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) >= FEWEST and type(value[0]) is float and all(entry == value[0] for entry in value):
        return {"same": value[0], "count": len(value)}
    if len(value) >= FEWEST and value == list(range(len(value))):
        return {"below": len(value)}
    rows = value if value and isinstance(value[0], list) else [value]
    if len(rows[0]) * len(rows) < FEWEST or not all(_are_numbers(row, len(rows[0])) for row in rows):
        return [_in_bytes(part) for part in value]
    width = len(rows[0]) if rows is value else 0
    return {"width": width, "bytes": base64.b64encode(np.asarray(rows, dtype="<f8").tobytes()).decode("ascii")}


def _are_numbers(row: object, width: int) -> bool:
    return isinstance(row, list) and len(row) == width and all(type(entry) is float for entry in row)


def embedded(facts: dict[str, Any]) -> str:
    """Return facts as JSON that can stand in a script element: no name in it can end the element."""
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for letter in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
