"""Files that are written at once: whoever reads one sees the old one or the new one, whatever happens in between."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Any, argument: str = "path") -> Iterator[Path]:
    """Yield a temporary name beside ``path``; the file takes its place at the end, and after an error there is none."""
    target = Path(path)
    check_place(target, argument)
    beside = target.with_name(f".{target.stem}.{secrets.token_hex(8)}.part{target.suffix}")
    try:
        yield beside
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def check_place(path: Any, argument: str = "path") -> None:
    """Raise ValueError where no file can be written: before the work, not after it."""
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        raise ValueError(f"{argument} must be a file in a folder that exists; got {str(path)!r}.")
