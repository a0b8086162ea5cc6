"""Strict selection on data it was not tuned on: 28 made-up families, 5 kinds of pure noise and ten wide sets.

Half A is to explore on, half B to confirm on: families and sets by alternate position, noise by its draws. Ours is
``SPKMClassifierCV()`` or ``SPKMRegressorCV()``; the oracle is the same on the relevant features alone. The score is the
accuracy, or the share of the absolute error that is explained (D²), in percent, of 2,000 new samples. Of a wide set,
models learn from one half of the samples and are judged on the other, both ways; l1-logistic is scikit-learn's
``LogisticRegressionCV``, one against the rest; "a / b" is ours / that of l1-logistic. The Jaccard index is that of the
features selected from the two halves. Seconds are processor time of one thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import accuracy_score, d2_absolute_error_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._data import MissingData, Settings
from benchmarks._families import CLASSES, NOISE, NUMBERS, Family, halves, precision, recall
from benchmarks._panel import load
from benchmarks._report import Row, at_least, at_most, progress, standard_error
from benchmarks._results import FOLDER, Outcome, Results, code_of_library
from spkm import SPKMClassifierCV, SPKMRegressorCV

COLUMNS = ("±", "precision", "recall", "Jaccard", "features", "CPU s", "fits")
WIDE = ("arcene glioma gordon_lung gravier_breast lymphoma pcmac prostate_ge shipp_dlbcl srbct_khan tox171").split()
FEWEST = 8  # samples of a class of a wide set: four in each half, so that folds have some
TEST = 2000
FIRST_SEED = {"A": 100, "B": 200}
REACH = {
    "classes": (at_least(0.95), at_least(0.95), at_least(-1.0)),
    "numbers": (at_least(0.9), at_least(0.9), None),
}


def run(settings: Settings) -> Iterator[Row]:
    results = Results(None if settings.quick else (settings.results or FOLDER / "selection_panel.csv"))
    code = code_of_library()
    progress(f"code {code}")
    for half in "AB" if settings.half is None else settings.half:
        for task, families in (("classes", CLASSES), ("numbers", NUMBERS)):
            yield from family_rows(settings, results, code, half, task, families)
        yield from noise_rows(settings, results, code, half)
        yield from wide_rows(settings, results, code, half)


def family_rows(
    settings: Settings, results: Results, code: str, half: str, task: str, families: list[Family]
) -> Iterator[Row]:
    """Yield a row for each family, and the figures of the half."""
    pairs: list[list[tuple[Outcome, Outcome]]] = []
    members = [f for f in halves(families)[half] if settings.wants(f"{task}: {f.name}")]
    for family in members[: settings.size(len(members), 1)]:
        seeds = [FIRST_SEED[half] + i for i in range(settings.n_seeds(3))]
        pairs.append([outcomes_of_draw(settings, results, code, half, family, seed) for seed in seeds])
        yield row_of_family(f"{half}, {task}: {family.name}, minus oracle", pairs[-1])
    if not pairs:
        return
    ours = [np.nanmean([[o.precision, o.recall] for o, _ in p], axis=0) for p in pairs]
    behind = np.array([np.mean([o.score - best.score for o, best in p]) for p in pairs])
    means = np.nanmean(ours, axis=0)
    blank = ("",) * len(COLUMNS)
    where = f"**{half}, {task}, {len(pairs)} families**"
    yield Row(f"{where}: precision", means[0], REACH[task][0], more=blank)
    yield Row(f"{where}: recall", means[1], REACH[task][1], more=blank)
    error = f"{standard_error(behind):.2f}"
    yield Row(f"{where}: score minus oracle", behind.mean(), REACH[task][2], "{:+.2f}", (error, *blank[1:]))


def row_of_family(what: str, pairs: list[tuple[Outcome, Outcome]]) -> Row:
    behind = np.array([o.score - best.score for o, best in pairs])
    ours = [o for o, _ in pairs]
    empty = all(np.isnan(o.precision) for o in ours)
    more = (
        f"{standard_error(behind):.2f}" if len(pairs) > 1 else "",
        "none" if empty else f"{np.nanmean([o.precision for o in ours]):.2f}",
        f"{np.mean([o.recall for o in ours]):.2f}",
        "",
        f"{np.mean([len(o.selected) for o in ours]):.1f}",
        f"{np.mean([o.seconds for o in ours]):.1f}",
        f"{len(ours)}",
    )
    return Row(what, behind.mean(), None, "{:+.2f}", more)


def outcomes_of_draw(
    settings: Settings, results: Results, code: str, half: str, family: Family, seed: int
) -> tuple[Outcome, Outcome]:
    """Return the outcomes of ours and of the oracle on one draw of a family."""
    problem = f"{family.task}: {family.name}"
    X, y, relevant = family.draw(seed, TEST)
    n = settings.size(family.n, 120)
    everything, true = np.arange(X.shape[1]), np.array([members[0] for members in relevant])

    def measure(who: str, columns: np.ndarray) -> Outcome:
        train, test = slice(0, n), slice(-TEST, None)
        model = machine(family.task, seed)
        seconds = timed_fit(model, X[train][:, columns], y[train])
        score = score_of(family.task, y[test], model.predict(X[test][:, columns]))
        chosen = columns[model.selected_features_]
        rates = precision(chosen, relevant), recall(chosen, relevant)
        outcome = Outcome(code, half, problem, seed, who, score, *rates, seconds, " ".join(map(str, chosen)))
        progress(f"{half}, {problem}, seed {seed}, {who}: {score:.2f}, {rates[0]:.2f}, {rates[1]:.2f}, {seconds:.1f} s")
        return outcome

    return (
        results.get(code, problem, seed, "ours", partial(measure, "ours", everything)),
        results.get(code, problem, seed, "oracle", partial(measure, "oracle", true)),
    )


def machine(task: str, seed: int) -> Any:
    """Return the estimator that chooses by itself."""
    kind = SPKMClassifierCV if task == "classes" else SPKMRegressorCV
    return kind(random_state=seed, n_jobs=1)


def score_of(task: str, y: np.ndarray, predicted: np.ndarray) -> float:
    """Return the accuracy or D² of the absolute error, in percent."""
    return 100 * float((accuracy_score if task == "classes" else d2_absolute_error_score)(y, predicted))


def timed_fit(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Fit and return the seconds of processor time."""
    start = process_time()
    model.fit(X, y)
    return process_time() - start


def noise_rows(settings: Settings, results: Results, code: str, half: str) -> Iterator[Row]:
    """Yield for each kind of noise, and for all, the share of fits that select anything."""
    found: list[Outcome] = []
    for family in [f for f in NOISE if settings.wants(f"noise: {f.name}")][: settings.size(5, 1)]:
        problem = f"noise: {family.name}"
        of_kind = []
        for seed in range(FIRST_SEED[half], FIRST_SEED[half] + settings.n_seeds(10)):
            measure = partial(outcome_of_noise, settings, code, half, family, problem, seed)
            of_kind.append(results.get(code, problem, seed, "ours", measure))
        found += of_kind
        yield _row_of_noise(f"{half}, {problem}, share of fits that select", of_kind, False)
    if found:
        yield _row_of_noise(f"**{half}, noise**: share of fits that select anything", found, True)


def outcome_of_noise(settings: Settings, code: str, half: str, family: Family, problem: str, seed: int) -> Outcome:
    X, y, _ = family.draw(seed)
    n, d = settings.size(family.n, 60), settings.size(X.shape[1], 20)
    model = machine(family.task, seed)
    seconds = timed_fit(model, X[:n, :d], y[:n])
    chosen = model.selected_features_
    progress(f"{half}, {problem}, seed {seed}: {len(chosen)} features, {seconds:.1f} s")
    return Outcome(code, half, problem, seed, "ours", np.nan, np.nan, np.nan, seconds, " ".join(map(str, chosen)))


def _row_of_noise(what: str, outcomes: list[Outcome], judged: bool) -> Row:
    some = np.array([len(o.selected) > 0 for o in outcomes], dtype=float)
    more = (
        f"{standard_error(some):.2f}" if len(some) > 1 else "",
        "",
        "",
        "",
        f"{np.mean([len(o.selected) for o in outcomes]):.1f}",
        f"{np.mean([o.seconds for o in outcomes]):.1f}",
        f"{len(outcomes)}",
    )
    return Row(what, some.mean(), at_most(0.05) if judged else None, more=more)


def wide_rows(settings: Settings, results: Results, code: str, half: str) -> Iterator[Row]:
    """Yield for each wide set, and for all, how ours compares with l1-logistic regression."""
    names = [name for name in WIDE[0::2] if half == "A"] + [name for name in WIDE[1::2] if half == "B"]
    of_sets = []
    for name in [name for name in names if settings.wants(f"wide: {name}")][: settings.size(len(names), 1)]:
        try:
            X, y = wide_set(settings, name)
        except MissingData as absent:
            progress(f"{name} left out: {absent}")
            continue
        found: dict[str, list[Outcome]] = {"ours": [], "l1": []}
        for seed in range(2 * settings.n_seeds(2)):  # a split and its mirror
            for who, its_code in (("ours", code), ("l1", "scikit-learn")):
                measure = partial(outcome_of_half, X, y, its_code, half, f"wide: {name}", seed, who)
                found[who].append(results.get(its_code, f"wide: {name}", seed, who, measure))
        of_sets.append(compared(found["ours"], found["l1"]))
        yield row_of_set(f"{half}, wide: {name}, accuracy minus l1-logistic", of_sets[-1], found)
    if not of_sets:
        return
    of = {key: np.array([figures[key] for figures in of_sets]) for key in of_sets[0]}
    where, blank = f"**{half}, wide, {len(of_sets)} sets**", ("",) * len(COLUMNS)
    error = f"{standard_error(of['accuracy']):.2f}"
    yield Row(
        f"{where}: accuracy minus l1-logistic", of["accuracy"].mean(), at_least(0.5), "{:+.2f}", (error, *blank[1:])
    )
    yield Row(f"{where}: features over l1's", np.exp(of["features"].mean()), at_most(0.3), more=blank)
    yield Row(f"{where}: CPU time over l1's", np.exp(of["seconds"].mean()), at_most(3.0), "{:.1f}", blank)
    yield Row(f"{where}: Jaccard between halves", of["jaccard"].mean(), at_least(0.4), more=blank)
    yield Row(f"{where}: Jaccard between halves, l1", of["jaccard of l1"].mean(), more=blank)


def wide_set(settings: Settings, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a wide set without classes of very few samples; a quick run has few features."""
    X, y = load(settings, name)
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= FEWEST])
    return X[kept][:, :: settings.size(1, 50)].astype(np.float64), y[kept]


def outcome_of_half(X: np.ndarray, y: np.ndarray, code: str, half: str, problem: str, seed: int, who: str) -> Outcome:
    """Return the outcome of a model that learns from half of the samples; seed 2k + 1 is the mirror of 2k."""
    first, second = stratified_halves(y, seed // 2)
    train, test = (second, first) if seed % 2 else (first, second)
    model = machine("classes", seed) if who == "ours" else l1_logistic()
    seconds = timed_fit(model, X[train], y[train])
    score = score_of("classes", y[test], model.predict(X[test]))
    chosen = model.selected_features_ if who == "ours" else features_of_l1(model)
    progress(f"{half}, {problem}, split {seed}, {who}: {score:.2f} %, {len(chosen)} features, {seconds:.1f} s")
    return Outcome(code, half, problem, seed, who, score, np.nan, np.nan, seconds, " ".join(map(str, chosen)))


def stratified_halves(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two halves of the samples with the classes in equal shares."""
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    return np.sort(order[0::2]), np.sort(order[1::2])


def l1_logistic() -> Any:
    """Return l1-logistic regression, one class against the rest, with the best of ten strengths by five folds."""
    model = LogisticRegressionCV(
        Cs=np.logspace(-2, 2, 10),
        l1_ratios=(1.0,),
        scoring="accuracy",
        solver="liblinear",
        cv=5,
        random_state=0,
        use_legacy_attributes=False,
    )
    return make_pipeline(StandardScaler(), OneVsRestClassifier(model, n_jobs=1))


def features_of_l1(model: Any) -> np.ndarray:
    """Return the features with a coefficient in any of the binary problems."""
    return np.flatnonzero(np.any([binary.coef_[0] != 0 for binary in model[-1].estimators_], axis=0))


def jaccard(first: np.ndarray, second: np.ndarray) -> float:
    """Return the size of the intersection over that of the union; of two empty sets 1."""
    union = np.union1d(first, second)
    return len(np.intersect1d(first, second)) / len(union) if len(union) else 1.0


def compared(ours: list[Outcome], l1: list[Outcome]) -> dict[str, float]:
    """Return what is compared on a set: differences of accuracy, log ratios, and Jaccard indices of mirrored splits."""

    def agreement(outcomes: list[Outcome]) -> float:
        pairs = zip(outcomes[0::2], outcomes[1::2], strict=True)
        return float(np.mean([jaccard(a.selected, b.selected) for a, b in pairs]))

    def log_mean(values: list[float]) -> float:
        return float(np.log(np.mean(values)))

    counts = [[max(len(o.selected), 1) for o in outcomes] for outcomes in (ours, l1)]
    return {
        "accuracy": float(np.mean([o.score - other.score for o, other in zip(ours, l1, strict=True)])),
        "features": log_mean(counts[0]) - log_mean(counts[1]),
        "seconds": log_mean([o.seconds for o in ours]) - log_mean([o.seconds for o in l1]),
        "jaccard": agreement(ours),
        "jaccard of l1": agreement(l1),
    }


def row_of_set(what: str, figures: dict[str, float], found: dict[str, list[Outcome]]) -> Row:
    both = [found["ours"], found["l1"]]
    differences = np.array([o.score - other.score for o, other in zip(*both, strict=True)])
    more = (
        f"{standard_error(differences):.2f}",
        "",
        "",
        f"{figures['jaccard']:.2f} / {figures['jaccard of l1']:.2f}",
        " / ".join(f"{np.mean([len(o.selected) for o in outcomes]):.0f}" for outcomes in both),
        " / ".join(f"{np.mean([o.seconds for o in outcomes]):.1f}" for outcomes in both),
        f"{len(differences)}",
    )
    return Row(what, figures["accuracy"], None, "{:+.2f}", more)


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["selection_panel", *sys.argv[1:]])
