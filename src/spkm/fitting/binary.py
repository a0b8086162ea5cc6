"""More than two classes by binary models: one against the rest, or one against one."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from spkm._checks import warn_user
from spkm._coupling import class_pairs
from spkm.core.fitted import ModelEnsemble
from spkm.core.targets import Classes, Target
from spkm.fitting.data import TableData
from spkm.fitting.outcome import Outcome, Parts
from spkm.fitting.progress import Progress
from spkm.fitting.spec import Spec
from spkm.fitting.strategies import strategy_for


class BinaryProblem(NamedTuple):
    """A binary problem: its name, its samples (None is all of them), the sign of each, and its two labels."""

    name: str
    rows: np.ndarray | None
    signs: np.ndarray
    labels: np.ndarray


def check_joint(name: str, estimator: BaseEstimator) -> None:
    """Raise ValueError if an estimator, the argument ``name``, is to fit several models in place of one."""
    kind = estimator.multi_class
    if kind != "joint":
        raise ValueError(
            f"{name} must have multi_class='joint'; got {kind!r}, which makes a model for each binary problem. "
            "Use 'joint', or give the samples of one problem."
        )


def binary_problems(target: Target, multi_class: str, Y: np.ndarray) -> list[BinaryProblem]:
    """Return the binary problems of signs Y, (n, n_classes), or (n, labels that are to be learned)."""
    both = np.array([False, True])
    labels: np.ndarray = target.labels
    if not isinstance(target, Classes):
        learned = np.flatnonzero(target.learned)
        return [BinaryProblem(f"label {label}", None, Y[:, k], both) for k, label in enumerate(learned)]
    if multi_class == "ovr":
        return [BinaryProblem(f"{label} against the rest", None, Y[:, k], both) for k, label in enumerate(labels)]
    code = np.argmax(Y, axis=1)
    problems = []
    for a, b in class_pairs(len(labels)).T:
        rows = np.flatnonzero((code == a) | (code == b))
        signs = np.where(code[rows] == b, 1.0, -1.0)
        problems.append(BinaryProblem(f"{labels[a]} against {labels[b]}", rows, signs, labels[[a, b]]))
    return problems


def fit_parts(spec: Spec, data: TableData, previous: ModelEnsemble | None, progress: Progress) -> Parts:
    """Return the models of all binary problems, with the outcome and the seed of each."""
    spec = replace(spec, loss=spec.loss.for_labels(False))  # each has two classes
    problems = binary_problems(data.target, spec.multi_class, data.Y)
    names = tuple(problem.name for problem in problems)
    if previous is not None and names != previous.names:
        raise ValueError(
            f"warm_start=True needs the classes and the multi_class of the last fit; got multi_class="
            f"{spec.multi_class!r} and classes that make other binary problems. Set warm_start=False to fit anew."
        )
    seeds = [int(seed) for seed in spec.rng().integers(2**31, size=len(problems))]
    outcomes: list[Outcome] = []
    told: dict[type[Warning], list[str]] = {}
    for k, (name, rows, signs, labels) in enumerate(problems):
        part = progress.part(name)
        part.begin()
        own = replace(spec, seed=seeds[k])
        some = data.relabelled(own, rows, signs[:, None], Classes.of(labels))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            last = None if previous is None else previous.members[k]
            outcome = strategy_for(own, some)(own, some, last, part)
        outcomes.append(outcome)
        for warning in caught:
            told.setdefault(warning.category, []).append(f"{name}: {warning.message}")
        part.end()  # a callback that stops a fit shortens the next problems, but all of them make the model
        if outcome.by_signal and len(outcomes) < len(problems):
            raise KeyboardInterrupt
    for category, texts in told.items():
        more = f" (and {len(texts) - 1} more from {len(problems)} binary problems)" if len(texts) > 1 else ""
        warn_user(texts[0] + more, category)
    pairs = class_pairs(len(data.target.labels)).T if spec.multi_class == "ovo" else None
    model = ModelEnsemble(tuple(outcome.model for outcome in outcomes), names, data.target, pairs)
    return Parts(model, outcomes, seeds)
