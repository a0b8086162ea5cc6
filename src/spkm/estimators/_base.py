"""Fit and decision function, shared by classifier and regressor: check, join, solve, report."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import is_multilabel
from sklearn.utils.validation import check_is_fitted

from spkm._checks import check_choice, check_integer, check_real
from spkm.estimators._resolve import (
    generator,
    n_threads,
    resolve_loss,
    resolve_machine,
    resolve_solver,
    resolve_start,
)
from spkm.estimators._selecting import (
    SelectingMixin,
    candidate_for,
    check_selection,
    dealt_folds,
    decided,
    importances,
    is_automatic,
    search_over,
    some_rows,
)
from spkm.estimators._state import FittedState, continued_theta
from spkm.estimators._table import TableMixin, check_domain, checked_weight, scaling_for
from spkm.estimators._views import asked_terms, is_tables, view_usage
from spkm.losses import Loss
from spkm.model import PreimageModel, Term
from spkm.objective import Objective
from spkm.selection import Choice, Fold, Search, Submodel
from spkm.solvers import Result, Solver
from spkm.sources import ArraySource, Block, Scaling, Source, merged_rows
from spkm.starts import Start, first_theta


class BaseSPKM(SelectingMixin, TableMixin, CallbackSupportMixin, BaseEstimator):
    """What classifier and regressor share. A subclass encodes targets, and turns scores into predictions."""

    _task: str

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BaseSPKM:
        """Fit the model.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features), or dict of them
            Rows. float32 stays float32, all else becomes float64; never changed. A dict holds a table for each view,
            by name; they are put side by side.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A weight of 2 is the row given twice, a weight of 0 the row left out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_settings()
        terms = self._asked_terms(X)
        context = self._init_callback_context(max_subtasks=None)
        if self._fit_in_parts(X, y, sample_weight, terms, context):
            return self
        if self.selection is not None or is_automatic(terms):
            context.call_on_fit_task_begin(estimator=self, X=X, y=y)
            search, rows = self._make_search(X, y, sample_weight, self._step_reporter(context))
            self._fit_chosen(search, decided(search), rows, context)
            context.call_on_fit_task_end(estimator=self, X=X, y=y)
            return self
        loss = self._loss(y)
        previous = getattr(self, "_fitted", None) if self.warm_start else None
        X, Y, weight, y = self._checked_table(X, y, sample_weight, loss, terms, previous)
        X, Y, weight = self._merged(X, Y, weight)
        Y = self._standardized(Y, weight, loss)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        self._fit_given(X, Y, weight, loss, terms, previous, context)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    _merged = staticmethod(merged_rows)

    def _fit_in_parts(self, X: Any, y: Any, sample_weight: Any, terms: tuple[Term, ...], context: Any) -> bool:
        """Fit several models in place of one, if the parameters ask for it; whether they do."""
        return False

    def _loss(self, y: Any) -> Loss:
        # A copy: what the user does to the loss after the fit must not change predictions.
        return clone(resolve_loss(self.loss, self._task))

    def _make_search(
        self, X: Any, y: Any, sample_weight: Any, on_step: Callable[[str], None]
    ) -> tuple[Search, tuple[Any, np.ndarray, np.ndarray]]:
        """Return the search that the parameters ask for, and the rows it is for: X, targets, weights."""
        loss, terms = self._loss(y), self._asked_terms(X)
        X, Y, weight, _ = self._checked_table(X, y, sample_weight, loss, terms, None)
        X, Y, weight = self._merged(X, Y, weight)
        Y = self._standardized(Y, weight, loss)
        splits = dealt_folds(Y, loss, generator(self.random_state))
        candidates = [candidate_for(self, terms, loss, Y.shape[1])]
        return search_over(self, X, Y, weight, loss, candidates, splits, on_step), (X, Y, weight)

    def _asked_terms(self, X: Any) -> tuple[Term, ...]:
        """Return the terms that the parameters ask for, of the columns of what the user gave as X."""
        terms = asked_terms(self, X)
        check_selection(self, terms)
        return terms

    def _check_settings(self) -> None:
        check_integer("n_restarts", self.n_restarts, 1)
        check_choice("fit_intercept", self.fit_intercept, (True, False))
        check_choice("warm_start", self.warm_start, (True, False))
        check_choice("scale", self.scale, (True, False, "common"))
        if self.max_iter is not None:
            check_integer("max_iter", self.max_iter, 1)
        if self.tol is not None:
            check_real("tol", self.tol)
        n_threads(self.n_jobs)

    def _checked_table(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        loss: Loss,
        terms: tuple[Term, ...],
        previous: FittedState | None,
    ) -> tuple[Any, np.ndarray, np.ndarray, Any]:
        """Return rows, encoded targets (n, m), weights (n,), and the targets as they came."""
        self._table_names = list(X) if is_tables(X) else None
        X, y = self._checked_rows(X, y, multi_output=self._task == "regression" or is_multilabel(y))
        weight = checked_weight(sample_weight, X)
        weight, Y = self._encode_targets(y, weight, previous)
        loss.check_target(Y)
        if previous is not None:
            previous.check_continues(terms, X.shape[1], Y.shape[1])
        check_domain(terms, X)
        return X, Y, weight, y

    def _source(
        self, X: Any, Y: np.ndarray, weight: np.ndarray, terms: tuple[Term, ...]
    ) -> tuple[ArraySource, Scaling | None]:
        """Return the rows as a source, and the scaling that it applies."""
        scaling = scaling_for(terms, self.scale, X, weight)
        return self._rows_source(X, scaling, Y, weight), scaling

    def _fit_given(
        self,
        X: Any,
        Y: np.ndarray,
        weight: np.ndarray,
        loss: Loss,
        terms: tuple[Term, ...],
        previous: FittedState | None,
        context: Any,
    ) -> None:
        """Fit the model as the parameters say, on all columns."""
        source, scaling = self._source(X, Y, weight, terms)
        # A solver's wild step may overflow: it sees a value that is not finite and takes a shorter one.
        with np.errstate(over="ignore", invalid="ignore"), source.threads(n_threads(self.n_jobs)):
            objective = resolve_machine(self, source, loss, terms, None, previous).objective(source)
            solver = resolve_solver(self.solver, self.max_iter, self.tol, objective)
            start = resolve_start(self.start, objective.model, scaling)
            result = self._best_of_restarts(objective, solver, start, scaling, previous, context)
            restore_scale(objective, result)
            self._report_views(objective, result, terms)
        for name in ("cv_results_", "feature_importances_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._report(objective, solver, result, scaling, terms, X)

    def _fit_chosen(
        self, search: Search, choice: Choice, rows: tuple[Any, np.ndarray, np.ndarray], context: Any
    ) -> None:
        """Carry out the decisions of a search on all rows."""
        terms = choice.candidate.terms
        source, scaling = self._source(*rows, terms)
        rng = generator(self.random_state)
        with np.errstate(over="ignore", invalid="ignore"), source.threads(n_threads(self.n_jobs)):
            everything = some_rows(source, scaling, rng)
            choice, model = search.confirmed(choice, search.refit(choice, everything), everything)
            part = source.columns(model.columns)
            # Strengths for all rows, not for those of the search, and the evidence's own prior.
            default = resolve_machine(self, part, search.loss, terms, model.columns)
            machine = replace(
                model.machine, weight_penalties=default.weight_penalties, metric_prior=default.metric_prior
            )
            objective = machine.with_factor(choice.factor).with_noise(model.noise).objective(part, model.columns)
            solver = resolve_solver(self.solver, self.max_iter, self.tol, objective)
            result = solver.minimize(objective, model.theta, rng, self._iteration_reporter(context))
            restore_scale(objective, result)
            self._report_choice(search, choice, replace(model, theta=result.theta), source)
            self._report_views(objective, result, terms, model.columns)
        columns = model.columns if search.selects else None
        self._report(objective, solver, result, scaling, terms, rows[0], columns)

    def _report_choice(self, search: Search, choice: Choice, model: Submodel, source: Source) -> None:
        if choice.at_edge:
            warnings.warn(
                f"The best {' and the best '.join(choice.at_edge)} lies at the edge of what was tried. "
                "cv_results_ shows the losses; widen max_basis, or give weight_penalty yourself.",
                UserWarning,
                stacklevel=5,
            )
        names = list(search.judge.records[0])
        self.cv_results_ = {name: np.array([record[name] for record in search.judge.records]) for name in names}
        self.__dict__.pop("feature_importances_", None)  # of an earlier fit
        if search.selects:
            self.feature_importances_ = importances(model, source)

    def _report_views(
        self, objective: Objective, result: Result, asked: tuple[Term, ...], columns: np.ndarray | None = None
    ) -> None:
        self.__dict__.pop("view_usage_", None)  # of an earlier fit
        if any(view.name for term in asked for view in term.views):
            self.view_usage_ = view_usage(objective, result.theta, asked, columns)

    def _iteration_reporter(self, context: Any) -> Callable[[int, float], bool]:
        def on_iteration(i: int, value: float) -> bool:
            if self.verbose:
                print(f"{type(self).__name__} iteration {i}: objective {value:.6g}")
            task = context.subcontext(task_name="iteration").call_on_fit_task_begin(estimator=self)
            return task.call_on_fit_task_end(estimator=self)

        return on_iteration

    def _step_reporter(self, context: Any) -> Callable[[str], None]:
        def on_step(text: str) -> None:
            if self.verbose:
                print(f"{type(self).__name__} {text}")
            task = context.subcontext(task_name=text).call_on_fit_task_begin(estimator=self)
            if task.call_on_fit_task_end(estimator=self):
                raise KeyboardInterrupt

        return on_step

    def _best_of_restarts(
        self,
        objective: Objective,
        solver: Solver,
        start: Start | np.ndarray,
        scaling: Any,
        previous: FittedState | None,
        context: Any,
    ) -> Result:
        on_iteration = self._iteration_reporter(context)
        best: Result | None = None
        for k, rng in enumerate(generator(self.random_state).spawn(self.n_restarts)):
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
        self,
        objective: Objective,
        solver: Solver,
        result: Result,
        scaling: Scaling | None,
        asked: tuple[Term, ...],
        X: Any,
        columns: np.ndarray | None = None,
    ) -> None:
        dtype = X.dtype
        name = type(solver).__name__
        if result.interrupted:
            warnings.warn(f"{name} was interrupted; the best model so far is kept.", ConvergenceWarning, stacklevel=5)
        elif not result.converged:
            window = result.trace[-11:]
            warnings.warn(
                f"{name} stopped after {result.n_iter} iterations while the objective still fell from "
                f"{window[0]:.6g} to {window[-1]:.6g} "
                f"over the last {len(window) - 1}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        state = self._state(objective.model, result.theta, scaling, objective.loss, asked, X.shape[1], columns)
        params = state.model.unpack(state.theta)
        if np.abs(state.theta).max() > np.finfo(dtype).max:
            raise ValueError(
                f"The model has numbers beyond {dtype}, the type of X. Give X as float64, or y in larger units."
            )
        state.noise, state.interrupted = result.noise, result.interrupted
        self._fitted = state
        self.basis_vectors_ = state.basis_in_users_units().astype(dtype)
        self.dual_coef_ = (params.weights if self._two_dimensional else params.weights[:, 0]).astype(dtype)
        self.intercept_ = params.intercept.astype(dtype) if self._two_dimensional else dtype.type(params.intercept[0])
        self.kernel_ = state.kernel
        self.selected_features_ = state.columns_read()
        self.relevances_ = state.relevances().astype(dtype)
        self.n_iter_ = result.n_iter
        self.objective_ = result.value
        self.objective_path_ = np.asarray(result.trace)
        self._complete_report()

    def _complete_report(self) -> None:
        """Bring what a fit reports into the form of a subclass."""

    def _state(
        self,
        model: PreimageModel,
        theta: np.ndarray,
        scaling: Scaling | None,
        loss: Loss,
        asked: tuple[Term, ...],
        n_features: int,
        columns: np.ndarray | None,
    ) -> FittedState:
        """Return what predictions need, with the weights in the units of y."""
        theta = theta.copy()
        params = model.unpack(theta)
        params.weights *= self._target_scale
        params.intercept[...] = params.intercept * self._target_scale + self._target_mean
        if columns is not None and scaling is not None:
            scaling = scaling.columns(columns)
        return FittedState(model, theta, scaling, loss, asked, n_features, columns)

    def _as_estimator(self, model: Submodel, fold: Fold, X: Any) -> BaseSPKM:
        """Return this estimator as if the model of a fold were its own, for a scorer."""
        fitted = copy(self)
        fitted.__dict__.pop("feature_names_in_", None)  # it is given arrays
        fitted._fitted = self._state(
            model.model, model.theta, fold.scaling, model.machine.loss, model.machine.terms, X.shape[1], model.columns
        )
        return fitted

    def _scores(self, X: Any) -> np.ndarray:
        """Return f(x) for every row, (n, m)."""
        check_is_fitted(self)
        return self._scores_of_checked(self._checked_rows(X, reset=False))

    def _scores_of_checked(self, X: Any) -> np.ndarray:
        """Return f(x) for every row of an array or CSR matrix that has been checked, (n, m)."""
        return self._by_checked_blocks(_block_predictions, X)


def _block_predictions(block: Block, model: PreimageModel, theta: np.ndarray) -> np.ndarray:
    return model.predict(block, theta)


def restore_scale(objective: Objective, result: Result) -> None:
    """Give the scores of a loss that ignores their length the length that is nearest to the targets."""
    if objective.loss.scale_free:
        params = objective.model.unpack(result.theta)
        factor = objective.loss.best_scale(objective.totals(result.theta))
        params.weights *= factor
        params.intercept *= factor
