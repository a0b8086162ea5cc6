"""What the experiments on few features share: methods, their curves of accuracy against features, and the figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import PredefinedSplit
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifierCV, algorithm1
from spkm.inspection import Curve, CurveDisplay
from spkm_paper.competitors import candidates, tuned
from spkm_paper.experiments._figures import legend_below, panels
from spkm_paper.experiments._tasks import Numbers, Results

RADII = 10.0 ** np.arange(-1, 3.5, 0.5)  # of the l1 ball, the paper's range
CURVES = ("SPKM, strict", "SPKM, paper's algorithm", "Lasso")
LEVELS = ("SVM", "SVM on the relevant features")
NOTES = (
    "“Strict” reads no feature but those it counts. The paper's algorithm with an RBF kernel does: a zero in all of "
    "its vectors does not take a feature out of a distance, so that its features are counted in the paper's sense "
    "only, those where some vector is not zero.",
    "With the cosine loss, which ignores the length of c, the l1 ball hardly forces zeros: two vectors close together "
    "with large opposite weights predict what two far apart do, so that every radius leaves room for all features.",
    "Of a curve (paper's algorithm, Lasso) the table has the point that is best on the validation samples.",
)


def methods(most: Sequence[int], step: int, restarts: int) -> dict[str, dict[str, Any]]:
    """Return the methods by name: ours without and with limits on the number of features, and the others."""
    limited = {f"SPKM, strict, at most {k} features": {"strict": True, "most": k} for k in most}
    return {
        "SPKM, strict": {"strict": True, "most": None},
        **limited,
        "SPKM, paper's algorithm": {"paper": True, "restarts": restarts, "step": step},
        "Lasso": {"lasso": True, "step": step},
        "l1-logistic": {"competitor": "l1_logistic", "step": step},
        "SVM": {"competitor": "svm", "step": step},
    }


def measured(
    settings: Mapping[str, Any], X: np.ndarray, y: np.ndarray, split: Sequence[np.ndarray], seed: int
) -> Numbers:
    """Fit a method on the training samples, choose on the validation samples, and return test accuracy and features."""
    train, validation, test = split
    if "competitor" in settings:
        step = settings["step"]
        model, _ = tuned(settings["competitor"], X, y, train, validation, task="classification", step=step)
        found: Numbers = {"accuracy": 100 * model.score(X[test], y[test])}
        if hasattr(model[-1], "coef_"):
            found["selected"] = np.flatnonzero(model[-1].coef_)
        return _counted(found)
    if "strict" in settings:
        rows = np.concatenate([train, validation])
        folds = PredefinedSplit(np.repeat([-1, 0], [len(train), len(validation)]))
        chosen = SPKMClassifierCV(
            cv=folds, refit=False, max_features=settings["most"], n_jobs=1, random_state=seed
        ).fit(X[rows], y[rows])
        accuracy = 100 * chosen.score(X[test], y[test])
        return _counted({"accuracy": accuracy, "selected": chosen.selected_features_})
    if "lasso" in settings:
        models = [
            model for _, model in candidates("lasso", X[train], y[train], task="classification", step=settings["step"])
        ]
        return _curve(models, X, y, split, lambda model: model[-1].regressor_.coef_)
    machines = [
        algorithm1(2, l1_radius=radius, n_restarts=settings["restarts"], scale=False, n_jobs=1, random_state=seed)
        for radius in RADII[:: settings["step"]]
    ]
    # Scaled here, as the library gives basis vectors in the units of X, where a zero of the model is the column's mean.
    scaled = StandardScaler().fit(X[train]).transform(X)
    return _curve(machines, scaled, y, split, lambda model: model.basis_vectors_)


def _curve(models: Sequence[Any], X: np.ndarray, y: np.ndarray, split: Sequence[np.ndarray], weights: Any) -> Numbers:
    """Return features and accuracies of all models, and those of the best on the validation samples."""
    train, validation, test = split
    fits = [model.fit(X[train], y[train]) for model in models]
    read = [np.flatnonzero(np.atleast_2d(weights(fit)).any(axis=0)) for fit in fits]
    accuracies = [100 * fit.score(X[test], y[test]) for fit in fits]
    best = int(np.argmax([fit.score(X[validation], y[validation]) for fit in fits]))
    return _counted(
        {
            "accuracy": accuracies[best],
            "selected": read[best],
            "curve columns": [len(columns) for columns in read],
            "curve accuracies": accuracies,
        }
    )


def _counted(found: Numbers) -> Numbers:
    if "selected" in found:
        found["columns"] = len(found["selected"])
    return found


def draw(results: Results, titles: Mapping[str, str], n_columns: Mapping[str, int]) -> Any:
    """Return accuracy against features for every data set: curves of what selects, levels of what does not."""
    figure, axes = panels(len(results.data), columns=3, width=3.8, height=3.0)
    for axis, data in zip(axes, results.data, strict=True):
        CurveDisplay(
            {name: Curve(*_points(results, data, name)) for name in CURVES},
            levels={name: results.mean(data, name, "accuracy") for name in LEVELS if name in results.methods(data)},
            places={"features that matter": n_columns[data]} if data in n_columns else {},
            names=[*CURVES, *LEVELS],
            x_label="features",
            y_label="test accuracy [%]",
            x_scale="symlog",
        ).plot(ax=axis, legend=False)
        axis.set_xlim(0, 1.3 * axis.get_xlim()[1])  # whole markers at the end
        axis.set_title(titles.get(data, data), fontsize=9)
    legend_below(figure, axes)
    return figure


def _points(results: Results, data: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return mean features and mean accuracies, in the order of the features."""
    if name == "SPKM, strict":
        of = [method for method in results.methods(data) if method.startswith(name)]
        pairs = [[results.mean(data, method, what) for what in ("columns", "accuracy")] for method in of]
    else:
        curves = [list(results.by_seed(data, name, f"curve {what}").values()) for what in ("columns", "accuracies")]
        pairs = np.mean(np.array(curves, dtype=float), axis=1).T.tolist() if curves[0] else []
    order = sorted(pairs)
    return np.array([x for x, _ in order]), np.array([y for _, y in order])
