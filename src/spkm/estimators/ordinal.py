"""The classifier of ordered classes: one score, and learned thresholds between neighbouring classes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from spkm._publish import publish
from spkm.core.targets import Ordered
from spkm.estimators.base import ReadsModel
from spkm.fitting.data import TableData
from spkm.fitting.outcome import Outcome, attributes_of
from spkm.fitting.progress import Progress
from spkm.fitting.reading import table_spec
from spkm.fitting.spec import Spec
from spkm.fitting.strategies import strategy_for
from spkm.losses import Ordinal, best_thresholds, first_thresholds
from spkm.tables.read import Table, check_known, read_table

# A score that explains half of what can be explained spreads thresholds about twice as far as a constant one.
FIRST_SPREAD = 2.0
ROUNDS = 12  # of scores and thresholds in turn, at the most
ENOUGH = 1e-3  # largest change of a threshold at which the turns end


class SPKMOrdinalClassifier(ReadsModel, ClassifierMixin, BaseEstimator):
    """Sparse pre-image kernel machine for ordered classes: one score f(x), and thresholds between the classes.

    The probability of a class above the k-th is 1 / (1 + exp(t_k - f(x))), the proportional odds model. One score
    serves all classes: so does one explanation. Scores and thresholds are fitted in turn.

    Parameters
    ----------
    n_basis : int or "auto", default=10
        Number of basis vectors, as in :class:`SPKMClassifier`.
    order : sequence, default=None
        The labels, lowest first. None takes the order of a pandas category that is ordered, or that of numbers; three
        or more labels of text are then in alphabetical order, with a warning that shows it.
    kernel : str or Kernel, default="rbf"
        The kernel.
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

    def __init__(
        self,
        n_basis: Any = 10,
        *,
        order: Any = None,
        kernel: Any = "rbf",
        views: Any = None,
        terms: Any = None,
        weight_penalty: Any = "auto",
        selection: Any = None,
        max_features: int | None = None,
        max_groups: int | None = None,
        feature_groups: Any = None,
        max_basis: int | None = None,
        learn_bandwidth: Any = "auto",
        linear_part: Any = "auto",
        basis_bounds: Any = "data",
        monotone: Any = None,
        scale: Any = True,
        solver: Any = "auto",
        start: Any = "auto",
        max_iter: int | None = None,
        tol: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_basis = n_basis
        self.order = order
        self.kernel = kernel
        self.views = views
        self.terms = terms
        self.weight_penalty = weight_penalty
        self.selection = selection
        self.max_features = max_features
        self.max_groups = max_groups
        self.feature_groups = feature_groups
        self.max_basis = max_basis
        self.learn_bandwidth = learn_bandwidth
        self.linear_part = linear_part
        self.basis_bounds = basis_bounds
        self.monotone = monotone
        self.scale = scale
        self.solver = solver
        self.start = start
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SPKMOrdinalClassifier:
        """Fit score and thresholds.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features), or dict of them
            Samples.
        y : array-like of shape (n_samples,)
            Labels: numbers, an ordered category of pandas, text, or anything with ``order``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, as in :class:`SPKMClassifier`.

        Returns
        -------
        self : object
            The fitted estimator. If anything goes wrong, it is as it was.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        labels, code = codes_of(y, self.order)
        table = read_table(self, X, code, sample_weight)
        labels, code = _seen(labels, table)
        weight, K = table.weight, len(labels)
        share = np.bincount(code, weight, K) / weight.sum()
        loss = Ordinal(tuple(first_thresholds(share, FIRST_SPREAD).tolist()))
        params = {**self.get_params(deep=False), "loss": loss, "fit_intercept": True}
        spec = table_spec(params, X, table, of_classes=False)
        Y = code[:, None].astype(np.float64)
        data = TableData.of(spec, table.X, Y, weight, Ordered.of(labels, loss), place=table.place)
        progress = Progress(self)
        outcome, n_rounds = _in_turns(spec, data, labels, progress)
        progress.done()
        attributes = {
            **table.attributes,
            **attributes_of(outcome, table.X.dtype),
            "classes_": labels,
            "thresholds_": np.array(outcome.model.loss.thresholds),
            "n_rounds_": n_rounds,
        }
        return publish(self, attributes)

    def latent_score(self, X: Any) -> np.ndarray:
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

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely label of every sample of ``X``."""
        check_is_fitted(self)
        return self.model_.target.decode(self._scores(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every class, (n_samples, n_classes), in the order of ``classes_``."""
        check_is_fitted(self)
        return self.model_.loss.probabilities(self._scores(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of :meth:`predict_proba`, finite also where a probability rounds to zero."""
        check_is_fitted(self)
        return self.model_.loss.log_probabilities(self._scores(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _in_turns(spec: Spec, data: TableData, labels: np.ndarray, progress: Progress) -> tuple[Outcome, int]:
    """Return the fit at which scores and thresholds suit each other, and the number of turns.

    The second turn begins anew, as the first thresholds were a guess that bandwidths and strength were chosen with; the
    others go on from the one before. A search for features is made twice only.
    """
    code = data.Y[:, 0].astype(int)
    previous, turn = None, 0
    while True:
        turn += 1
        outcome = strategy_for(spec, data)(spec, data, previous, progress)
        old = np.asarray(spec.loss.thresholds)
        new = best_thresholds(code, outcome.model.scores(data.X)[:, 0].astype(np.float64), data.weight, old)
        loss = Ordinal(tuple(new.tolist()))
        spec, data = replace(spec, loss=loss), replace(data, target=Ordered.of(labels, loss))
        outcome = replace(outcome, model=replace(outcome.model, loss=loss, target=data.target))
        near = np.max(np.abs(new - old)) <= ENOUGH * max(1.0, float(np.ptp(new)))
        if outcome.model.interrupted or turn == ROUNDS or (turn > 1 and (spec.is_searched or near)):
            return outcome, turn
        previous = outcome.model if turn > 1 else None


def codes_of(y: Any, order: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels in their order, lowest first, and the code of every sample (-1 for one without a label)."""
    kind = getattr(y, "dtype", None)
    categories = getattr(kind, "categories", None)
    if order is not None:
        if isinstance(order, str) or not isinstance(order, Sequence | np.ndarray) or len(order) < 2:
            raise ValueError(f"order must be a sequence of at least two labels, lowest first; got {order!r}.")
        labels = np.asarray(order)
        if len(np.unique(labels)) != len(labels):
            raise ValueError(f"order must hold every label once; got {list(order)!r}.")
        values = column_or_1d(np.asarray(y), warn=True)
    elif categories is not None and getattr(kind, "ordered", False):
        labels, values = np.asarray(categories), np.asarray(y)
    else:
        values = column_or_1d(np.asarray(y), warn=True)
        check_known(values)
        if values.dtype.kind not in "biuf":
            labels = _alphabetical(values)
        else:
            if not np.isfinite(values).all():
                raise ValueError("y must hold finite numbers; it holds NaN or infinity.")
            check_classification_targets(values)
            labels = np.unique(values)
    place = {label: k for k, label in enumerate(labels.tolist())}
    found = [place.get(value, -1) for value in values.tolist()]
    code = np.array(found, dtype=np.int64)
    if len(code) and code.min() < 0:
        unknown = values[code < 0][0]
        raise ValueError(f"y must hold labels of the order {labels.tolist()}; got {unknown!r}.")
    return labels, code


def _alphabetical(values: np.ndarray) -> np.ndarray:
    """Return labels of text in alphabetical order; a warning shows it, unless they are two, which need no order."""
    if not all(isinstance(value, str) for value in values.tolist()):
        raise ValueError(
            "Unknown label type: y must hold numbers, text or an ordered category of pandas where order is None; got "
            f"{values[[not isinstance(value, str) for value in values.tolist()]][0]!r}. Give order=[...], lowest first."
        )
    labels = np.unique(values)
    if len(labels) > 2:
        shown = [repr(str(label)) for label in labels[:5]] + (["..."] if len(labels) > 5 else [])
        warnings.warn(
            f"y holds text and order is None: the labels are taken in alphabetical order, {' < '.join(shown)}. Give "
            "order=[...], lowest label first, or an ordered category of pandas.",
            UserWarning,
            stacklevel=4,
        )
    return labels


def _seen(labels: np.ndarray, table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels that samples of positive weight have, and codes of these."""
    code = np.asarray(table.y, dtype=np.int64)
    present = np.unique(code[table.weight > 0])
    if len(present) < 2:
        one = labels[present].tolist()
        raise ValueError(f"y must hold at least two classes in samples of positive weight; got one class, {one!r}.")
    return labels[present], np.clip(np.searchsorted(present, code), 0, len(present) - 1)
