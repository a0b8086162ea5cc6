"""Competitors with their parameters chosen on validation samples."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_array, check_consistent_length

from spkm._checks import check_choice, check_integer
from spkm_paper.competitors import _methods
from spkm_paper.competitors._methods import CLASSIFICATION, REGRESSION, Method, Training

#: Names of the methods.
METHODS = tuple(_methods.METHODS)


def tuned(
    method: str,
    X: Any,
    y: Any,
    train: Any,
    validation: Any,
    *,
    task: str | None = None,
    n_vectors: int | None = None,
    step: int = 1,
    random_state: Any = 0,
) -> tuple[Any, dict[str, Any]]:
    """Return a competitor fitted to training samples, with parameters that are best on validation samples, and these.

    Best is the highest ``score``: accuracy of labels, R^2 of numbers. Of equally good ones the smoothest or sparsest is
    taken. Features, and targets that are numbers, are standardised with the training samples, inside the estimator.

    Parameters
    ----------
    method : str
        A name of :data:`METHODS`, described in ``docs/competitors.md``. Those that end with "_paper" have the grids of
        the paper, 1e-5 to 1, and the mean distance as bandwidth; the others have wider ones.
    X : array-like or CSR of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Labels or numbers.
    train, validation : array-like of int or bool
        Which samples are fitted, and which decide.
    task : {"classification", "regression"}, default=None
        What y holds; needed where the method can do both.
    n_vectors : int, default=None
        Number of prototypes or landmarks; needed by "mmd_critic" and "nystroem_kmeans", the others find theirs.
    step : int, default=1
        Every ``step``-th number of each range is tried.
    random_state : int, RandomState instance or None, default=0
        Seed of k-means and of liblinear.

    Returns
    -------
    estimator : estimator
        The fitted one, which takes samples of X: a pipeline for labels; for numbers a ``TransformedTargetRegressor`` of
        a pipeline, ``estimator.regressor_``.
    params : dict
        The parameters that were chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> train, validation, test = np.array_split(np.random.default_rng(0).permutation(len(y)), 3)
    >>> model, params = tuned("sca_paper", X, y, train, validation)
    >>> bool(model.score(X[test], y[test]) > 0.9), sorted(params)
    (True, ['C', 'gamma', 'misclassified'])
    """
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    y = np.asarray(y)
    check_consistent_length(X, y)
    options: dict[str, Any] = {"task": task, "n_vectors": n_vectors, "step": step, "random_state": random_state}
    best: Any = None
    best_score = -np.inf
    for params, estimator in candidates(method, X[train], y[train], **options):
        score = estimator.fit(X[train], y[train]).score(X[validation], y[validation])
        if score > best_score:
            best, best_score = (estimator, params), score
    if best is None:
        raise ValueError(f"method={method!r} has no finite score on the {len(y[validation])} validation samples.")
    return best


def candidates(
    method: str,
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    n_vectors: int | None = None,
    step: int = 1,
    random_state: Any = 0,
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Return all that :func:`tuned` tries: parameters, and an estimator that is not fitted, of each point of the grid.

    Parameters
    ----------
    method : str
        A name of :data:`METHODS`.
    X : array-like or CSR of shape (n_samples, n_features)
        Training samples, which some grids depend on.
    y : array-like of shape (n_samples,)
        Their labels or numbers.
    task, n_vectors, step, random_state
        As in :func:`tuned`.

    Returns
    -------
    candidates : iterator of (dict, estimator)
        In the order in which equally good ones are preferred.

    Examples
    --------
    >>> grid = candidates("lasso_paper", [[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0], task="regression")
    >>> [f"{params['alpha']:g}" for params, estimator in grid]
    ['1', '0.1', '0.01', '0.001', '0.0001', '1e-05']
    """
    check_choice("method", method, METHODS)
    found = _methods.METHODS[method]
    task = _checked_task(task, method, found)
    check_integer("step", step, 1)
    if found.needs_n_vectors:
        check_integer(f"n_vectors of {method!r}", n_vectors, 1)
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    scaler = StandardScaler(with_mean=not sparse.issparse(X))
    y = np.asarray(y)
    if task == REGRESSION:
        y = StandardScaler().fit_transform(y.reshape(len(y), -1)).reshape(y.shape)
    training = Training(scaler.fit_transform(X), y, task, n_vectors, random_state)
    axes = {name: _thinned(values, step) for name, values in found.grid(training).items()}
    points = (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))
    return ((params, _with_scaling(found.make(training, **params), scaler, task)) for params in points)


def _checked_task(task: Any, name: str, method: Method) -> str:
    if task is None and len(method.tasks) == 1:
        return method.tasks[0]
    if task not in method.tasks:
        can_do = " or ".join(map(repr, method.tasks))
        raise ValueError(f"task of method={name!r} must be {can_do}; got {task!r}.")
    return task


def _thinned(values: Any, step: int) -> list[Any]:
    """Return every ``step``-th number; names stay."""
    kept = values if isinstance(values[0], str) else values[::step]
    return [value if isinstance(value, str) else float(value) for value in kept]


def _with_scaling(model: Any, scaler: StandardScaler, task: str) -> Any:
    fresh = StandardScaler(with_mean=scaler.with_mean)
    if task == CLASSIFICATION:
        return make_pipeline(fresh, model)
    return TransformedTargetRegressor(make_pipeline(fresh, model), transformer=StandardScaler())
