"""A report as one HTML page: the facts, a template, and scripts that compute and draw in the browser."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any

#: Scripts by subject, in the order of the page; they share one scope.
SCRIPTS = (
    "dom.js",
    "charts.js",
    "shapley.js",
    "machine.js",
    "paste.js",
    "change.js",
    "sections.js",
    "parts.js",
    "rows.js",
    "explain.js",
    "what-if.js",
    "main.js",
)


def to_html(facts: dict[str, Any]) -> str:
    """Return the page of some facts: one file that needs nothing else and asks for nothing."""
    page = files("spkm.inspection._report") / "page"
    engine = (files("spkm.persistence") / "_engine.js").read_text(encoding="utf-8")
    parts = {
        "title": escape(facts["title"]),
        "sentence": escape(facts["model"]["sentence"]),
        "style": _lean((page / "style.css").read_text(encoding="utf-8")),
        "engine": _lean(engine),
        "scripts": "\n".join(_lean((page / name).read_text(encoding="utf-8")) for name in SCRIPTS),
        "facts": embedded(facts),
    }
    template = (page / "page.html").read_text(encoding="utf-8")
    pieces = []
    for piece in template.split("{{"):  # one pass: what is filled in is not looked through again
        name, mark, rest = piece.partition("}}")
        pieces.append(parts[name] + rest if mark and name in parts else piece)
    return "".join(pieces)


def _lean(code: str) -> str:
    """Return code without indentation and empty lines, which are a fifth of it; no string of ours spans lines."""
    return "\n".join(line.strip() for line in code.splitlines() if line.strip())


def embedded(facts: dict[str, Any]) -> str:
    """Return facts as JSON that can stand in a script element: no name in it can end the element."""
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for letter in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
