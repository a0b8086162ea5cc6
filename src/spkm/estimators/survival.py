"""Censored times: Cox's proportional hazards with a sparse kernel machine for the log hazard."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spkm._checks import check_choice
from spkm._publish import publish
from spkm.estimators.base import ReadsModel
from spkm.fitting.data import TableData
from spkm.fitting.outcome import Outcome, attributes_of
from spkm.fitting.progress import Progress
from spkm.fitting.reading import table_spec
from spkm.fitting.strategies import strategy_for
from spkm.losses import Hazard, baseline_hazard, concordance
from spkm.tables.read import read_table

ROUNDS = 10  # of scores and baseline in turn, at the most
ENOUGH = 1e-3  # mean change of scores, over their deviation, at which the turns end


class SPKMSurvival(ReadsModel, BaseEstimator):
    """Sparse pre-image kernel machine for censored times: the hazard is exp(f(x)) times a baseline (Cox's model).

    Scores and baseline are fitted in turn: with the cumulative baseline hazard H of every sample's time the loss is
    H exp(f) - f for an event and H exp(f) for a censored time, a sum over samples whose minimum, once H is that of
    Breslow or Efron, is that of the partial likelihood.

    Parameters
    ----------
    n_basis : int, default=10
        Number of basis vectors, as in :class:`SPKMRegressor`.
    kernel : str or Kernel, default="rbf"
        The kernel.
    ties : {"efron", "breslow"}, default="efron"
        How events at the same time count.
    views, terms, weight_penalty, selection, max_features, max_groups, feature_groups, max_basis
        As in :class:`SPKMRegressor`.
    learn_bandwidth, linear_part, basis_bounds, monotone, scale, solver, start, max_iter, tol
        As in :class:`SPKMRegressor`.
    n_jobs, random_state, verbose
        As in :class:`SPKMRegressor`.

    Attributes
    ----------
    event_times_ : ndarray of shape (n_times,)
        Times of events in the training samples.
    baseline_hazard_ : ndarray of shape (n_times,)
        Cumulative baseline hazard at these times.
    model_ : FittedModel
        The fitted model of the log hazard.
    n_rounds_ : int
        How often scores and baseline were fitted in turn.
    basis_vectors_, dual_coef_, intercept_, linear_coef_, selected_features_, relevances_, kernel_, n_iter_, objective_
        As in :class:`SPKMRegressor`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMSurvival
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 3))
    >>> time = rng.exponential(np.exp(-X[:, 0] ** 2))
    >>> y = np.array([(t < 1, min(t, 1)) for t in time], dtype=[("event", bool), ("time", float)])
    >>> model = SPKMSurvival(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.65), model.predict_survival_function(X, times=[0.5, 0.9]).shape
    (True, (200, 2))
    """

    def __init__(
        self,
        n_basis: Any = 10,
        *,
        kernel: Any = "rbf",
        ties: str = "efron",
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
        self.kernel = kernel
        self.ties = ties
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SPKMSurvival:
        """Fit scores and baseline.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features), or dict of them
            Samples.
        y : structured array of shape (n_samples,)
            A field of truth values, whether the time is that of an event, and a field of times, as in scikit-survival.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, as in :class:`SPKMRegressor`.

        Returns
        -------
        self : object
            The fitted estimator. If anything goes wrong, it is as it was.
        """
        check_choice("ties", self.ties, ("efron", "breslow"))
        event, time = events_and_times(y)
        table = read_table(self, X, time, sample_weight)
        weight = table.weight
        if not np.any(event & (weight > 0)):
            raise ValueError("y must hold at least one event in samples of positive weight; all times are censored.")
        params = {**self.get_params(deep=False), "loss": Hazard(), "fit_intercept": True}
        spec = table_spec(params, X, table, of_classes=False)
        progress = Progress(self)
        risk, previous, turn = np.zeros(len(time)), None, 0
        while True:
            turn += 1
            times, baseline, own = baseline_hazard(time, event, risk, weight, self.ties)
            own = _rounded(own)
            Y = np.where(event, own, -own)[:, None]
            data = TableData.of(spec, table.X, Y, weight, place=table.place)
            outcome = strategy_for(spec, data)(spec, data, previous, progress)
            outcome, new = _centred(outcome, table.X, weight)
            change = float(np.abs(new - risk) @ weight / weight.sum())
            spread = float(np.sqrt(new**2 @ weight / weight.sum()))
            risk = new
            # The second turn begins anew: the first had a baseline without scores.
            is_last = turn == ROUNDS or (turn > 1 and (change <= ENOUGH * max(spread, 0.1) or spec.is_searched))
            if outcome.model.interrupted or is_last:
                break
            previous = outcome.model if turn > 1 else None
        progress.done()
        times, baseline, _ = baseline_hazard(time, event, risk, weight, self.ties)
        attributes = {
            **table.attributes,
            **attributes_of(outcome, table.X.dtype),
            "event_times_": times,
            "baseline_hazard_": baseline,
            "n_rounds_": turn,
        }
        return publish(self, attributes)

    def predict(self, X: Any) -> np.ndarray:
        """Return the log hazard ratio f(x) of every sample: the higher, the sooner its event.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        risk : ndarray of shape (n_samples,)
            Zero is the mean of the training samples.
        """
        return self._scores(X)[:, 0]

    def predict_cumulative_hazard_function(self, X: Any, times: Any = None) -> np.ndarray:
        """Return the cumulative hazard of every sample.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.
        times : array-like of shape (n_times,), default=None
            Times; None takes ``event_times_``.

        Returns
        -------
        hazard : ndarray of shape (n_samples, n_times)
            A step function: it rises at the times of events, and stays as it is after the last one.
        """
        check_is_fitted(self)
        times = self.event_times_ if times is None else np.asarray(times, dtype=np.float64)
        if times.ndim != 1 or np.isnan(times).any():
            raise ValueError(f"times must be a sequence of numbers; got shape {times.shape}.")
        steps = np.concatenate([[0.0], self.baseline_hazard_])
        baseline = steps[np.searchsorted(self.event_times_, times, side="right")]
        risk = np.exp(np.minimum(self.predict(X).astype(np.float64), 30.0))
        return risk[:, None] * baseline

    def predict_survival_function(self, X: Any, times: Any = None) -> np.ndarray:
        """Return the probability of no event until given times.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.
        times : array-like of shape (n_times,), default=None
            Times; None takes ``event_times_``.

        Returns
        -------
        survival : ndarray of shape (n_samples, n_times)
            exp of minus the cumulative hazard.
        """
        return np.exp(-self.predict_cumulative_hazard_function(X, times))

    def score(self, X: Any, y: Any) -> float:
        """Return Harrell's concordance index: 0.5 is chance, 1 a perfect order.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.
        y : structured array of shape (n_samples,)
            Events and times.

        Returns
        -------
        concordance : float
            Share of comparable pairs in the right order.
        """
        event, time = events_and_times(y)
        risk = self.predict(X)
        if len(risk) != len(time):
            raise ValueError(f"X and y must have the same number of samples; got {len(risk)} and {len(time)}.")
        return concordance(time, event, risk)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _rounded(values: np.ndarray) -> np.ndarray:
    """Return values with 40 bits: the order of samples, which sums depend on, must not show in targets."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**40) / 2.0**40, exponent)


def _centred(outcome: Outcome, X: Any, weight: np.ndarray) -> tuple[Outcome, np.ndarray]:
    """Return the outcome with scores of mean zero, as the baseline takes any constant, and the scores."""
    risk = outcome.model.scores(X)[:, 0].astype(np.float64)
    mean = float(risk @ weight / weight.sum())
    model, theta = outcome.model.model, outcome.model.theta.copy()
    model.unpack(theta).intercept[...] -= mean
    return replace(outcome, model=replace(outcome.model, theta=theta)), risk - mean


def events_and_times(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return whether times are those of events, and the times, from a structured array."""
    if y is None:
        raise ValueError("SPKMSurvival requires y to be passed, but the target y is None.")
    y = np.asarray(y) if not hasattr(y, "to_records") else y.to_records(index=False)
    fields = y.dtype.fields
    if fields is None or len(fields) != 2 or y.ndim != 1:
        raise ValueError(
            "y must be a structured array with a field of truth values (event) and a field of times, or a frame of two "
            f"such columns; got dtype {y.dtype} and shape {y.shape}. numpy.rec.fromarrays([event, time], "
            "names='event,time') makes one."
        )
    kinds = {name: y.dtype[name].kind for name in fields}
    events = [name for name, kind in kinds.items() if kind == "b"]
    numbers = [name for name, kind in kinds.items() if kind in "iuf"]
    if len(events) != 1 or len(numbers) != 1:
        raise ValueError(f"y must have one field of truth values and one of numbers; got {y.dtype}.")
    time = np.asarray(y[numbers[0]], dtype=np.float64)
    if not np.isfinite(time).all() or np.any(time < 0):
        bad = time[~(np.isfinite(time) & (time >= 0))][0]
        raise ValueError(f"Times of y must be finite and not negative; field {numbers[0]!r} holds {bad!r}.")
    return np.asarray(y[events[0]], dtype=bool), time
