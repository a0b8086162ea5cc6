"""Scripts of a page without what only people need: comments, indentation, spaces around signs. Names stay."""

from __future__ import annotations

from functools import cache

SIGNS = set("{}()[];,:?=<>!&|*%")  # no space beside these matters; beside + and - it may
BEFORE_REGEX = set("(,=:[!&|?{};")


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
        letter = code[at]
        if letter.isspace():
            space = "\n" if "\n" in (letter, space) else " "
            at += 1
            continue
        if code.startswith("//", at):
            end = code.find("\n", at)
            at = len(code) if end < 0 else end
            continue
        last = pieces[-1][-1] if pieces else ""
        if space and last and last not in SIGNS and letter not in SIGNS:
            pieces.append(space)
        space = ""
        if letter in "\"'":
            end = _end_of_text(code, at, letter)
        elif letter == "`" or (letter == "}" and depth and depth[-1] == 0):
            if letter == "}":
                depth.pop()
            end = _end_of_template(code, at)
            if code[end - 1] == "{":
                depth.append(0)
        elif letter == "/" and (last in BEFORE_REGEX or "".join(pieces[-7:]).rstrip().endswith("return")):
            end = _end_of_regex(code, at)
        else:
            if depth and letter in "{}":
                depth[-1] += 1 if letter == "{" else -1
            end = at + 1
        pieces.append(code[at:end])
        at = end
    return "".join(pieces)


def _end_of_text(code: str, at: int, quote: str) -> int:
    at += 1
    while code[at] != quote:
        at += 2 if code[at] == "\\" else 1
    return at + 1


def _end_of_template(code: str, at: int) -> int:
    """Return the place after a template's closing quote, or after the next ``${``."""
    at += 1
    while code[at] != "`" and not code.startswith("${", at):
        at += 2 if code[at] == "\\" else 1
    return at + (1 if code[at] == "`" else 2)


def _end_of_regex(code: str, at: int) -> int:
    inside, at = False, at + 1
    while inside or code[at] != "/":
        inside = (inside or code[at] == "[") and code[at] != "]"
        at += 2 if code[at] == "\\" else 1
    return at + 1
