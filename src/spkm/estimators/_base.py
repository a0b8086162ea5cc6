"""Fit and decision function, shared by classifier and regressor: check, join, solve, report."""

from __future__ import annotations

import os
import warnings
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from spkm._checks import check_choice, check_integer, check_real
from spkm.estimators._resolve import resolve_loss, resolve_penalties, resolve_solver, resolve_start
from spkm.estimators._state import FittedState, continued_theta, same_settings
from spkm.kernels import KERNELS, Kernel
from spkm.losses import Loss
from spkm.model import PreimageModel, Term, View
from spkm.objective import Objective
from spkm.penalties import Evidence
from spkm.solvers import Result, Solver
from spkm.sources import ArraySource, Block, fit_scaling, merged_rows
from spkm.starts import Start, draw_sample, first_theta

BANDWIDTH_PRIOR = 3.0  # over the sum of row weights; measured
SHARPER_FOR_CLASSES = 4.0  # times the gamma of the mean distance, for more than two classes; measured
KERNEL_SAMPLE = 1000  # rows whose distances set a bandwidth


class BaseSPKM(CallbackSupportMixin, BaseEstimator):
    """What classifier and regressor share. A subclass encodes targets, and turns scores into predictions."""

    _task: str

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BaseSPKM:
        """Fit the model.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Rows. float32 stays float32, all else becomes float64; never changed.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A weight of 2 is the row given twice, a weight of 0 the row left out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_integer("n_basis", self.n_basis, 1)
        check_integer("n_restarts", self.n_restarts, 1)
        check_choice("learn_bandwidth", self.learn_bandwidth, ("auto", True, False, "columns"))
        check_choice("fit_intercept", self.fit_intercept, (True, False))
        check_choice("warm_start", self.warm_start, (True, False))
        scale = check_choice("scale", self.scale, (True, False, "common"))
        if self.max_iter is not None:
            check_integer("max_iter", self.max_iter, 1)
        if self.tol is not None:
            check_real("tol", self.tol)
        n_threads = _n_threads(self.n_jobs)
        # Copies: what the user does to loss and kernel after the fit must not change predictions.
        loss = clone(resolve_loss(self.loss, self._task))
        kernel = clone(KERNELS.resolve(self.kernel))
        previous = getattr(self, "_fitted", None) if self.warm_start else None
        X, y = self._checked_rows(X, y, multi_output=self._task == "regression")
        weight = _checked_weight(sample_weight, X)
        weight, Y = self._encode_targets(y, weight, previous)
        loss.check_target(Y)
        X, Y, weight = merged_rows(X, Y, weight)
        Y = self._standardized(Y, weight, loss)
        if previous is not None:
            previous.check_continues(self.n_basis, X.shape[1], Y.shape[1])

        _check_domain(kernel, X)
        scaling = None if scale is False or kernel.nonnegative else fit_scaling(X, weight, scale == "common")
        source = ArraySource(X, Y, weight, scaling)
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        # A solver's wild step may overflow: it sees a value that is not finite and takes a shorter one.
        with np.errstate(over="ignore", invalid="ignore"), source.threads(n_threads):
            objective, solver = self._objective(source, loss, kernel, previous)
            start = resolve_start(self.start, objective.model, scaling)
            result = self._best_of_restarts(objective, solver, start, scaling, previous, context)
            if loss.scale_free:
                params = objective.model.unpack(result.theta)
                factor = loss.best_scale(objective.totals(result.theta))
                params.weights *= factor
                params.intercept *= factor
        self._report(objective, solver, result, scaling, kernel, X.dtype)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _objective(self, source: ArraySource, loss: Loss, kernel: Kernel, previous: Any) -> tuple[Objective, Solver]:
        rng = _generator(self.random_state)
        m = source.Y.shape[1]
        if previous is not None and same_settings(previous.asked, kernel):
            kernel = previous.model.views[0][1].kernel  # its bandwidth as it was before any of it was learned
        else:
            some = draw_sample(source, KERNEL_SAMPLE, rng)
            resolved = kernel.resolved(some.X, some.weight)
            if resolved is not kernel and kernel.stationary and m > 1 and loss.target == "signs":
                resolved = resolved.with_bandwidth(SHARPER_FOR_CLASSES)
            kernel = resolved
        basis_penalty, weight_penalty = resolve_penalties(self, loss, kernel, source.total_weight, m)
        if previous is not None and previous.noise is not None:
            weight_penalty = [
                clone(p).set_params(noise=previous.noise) if isinstance(p, Evidence) else p for p in weight_penalty
            ]
        evidence = any(isinstance(p, Evidence) for p in weight_penalty)
        metric = "fixed"
        learn = self.learn_bandwidth if isinstance(self.learn_bandwidth, str) else bool(self.learn_bandwidth)
        if learn == "columns" or (evidence and learn == "auto" and kernel.stationary):
            metric = "relevances"
        elif learn is True or (learn == "auto" and kernel.stationary):
            metric = "scale"
        model = PreimageModel(
            [Term(self.n_basis, (View(kernel, None, metric),))], source.n_features, m, self.fit_intercept
        )
        prior = 0.0 if evidence else BANDWIDTH_PRIOR / source.total_weight
        objective = Objective(model, loss, source, basis_penalty, weight_penalty, prior)
        return objective, resolve_solver(self.solver, self.max_iter, self.tol, objective)

    def _best_of_restarts(
        self,
        objective: Objective,
        solver: Solver,
        start: Start,
        scaling: Any,
        previous: FittedState | None,
        context: Any,
    ) -> Result:
        def on_iteration(i: int, value: float) -> bool:
            if self.verbose:
                print(f"{type(self).__name__} iteration {i}: objective {value:.6g}")
            task = context.subcontext(task_name="iteration").call_on_fit_task_begin(estimator=self)
            return task.call_on_fit_task_end(estimator=self)

        best: Result | None = None
        for k, rng in enumerate(_generator(self.random_state).spawn(self.n_restarts)):
            try:
                theta = first_theta(objective, start, solver.first_weights, rng)
                if previous is not None and k == 0:
                    theta = continued_theta(
                        previous, objective.model, scaling, theta, self._target_scale, self._target_mean
                    )
                result = solver.minimize(objective, theta, rng, on_iteration)
            except KeyboardInterrupt:
                if best is None:
                    raise
                best.interrupted = True
                break
            if best is None or result.value < best.value:
                best = result
            if result.interrupted:
                best.interrupted = True
                break
        assert best is not None
        return best

    def _report(
        self, objective: Objective, solver: Solver, result: Result, scaling: Any, asked: Kernel, dtype: Any
    ) -> None:
        name = type(solver).__name__
        if result.interrupted:
            warnings.warn(f"{name} was interrupted; the best model so far is kept.", ConvergenceWarning, stacklevel=4)
        elif not result.converged:
            window = result.trace[-11:]
            warnings.warn(
                f"{name} stopped after {result.n_iter} iterations while the objective still fell from "
                f"{window[0]:.6g} to {window[-1]:.6g} "
                f"over the last {len(window) - 1}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        model = objective.model
        theta = result.theta.copy()
        params = model.unpack(theta)
        params.weights *= self._target_scale
        params.intercept[...] = params.intercept * self._target_scale + self._target_mean
        if np.abs(theta).max() > np.finfo(dtype).max:
            raise ValueError(
                f"The model has numbers beyond {dtype}, the type of X. Give X as float64, or y in larger units."
            )
        self._fitted = FittedState(model, theta, scaling, objective.loss, asked, result.noise)
        self.basis_vectors_ = self._fitted.basis_in_users_units().astype(dtype)
        self.dual_coef_ = (params.weights if self._two_dimensional else params.weights[:, 0]).astype(dtype)
        self.intercept_ = params.intercept.astype(dtype) if self._two_dimensional else dtype.type(params.intercept[0])
        self.kernel_ = self._fitted.kernel
        self.n_iter_ = result.n_iter
        self.objective_ = result.value
        self.objective_path_ = np.asarray(result.trace)

    def _scores(self, X: Any) -> np.ndarray:
        """Return f(x) for every row, (n, m)."""
        check_is_fitted(self)
        X = self._checked_rows(X, reset=False)
        state = self._fitted
        _check_domain(state.kernel, X)
        source = ArraySource(X, None, None, state.scaling)
        with source.threads(_n_threads(self.n_jobs) if X.shape[0] > 10_000 else 1):
            blocks = list(source.map(_block_predictions, state.model, state.theta, width=state.model.n_basis))
        return np.concatenate(blocks)

    def _checked_rows(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        """Return X, and y if given, as arrays of finite numbers; CSR rows sorted by column, each column once."""
        try:
            checked = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], **options)
        except (TypeError, ValueError) as error:
            if not str(error).startswith(("could not convert string", "float() argument", "The DType")):
                raise
            advice = "Encode text and dates first, with sklearn.preprocessing.OneHotEncoder say."
            raise type(error)(f"X must hold numbers: {error}. {advice}") from error
        rows = checked[0] if isinstance(checked, tuple) else checked
        if sparse.issparse(rows) and not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return (rows, *checked[1:]) if isinstance(checked, tuple) else rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _block_predictions(block: Block, model: PreimageModel, theta: np.ndarray) -> np.ndarray:
    return model.predict(block, theta)


def _checked_weight(sample_weight: Any, X: Any) -> np.ndarray:
    try:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(f"sample_weight must hold numbers: {error}.") from error
    if np.any(weight < 0):
        raise ValueError(
            f"sample_weight must not be negative; its minimum is {weight.min():g}. Drop such rows or set them to zero."
        )
    return weight


def _check_domain(kernel: Kernel, X: Any) -> None:
    if not kernel.nonnegative:
        return
    low = X.min(axis=0)
    low = np.asarray(low.toarray() if sparse.issparse(low) else low).ravel()
    if low.min() < 0:
        j = int(np.argmin(low))
        raise ValueError(
            f"kernel={kernel!r} needs non-negative columns; column {j} of X has minimum {low[j]:g}. "
            "Use fingerprints or counts as they are, or kernel='rbf'."
        )


def _n_threads(n_jobs: Any) -> int:
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None (all cores), a positive integer, or -1; got {n_jobs!r}.")
    if n_jobs is None:
        # joblib's workers are told their share of the cores by this variable.
        return min(joblib.cpu_count(), max(1, int(os.environ.get("OMP_NUM_THREADS", joblib.cpu_count()))))
    return joblib.effective_n_jobs(int(n_jobs))


def _generator(random_state: Any) -> np.random.Generator:
    """Return a Generator; global random state is never touched."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    is_seed = isinstance(random_state, int | np.integer) and random_state >= 0
    if random_state is None or is_seed or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    raise ValueError(
        f"random_state must be None, an integer of at least 0, a RandomState or a Generator; got {random_state!r}."
    )
