"""Results on disk: one line of JSON for each, added as soon as it is there."""

from __future__ import annotations

import json
import os
from pathlib import Path

from spkm_paper.experiments._tasks import Result, Task


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
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8", newline="\n")
    os.replace(part, path)
