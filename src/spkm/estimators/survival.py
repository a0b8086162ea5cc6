"""Censored times: Cox's proportional hazards with a sparse kernel machine for the log hazard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spkm._arrays import TableLike, TargetLike, WeightLike
from spkm._checks import check_choice, check_real
from spkm._frames import has_types, is_frame, library_of
from spkm._publish import publish
from spkm.estimators.base import ReadsModel
from spkm.estimators.parameters import OfSurvival
from spkm.fitting.hazards import (
    AnyBaseline,
    BaselineOf,
    CensoredSamples,
    CensoredStream,
    CensoredTable,
    fitted_in_turns,
)
from spkm.fitting.outcome import attributes_of
from spkm.fitting.progress import Progress
from spkm.fitting.reading import table_spec
from spkm.losses import Baseline, Hazard, Times, Weibull, baseline_hazard, concordance, weibull_hazard
from spkm.tables.read import read_table
from spkm.tables.streams import named_columns, opened_stream

#: For each ``baseline`` the function from ``ties`` to one that estimates it.
BASELINES: dict[str, Callable[[str], BaselineOf]] = {
    "steps": lambda ties: partial(baseline_hazard, ties=ties),
    "weibull": lambda ties: weibull_hazard,
}


class SPKMSurvival(OfSurvival, ReadsModel, BaseEstimator):
    """Sparse pre-image kernel machine for censored times: the hazard is exp(f(x)) times a baseline (Cox's model).

    Scores and baseline are fitted in turn: with the cumulative baseline hazard H of every sample's time the loss is
    H exp(f) - f for an event and H exp(f) for a censored time, a sum over samples whose minimum, once H is that of
    Breslow or Efron, is that of the partial likelihood.

    Parameters
    ----------
    n_basis : int, default=10
        Number of basis vectors, as in :class:`SPKMRegressor`.
    kernel : str or Kernel, default="rbf"
        The kernel: "rbf", "matern", "rational_quadratic", "laplacian", "linear", "polynomial", "normalized_polynomial"
        or "tanimoto", or a Kernel.
    ties : {"efron", "breslow"}, default="efron"
        How events at the same time count.
    baseline : {"steps", "weibull"}, default="steps"
        The hazard that all samples share: a step at each event (Breslow's or Efron's), or Weibull's power of time, two
        numbers, which has curves without steps that go on after the last event.
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
    weibull_ : ndarray of shape (2,)
        Shape k and scale s of the cumulative baseline hazard (t / s) ** k; only with ``baseline="weibull"``.
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

    def fit(
        self,
        X: TableLike,
        y: TargetLike | None = None,
        sample_weight: WeightLike = None,
        *,
        target: Sequence[str] | None = None,
        weight: str | None = None,
        features: Sequence[str] | None = None,
    ) -> Self:
        """Fit scores and baseline.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features), or dict of them
            Samples. If they do not fit in memory, they may be files, lazy frames, Dask collections or chunks, as in
            :class:`SPKMRegressor`; their times, weights and scores, a few numbers a sample, are kept in memory.
        y : structured array of shape (n_samples,), or array or frame of two or three columns
            A field of truth values, whether the time is that of an event, and a field of times, as in scikit-survival;
            a third one named "entry" has times of entry (left truncation): a sample counts after it only. An array of
            numbers has columns time, event (0 or 1) and, if there are three, entry. For files and lazy frames the
            names of columns in this order; chunks hold their own.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, as in :class:`SPKMRegressor`. With ``ties="breslow"`` a weight of two is the sample
            twice; with "efron" an event of weight two is one event, which is no tie with itself.
        target, weight, features : sequence of str, str and sequence of str, default=None
            Column names of time and event (and entry), of the weights and of the features; by default all others are
            features.

        Returns
        -------
        self : object
            The fitted estimator. If anything goes wrong, it is as it was.
        """
        check_choice("ties", self.ties, ("efron", "breslow"))
        check_choice("baseline", self.baseline, tuple(BASELINES))
        target, y = (_listed(names) for names in (target, y))
        X, y, sample_weight = named_columns(X, y, sample_weight, target, weight, features)
        params = {**self.get_params(deep=False), "loss": Hazard(), "fit_intercept": True}
        progress = Progress(self)
        reader = opened_stream(X, y, sample_weight)
        samples: CensoredSamples
        if reader is None:
            times = times_of(y)
            table = read_table(self, X, times.time, sample_weight)
            spec, samples = table_spec(params, X, table, of_classes=False), CensoredTable.of(table, times)
            known, dtype = table.attributes, table.X.dtype
        else:
            spec, samples = CensoredStream.of(params, reader, times_of)
            known, dtype = samples.stream.attributes, samples.stream.dtype
        outcome, baseline, n_rounds = fitted_in_turns(spec, samples, BASELINES[self.baseline](self.ties), progress)
        progress.done()
        happened = np.unique(samples.times.time[samples.times.event & (samples.weight > 0)])
        attributes = {
            **known,
            **attributes_of(outcome, dtype),
            "event_times_": happened,
            "baseline_hazard_": baseline.at(happened),
            "n_rounds_": n_rounds,
        }
        if self.baseline == "weibull":
            attributes["weibull_"] = np.array(baseline)
        return publish(self, attributes)

    def predict(self, X: TableLike) -> np.ndarray:
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

    def predict_cumulative_hazard_function(self, X: TableLike, times: ArrayLike | None = None) -> np.ndarray:
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
        return self._hazard_of_scores(self.predict(X), self.event_times_ if times is None else times)

    def predict_survival_function(self, X: TableLike, times: ArrayLike | None = None) -> np.ndarray:
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

    def predict_time(self, X: TableLike, survival: float = 0.5) -> np.ndarray:
        """Return the time at which the probability of no event falls to a given number, the median by default.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.
        survival : float, default=0.5
            The probability of no event until the time, between 0 and 1.

        Returns
        -------
        times : ndarray of shape (n_samples,)
            Times; with ``baseline="steps"`` those of events, infinite for samples whose curve stays above the number
            until the last event.
        """
        check_is_fitted(self)
        if not 0.0 < check_real("survival", survival) < 1.0:
            raise ValueError(f"survival must be between 0 and 1; got {survival!r}.")
        scores = np.minimum(self.predict(X).astype(np.float64), 30.0)
        return self._baseline.time_of(-np.log(survival) * np.exp(-scores))

    def survival_of_scores(self, scores: ArrayLike, times: ArrayLike) -> np.ndarray:
        """Return the probability of no event until given times from log hazards f(x).

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            Log hazards, as of :meth:`predict`.
        times : array-like of shape (n_times,)
            Times.

        Returns
        -------
        survival : ndarray of shape (n_samples, n_times)
            As of :meth:`predict_survival_function`.
        """
        check_is_fitted(self)
        return np.exp(-self._hazard_of_scores(scores, times))

    def _hazard_of_scores(self, scores: ArrayLike, times: ArrayLike) -> np.ndarray:
        scores, times = np.asarray(scores, dtype=np.float64), np.asarray(times, dtype=np.float64)
        if times.ndim != 1:
            raise ValueError(f"times must be a sequence of numbers; got shape {times.shape}.")
        if np.isnan(times).any():
            raise ValueError("times must not hold NaN.")
        return np.exp(np.minimum(scores, 30.0))[:, None] * self._baseline.at(times)

    def times_of(self, y: TargetLike) -> Times:
        """Return events and times, and times of entry if there are any, of targets as :meth:`fit` takes them.

        Parameters
        ----------
        y : structured array of shape (n_samples,), or array or frame of two or three columns
            Targets.

        Returns
        -------
        times : Times
            Arrays ``time``, ``event`` and ``entry``, which is None if there are none.
        """
        return times_of(y)

    def _beside_scores(self, times: ArrayLike | None) -> dict[str, Any]:
        """Return the baseline hazard at given times, or at the deciles of the event times, for exports."""
        if times is None:
            times = np.unique(np.quantile(self.event_times_, np.arange(1, 10) / 10))
        times = np.asarray(times, dtype=np.float64)
        if times.ndim != 1 or len(times) == 0 or not np.isfinite(times).all():
            raise ValueError(f"times must be a sequence of finite numbers; got {times!r}.")
        times = np.unique(times)
        return {"survival": {"times": times, "hazard": self._baseline.at(times)}}

    @property
    def _baseline(self) -> AnyBaseline:
        if "weibull_" in vars(self):
            return Weibull(*self.weibull_)
        return Baseline(self.event_times_, self.baseline_hazard_, self.baseline_hazard_)

    def score(self, X: TableLike, y: TargetLike | None) -> float:
        """Return Harrell's concordance index: 0.5 is chance, 1 a perfect order.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.
        y : structured array of shape (n_samples,), or array or frame of two or three columns
            Events and times, as in :meth:`fit`.

        Returns
        -------
        concordance : float
            Share of comparable pairs in the right order.
        """
        time, event, entry, _ = times_of(y)
        risk = self.predict(X)
        if len(risk) != len(time):
            raise ValueError(f"X and y must have the same number of samples; got {len(risk)} and {len(time)}.")
        return concordance(time, event, risk, entry)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _listed(names: Any) -> Any:
    """Return a tuple of names of columns as a list; anything else as it is."""
    is_names = isinstance(names, tuple) and bool(names) and all(isinstance(name, str) for name in names)
    return list(names) if is_names else names


def times_of(y: TargetLike | None) -> Times:
    """Return censored times from a structured array, a frame of such columns, or numbers (time, event, entry)."""
    if y is None:
        raise ValueError("SPKMSurvival requires y to be passed, but the target y is None.")
    y = _structured(y)
    if y.dtype.fields is None and y.ndim == 2 and y.shape[1] in (2, 3):
        return _of_numbers(y)
    fields = y.dtype.fields
    if fields is None or len(fields) not in (2, 3) or y.ndim != 1:
        raise ValueError(
            "y must be a structured array with a field of truth values (event) and a field of times, or a frame of two "
            f"such columns; got dtype {y.dtype} and shape {y.shape}. numpy.rec.fromarrays([event, time], "
            "names='event,time') makes one."
        )
    kinds = {name: y.dtype[name].kind for name in fields}
    events = [name for name, kind in kinds.items() if kind == "b"]
    numbers = [name for name, kind in kinds.items() if kind in "iuf" and name != "entry"]
    if len(events) != 1 or len(numbers) != 1 or (len(fields) == 3 and kinds.get("entry", "") not in tuple("iuf")):
        raise ValueError(
            "y must have one field of truth values and one of numbers, and may have a field 'entry' of numbers; got "
            f"{', '.join(f'{name!r} of {y.dtype[name]}' for name in fields)}. Compare a column of codes with "
            "that of an event to make truth values: event == 1."
        )
    entry = np.asarray(y["entry"], dtype=np.float64) if len(fields) == 3 else None
    return _checked(np.asarray(y[numbers[0]], dtype=np.float64), np.asarray(y[events[0]], dtype=bool), entry)


def _structured(y: Any) -> np.ndarray:
    """Return a frame of any library as a structured array, with its names and types; anything else as an array."""
    if library_of(y) == "polars" and has_types(y):
        return y.to_numpy(structured=True)
    y = y.to_pandas() if library_of(y) == "pyarrow" and is_frame(y) else y
    return y.to_records(index=False) if hasattr(y, "to_records") else np.asarray(y)  # of pandas


def _of_numbers(y: np.ndarray) -> Times:
    """Return the times of columns time, event and entry."""
    try:
        columns = y.astype(np.float64).T
    except (TypeError, ValueError) as error:
        raise ValueError(f"Columns of y must hold numbers: time, event (0 or 1) and entry; {error}.") from error
    event = columns[1]
    if not np.isin(event, (0.0, 1.0)).all():
        bad = float(event[~np.isin(event, (0.0, 1.0))][0])
        raise ValueError(
            f"The second column of y must be 1 (True) for an event and 0 (False) for a censored time; got {bad!r}. "
            "The first one has the times."
        )
    return _checked(columns[0], event == 1.0, columns[2] if len(columns) == 3 else None)


def _checked(time: np.ndarray, event: np.ndarray, entry: np.ndarray | None) -> Times:
    """Return times, or raise ValueError for one that is no time."""
    for name, values in (("Times", time), ("Times of entry", entry)):
        if values is not None and not (np.isfinite(values) & (values >= 0)).all():
            bad = float(values[~(np.isfinite(values) & (values >= 0))][0])
            raise ValueError(f"{name} of y must be finite and not negative; got {bad!r}.")
    if entry is not None and not np.all(entry < time):
        late = int(np.flatnonzero(~(entry < time))[0])
        raise ValueError(
            f"Times of entry must be before the times of y; got entry {float(entry[late])!r} and time "
            f"{float(time[late])!r}."
        )
    return Times(time, event, entry)
