"""Scripts of a page without what only people need: comments, indentation, spaces around signs. Names stay."""

from __future__ import annotations

import re
from functools import cache

SIGNS = set("{}()[];,:?=<>!&|*%")  # no space beside these matters; beside + and - it may
BEFORE_REGEX = set("(,=:[!&|?{};")
IN_TEMPLATE = r"(?:\\.|(?!\$\{)[^`\\])*(?:`|\$\{)"  # to its closing quote, or to the next ``${``
TOKEN = re.compile(
    r"(?P<space>(?:\s|//[^\n]*)+)"
    r"|(?P<text>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
    rf"|(?P<template>`{IN_TEMPLATE})"
    r"|(?P<regex>/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[])+/)"
    r"|(?P<sign>.)",
    re.DOTALL,
)
REST_OF_TEMPLATE = re.compile("}" + IN_TEMPLATE, re.DOTALL)


@cache
def lean(code: str) -> str:
    """Return a script in fewer letters: text in quotes, templates and regular expressions stay as they are.

    Statements of the scripts end with a semicolon or a brace, so that a line break beside a sign can go.

    Examples
    --------
    >>> print(lean("const a = `x  ${ b ? `  y ${ c } ` : '  z' }  ` ; // gone"))
    const a=`x  ${b?`  y ${c} `:'  z'}  `;
    >>> print(lean('return  /a "  b/.test( s ) + +t;'))
    return /a "  b/.test(s)+ +t;
    """
    pieces: list[str] = []
    at, space = 0, ""
    depth: list[int] = []  # braces open in each template that surrounds this place
    while at < len(code):
        in_template = code[at] == "}" and bool(depth) and depth[-1] == 0
        found = (REST_OF_TEMPLATE if in_template else TOKEN).match(code, at)
        assert found is not None, "The text or the template that begins here has no end."
        kind = found.lastgroup or "template"
        piece, last = found[0], pieces[-1][-1] if pieces else ""
        if kind == "regex" and last not in BEFORE_REGEX and not "".join(pieces[-7:]).rstrip().endswith("return"):
            piece = "/"
        at += len(piece)
        if kind == "space":
            space = "\n" if "\n" in piece else " "
            continue
        if space and last and last not in SIGNS and piece[0] not in SIGNS:
            pieces.append(space)
        space = ""
        if in_template:
            depth.pop()
        if kind == "template" and piece.endswith("${"):
            depth.append(0)
        elif depth and piece in ("{", "}"):
            depth[-1] += 1 if piece == "{" else -1
        pieces.append(piece)
    return "".join(pieces)
