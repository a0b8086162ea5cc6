"""Output of the command: results on stdout, messages on stderr, files whole or not at all."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spkm._atomic import check_place
from spkm._atomic import replacing as replacing_file
from spkm.cli._command import CommandError

STDIO = "-"  # stands for stdin or stdout
REMEDY = "Raise max_iter or tol."  # that of a parameter, which the command does not have


#: Characters that terminals obey: controls, marks of the direction of text, and separators of lines.
OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def clean(text: str) -> str:
    """Return text of a file whose control characters are written out, so that a terminal does not obey them.

    Examples
    --------
    >>> print(clean("a\\x1b[2Jb\\n\\u202ec"))
    a\\x1b[2Jb\\n\\u202ec
    """
    return OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def clean_lines(text: str) -> str:
    """Return the same for text of several lines."""
    return "\n".join(map(clean, text.split("\n")))


def show(text: str = "", end: str = "\n") -> None:
    """Print a result; of names in it no character is one that a terminal obeys."""
    print(clean_lines(text), end=end)


def say(message: str) -> None:
    """Print something that is no result."""
    Progress.clear()
    print(clean_lines(message), file=sys.stderr, flush=True)


def bold(text: str) -> str:
    """Return clean text that stands out on a terminal, unless NO_COLOR is set."""
    text = clean_lines(text)
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[1m{text}\x1b[0m"


def table(rows: Sequence[Sequence[str]], right: bool = True) -> str:
    """Return rows of cells as aligned lines, the first being the head.

    Examples
    --------
    >>> print(table([["model", "R2"], ["linear", "0.5"]]))
    model    R2
    linear  0.5
    """
    rows = [[clean(cell) for cell in row] for row in rows]
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = []
    for i, row in enumerate(rows):
        cells = [
            cell.rjust(width) if right and j else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  ".join(cells).rstrip()
        lines.append(bold(line) if i == 0 else line)
    return "\n".join(lines)


class Progress:
    """A line on stderr that is written over, on terminals alone; elsewhere a line now and then.

    Parameters
    ----------
    what : str
        Text of the current step.
    """

    SECONDS = {True: 0.1, False: 15.0}  # between two lines: on a terminal, and elsewhere
    _shown = False

    def __init__(self, what: str) -> None:
        self.what = what
        self.started = self.last = time.monotonic()

    def tell(self, text: str) -> None:
        """Show how far it is."""
        now, terminal = time.monotonic(), sys.stderr.isatty()
        if now - self.last < self.SECONDS[terminal]:
            return
        self.last = now
        line = f"{self.what}: {text} ({now - self.started:.0f} s)"
        if terminal:
            Progress._shown = True
            print(f"\r\x1b[K{line[:100]}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    @classmethod
    def clear(cls) -> None:
        """Take the line away."""
        if cls._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            cls._shown = False


class _ToProgress(logging.Handler):
    """Hands the messages of a fit to a line of progress."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self.progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        self.progress.tell(record.getMessage().partition(" ")[2])


@contextmanager
def fit_progress(what: str) -> Iterator[None]:
    """Show how far a fit with ``verbose=1`` is, and its warnings as messages."""
    logger = logging.getLogger("spkm")
    handler, level, above = _ToProgress(Progress(what)), logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        with notes():
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = above
        Progress.clear()


@contextmanager
def notes() -> Iterator[None]:
    """Turn warnings into messages without the lines of code that they come from."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield
        finally:
            for text in dict.fromkeys(str(warning.message) for warning in caught):
                say(f"note: {text.replace(REMEDY, 'The figures are those of the model as it then was.')}")


def show_written(written: dict[str, str], json_file: str | None) -> None:
    """Print which files a fit wrote, or how to keep it."""
    names = [*written.values(), *([json_file] if json_file else [])]
    if names:
        show(f"Written: {', '.join(names)}")
    else:
        say("nothing is kept: -o model.spkm writes the model, --report page.html a page about it.")


def counted(things: Sized, name: str) -> str:
    """Return how many there are, with their name: 1 column, 2 columns."""
    return f"{len(things):,} {name}{'s' * (len(things) != 1)}"


def check_can_write(option: str, path: str | None) -> None:
    """Raise CommandError where a file could not be written: before the work, not after it."""
    if path is None or path == STDIO:
        return
    try:
        check_place(path, option)
    except ValueError as error:
        raise CommandError(str(error)) from None


@contextmanager
def replacing(path: str) -> Iterator[Path]:
    """Yield a temporary file beside ``path``, which takes its place at the end; after an error there is none."""
    try:
        with replacing_file(path) as temporary:
            yield temporary
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}.", exit_code=1) from error


def write_json(path: str, result: Any) -> None:
    """Write a result as JSON to a file, or to stdout."""
    text = json.dumps(plain(result), indent=2, ensure_ascii=False) + "\n"
    if path == STDIO:  # JSON has words for all of them
        sys.stdout.write(OBEYED.sub(lambda found: "\n" if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text))
        return
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def finish(path: str | None, result: Any, tell: Callable[[], Any]) -> None:
    """Write a result as JSON to a path, if there is one, and print it as text unless the JSON goes to stdout."""
    if path is not None:
        write_json(path, result)
    if path != STDIO:
        tell()


def plain(value: object) -> Any:
    """Return a result in the types of JSON: NumPy's numbers and arrays as Python's, what is not finite as null.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": np.float64("nan"), "b": np.arange(2), 3: (1.5,)})
    {'a': None, 'b': [0, 1], '3': [1.5]}
    """
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):  # NumPy need not be imported
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def show_quality(quality: Any, first: str, second: str) -> None:
    """Print the figures of models, and by how much two of them differ."""
    print(table([*quality.rows(), quality.difference_row(first, second)]))
    if quality.too_few:
        show(f"Figures without an interval: {quality.too_few} are too few for one.")
