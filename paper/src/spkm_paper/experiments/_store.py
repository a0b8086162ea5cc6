"""Results on disk: one line of JSON for each, added as soon as it is there."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spkm_paper.experiments._tasks import Result, Task


class OutputError(OSError):
    """What came of an experiment cannot be written; the text says where, and why."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn whatever the system says of a file or folder that is written into an :class:`OutputError`."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.") from error


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there, and see that files can be written into it before hours of work begin.

    Examples
    --------
    >>> make_folder(Path(__file__))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    spkm_paper.experiments._store.OutputError: ...py must be a folder; it is a file. Give another name.
    """
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path} must be a folder; it is a file. Give another name.")
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass


class Store:
    """The file of results.

    A line is written at once and forced to the disk, so that a killed run loses no finished task. A line cut short by a
    crash is passed over, and its task done again.

    Parameters
    ----------
    path : Path
        The file; made at the first result.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> dict[str, Result]:
        """Return the last result of every task, by the task's key."""
        results: dict[str, Result] = {}
        if not self.path.exists():
            return results
        for line in self.path.read_bytes().splitlines():
            try:
                fields = json.loads(line)
                key = fields.pop("key")
                task = Task(**fields.pop("task"))
                results[key] = Result(task, warnings=tuple(fields.pop("warnings")), **fields)
            except (ValueError, KeyError, TypeError):
                continue  # cut short, or of another version of this file's form: its task is done again
        return results

    def append(self, result: Result) -> None:
        """Add a result."""
        line = json.dumps(
            {
                "key": result.task.key,
                "task": vars(result.task),
                "numbers": result.numbers,
                "error": result.error,
                "warnings": list(result.warnings),
                "seconds": result.seconds,
            }
        )
        with writing(self.path):
            self._append(line)

    def _append(self, line: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            file.seek(0, os.SEEK_END)
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    line = "\n" + line
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def write_text(path: Path, text: str) -> None:
    """Write a file in one go: readers see the old text or the new one, never a part."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one go, as :func:`write_text` does."""
    part = path.with_name(path.name + ".part")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(content)
            os.replace(part, path)
        except BaseException:  # an interrupt, too, must leave nothing behind
            part.unlink(missing_ok=True)
            raise
