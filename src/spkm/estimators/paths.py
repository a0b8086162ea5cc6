"""Models from many features to few, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from spkm._arrays import TableLike, TargetLike, WeightLike
from spkm.estimators.base import ReadsModel
from spkm.fitting.binary import check_joint
from spkm.fitting.data import TableData
from spkm.fitting.search import decided, fold_of
from spkm.fitting.spec import Spec
from spkm.penalties import BASIS_PENALTIES
from spkm.selection import Choice, Fold, Search, Submodel
from spkm.sources import one_blas_thread

STRENGTHS = np.logspace(-5, -1, 9)  # of a penalty on the basis vectors


@dataclass
class SparsityPath:
    """Models from many features to few.

    Attributes
    ----------
    strengths : ndarray of shape (k,)
        With strict selection the increase of the objective, per feature, when the next features are removed. With a
        basis penalty, its strength (or radius).
    n_features, n_basis : ndarray of int of shape (k,)
        Number of features that the model uses, and of basis vectors.
    n_nonzero : ndarray of int of shape (k,)
        Number of non-zero entries of the basis vectors (in features that are used).
    scores, losses : ndarray of shape (k,)
        Mean held-out score of the estimator (accuracy, R2), and mean held-out loss where the selection is strict (NaN
        otherwise).
    score_errors : ndarray of shape (k,)
        Standard error of the mean score over the splits.
    objectives : ndarray of shape (k,)
        The objective on all samples.
    supports : list of ndarray of int
        The features.
    """

    strengths: np.ndarray
    n_features: np.ndarray
    n_basis: np.ndarray
    n_nonzero: np.ndarray
    scores: np.ndarray
    losses: np.ndarray
    score_errors: np.ndarray
    objectives: np.ndarray
    supports: list[np.ndarray]

    def frame(self) -> Any:
        """Return a pandas DataFrame, one row for each model."""
        names = ("strengths", "n_features", "n_basis", "n_nonzero", "scores", "losses", "score_errors", "objectives")
        return pandas().DataFrame({name: getattr(self, name) for name in names})


def sparsity_path(
    estimator: ReadsModel,
    X: TableLike,
    y: TargetLike | None,
    *,
    sample_weight: WeightLike = None,
    strengths: ArrayLike | None = None,
) -> SparsityPath:
    """Return the models of an estimator from many features to few, with their held-out losses and scores.

    Parameters
    ----------
    estimator : SPKMClassifier, SPKMRegressor, SPKMClassifierCV or SPKMRegressorCV
        With ``selection="strict"`` the path is that of the elimination, nested from model to model. With a
        ``basis_penalty`` it goes through its strengths, weakest first, each fit starting from the one before.
    X, y, sample_weight
        As for fit.
    strengths : array-like, default=None
        Strengths of the basis penalty; None takes nine from 1e-5 to 0.1.

    Returns
    -------
    path : SparsityPath
        Arrays, and a frame.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spkm import SPKMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SPKMClassifier(kernel="linear", selection="strict", random_state=0)
    >>> path = sparsity_path(clf, X[:100, :4], y[:100])
    >>> path.n_features[-3:].tolist(), bool(path.scores.max() > 0.85)
    ([3, 2, 1], True)
    """
    if not can_search(estimator):
        raise TypeError(
            "estimator must be an SPKMClassifier, an SPKMRegressor or one of their CV kin; got "
            f"{type(estimator).__name__}."
        )
    check_joint("estimator", estimator)
    if estimator.selection is not None:
        if strengths is not None:
            raise ValueError("strengths are those of a basis_penalty; a strict selection finds its own.")
        return _strict_path(clone(estimator), X, y, sample_weight)
    if estimator.get_params(deep=False).get("basis_penalty") is None:
        raise ValueError("estimator must have selection='strict' or a basis_penalty; it has neither.")
    return _penalty_path(estimator, X, y, sample_weight, STRENGTHS if strengths is None else strengths)


def can_search(estimator: Any) -> bool:
    """Whether an estimator, of any library, has the search for features."""
    return hasattr(estimator, "_search")  # any estimator may come


def searched(
    estimator: BaseEstimator, X: TableLike, y: TargetLike | None, sample_weight: WeightLike
) -> tuple[Spec, Search, TableData, Choice]:
    """Return the search of an estimator on all samples and its decision."""
    spec, _, data, search = estimator._search(X, y, sample_weight, lambda text: False)
    if search is None:
        raise ValueError("y must not be constant: there is nothing to predict.")
    return spec, search, data, decided(search)


def _strict_path(
    estimator: BaseEstimator, X: TableLike, y: TargetLike | None, sample_weight: WeightLike
) -> SparsityPath:
    spec, search, data, choice = searched(estimator, X, y, sample_weight)
    with np.errstate(all="ignore"), one_blas_thread():
        everything = fold_of(spec, data, choice, spec.rng())
        models = search.sequence(choice, everything)
        of_folds = [search.sequence(choice, fold) for fold in search.folds]
    sizes = [len(model.columns) for model in models]
    losses, scores, errors = [], [], []
    for size in sizes:
        at_size = [next((m for m in sequence if len(m.columns) <= size), sequence[-1]) for sequence in of_folds]
        pairs = list(zip(at_size, search.folds, strict=True))
        weights = [fold.test.total_weight for fold in search.folds if fold.test is not None]
        of_splits = np.array([_score(data, model, fold) for model, fold in pairs])
        scores.append(float(np.average(of_splits, weights=weights)))
        errors.append(_standard_error(of_splits, np.array(weights)))
        losses.append(float(np.average(search.validation.row_losses(at_size), weights=search.validation.row_weight)))
    objectives = np.array([model.objective for model in models])
    fewer = -np.diff(sizes, append=0)
    prices = np.maximum(np.diff(objectives, append=np.inf), 0) / fewer
    return SparsityPath(
        prices,
        np.array(sizes),
        np.array([model.model.n_basis for model in models]),
        np.array([sum(map(np.count_nonzero, model.model.unpack(model.theta).basis)) for model in models]),
        np.array(scores),
        np.array(losses),
        np.array(errors),
        objectives,
        [model.columns for model in models],
    )


def _score(data: TableData, model: Submodel, fold: Fold) -> float:
    """Return accuracy (of labels: the share of samples that have all of them right), or R2 as a mean over outputs."""
    assert fold.test is not None
    F, Y, w = model.predict(fold.test), fold.test.Y, fold.test.w
    if model.problem.loss.target == "signs" or data.target.of_classes:
        is_one_class = Y.shape[1] > 1 and data.target.task == "classes"
        right = np.argmax(F, axis=1) == np.argmax(Y, axis=1) if is_one_class else np.all((F > 0) == (Y > 0), axis=1)
        return float(w[:, 0] @ right)
    F = model.problem.loss.predict(F)
    spread = np.sum(w * np.square(Y - np.sum(w * Y, axis=0)), axis=0)
    return float(np.mean(1 - np.sum(w * np.square(Y - F), axis=0) / np.where(spread > 0, spread, 1.0)))


def _standard_error(scores: np.ndarray, weights: np.ndarray) -> float:
    """Return the standard error of the weighted mean of the splits' scores; NaN of a single one."""
    if len(scores) < 2:
        return np.nan
    share = weights / weights.sum()
    return float(np.sqrt(np.sum(np.square(share * (scores - share @ scores))) * len(scores) / (len(scores) - 1)))


def _penalty_path(
    estimator: ReadsModel, X: TableLike, y: TargetLike | None, sample_weight: WeightLike, strengths: ArrayLike | None
) -> SparsityPath:
    """Return the path of a penalty on the basis vectors, which leaves every feature to a stationary kernel."""
    strengths = np.asarray(strengths, dtype=np.float64)
    if strengths.ndim != 1 or len(strengths) == 0 or not np.all(np.isfinite(strengths) & (strengths >= 0)):
        raise ValueError(f"strengths must be a list of numbers of at least 0; got {strengths!r}.")
    whole = list(_warm_fits(estimator, X, y, sample_weight, strengths, None))
    splits = check_cv(5, y, classifier=is_classifier(estimator)).split(np.zeros((len(np.asarray(y)), 1)), y)
    weight = np.ones(len(np.asarray(y))) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    scores, sizes = [], []
    for train, test in splits:
        held_out, targets = _safe_indexing(X, test), _safe_indexing(y, test)
        fits = _warm_fits(estimator, X, y, sample_weight, strengths, train)
        scores.append([fitted.score(held_out, targets, weight[test]) for fitted in fits])
        sizes.append(weight[test].sum())
    of_splits, weights = np.array(scores), np.array(sizes)
    return SparsityPath(
        strengths,
        np.array([len(fitted.selected_features_) for fitted in whole]),
        np.array([np.count_nonzero(np.any(np.atleast_2d(fitted.dual_coef_.T) != 0, axis=0)) for fitted in whole]),
        np.array([fitted.model_.n_nonzero() for fitted in whole]),
        np.average(of_splits, axis=0, weights=weights),
        np.full(len(strengths), np.nan),
        np.array([_standard_error(column, weights) for column in of_splits.T]),
        np.array([fitted.objective_ for fitted in whole]),
        [fitted.selected_features_ for fitted in whole],
    )


def _warm_fits(
    estimator: ReadsModel,
    X: TableLike,
    y: TargetLike | None,
    sample_weight: WeightLike,
    strengths: np.ndarray,
    rows: np.ndarray | None,
) -> Iterator[Any]:
    """Yield copies of an estimator fitted with one strength after another, each going on from the one before."""
    if rows is not None:
        X, y = _safe_indexing(X, rows), _safe_indexing(y, rows)
        sample_weight = None if sample_weight is None else _safe_indexing(sample_weight, rows)
    penalty = BASIS_PENALTIES.resolve(estimator.basis_penalty, "basis_penalty")
    name = "radius" if "radius" in penalty.get_params(deep=False) else "strength"
    current: Any = clone(estimator).set_params(warm_start=True)
    for strength in strengths:
        current.set_params(basis_penalty=clone(penalty).set_params(**{name: float(strength)}))
        yield copy(current.fit(X, y, sample_weight=sample_weight))


def pandas() -> Any:
    """Return the package, or say how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("A frame needs pandas: pip install 'spkm[frames]'.") from error
    return pandas
