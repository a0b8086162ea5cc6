"""Estimators that choose kernel, columns, strength and number of vectors by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.callback import with_callbacks
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from spkm._checks import check_choice
from spkm.estimators._base import BaseSPKM, restore_scale
from spkm.estimators._classifier import SPKMClassifier
from spkm.estimators._regressor import SPKMRegressor
from spkm.estimators._selecting import candidate_for, check_selection, decided, search_over, some_rows
from spkm.estimators._views import check_learns, check_vectors
from spkm.kernels import KERNELS, RBF, Kernel, Linear, Matern, Polynomial
from spkm.model import Term, View
from spkm.selection import Choice, Fold, Search, Submodel
from spkm.solvers import LBFGS, Result
from spkm.sources import merged_rows, one_blas_thread


class _SearchCV(BaseSPKM):
    """The search with the user's own splits, kernels and scoring."""

    # What the search finds by itself, or cannot do otherwise.
    multi_class = "joint"
    basis_penalty = None
    views = None
    terms = None
    start = "auto"
    n_restarts = 1
    warm_start = False

    _automatic_kernels: tuple[Kernel, ...]

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> _SearchCV:
        """Choose and fit.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in the fits and in the judgement.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows, for a splitter that keeps them together.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_settings()
        check_choice("refit", self.refit, (True, False))
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        search, rows = self._make_search(X, y, sample_weight, self._step_reporter(context), groups)
        choice = decided(search)
        if self.refit:
            self._fit_chosen(search, choice, rows, context)
        else:
            choice = self._keep_model_of_split(search, choice, rows)
        self.best_params_ = {
            "kernel": choice.candidate.kernel,
            "n_basis": self._fitted.model.n_basis,
            "n_features": len(self.selected_features_),
            "strength_factor": choice.factor,
        }
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _make_search(
        self, X: Any, y: Any, sample_weight: Any, on_step: Callable[[str], None], groups: Any = None
    ) -> tuple[Search, tuple[Any, np.ndarray, np.ndarray]]:
        loss, race = self._loss(y), self._race()
        X, Y, weight, y = self._checked_table(X, y, sample_weight, loss, race[0], None)
        rows, targets, weights = merged_rows(X, Y, weight)
        targets = self._standardized(targets, weights, loss)
        splits = list(check_cv(self.cv, y, classifier=is_classifier(self)).split(X, y, groups))
        if not self.refit and len(splits) != 1:
            raise ValueError(f"refit=False keeps the model of the only split; cv makes {len(splits)} of them.")
        candidates = [candidate_for(self, terms, loss, Y.shape[1]) for terms in race]
        scorer = None if self.scoring is None else self._scorer(X, y, None if sample_weight is None else weight)
        Y = (Y - self._target_mean) / self._target_scale
        search = search_over(self, X, Y, weight, loss, candidates, splits, on_step, scorer)
        return search, (rows, targets, weights)

    def _scorer(self, X: Any, y: Any, weight: np.ndarray | None) -> Callable[[Submodel, Fold], float]:
        score = check_scoring(SPKMClassifier() if is_classifier(self) else SPKMRegressor(), self.scoring)

        def scorer(model: Submodel, fold: Fold) -> float:
            test = fold.test_rows
            more = {} if weight is None else {"sample_weight": weight[test]}
            return float(score(self._as_estimator(model, fold, X), X[test], y[test], **more))

        return scorer

    def _race(self) -> list[tuple[Term, ...]]:
        """Return the machines of the race, one for each kernel."""
        if isinstance(self.kernel, str) and self.kernel == "auto":
            asked: list[Any] = list(self._automatic_kernels)
        else:
            asked = list(self.kernel) if isinstance(self.kernel, list | tuple) else [self.kernel]
        if not asked:
            raise ValueError("kernel must be 'auto', a kernel or a list of kernels; got an empty list.")
        kernels = [clone(KERNELS.resolve(kernel)) for kernel in asked]
        if len({kernel.nonnegative for kernel in kernels}) > 1:
            raise ValueError(
                f"kernel={self.kernel!r} mixes kernels of raw counts with kernels of scaled columns. "
                "Search over each kind by itself."
            )
        race: list[tuple[Term, ...]] = [(Term(self.n_basis, (View(kernel),)),) for kernel in kernels]
        check_vectors(self.n_basis)
        check_learns(self.learn_bandwidth)
        check_selection(self, race[0])
        return race

    def _keep_model_of_split(self, search: Search, choice: Choice, rows: tuple[Any, np.ndarray, np.ndarray]) -> Choice:
        fold = search.folds[0]
        X, Y, weight = rows
        everything = some_rows(self._rows_source(X, fold.scaling, Y, weight), fold.scaling, fold.rng)
        with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
            choice, _ = search.confirmed(choice, choice.models[0], everything)
        model = choice.models[0]
        self._report_choice(search, choice, model, fold.train)
        objective = model.machine.objective(fold.train.columns(model.columns), model.columns)
        result = Result(model.theta.copy(), model.objective, 1, True, trace=[model.objective], noise=model.noise)
        restore_scale(objective, result)
        columns = model.columns if search.selects else None
        self._report(objective, LBFGS(), result, fold.scaling, choice.candidate.terms, X, columns)
        return choice


class SPKMClassifierCV(_SearchCV, SPKMClassifier):
    """Classifier that chooses its kernel, columns, penalty and number of vectors by cross-validation.

    All classes, or labels, share the vectors: it is ``multi_class="joint"`` of :class:`SPKMClassifier`. For a choice in
    each binary problem wrap it in :class:`sklearn.multiclass.OneVsOneClassifier`.

    Parameters
    ----------
    kernel : "auto", str, Kernel or list of them, default="auto"
        Kernels in the race. "auto" tries linear, polynomial of degree 3 and RBF: wide linear problems want the first,
        products of features the second.
    n_basis : int or "auto", default="auto"
        As in :class:`SPKMClassifier`; with "auto" a polynomial begins with four vectors for each output, a linear
        kernel has one.
    loss : str or Loss, default="auto"
        As in :class:`SPKMClassifier`.
    weight_penalty : str, Penalty, list or None, default="auto"
        "auto" tries several strengths of the RKHS norm; any other is taken as it is.
    selection : {"strict", None}, default="strict"
        Whether columns are selected.
    max_features, feature_groups, max_basis
        As in :class:`SPKMClassifier`.
    learn_bandwidth, fit_intercept, scale, solver, max_iter, tol, class_weight
        As in :class:`SPKMClassifier`.
    cv : int, splitter or iterable, default=None
        The splits; None is five folds.
    scoring : str or callable, default=None
        What held-out rows are judged by, one number for each split; None is the loss, row by row, which tells more.
    refit : bool, default=True
        Whether to carry the choice out on all rows. False keeps the model of the training rows, for a single split.
    n_jobs, random_state, verbose
        As in :class:`SPKMClassifier`.

    Attributes
    ----------
    best_params_ : dict
        What was chosen.
    cv_results_ : dict of ndarray
        Every model that held-out rows judged: kernel, stage of the search, factor on the strength of the penalty,
        number of features (mean over splits) and of vectors, held-out loss (minus the score with ``scoring``) and its
        error.
    classes_, basis_vectors_, dual_coef_, intercept_, kernel_, selected_features_, relevances_, feature_importances_
        As in :class:`SPKMClassifier`, and all its methods.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> best = SPKMClassifierCV(kernel="linear", cv=2, random_state=0).fit(X[:150], y[:150])
    >>> len(best.selected_features_) < 20, bool(best.score(X[300:], y[300:]) > 0.9)
    (True, True)
    """

    _automatic_kernels = (Linear(), Polynomial(degree=3), RBF())

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        n_basis: Any = "auto",
        loss: Any = "auto",
        weight_penalty: Any = "auto",
        selection: Any = "strict",
        max_features: int | None = None,
        feature_groups: Any = None,
        max_basis: int | None = None,
        learn_bandwidth: Any = "auto",
        fit_intercept: bool = True,
        scale: Any = True,
        solver: Any = "auto",
        max_iter: int | None = None,
        tol: float | None = None,
        class_weight: Any = None,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_basis = n_basis
        self.loss = loss
        self.weight_penalty = weight_penalty
        self.selection = selection
        self.max_features = max_features
        self.feature_groups = feature_groups
        self.max_basis = max_basis
        self.learn_bandwidth = learn_bandwidth
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class SPKMRegressorCV(_SearchCV, SPKMRegressor):
    """Regressor that chooses its kernel, columns, penalty and number of vectors by cross-validation.

    Parameters
    ----------
    kernel : "auto", str, Kernel or list of them, default="auto"
        Kernels in the race. "auto" tries linear, polynomial of degree 3 and Matern.
    n_basis, loss, weight_penalty, selection, max_features, feature_groups, max_basis
        As in :class:`SPKMClassifierCV`.
    learn_bandwidth, fit_intercept, scale, solver, max_iter, tol
        As in :class:`SPKMRegressor`.
    cv, scoring, refit, n_jobs, random_state, verbose
        As in :class:`SPKMClassifierCV`.

    Attributes
    ----------
    best_params_, cv_results_
        As in :class:`SPKMClassifierCV`.
    basis_vectors_, dual_coef_, intercept_, kernel_, selected_features_, relevances_, feature_importances_
        As in :class:`SPKMRegressor`, and all its methods.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> best = SPKMRegressorCV(kernel="linear", cv=2, random_state=0).fit(X, y)
    >>> len(best.selected_features_) < 10, bool(best.score(X, y) > 0.48)
    (True, True)
    """

    _automatic_kernels = (Linear(), Polynomial(degree=3), Matern())

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        n_basis: Any = "auto",
        loss: Any = "auto",
        weight_penalty: Any = "auto",
        selection: Any = "strict",
        max_features: int | None = None,
        feature_groups: Any = None,
        max_basis: int | None = None,
        learn_bandwidth: Any = "auto",
        fit_intercept: bool = True,
        scale: Any = True,
        solver: Any = "auto",
        max_iter: int | None = None,
        tol: float | None = None,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_basis = n_basis
        self.loss = loss
        self.weight_penalty = weight_penalty
        self.selection = selection
        self.max_features = max_features
        self.feature_groups = feature_groups
        self.max_basis = max_basis
        self.learn_bandwidth = learn_bandwidth
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
