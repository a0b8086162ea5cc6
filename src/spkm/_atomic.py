"""Files that are written at once: a reader gets the old file or the new one, whatever happens in between."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Any, argument: str = "path") -> Iterator[Path]:
    """Yield an empty temporary file beside ``path``, which takes its place at the end; after an error there is none.

    A link stays a link: the file that it leads to is replaced. Mode and owner of a file that was there are kept.
    """
    check_place(path, argument)
    target = Path(os.path.realpath(path))
    former = target.stat() if target.exists() else None
    beside = target.with_name(f".{target.stem}.{secrets.token_hex(8)}.part{target.suffix}")
    # A file that others may not read is not shown to them while it is written.
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if former is None else 0o600))
    try:
        yield beside
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        if former is not None:
            _keep_owner(beside, former)
            os.chmod(beside, stat.S_IMODE(former.st_mode))
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def check_place(path: Any, argument: str = "path") -> None:
    """Raise ValueError if no file can be written there: before the work, not after it."""
    target = Path(os.path.realpath(path))
    if target.is_dir() or not target.parent.is_dir():
        raise ValueError(f"{argument} must be a file in a folder that exists; got {str(path)!r}.")
    if os.path.lexists(target) and not target.is_file():
        raise ValueError(
            f"{argument} must be a regular file, or a new one; {str(path)!r} is a device, a pipe, a socket or a link "
            "that leads nowhere. Give the name of a file."
        )
    place = target if target.exists() else target.parent
    if not (os.access(place, os.W_OK) and os.access(target.parent, os.W_OK)):
        raise ValueError(f"{argument} must be a file that may be written; {str(place)!r} may not.")


def _keep_owner(path: Path, former: os.stat_result) -> None:
    """Give a file the owner that another one had, if the system allows it."""
    now = path.stat()
    if (now.st_uid, now.st_gid) != (former.st_uid, former.st_gid):
        try:
            os.chown(path, former.st_uid, former.st_gid)
        except OSError:  # only root may give files away
            pass
