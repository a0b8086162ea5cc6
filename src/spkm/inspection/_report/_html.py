"""A report as one HTML page: the facts, a template, and scripts that compute and draw in the browser."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any

from spkm.inspection._report._lean import lean

#: Scripts by subject, in the order of the page; they share one scope.
SCRIPTS = (
    "dom.js",
    "charts.js",
    "shapley.js",
    "machine.js",
    "paste.js",
    "change.js",
    "overview.js",
    "axis.js",
    "pairs.js",
    "targets.js",
    "sections.js",
    "parts.js",
    "rows.js",
    "explain.js",
    "what-if.js",
    "main.js",
)

#: Scripts that a page has only if some of these facts are there.
ONLY_WITH = {"axis.js": ("axis",), "pairs.js": ("pairs",), "targets.js": ("order", "survival")}


def to_html(facts: dict[str, Any]) -> str:
    """Return the page of some facts: one file that needs nothing else and makes no request."""
    page = files("spkm.inspection._report") / "page"
    engine = (files("spkm.persistence") / "_engine.js").read_text(encoding="utf-8")
    absent = [name for name, needed in ONLY_WITH.items() if all(facts[part] is None for part in needed)]
    scripts = [name for name in SCRIPTS if name not in absent]
    parts = {
        "title": escape(facts["title"]),
        "sentence": escape(facts["answer"][0]),
        "style": _narrow((page / "style.css").read_text(encoding="utf-8")),
        "engine": lean(engine),
        "scripts": "\n".join(lean((page / name).read_text(encoding="utf-8")) for name in scripts),
        "facts": embedded(facts),
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


def embedded(facts: dict[str, Any]) -> str:
    """Return facts as JSON that can stand in a script element: no name in it can end the element."""
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for letter in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
