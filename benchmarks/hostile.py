"""Random estimators, data and outputs through all the ways that must agree; each disagreement has a seed to repeat it.

python -m benchmarks hostile --minutes 30
python -m benchmarks hostile --families pairs            # one subject only
python -m benchmarks hostile --families models:4711      # this case again, with all that it says
"""

from __future__ import annotations

import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks._data import Settings
from benchmarks._hostile import answers, company, courses, models, pages, pairs, proofs, readings, services, targets
from benchmarks._hostile.trials import Trial
from benchmarks._hostile.ways import NotPossible
from benchmarks._report import Row, at_most

CASES = 25  # of a quick run

#: A subject is a function of a seed and an empty folder. It fits, and returns what must hold of the fit.
SUBJECTS: Mapping[str, Callable[[int, Path], Trial]] = {
    "models": models.trial,
    "pairs": pairs.trial,
    "readings": readings.trial,
    "ordinal": targets.ordinal_trial,
    "survival": targets.survival_trial,
    "cca": targets.cca_trial,
    "bounds": proofs.bounds_trial,
    "changes": proofs.changes_trial,
    "coverage": proofs.coverage_trial,
    "batches": courses.batches_trial,
    "warm starts": courses.warm_trial,
    "checkpoints": courses.checkpoints_trial,
    "answers": answers.trial,
    "pages": pages.trial,
    "services": services.trial,
    "routing": company.routing_trial,
    "arrays": company.arrays_trial,
    "chunks": company.chunks_trial,
}


@dataclass
class Tally:
    """Numbers of cases and comparisons, and what was found."""

    cases: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)


def try_case(subject: str, seed: int, tally: Tally, loud: bool = False) -> None:
    """Fit the case of a seed and run its checks; note what is wrong."""
    tally.cases[subject] += 1
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        try:
            trial = SUBJECTS[subject](seed, Path(folder))
        except (ValueError, TypeError, FloatingPointError, NotPossible) as error:  # settings that do not go together
            tally.refused[subject] += 1
            if loud:
                print(f"refused: {error}")
                traceback.print_exc()
            return
        except Exception as error:
            _note(tally, subject, seed, "fit", f"{type(error).__name__}: {error}", loud)
            return
        if loud:
            print(trial.about)
        for name, check in trial.checks.items():
            try:
                problem = check()
            except NotPossible:
                continue
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
                if loud:
                    traceback.print_exc()
            tally.compared[f"{subject}: {name}"] += 1
            if problem:
                _note(tally, subject, seed, name, problem, loud)


def _note(tally: Tally, subject: str, seed: int, name: str, problem: str, loud: bool) -> None:
    tally.findings.append(f"{subject}:{seed}, {name}: {problem if loud else problem[:300]}")
    print(tally.findings[-1], flush=True)


def run(settings: Settings) -> Iterator[Row]:
    tally = Tally()
    single = [text.split(":") for text in settings.families if ":" in text]
    for subject, seed in single:
        try_case(subject, int(seed), tally, loud=True)
    if not single:
        _run_for(settings, tally)
    for subject, count in tally.cases.items():
        yield Row(f"{subject}: random cases", count, form="{:d}")
        yield Row(f"{subject}: refused, with a reason", tally.refused[subject], form="{:d}")
    for name, count in tally.compared.items():
        yield Row(f"compared: {name}", count, form="{:d}")
    yield Row("disagreements", len(tally.findings), at_most(0), form="{:d}")


def _run_for(settings: Settings, tally: Tally) -> None:
    """Try cases until the time is over, as long with one subject as with another."""
    subjects = [name for name in SUBJECTS if not settings.families or name in settings.families]
    first = int(time.time()) % 10**6 * 1000 if not settings.quick else 0
    print(f"seeds from {first} on", flush=True)
    spent = dict.fromkeys(subjects, 0.0)
    ends = time.monotonic() + 60 * (settings.minutes or 30)
    while tally.cases.total() < CASES if settings.quick else time.monotonic() < ends:
        subject = min(spent, key=lambda name: spent[name])
        begun = time.process_time()
        try_case(subject, first + tally.cases[subject], tally)
        spent[subject] += time.process_time() - begun + 1e-3
