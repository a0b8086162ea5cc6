"""Which code results were made by: a hash that moved or reworded code leaves as it is, and a check against it."""

from __future__ import annotations

import ast
import csv
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import spkm
import spkm_paper
from spkm_paper.experiments._runner import Work, run_all
from spkm_paper.experiments._store import Store, write_text
from spkm_paper.experiments._tasks import Experiment, Plan, Result

FILE = "code.json"
#: Parts of the library that a fit goes through.
FITS = ("core", "estimators", "fitting", "kernels", "losses", "penalties.py", "selection", "solvers", "sources")
#: Modules of this package that write and show, and have no part in a number.
SHOWS = ("_blocks", "_code", "_figures", "_page", "_progress", "_renew", "_reproduce", "_runner", "_store", "_tables")
MOST_SECONDS = 20.0  # of a run that a check does again
CLOSE = 1e-3  # relative difference of numbers that count as the same


class Checked(NamedTuple):
    """What a check found: how many runs were done again, and which of them differ."""

    n_runs: int
    differ: list[str]


def code_of(experiment: Experiment) -> str:
    """Return the hash of the code that an experiment's numbers depend on.

    It is made of the definitions of all modules, without their order, places, imports, comments and docstrings.
    """
    library, own = Path(spkm.__file__).parent, Path(spkm_paper.__file__).parent
    files = [file for name in FITS for file in _files(library / name)]
    files += _files(own / "competitors")
    files += [file for file in (own / "experiments").glob("_*.py") if file.stem not in (*SHOWS, "__init__")]
    files.append(own / "experiments" / f"{experiment.name}.py")
    pieces = sorted(piece for file in files if file.exists() for piece in definitions(file.read_text(encoding="utf-8")))
    return hashlib.sha256("".join(pieces).encode()).hexdigest()[:16]


@cache
def definitions(text: str) -> tuple[str, ...]:
    """Return a hash of every top-level definition of a module, imports and docstrings left out."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    kept = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    return tuple(hashlib.sha256(ast.dump(node).encode()).hexdigest() for node in kept)


def _files(path: Path) -> list[Path]:
    return [path] if path.suffix == ".py" else sorted(path.rglob("*.py"))


def stamp(out: Path, experiments: Sequence[Experiment]) -> None:
    """Write down that the results of experiments in a folder are those of today's code."""
    known = stamps(out)
    known |= {experiment.name: code_of(experiment) for experiment in experiments}
    write_text(out / FILE, json.dumps(known, indent=1, sort_keys=True) + "\n")


def stamps(out: Path) -> dict[str, str]:
    """Return the hash of the code of every experiment with results in a folder."""
    path = out / FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def stale(out: Path, experiments: Sequence[Experiment]) -> list[str]:
    """Return the experiments whose results in a folder are older than the code."""
    known = stamps(out)
    return [e.name for e in experiments if (out / f"{e.name}.csv").exists() and known.get(e.name) != code_of(e)]


def check(experiment: Experiment, out: Path, plan: Plan, sets: Sequence[str], store: Store) -> Checked:
    """Run one split of every method again, as far as it was quick, and compare its numbers with those of the folder."""
    with (out / f"{experiment.name}.csv").open(newline="", encoding="utf-8") as file:
        rows = {(row["data"], row["split"], row["method"]): row for row in csv.DictReader(file)}
    tasks = [task for task in experiment.tasks(plan, sets) if (task.data, str(task.seed), task.method) in rows]
    quick = [t for t in tasks if float(rows[t.data, str(t.seed), t.method]["run_seconds"]) <= MOST_SECONDS]
    found = run_all([Work(task, experiment.run, experiment.alone) for task in quick], store, data=plan.data)
    differ = [str(r.task) for r in found.values() if not same(r, rows[r.task.data, str(r.task.seed), r.task.method])]
    return Checked(len(quick), differ)


def same(result: Result, row: dict[str, Any]) -> bool:
    """Return whether the numbers of a run, its times left out, are those of a row."""
    numbers = {k: v for k, v in (result.numbers or {}).items() if isinstance(v, int | float) and "seconds" not in k}
    pairs = [(float(value), float(row[name])) for name, value in numbers.items() if row.get(name)]
    return bool(pairs) and all(abs(a - b) <= CLOSE * max(abs(a), abs(b), 1e-12) for a, b in pairs)
