"""The classifier of ordered classes: one score, and learned thresholds between neighbouring classes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from spkm._arrays import TableLike, TargetLike, WeightLike
from spkm._checks import warn_user
from spkm._frames import dtype_of
from spkm._publish import publish
from spkm.estimators.classifier import PredictsProbabilities
from spkm.estimators.parameters import OfOrdinal
from spkm.fitting.data import StreamData, TableData
from spkm.fitting.outcome import attributes_of
from spkm.fitting.progress import Progress
from spkm.fitting.thresholds import fitted_in_turns, ordered_stream, ordered_table, summarized_stream
from spkm.tables.levels import level_order, levels_of
from spkm.tables.read import known_targets, read_table
from spkm.tables.streams import named_columns, opened_stream


class SPKMOrdinalClassifier(OfOrdinal, PredictsProbabilities, ClassifierMixin, BaseEstimator):
    """Sparse pre-image kernel machine for ordered classes: one score f(x), and thresholds between the classes.

    The probability of a class above the k-th is 1 / (1 + exp(t_k - f(x))), the proportional odds model. One score
    serves all classes: so does one explanation. Scores and thresholds are fitted in turn.

    Parameters
    ----------
    n_basis : int or "auto", default=10
        Number of basis vectors, as in :class:`SPKMClassifier`.
    order : sequence or "sorted", default=None
        The labels, lowest first. None takes the order of a pandas category that is ordered, or that of numbers. Three
        or more labels of text need it; "sorted" is for those whose alphabetical order is meant ("2024-01", "2024-02").
        Estimators of scikit-learn that turn labels into numbers first (voting, stacking, bagging) lose another order.
    kernel : str or Kernel, default="rbf"
        The kernel: "rbf", "matern", "rational_quadratic", "laplacian", "linear", "polynomial", "normalized_polynomial"
        or "tanimoto", or a Kernel.
    views, terms, weight_penalty, selection, max_features, max_groups, feature_groups, max_basis
        As in :class:`SPKMClassifier`.
    learn_bandwidth, linear_part, basis_bounds, monotone, scale, solver, start, max_iter, tol
        As in :class:`SPKMClassifier`.
    n_jobs, random_state, verbose
        As in :class:`SPKMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, lowest first.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Scores at which a sample is as likely to be above the class as not.
    model_ : FittedModel
        The fitted model of the score.
    n_rounds_ : int
        How often scores and thresholds were fitted in turn.
    basis_vectors_, dual_coef_, intercept_, linear_coef_, selected_features_, relevances_, kernel_, n_iter_, objective_
        As in :class:`SPKMClassifier`; all of the one score.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMOrdinalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 3))
    >>> y = np.array(["low", "mid", "high"])[np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.5])]
    >>> model = SPKMOrdinalClassifier(order=["low", "mid", "high"], random_state=0).fit(X, y)
    >>> model.classes_.tolist(), bool(model.score(X, y) > 0.9)
    (['low', 'mid', 'high'], True)
    >>> model.predict_proba(X).shape, model.latent_score(X).shape
    ((200, 3), (200,))
    """

    def fit(
        self,
        X: TableLike,
        y: TargetLike | None = None,
        sample_weight: WeightLike = None,
        *,
        target: str | None = None,
        weight: str | None = None,
        features: Sequence[str] | None = None,
    ) -> Self:
        """Fit score and thresholds.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features), or dict of them
            Samples. If they do not fit in memory, they may be files, lazy frames, Dask collections or chunks, as in
            :class:`SPKMClassifier`; their codes, weights and scores, three numbers a sample, are kept in memory.
        y : array-like of shape (n_samples,)
            Labels: numbers, an ordered category of pandas, text, or anything with ``order``. For files and lazy frames
            the name of a column; chunks hold their own.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, as in :class:`SPKMClassifier`.
        target, weight, features : str, str and sequence of str, default=None
            Column names of the target, the weights and the features; by default all others are features.

        Returns
        -------
        self : object
            The fitted estimator. If anything goes wrong, it is as it was.
        """
        order = self.order
        if order is None:
            order = level_order(X, y if target is None else target)
        X, y, sample_weight = named_columns(X, y, sample_weight, target, weight, features)
        params, progress = self.get_params(deep=False), Progress(self)
        reader = opened_stream(X, y, sample_weight)
        data: TableData | StreamData
        if reader is None:
            if y is None:
                raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
            labels, code = codes_of(y, order)
            table = read_table(self, X, code, sample_weight)
            labels, code = _seen(labels, np.asarray(table.y, dtype=np.int64), table.weight)
            spec, data = ordered_table(params, X, table, labels, code)
            known = table.attributes
        else:
            spec, summary = summarized_stream(params, reader)
            labels, code = codes_of(summary.labels, order)
            labels, code = _seen(labels, code, summary.label_weights)
            share = np.bincount(code, summary.label_weights, len(labels))
            spec, data = ordered_stream(spec, reader, summary, labels, share)
            known = data.attributes
        outcome, n_rounds = fitted_in_turns(spec, data, labels, progress)
        progress.done()
        attributes = {
            **known,
            **attributes_of(outcome, data.dtype),
            "classes_": labels,
            "thresholds_": np.array(outcome.model.loss.thresholds),
            "n_rounds_": n_rounds,
        }
        return publish(self, attributes)

    def latent_score(self, X: TableLike) -> np.ndarray:
        """Return the score f(x) of every sample: the higher, the higher its class.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            On the scale of ``thresholds_``.
        """
        return self._scores(X)[:, 0]

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Return the probability of every class, lowest first.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``. Metrics of scikit-learn that read probabilities take the columns to be in the
            sorted order of the labels: where that is another one, a warning says so.
        """
        probabilities = super().predict_proba(X)
        if not np.array_equal(self.classes_, np.sort(self.classes_)) and _is_scored():
            warn_user(
                "This score is wrong: scikit-learn takes columns of probabilities in the sorted order of the labels, "
                f"{np.sort(self.classes_).tolist()[:5]}, and those of ordered classes are lowest first. Give codes 0, "
                "1, 2 as y, or score by the predicted labels.",
                UserWarning,
            )
        return probabilities

    def predict_median(self, X: TableLike) -> np.ndarray:
        """Return the label between whose thresholds the score lies, for every sample of ``X``.

        Lower and higher classes have a probability of at most one half each. The label has the lowest expected distance
        in classes; :meth:`predict` has the highest expected accuracy.
        """
        check_is_fitted(self)
        return self.model_.target.labels[np.searchsorted(self.model_.loss.thresholds, self._scores(X)[:, 0])]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _is_scored() -> bool:
    """Whether a scorer of scikit-learn asked for probabilities, itself or through a pipeline."""
    frame: Any = sys._getframe()
    name = "spkm"
    while frame is not None and name.startswith(("spkm", "sklearn.utils", "sklearn.pipeline")):
        name, frame = frame.f_globals.get("__name__", ""), frame.f_back
    return name == "sklearn.metrics._scorer"


def codes_of(y: TargetLike | None, order: Sequence[Any] | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels in their order, lowest first, and the code of every sample (-1 for one without a label)."""
    levels = levels_of(dtype_of(y))
    by_label = isinstance(order, str) and order == "sorted"
    if order is not None and not by_label:
        if isinstance(order, str) or not isinstance(order, Sequence | np.ndarray) or len(order) < 2:
            raise ValueError(
                f"order must be a sequence of at least two labels, lowest first, or 'sorted'; got {order!r}."
            )
        labels = np.asarray(order)
        if len(np.unique(labels)) != len(labels):
            raise ValueError(f"order must hold every label once; got {list(order)!r}.")
        values = column_or_1d(np.asarray(known_targets(y)), warn=True)
    elif levels is not None and not by_label:
        labels, values = np.asarray(levels), np.asarray(y)
    else:
        values = column_or_1d(np.asarray(known_targets(y)), warn=True)
        if values.dtype.kind not in "biuf":
            labels = _texts(values, by_label)
        else:
            if not np.isfinite(values).all():
                raise ValueError("y must hold finite numbers; it holds NaN or infinity.")
            check_classification_targets(values)
            labels = np.unique(values)
    place = {label: k for k, label in enumerate(labels.tolist())}
    found = [place.get(value, -1) for value in values.tolist()]
    code = np.array(found, dtype=np.int64)
    if len(code) and code.min() < 0:
        unknown = values[code < 0].tolist()[0]
        raise ValueError(f"y must hold labels of the order {labels.tolist()}; got {unknown!r}.")
    return labels, code


def _texts(values: np.ndarray, by_label: bool) -> np.ndarray:
    """Return labels of text in alphabetical order; an error if they are three or more and order is not "sorted"."""
    if not all(isinstance(value, str) for value in values.tolist()):
        raise ValueError(
            "Unknown label type: y must hold numbers, text or an ordered category of pandas where order is None; got "
            f"{values[[not isinstance(value, str) for value in values.tolist()]][0]!r}. Give order=[...], lowest first."
        )
    labels = np.unique(values)
    if len(labels) > 2 and not by_label:
        shown = [repr(str(label)) for label in labels[:5]] + (["..."] if len(labels) > 5 else [])
        raise ValueError(
            f"y holds {len(labels)} labels of text, {', '.join(shown)}, whose order is not known. Give order=[...], "
            "lowest label first, or an ordered category of pandas; order='sorted' takes their alphabetical order."
        )
    return labels


def _seen(labels: np.ndarray, code: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels that samples of positive weight have, and codes of these."""
    present = np.unique(code[weight > 0])
    if len(present) < 2:
        one = labels[present].tolist()
        raise ValueError(f"y must hold at least two classes in samples of positive weight; got one class, {one!r}.")
    return labels[present], np.clip(np.searchsorted(present, code), 0, len(present) - 1)
