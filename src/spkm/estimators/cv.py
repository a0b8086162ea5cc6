"""Estimators that choose kernel, features, strength and number of vectors by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.utils.multiclass import is_multilabel, type_of_target

from spkm._arrays import TableLike, TargetLike, WeightLike
from spkm._checks import check_choice
from spkm._publish import publish
from spkm.core.model import Term, View
from spkm.estimators.classifier import PredictsClasses, SPKMClassifier
from spkm.estimators.parameters import GroupsLike, OfClassifierSearch, OfSearch
from spkm.estimators.regressor import PredictsNumbers, SPKMRegressor
from spkm.estimators.uncertainty import with_uncertainty
from spkm.fitting.data import TableData
from spkm.fitting.outcome import Outcome, attributes_of
from spkm.fitting.progress import CallbackSupportMixin, Progress, with_callbacks
from spkm.fitting.reading import class_data, encode_classes, number_data, real_targets
from spkm.fitting.recipes import Fit, Start, candidate_for
from spkm.fitting.search import Searching, decided, report_choice, search_over
from spkm.fitting.spec import Spec
from spkm.fitting.strategies import fit_choice, fit_constant, fitted_model, outcome_of, restore_scale
from spkm.fitting.views import check_vectors
from spkm.kernels import KERNELS, RBF, Kernel, Linear, Matern, Polynomial
from spkm.selection import Choice, Fold, Search, Submodel
from spkm.solvers import Result, Solver
from spkm.sources import FOLDS
from spkm.tables.read import Table, read_table

#: A search keeps basis vectors inside the range of the training samples; its estimators have no parameter for it.
BOUNDED = {"basis_bounds": "data"}


class ChoosesByFolds(OfSearch, CallbackSupportMixin, BaseEstimator):
    """The fit of a choice by cross-validation, of classes or numbers."""

    #: Kernels in the race of ``kernel="auto"``.
    _automatic: tuple[Kernel, ...]
    #: From parameters and a table to checked parameters and data.
    _data: Callable[..., tuple[Spec, TableData]]
    with_uncertainty = with_uncertainty

    @with_callbacks
    def fit(self, X: TableLike, y: TargetLike, sample_weight: WeightLike = None, groups: GroupsLike = None) -> Self:
        """Choose and fit.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, in the fits and in the validation.
        groups : array-like of shape (n_samples,), default=None
            Groups of samples, such as subjects; folds, and splitters that use groups, keep them together.

        Returns
        -------
        self : object
            The fitted estimator. If anything goes wrong, it is as it was.
        """
        progress = Progress(self)
        progress.begin(X=X, y=y)
        spec, table, data, search = self._search(X, y, sample_weight, progress.step, groups)
        if search is None:
            outcome = fit_constant(spec, data, None, progress)
        elif self.refit:
            outcome = fit_choice(spec, search, decided(search), data, progress)
        else:
            outcome = _model_of_split(spec, search, decided(search), data)
        progress.end(X=X, y=y)
        attributes = {**table.attributes, **attributes_of(outcome, table.X.dtype)}
        chosen = outcome.attributes.get("_choice", {"kernel": outcome.model.kernel, "strength_factor": 1.0})
        attributes["best_params_"] = {
            "kernel": chosen["kernel"],
            "n_basis": outcome.model.n_basis,
            "n_features": len(attributes["selected_features_"]),
            "strength_factor": chosen["strength_factor"],
        }
        attributes["n_kernels_"] = 1 if search is None else len(search.candidates)
        return publish(self, attributes | ({"classes_": data.target.labels} if is_classifier(self) else {}))

    def _search(
        self,
        X: TableLike,
        y: TargetLike | None,
        sample_weight: WeightLike,
        on_step: Callable[[str], bool],
        groups: GroupsLike = None,
    ) -> Searching:
        """Return the search with the user's own splits, kernels and scoring."""
        table = read_table(self, X, y, sample_weight, multi_output=is_multilabel(y) or not is_classifier(self))
        spec, data = self._spec_and_data(X, table)
        if data.n_outputs == 0:
            return Searching(spec, table, data, None)
        splits = list(self._splitter(table.y, groups is not None).split(table.X, table.y, groups))
        if not self.refit and len(splits) != 1:
            raise ValueError(f"refit=False keeps the model of the only split; cv makes {len(splits)} of them.")
        vectors = check_vectors(self.n_basis)
        specs = [replace(spec, terms=(Term(vectors, (View(kernel),)),)) for kernel in self._race()]
        candidates = [candidate_for(one, data) for one in specs]
        if data.target.of_classes:
            _, Y, weight = encode_classes(table.y, table.weight, self.get_params(deep=False)["class_weight"])
        else:
            Y, weight = data.target.encode(real_targets(table.y)), table.weight
        ordered = replace(data, X=table.X, Y=Y, weight=weight)  # as given: the splits are about these samples
        scorer = self._scorer(spec, table, data, None if sample_weight is None else weight)
        search = search_over(specs[0], ordered, candidates, splits, on_step, scorer)
        return Searching(specs[0], table, data, search)

    def _spec_and_data(self, X: TableLike, table: Table) -> tuple[Spec, TableData]:
        """Return checked parameters, of the first kernel of the race, and data of samples that were read."""
        return self._data({**self.get_params(deep=False), **BOUNDED, "kernel": self._race()[0]}, X, table)

    def _race(self) -> list[Kernel]:
        """Return the kernels that are compared, with their numbers checked."""
        asked = self._automatic if isinstance(self.kernel, str) and self.kernel == "auto" else self.kernel
        kernels = [KERNELS.part(kernel) for kernel in (asked if isinstance(asked, list | tuple) else [asked])]
        if not kernels:
            raise ValueError("kernel must be 'auto', a kernel or a list of kernels; got an empty list.")
        if len({kernel.nonnegative for kernel in kernels}) > 1:
            raise ValueError(
                f"kernel={self.kernel!r} mixes kernels of raw counts with kernels of scaled features. "
                "Search over each kind by itself."
            )
        check_choice("refit", self.refit, (True, False))
        return kernels

    def _splitter(self, y: np.ndarray, grouped: bool) -> Any:
        """Return the splitter; a number of folds keeps groups together if there are some."""
        if not grouped or not (self.cv is None or isinstance(self.cv, Integral)):
            return check_cv(self.cv, y, classifier=is_classifier(self))
        stratified = is_classifier(self) and type_of_target(y) in ("binary", "multiclass")
        return (StratifiedGroupKFold if stratified else GroupKFold)(FOLDS if self.cv is None else int(self.cv))

    def _scorer(
        self, spec: Spec, table: Table, data: TableData, weight: np.ndarray | None
    ) -> Callable[[Submodel, Fold], float] | None:
        """Return a function that judges the model of a fold by the user's scoring on its held-out samples."""
        if self.scoring is None:
            return None
        plain = SPKMClassifier() if is_classifier(self) else SPKMRegressor()
        score = check_scoring(plain, self.scoring)
        X, y, target = table.X, table.y, data.target
        known = {"n_features_in_": X.shape[1], **({"classes_": target.labels} if target.of_classes else {})}

        def scorer(model: Submodel, fold: Fold) -> float:
            test = fold.test_rows
            fitted = fitted_model(spec, target, model.model, model.theta, fold.scaling, X.shape[1], model.columns)
            more = {} if weight is None else {"sample_weight": weight[test]}
            return float(score(publish(plain, {**known, "model_": fitted}), X[test], y[test], **more))

        return scorer


class SPKMClassifierCV(OfClassifierSearch, PredictsClasses, ClassifierMixin, ChoosesByFolds):
    """Classifier that chooses its kernel, features, penalty and number of vectors by cross-validation.

    All classes, or labels, share the vectors: it is ``multi_class="joint"`` of :class:`SPKMClassifier`. For a choice in
    each binary problem wrap it in :class:`sklearn.multiclass.OneVsOneClassifier`.

    Parameters
    ----------
    kernel : "auto", str, Kernel or list of them, default="auto"
        Kernels to compare. "auto" tries linear, polynomial of degree 3 and RBF: the first suits wide linear problems,
        the second products of features.
    n_basis : int or "auto", default="auto"
        As in :class:`SPKMClassifier`; with "auto" a polynomial begins with four vectors for each output, a linear
        kernel has one.
    loss : str or Loss, default="auto"
        As in :class:`SPKMClassifier`.
    weight_penalty : str, Penalty, list or None, default="auto"
        "auto" tries several strengths of the RKHS norm; any other is taken as it is.
    selection : {"strict", None}, default="strict"
        Whether features are selected.
    max_features, max_groups, feature_groups, max_basis
        As in :class:`SPKMClassifier`.
    learn_bandwidth, fit_intercept, scale, solver, max_iter, tol, class_weight
        As in :class:`SPKMClassifier`.
    cv : int, splitter or iterable, default=None
        The splits; None is five folds.
    scoring : str or callable, default=None
        Score of the held-out samples, one number for each split; None is the loss of each sample.
    refit : bool, default=True
        Whether to refit the choice on all samples. False keeps the model of the training samples, for a single split.
    n_jobs, random_state, verbose
        As in :class:`SPKMClassifier`.

    Attributes
    ----------
    best_params_ : dict
        The chosen settings.
    cv_results_ : dict of ndarray
        Every model that was tried: kernel, stage of the search, factor on the strength of the penalty,
        number of features (mean over splits) and of vectors, held-out loss (minus the score with ``scoring``) and its
        error.
    n_kernels_ : int
        Number of kernels that were compared.
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

    classes_: np.ndarray

    _automatic = (Linear(), Polynomial(degree=3), RBF())
    _data = staticmethod(class_data)


class SPKMRegressorCV(PredictsNumbers, RegressorMixin, ChoosesByFolds):
    """Regressor that chooses its kernel, features, penalty and number of vectors by cross-validation.

    Parameters
    ----------
    kernel : "auto", str, Kernel or list of them, default="auto"
        Kernels in the race. "auto" tries linear, polynomial of degree 3 and Matern.
    n_basis, loss, weight_penalty, selection, max_features, max_groups, feature_groups, max_basis
        As in :class:`SPKMClassifierCV`.
    learn_bandwidth, fit_intercept, scale, solver, max_iter, tol
        As in :class:`SPKMRegressor`.
    cv, scoring, refit, n_jobs, random_state, verbose
        As in :class:`SPKMClassifierCV`.

    Attributes
    ----------
    best_params_, cv_results_, n_kernels_
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

    _automatic = (Linear(), Polynomial(degree=3), Matern())
    _data = staticmethod(number_data)


def _model_of_split(spec: Spec, search: Search, choice: Choice, data: TableData) -> Outcome:
    fold = search.folds[0]
    model = choice.models[0]
    attributes = report_choice(search, choice, model, fold.train)
    source = fold.train.columns(model.columns)
    objective = model.problem.objective(source, model.columns)
    result = Result(model.theta.copy(), model.objective, 1, True, trace=[model.objective], noise=model.noise)
    restore_scale(objective, result)
    columns = model.columns if search.selects else None
    fit = Fit(objective, result, Solver(), Start(model.problem, source), columns)
    return outcome_of(replace(spec, terms=choice.candidate.terms), data, fit, fold.scaling, attributes, "search")
