"""Side by side on one data set: breast cancer (569 × 30, of scikit-learn), five folds repeated three times.

Settings are those a careful user starts with: the SVM is tuned on inner folds, all others take their defaults. Times
are seconds of processor time, of a fit and of explaining one prediction by features. A method that has used up its time
leaves out the other folds: "folds" says how many it has. A package that is not installed is left out, and its row says
so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks._data import Settings
from benchmarks._report import Row
from spkm import SPKMClassifier
from spkm.explain import explain

COLUMNS = ("log loss", "features", "what the model is", "s, a fit", "ms, a reason", "the reason is", "folds")
MOST_SECONDS = 120  # of processor time, for the fits of one method


def run(settings: Settings) -> Iterator[Row]:
    X, y = load_breast_cancer(return_X_y=True)
    splits = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=settings.n_seeds(3), random_state=0).split(X, y))
    for name, needs, make, describe, reason in MODELS:
        if any(find_spec(package) is None for package in needs):
            yield Row(f"{name}: not run, {' and '.join(needs)} not installed", "", more=("",) * len(COLUMNS))
            continue
        yield one(name, make, describe, reason, X, y, splits[: 2 if settings.quick else None])


def one(name: str, make: Any, describe: Any, reason: Any, X: np.ndarray, y: np.ndarray, splits: Any) -> Row:
    """Return the row of one kind of model."""
    accuracy, losses, times, explained, size, features = [], [], [], [], "", 0.0
    for k, (train, test) in enumerate(splits):
        start = process_time()
        model = make(k).fit(X[train], y[train])
        times.append(process_time() - start)
        probability = model.predict_proba(X[test])[:, 1]
        accuracy.append(100 * np.mean((probability > 0.5) == y[test]))
        losses.append(log_loss(y[test], probability))
        if k == 0:
            size, features = describe(model)
            method, explain_one = reason(model, X[train])
            if explain_one is not None:
                explain_one(X[test][:1])
                start = process_time()
                explain_one(X[test][1:2])
                explained.append(1000 * (process_time() - start))
        if sum(times) > MOST_SECONDS:
            break
    error = np.std(accuracy, ddof=1) / np.sqrt(len(accuracy)) if len(accuracy) > 1 else np.nan
    took = f"{explained[0]:.1f}" if explained else ""
    more = (f"{np.mean(losses):.3f}", f"{features:.0f}", size, f"{np.median(times):.2f}", took, method, f"{len(times)}")
    return Row(name, f"{np.mean(accuracy):.1f} ± {error:.1f}", more=more)


def tuned_svm(seed: int) -> Any:
    from sklearn.calibration import CalibratedClassifierCV

    pipeline = make_pipeline(StandardScaler(), SVC())
    grid = {"svc__C": [0.1, 1, 10, 100], "svc__gamma": [0.001, 0.003, 0.01, 0.03, 0.1]}
    return CalibratedClassifierCV(GridSearchCV(pipeline, grid, cv=5), cv=3, ensemble=False)


def boosted(seed: int) -> Any:
    import lightgbm

    return lightgbm.LGBMClassifier(random_state=seed, verbose=-1, n_jobs=1)


def additive(seed: int) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=seed, n_jobs=1)


def gaussian_process(seed: int) -> Any:
    kernel = ConstantKernel(10.0, (1e-2, 1e4)) * RBF(5.0, (1e-1, 1e3))
    return make_pipeline(StandardScaler(), GaussianProcessClassifier(kernel, random_state=seed))


def strict(seed: int) -> Any:
    return SPKMClassifier(n_basis=2, selection="strict", max_features=5, random_state=seed)


def ours(model: Any) -> tuple[str, int]:
    return f"{len(model.dual_coef_)} vectors", len(model.selected_features_)


def exact(model: Any, X: np.ndarray) -> tuple[str, Callable[[np.ndarray], Any]]:
    return "exact Shapley values", lambda rows: explain(model, rows, background=X[::4]).values


def of_kernel_explainer(model: Any, X: np.ndarray) -> tuple[str, Callable[[np.ndarray], Any] | None]:
    if find_spec("shap") is None:
        return "none of its own; shap not installed", None
    import shap

    explainer = shap.KernelExplainer(lambda rows: model.predict_proba(rows)[:, 1], X[::4][:100])
    return "shap's KernelExplainer, estimated", lambda rows: explainer.shap_values(rows, silent=True)


def of_tree_explainer(model: Any, X: np.ndarray) -> tuple[str, Callable[[np.ndarray], Any] | None]:
    if find_spec("shap") is None:
        return "shap not installed", None
    import shap

    explainer = shap.TreeExplainer(model, X[::4][:100])
    return "shap's TreeExplainer, exact", explainer.shap_values


MODELS: tuple[Any, ...] = (
    ("SPKM, defaults", (), lambda seed: SPKMClassifier(random_state=seed), ours, exact),
    ("SPKM, 2 vectors, at most 5 features", (), strict, ours, exact),
    (
        "logistic regression (l2)",
        (),
        lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        lambda model: ("30 coefficients", 30),
        lambda model, X: ("its coefficients", None),
    ),
    (
        "SVM (RBF), tuned, calibrated",
        (),
        tuned_svm,
        lambda model: (
            f"{model.calibrated_classifiers_[0].estimator.best_estimator_[-1].n_support_.sum()} support vectors",
            30,
        ),
        of_kernel_explainer,
    ),
    (
        "Gaussian process (RBF)",
        (),
        gaussian_process,
        lambda model: (f"{len(model[-1].base_estimator_.X_train_)} samples", 30),
        of_kernel_explainer,
    ),
    (
        "gradient boosting (scikit-learn)",
        (),
        lambda seed: HistGradientBoostingClassifier(random_state=seed),
        lambda model: (f"{model.n_iter_} trees", 30),
        lambda model, X: ("", None),
    ),
    (
        "LightGBM + SHAP",
        ("lightgbm",),
        boosted,
        lambda model: (f"{model.n_estimators_} trees", int((model.feature_importances_ > 0).sum())),
        of_tree_explainer,
    ),
    (
        "EBM (interpret)",
        ("interpret",),
        additive,
        lambda model: (f"{len(model.term_names_)} curves and surfaces", 30),
        lambda model, X: ("its own terms", lambda rows: model.explain_local(rows)),
    ),
    (
        "LassoNet",
        ("lassonet", "torch"),
        lambda seed: lassonet(seed),
        lambda model: ("a network", 30),
        lambda m, X: ("", None),
    ),
)


def lassonet(seed: int) -> Any:
    from lassonet import LassoNetClassifierCV

    return make_pipeline(StandardScaler(), LassoNetClassifierCV(random_state=seed))


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["compare", *sys.argv[1:]])
