"""Outcomes in a CSV file: each is written as soon as it is there, and a later run measures only what is missing."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

import spkm

FOLDER = Path("benchmark_results")


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
        if path is not None and path.is_file():
            with path.open(newline="", encoding="utf-8") as file:
                for entry in csv.DictReader(file):
                    outcome = Outcome(*(_READ[field.name](entry[field.name]) for field in fields(Outcome)))
                    self.known[_key(outcome)] = outcome

    def get(self, code: str, problem: str, seed: int, who: str, measure: Callable[[], Outcome]) -> Outcome:
        """Return the outcome of the file, or measure it and write it there."""
        found = self.known.get((code, problem, seed, who))
        if found is None:
            found = measure()
            self.known[_key(found)] = found
            self._append(found)
        return found

    def _append(self, outcome: Outcome) -> None:
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = not self.path.is_file()
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(Outcome)])
            if new:
                writer.writeheader()
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in asdict(outcome).items()})


_READ: dict[str, Callable[[str], object]] = {
    "seed": int,
    **dict.fromkeys(("score", "precision", "recall", "seconds"), float),
    **dict.fromkeys(("code", "half", "problem", "who", "columns"), str),
}


def _key(outcome: Outcome) -> tuple[str, str, int, str]:
    return outcome.code, outcome.problem, outcome.seed, outcome.who


def code_of_library() -> str:
    """Return a fingerprint of the library's source: outcomes of other code are not taken for those of this one."""
    digest = hashlib.sha256()
    root = Path(spkm.__file__).parent
    for file in sorted(root.rglob("*.py")):
        digest.update(file.relative_to(root).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:8]
