"""Mean ranks of our defaults among nine methods, on the panel and four small tables, halves apart.

Splits of 60/20/20 %, at most 1,500 samples for training, 500 for validation, 2,000 for the test, three of each set.
Ours learns from the training part with its defaults ("auto": regression with ``n_basis="auto"`` as well). The eight
others are a tuned SVM with calibrated probabilities (for real targets the better of a tuned kernel ridge and SVR),
xRFM, LightGBM tuned and with its defaults, CatBoost, HistGradientBoosting, a random forest and a linear model
(`_rivals.py`). A method's rank on a set is that of its mean over the splits, 1 the best; ties share their mean.
"mean rank" has means of ranks, and a row with their standard errors over sets; "ours minus theirs" has differences in
points of accuracy or R² (above 0 ours is better), where an R² below zero counts as zero: one set on which a linear
model is far off would decide the mean; then wins and losses, and the worst set of ours; "log loss over" geometric means
of the ratio.

Outcomes of the others do not depend on our code: they are kept in ``benchmarks/results/outcomes/ranks.csv`` under
their packages' versions and a checksum of how they are fitted and of the split, and only what is missing is measured.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks import _rivals
from benchmarks._data import MissingData, Settings
from benchmarks._panel import MORE_CLASSES, REAL_TARGETS, TWO_CLASSES, halves, load, split
from benchmarks._report import Row, at_most, progress, standard_error
from benchmarks._results import FOLDER as OWN
from benchmarks._results import append, code_of_library, read
from benchmarks._rivals import RIVALS, Parts, judged, versions_of
from benchmarks._tables import FOLDER
from spkm import SPKMClassifier, SPKMRegressor

COLUMNS = tuple(RIVALS)
SMALL = ["breast_cancer_wisconsin", "early_diabetes", "ionosphere", "qsar_biodeg"]
KINDS = {"two classes": TWO_CLASSES + SMALL, "more classes": MORE_CLASSES, "numbers": REAL_TARGETS}
KEPT = FOLDER / "outcomes" / "ranks.csv"


@dataclass(frozen=True)
class Known:
    """What one method gave on one split."""

    who: str
    versions: str
    code: str
    problem: str
    seed: int
    score: float
    loss: float
    seconds: float


class Store:
    """Outcomes in a file, by method, fingerprint, set and split; with no path nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known = {self._key(found): found for found in read(path, Known)}

    def get(self, asked: Known, measure: Callable[[], tuple[float, float]]) -> Known:
        """Return the outcome of the file, or measure it and write it there."""
        found = self.known.get(self._key(asked))
        if found is None:
            start = process_time()
            score, loss = measure()
            found = Known(**{**vars(asked), "score": score, "loss": loss, "seconds": process_time() - start})
            self.known[self._key(found)] = found
            append(self.path, found)
        return found

    @staticmethod
    def _key(found: Known) -> tuple[str, ...]:
        return found.who, found.versions, found.code, found.problem, str(found.seed)


@dataclass(frozen=True)
class OnSet:
    """Means over the splits of a set: scores and log losses, ours first, and R² of "auto"."""

    kind: str
    half: str
    name: str
    scores: np.ndarray
    losses: np.ndarray
    auto: float
    seconds: float


def run(settings: Settings) -> Iterator[Row]:
    absent = [name for name in RIVALS if not _installed(name)]
    if absent:
        raise MissingData(f"needs the packages of {', '.join(absent)}.")
    code = code_of_library()
    found = [on_set(settings, code, *where) for where in sets(settings)]
    for half in ("A", "B", "A and B"):
        of_half = [one for one in found if one.half in half]
        if not of_half or (half == "A and B" and settings.half):
            continue
        for kind in (*KINDS, "all"):
            chosen = [one for one in of_half if kind in (one.kind, "all")]
            if chosen:
                yield from rows_of(f"{kind}, {'half ' + half if len(half) == 1 else 'both halves'}", chosen)


def _installed(name: str) -> bool:
    try:
        return bool(versions_of(name))
    except PackageNotFoundError:
        return False


def sets(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yield kind, half and name of every set that was asked for."""
    for kind, names in KINDS.items():
        for half, members in halves(names):
            if settings.half in (None, half) and settings.wants(kind):
                yield from ((kind, half, name) for name in members[: settings.size(len(members), 1)])


def on_set(settings: Settings, code: str, kind: str, half: str, name: str) -> OnSet:
    """Return the means over the splits of one set."""
    X, y = load(settings, name)
    theirs = Store(None if settings.quick else (settings.results or KEPT))
    ours = Store(None if settings.quick else OWN / "ranks.csv")
    scores, losses, autos, seconds = [], [], [], []
    for seed in range(settings.n_seeds(3)):
        parts = parts_of(X, y, seed, kind != "numbers")
        if settings.quick:
            parts = Parts(*((Z[:60], t[:60]) for Z, t in parts[:3]), parts.of_classes)
        own = [ours.get(_ours(who, code, name, seed), partial(fitted, parts, seed, who)) for who in settings_of(kind)]
        others = [theirs.get(_theirs(who, parts, name, seed), partial(RIVALS[who][1], parts)) for who in RIVALS]
        scores.append([own[0].score, *(one.score for one in others)])
        losses.append([own[0].loss, *(one.loss for one in others)])
        autos.append(own[-1].score)
        seconds.append(own[0].seconds)
    mean = OnSet(kind, half, name, np.mean(scores, 0), np.mean(losses, 0), float(np.mean(autos)), np.mean(seconds))
    progress(f"{name}: {np.round(mean.scores, 2)}, {np.round(mean.losses, 3)}, auto {mean.auto:.2f}")
    return mean


def settings_of(kind: str) -> tuple[str, ...]:
    """Return the settings of ours for a kind of targets."""
    return ("ours", "auto") if kind == "numbers" else ("ours",)


def parts_of(X: np.ndarray, y: np.ndarray, seed: int, of_classes: bool) -> Parts:
    """Return a split with targets as `Parts` has them."""
    parts = split(X, y if y.ndim == 1 else y[:, 0], seed, of_classes)
    if of_classes:
        classes = np.unique(parts[0][1])
        return Parts(*((Z, np.searchsorted(classes, t)) for Z, t in parts), True)
    mean, deviation = parts[0][1].mean(), parts[0][1].std()
    return Parts(*((Z, (t - mean) / deviation) for Z, t in parts), False)


def fitted(parts: Parts, seed: int, who: str) -> tuple[float, float]:
    """Return score and log loss of one of our estimators."""
    if parts.of_classes:
        return judged(parts, SPKMClassifier(random_state=seed, n_jobs=1).fit(*parts.train))
    size: Any = {"n_basis": "auto"} if who == "auto" else {}
    return judged(parts, SPKMRegressor(random_state=seed, **size).fit(*parts.train))


def _ours(who: str, code: str, name: str, seed: int) -> Known:
    return Known(who, "", code, name, seed, np.nan, np.nan, np.nan)


def _theirs(who: str, parts: Parts, name: str, seed: int) -> Known:
    digest = hashlib.sha256(Path(_rivals.__file__).read_bytes())
    for X, y in parts[:3]:
        digest.update(np.ascontiguousarray(X).tobytes() + np.ascontiguousarray(y).tobytes())
    return Known(who, versions_of(who), digest.hexdigest()[:8], name, seed, np.nan, np.nan, np.nan)


def rows_of(where: str, found: list[OnSet]) -> Iterator[Row]:
    """Yield the rows of some sets."""
    scores = np.array([one.scores for one in found])
    yield from rank_rows(f"{where}: mean rank by accuracy or R²", -scores)
    if any(one.kind == "numbers" for one in found):
        auto = scores.copy()
        auto[:, 0] = [one.auto for one in found]
        yield from rank_rows(f'{where}, "auto": mean rank by accuracy or R²', -auto)
        yield from difference_rows(f'{where}, "auto"', found, auto)
    yield from difference_rows(where, found, scores)
    classes = [one for one in found if one.kind != "numbers"]
    if classes:
        losses = np.array([one.losses for one in classes])
        yield from rank_rows(f"{where}: mean rank by log loss", losses)
        ratios = np.log(losses[:, :1] / losses[:, 1:])
        beside = tuple(f"{np.exp(r.mean()):.3f} ± {standard_error(r):.3f}" for r in ratios.T)
        yield Row(f"{where}: log loss over", "", more=beside)
    seconds = np.exp(np.mean(np.log([one.seconds for one in found])))
    yield Row(f"{where}: CPU s of a fit, geometric mean", seconds, more=("",) * len(RIVALS))


def rank_rows(what: str, values: np.ndarray) -> Iterator[Row]:
    """Yield mean ranks, the lowest value being the first, and their standard errors; ours is to be the lowest."""
    ranks = rankdata(values, axis=1)
    mean, errors = ranks.mean(axis=0), [f"± {standard_error(of_method):.2f}" for of_method in ranks.T]
    yield Row(what, mean[0], at_most(float(mean[1:].min())), "{:.2f}", tuple(f"{rank:.2f}" for rank in mean[1:]))
    yield Row(what.replace("mean rank", "standard error of the rank"), errors[0], more=tuple(errors[1:]))


def difference_rows(where: str, found: list[OnSet], scores: np.ndarray) -> Iterator[Row]:
    """Yield differences to the others, wins and losses, and the worst set; scores below zero count as zero."""
    scores = np.maximum(scores, 0.0)
    beyond = scores[:, :1] - scores[:, 1:]
    yield Row(
        f"{where}: ours minus theirs", "", more=tuple(f"{b.mean():+.2f} ± {standard_error(b):.2f}" for b in beyond.T)
    )
    counts = tuple(f"{np.sum(b > 0)}/{np.sum(b < 0)}" for b in beyond.T)
    yield Row(f"{where}: wins/losses", "", more=counts)
    yield Row(f"{where}: worst", "", more=tuple(f"{b.min():+.1f} {found[int(b.argmin())].name}" for b in beyond.T))


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["ranks", *sys.argv[1:]])
