"""Outcomes in a CSV file: each is written as soon as it is there, and a later run measures only what is missing."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import spkm

FOLDER = Path("benchmark_results")
T = TypeVar("T")


@dataclass(frozen=True)
class Outcome:
    """What one fit of one model on one draw or split gave."""

    code: str
    half: str
    problem: str
    seed: int
    who: str
    score: float
    precision: float
    recall: float
    seconds: float
    columns: str

    @property
    def selected(self) -> np.ndarray:
        """The selected features."""
        return np.array([int(j) for j in self.columns.split()], dtype=int)


class Results:
    """The outcomes in a file.

    Parameters
    ----------
    path : Path or None
        The file, made if it is absent; with None nothing is kept.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[tuple[str, str, int, str], Outcome] = {}
        self.known.update((_key(outcome), outcome) for outcome in read(path, Outcome))

    def get(self, code: str, problem: str, seed: int, who: str, measure: Callable[[], Outcome]) -> Outcome:
        """Return the outcome of the file, or measure it and write it there."""
        found = self.known.get((code, problem, seed, who))
        if found is None:
            found = measure()
            self.known[_key(found)] = found
            append(self.path, found)
        return found


_READ: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str}


def read(path: Path | None, kind: type[T]) -> list[T]:
    """Return the outcomes in a file, of a data class of numbers and texts; none without a file."""
    if path is None or not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        entries = list(csv.DictReader(file))
    columns = [(field.name, _READ[str(field.type)]) for field in fields(kind)]
    return [kind(**{name: convert(entry[name]) for name, convert in columns}) for entry in entries]


def append(path: Path | None, outcome: Any) -> None:
    """Write one more outcome into a file, which is made if it is absent; nothing without a path."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(outcome)])
        if file.tell() == 0:
            writer.writeheader()
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in asdict(outcome).items()})


def _key(outcome: Outcome) -> tuple[str, str, int, str]:
    return outcome.code, outcome.problem, outcome.seed, outcome.who


def code_of_library() -> str:
    """Return a fingerprint of the library's source: outcomes of other code are not taken for those of this one."""
    digest = hashlib.sha256()
    root = Path(spkm.__file__).parent
    for file in sorted(root.rglob("*.py")):
        digest.update(file.relative_to(root).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:8]
