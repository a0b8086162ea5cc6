"""All benchmarks in one run: what each is asked for, and how they share a machine.

Every benchmark is a process of its own with one BLAS thread, so that one that fails stops no other. Settings are such
that all of them take an hour of processor time together, 40 minutes with two at a time; by name, a benchmark takes its
own, which are larger. What a stopped run has written is not measured again.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks._results import FOLDER as LOGS
from benchmarks._tables import ROOT, Table, today

#: They measure several threads or processes, or the clock of a service: nothing runs beside them.
ALONE = (
    "passes",
    "large --families 'R = 10'",
    "out_of_core",
    "dask_workers",
    "serve",
)
#: They measure accuracies, memory, or the processor time of one thread. The most telling come first, and the longest of
#: the others last, as a run may be stopped at any time.
BESIDE = (
    "panel_classes",
    "ranks",
    "panel --families regression",
    "selection_panel --seeds 1 --half A",
    "selection_panel --seeds 1 --half B",
    "simulated --seeds 3 --families 'n = 500'",
    "digits",
    "defaults --seeds 1",
    "fdr --seeds 8",
    "wide_sets --seeds 1",
    "small_sets --seeds 4",
    "noise_columns --seeds 1",
    "search_time",
    "compare --seeds 1",
    "svc",
    "binary --seeds 8",
    "coverage --seeds 2",
    "spectra",
    "real_spectra",
    "occam",
    "deviations",
    "drug_target --seeds 1 --families similarities nuclear",
    "very_wide",
    "landmarks --seeds 2",
    "cca --seeds 1",
    "ordinal",
    "survival",
    "sarcos --seeds 1",
    "regression --seeds 3",
    "explain",
    "error_bars --seeds 5",
    "prove --seeds 5",
    "conditional_coverage --seeds 50",
    "gaps",
    "planted",
    "gradient",
    "model_files",
    "views --seeds 4",
    "stability",
    "parity",
    "sample_basis",
    "pairs",
    "memory",
    "report",
    "exactness",
)
#: Measurements behind past choices, in the folder ``choices``: run by name, when the choice is made again.
CHOICES = (
    "crossover",
    "lassonet_time",
    "path_settings",
    "search_settings",
    "varpro",
)
#: Benchmarks that are no part of a whole run, and why.
LEFT_OUT = {
    "seconds_to_accuracy": "it takes more than 10 minutes where its file has no outcomes of the other methods yet",
    "mutation": "it runs the tests hundreds of times, which takes hours",
    "hostile": "it looks for faults in random cases and measures nothing",
    "vectors": "it takes 6 minutes, and its figure changes little",
    "one_vs_one": "it takes 4 minutes, and one model of all classes is the default",
    "mnist": "it takes 4 minutes; the paper's tables have MNIST, too",
    "dask_plan": "it times a plan for clusters, which does not depend on the fits",
}


@dataclass(frozen=True)
class Done:
    """How one benchmark ended; ``problem`` is empty if it wrote its table."""

    line: str
    seconds: float
    problem: str = ""

    def __str__(self) -> str:
        return f"{self.line}: {self.problem or 'done'}, {self.seconds / 60:.1f} min"


def names() -> list[str]:
    """Return the names of all benchmarks, those that are left out of a whole run at the end."""
    return [*dict.fromkeys(line.split()[0] for line in (*ALONE, *BESIDE)), *LEFT_OUT, *CHOICES]


def module_of(name: str) -> str:
    """Return the module of a benchmark."""
    return f"benchmarks.choices.{name}" if name in CHOICES else f"benchmarks.{name}"


def run_whole(measure: Callable[[str], Done], jobs: int, say: Callable[[str], None] = print) -> list[Done]:
    """Run everything, ``jobs`` at a time where they may run side by side; return those that wrote no table."""

    def one(line: str) -> Done:
        done = measure(line)
        say(str(done))
        return done

    done = [one(line) for line in ALONE]
    with ThreadPoolExecutor(jobs) as pool:
        done += pool.map(one, BESIDE)
    failed = [entry for entry in done if entry.problem]
    say(f"\n{len(done) - len(failed)} of {len(done)} benchmarks were measured.")
    for entry in failed:
        say(f"- {entry.line}: {entry.problem}")
    for name, reason in LEFT_OUT.items():
        say(f"- {name} is left out: {reason}. Run it by its name.")
    say(f"- {', '.join(CHOICES)} are left out: they document past choices. Run them by name.")
    return failed


def process(
    line: str,
    shared: Sequence[str],
    folder: Path,
    quick: bool,
    *,
    logs: Path = LOGS / "logs",
    run: Callable[..., Any] = subprocess.run,
    now: Callable[[], dict[str, str]] = today,
) -> Done:
    """Run one benchmark in a process, with the options that all share; its output is in ``benchmark_results/logs``."""
    name, *given = shlex.split(line)
    if quick and "--seeds" in given:
        del given[(at := given.index("--seeds")) : at + 2]
    stem = f"{name}_{given[given.index('--half') + 1]}" if "--half" in given else name
    table = folder / f"{stem}.csv"
    if not quick and is_measured(table, f"python -m benchmarks {line}", now()["commit"]):
        return Done(f"{line} (measured before)", 0.0)
    logs.mkdir(parents=True, exist_ok=True)
    given_to_all = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    if not quick:
        given_to_all["SPKM_FIGURES"] = str(ROOT / "docs" / "images")
    before, start = _written(table), perf_counter()
    with (logs / f"{stem}.md").open("w") as out, (logs / f"{stem}.txt").open("w") as err:
        code = run(
            [sys.executable, "-m", "benchmarks", name, *given, *shared],
            env={**os.environ, **given_to_all},
            stdout=out,
            stderr=err,
            check=False,
        ).returncode
    seconds = perf_counter() - start
    return Done(line, seconds, problem_of(code, logs / stem, quick or _written(table) != before))


def is_measured(table: Path, command: str, commit: str) -> bool:
    """Return whether a table is that of this command and of the code of this commit."""
    if not table.exists():
        return False
    facts = Table.read(table).facts
    known = commit != "unknown" and not commit.endswith("+")
    return known and facts.get("commit") == commit and facts.get("command") == command


def problem_of(code: int, log: Path, written: bool) -> str:
    """Return why there is no table: the last line of the errors, or why the benchmark was skipped."""
    if code:
        errors = log.with_suffix(".txt").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"failed ({code}): {errors[-1] if errors else 'it said nothing'}"
    lines = log.with_suffix(".md").read_text(encoding="utf-8", errors="replace").splitlines()
    skipped = [line for line in lines if line.startswith("skipped:")]
    return skipped[0] if skipped else "" if written else "wrote no table"


def _written(table: Path) -> float:
    return table.stat().st_mtime if table.exists() else 0.0
