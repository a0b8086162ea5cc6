"""Table 3: several views, each with a kernel and two vectors of its own, and how many of these are used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from spkm import SPKMClassifier, algorithm1
from spkm.kernels import RBF
from spkm.losses import Log
from spkm.penalties import L1, RKHSNorm
from spkm_paper.competitors import SignClassifier, tuned
from spkm_paper.experiments._blocks import Table
from spkm_paper.experiments._data import loaded, thirds
from spkm_paper.experiments._ours import PAPER_GRID, RESTARTS, TUNED_FACTORS, WIDE_C, best_on
from spkm_paper.experiments._tables import Line, comparison
from spkm_paper.experiments._tasks import Experiment, Numbers, Plan, Results, Task

NAME = "mkl"
VERSION = 2
SPLITS = 10
CLASSES = {"uci_multiple_features": (4, 9), "uwave": (1, 6)}  # classes of the files, which count from 0
L1_STRENGTHS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
WIDE_ALPHA = 10.0 ** np.arange(1.0, -4.5, -0.5)
METHODS: dict[str, dict[str, Any]] = {
    "SPKM, paper's algorithm": {"ours": "paper"},
    "SPKM, default": {"ours": "default"},
    "SPKM, a bandwidth for each feature": {"ours": "columns"},
    "SPKM, tuned": {"ours": "tuned"},
    "SPKM, default with l1": {"ours": "l1"},
    "KRR, mean kernel, paper's grid": {"mean kernel": "KRR", "wide": False},
    "KRR, mean kernel, full grid": {"mean kernel": "KRR", "wide": True},
    "SVM, mean kernel, paper's grid": {"mean kernel": "SVM", "wide": False},
    "SVM, mean kernel, full grid": {"mean kernel": "SVM", "wide": True},
    "Lasso, joined features, paper's grid": {"competitor": "lasso_paper"},
}
IN_PAPER = ("SPKM, paper's algorithm", *(name for name in METHODS if name.endswith("paper's grid")))
#: By set and views: accuracies of SPKM, KRR, SVM and Lasso, and how many of two vectors SPKM uses of each view.
PAPER: dict[str, dict[str, tuple[tuple[str, str, str, str], tuple[int, ...]]]] = {
    "uci_multiple_features": {
        "fou": (("47.00 ± 1.4", "96.33 ± 0.5", "95.67 ± 0.9", "94.33 ± 0.9"), (2,)),
        "zer": (("47.00 ± 1.4", "98.00 ± 0.8", "96.33 ± 0.9", "97.67 ± 0.9"), (1,)),
        "mor": (("54.67 ± 0.9", "96.67 ± 2.4", "93.00 ± 2.4", "98.33 ± 0.5"), (1,)),
        "kar": (("99.00 ± 0.0", "99.00 ± 0.0", "99.67 ± 0.5", "97.33 ± 1.2"), (2,)),
        "fou+zer+mor": (("92.33 ± 2.5", "99.00 ± 0.8", "97.67 ± 2.6", "99.00 ± 0.8"), (2, 1, 1)),
        "fou+zer+mor+kar": (("98.67 ± 1.2", "99.33 ± 0.5", "99.33 ± 0.5", "98.33 ± 0.5"), (1, 1, 1, 2)),
    },
    "uwave": {
        "axis_x": (("85.07 ± 2.1", "89.58 ± 3.2", "88.73 ± 2.4", "80.56 ± 3.3"), (1,)),
        "axis_y": (("73.52 ± 7.1", "86.76 ± 1.4", "78.03 ± 6.2", "77.46 ± 3.8"), (2,)),
        "axis_z": (("77.46 ± 1.5", "84.79 ± 1.6", "81.97 ± 2.7", "76.06 ± 5.1"), (2,)),
        "axis_x+axis_y+axis_z": (("93.24 ± 1.4", "96.62 ± 1.4", "95.49 ± 2.9", "90.99 ± 1.4"), (1, 2, 1)),
    },
}
TITLES = {"uci_multiple_features": "multiple-features digits, 4 against 9", "uwave": "uWaveGesture, 2 against 7"}


def tasks(plan: Plan, sets: Sequence[str]) -> Iterable[Task]:
    """Yield all methods on all splits of all combinations of views; quickly, of the largest one."""
    for name in sets:
        for views in list(PAPER[name])[plan.size(0, -1) :]:
            for seed in range(plan.n_seeds(SPLITS)):
                for method, settings in METHODS.items():
                    more = {"step": plan.size(1, 3), "restarts": plan.size(RESTARTS, 1)}
                    yield Task(NAME, f"{name}, {views}", seed, method, {**settings, **more}, VERSION)


def run(task: Task, folder: Path | None) -> Numbers:
    """Fit a method on a training third, choose on a validation third, and test on the last."""
    name, views = task.data.split(", ")
    data = loaded(name, folder)
    kept = np.isin(data.y, CLASSES[name])
    tables = {view: data.views[view][kept].astype(float) for view in views.split("+")}
    y = data.y[kept]
    train, validation, test = split = thirds(len(y), task.seed)
    if "mean kernel" in task.settings:
        K = mean_kernel(list(tables.values()), train)[:, train]
        models = _kernel_machines(task.settings["mean kernel"], task.settings["wide"], task.settings["step"])
        model = best_on(models, K, y, train, validation)
        return {"accuracy": 100 * model.score(K[test], y[test])}
    X, columns = joined(tables)
    if "competitor" in task.settings:
        model, _ = tuned(task.settings["competitor"], X, y, train, validation, task="classification")
        return {"accuracy": 100 * model.score(X[test], y[test])}
    model = _ours(task, X, y, columns, split)
    used = {f"used {view}": usage.n_used for view, usage in model.view_usage_.items()}
    return {"accuracy": 100 * model.score(X[test], y[test]), **used}


def joined(tables: dict[str, np.ndarray]) -> tuple[np.ndarray, dict[str, slice]]:
    """Return the tables side by side, and where each of them is."""
    cuts = np.cumsum([0, *(table.shape[1] for table in tables.values())]).tolist()
    return np.hstack(list(tables.values())), dict(zip(tables, map(slice, cuts[:-1], cuts[1:]), strict=True))


def mean_kernel(tables: Sequence[np.ndarray], train: np.ndarray) -> np.ndarray:
    """Return the mean of the views' RBF kernel matrices, each with the mean distance of its training samples."""
    total = np.zeros((len(tables[0]),) * 2)
    for table in tables:
        X = StandardScaler().fit(table[train]).transform(table)
        total += RBF().resolved(X[train], np.ones(len(train)))(X, X)
    return total / len(tables)


def report(results: Results) -> list[Table]:
    """Return a table for every combination of views, with the vectors used of each."""
    tables = []
    for data in results.data:
        name, views = data.split(", ")
        accuracies, used = PAPER[name][views]
        paper = dict(zip(IN_PAPER, accuracies, strict=True))
        lines = [Line(method, paper.get(method, ""), "ours" not in settings) for method, settings in METHODS.items()]
        more = {f"used {view}": f"{view} used" for view in views.split("+")}
        usage = ", ".join(f"{n} of {view}" for view, n in zip(views.split("+"), used, strict=True))
        notes = [
            f"“Used” counts vectors whose weight is not zero, of two for each view; the paper's: {usage}.",
        ]
        title = f"{views}: {TITLES[name]}"
        tables.append(comparison(results, data, title, lines, "accuracy", "accuracy %", more, "{:.2f}", notes=notes))
    return tables


def _ours(task: Task, X: np.ndarray, y: np.ndarray, views: dict[str, slice], split: Sequence[np.ndarray]) -> Any:
    train, validation, _ = split
    restarts, step = task.settings["restarts"], task.settings["step"]
    common: dict[str, Any] = {"n_basis": 2, "views": views, "n_jobs": 1, "random_state": task.seed}
    if task.settings["ours"] == "default":
        return SPKMClassifier(**common).fit(X[train], y[train])
    if task.settings["ours"] == "columns":
        return SPKMClassifier(**common, learn_bandwidth="columns").fit(X[train], y[train])
    if task.settings["ours"] == "tuned":
        return best_on(_candidates(common, len(train), step), X, y, train, validation)
    if task.settings["ours"] == "l1":
        models = [
            SPKMClassifier(**common, weight_penalty=[RKHSNorm(), L1(strength)], n_restarts=restarts)
            for strength in L1_STRENGTHS[::step]
        ]
        return _sparsest(models, X, y, train, validation)
    models = [
        algorithm1(**common, loss="squared", weight_penalty=L1(strength), n_restarts=restarts)
        for strength in PAPER_GRID[::step]
    ]
    return best_on(models, X, y, train, validation)


def _candidates(common: dict[str, Any], n_rows: int, step: int) -> Iterator[SPKMClassifier]:
    """Yield machines with a bandwidth for each view or for each feature, the smoothest first."""
    for factor in TUNED_FACTORS[::step]:
        penalty = RKHSNorm(factor * Log.rkhs_strength[0] / n_rows)
        for bandwidths in (True, "columns"):
            yield SPKMClassifier(**common, learn_bandwidth=bandwidths, weight_penalty=penalty)


def _sparsest(models: Sequence[Any], X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray) -> Any:
    """Return the first model, the sparsest, that is within one validation sample of the best."""
    fits = [model.fit(X[train], y[train]) for model in models]
    scores = [fit.score(X[validation], y[validation]) for fit in fits]
    return next(fit for fit, score in zip(fits, scores, strict=True) if score >= max(scores) - 1.001 / len(validation))


def _kernel_machines(kind: str, wide: bool, step: int) -> Iterator[Any]:
    """Yield machines of a kernel matrix, the smoothest first."""
    if kind == "SVM":
        for C in WIDE_C[::step] if wide else PAPER_GRID[::-1]:
            yield SVC(C=C, kernel="precomputed")
    else:
        for alpha in WIDE_ALPHA[::step] if wide else PAPER_GRID:
            yield SignClassifier(KernelRidge(alpha=alpha, kernel="precomputed"))


EXPERIMENT = Experiment(
    NAME,
    "Table 3: multiple kernel learning",
    "Thirds of the samples for training, validation and test. Every view has an RBF kernel and two vectors. “Paper's "
    "algorithm”: 2k - 1 with the mean distance as bandwidth, squared loss, l1 penalty on the weights chosen on the "
    "validation third, five random starts. “Default” learns the bandwidths and has the RKHS norm for a penalty; “a "
    "bandwidth for each feature” learns one for each; “tuned” chooses between the two and among three strengths on the "
    "validation third; “with l1” takes the strongest of a few additional l1 penalties that costs at most one "
    "validation sample. KRR and SVM have the mean of the views' kernels, Lasso the joined features.",
    tasks,
    run,
    report,
    tuple(PAPER),
)
