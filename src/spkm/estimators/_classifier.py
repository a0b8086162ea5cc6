"""The classifier: classes and labels become signs, scores become classes and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, is_multilabel
from sklearn.utils.validation import check_is_fitted

from spkm._checks import check_choice
from spkm.estimators._base import BaseSPKM
from spkm.estimators._labels import encode_labels, with_constant_labels
from spkm.estimators._multiclass import (
    MULTI_CLASS,
    OF_PARTS,
    binary_probabilities,
    coupled_probabilities,
    fit_in_parts,
    normalized,
    part_for,
    weighted_votes,
)
from spkm.estimators._state import FittedState
from spkm.losses import Log, Loss
from spkm.model import Term


def has_probabilities(estimator: SPKMClassifier) -> bool:
    """Whether the loss of a classifier gives probabilities."""
    if hasattr(estimator, "_fitted") or hasattr(estimator, "estimators_"):
        return hasattr(estimator._fitted_loss(), "probabilities")
    return (isinstance(estimator.loss, str) and estimator.loss in ("auto", "log")) or hasattr(
        estimator.loss, "probabilities"
    )


class SPKMClassifier(ClassifierMixin, BaseSPKM):
    """Sparse pre-image kernel classifier, f(x) = b + sum_r c_r k(x, u_r) with learned basis vectors u_r.

    The targets are one label for each row, or an indicator matrix of 0 and 1, dense or sparse, where a row may have any
    number of labels. A label that all rows have, or none, is predicted so for every row.

    Parameters
    ----------
    n_basis : int or "auto", default=10
        Number of basis vectors, shared by all classes. "auto" adds vectors while held-out rows gain by it, then prunes
        them by an l1 penalty on the weights.
    kernel : str, Kernel or dict, default="rbf"
        The kernel; with ``views`` it may be a dict, one for each of them by name. So may ``n_basis``,
        ``basis_penalty`` and ``learn_bandwidth``.
    views : dict, default=None
        Named columns of X, which kernels of their own look at: the model is the sum over them, each with ``n_basis``
        vectors. Columns are told by index, mask, slice, name or a function of X; views may overlap. X may be a dict of
        tables instead.
    terms : list of Term, default=None
        For everything else: a list of :class:`spkm.Term`, which are added up, each of one or more :class:`spkm.View`,
        which are multiplied. Takes the place of ``views``, ``kernel`` and ``n_basis``.
    loss : str or Loss, default="auto"
        "auto" is "log", which gives probabilities. With more than two classes "log" is the softmax, any other loss acts
        on signs.
    multi_class : {"joint", "ovr", "ovo"}, default="joint"
        What to do with more than two classes. "joint" is one model whose basis vectors all classes share. "ovr" is a
        binary model for each class, against the rest, and "ovo" one for each pair of classes; each has ``n_basis``
        vectors and at most ``max_features`` columns of its own.
    basis_penalty : str, Penalty, list or None, default=None
        Penalty on the basis vectors, on the scale of the model.
    weight_penalty : str, Penalty, list or None, default="auto"
        Penalty on the weights; "auto" is the RKHS norm of f, with a strength that needs no tuning.
    selection : {None, "strict"}, default=None
        "strict" finds the columns that the model needs, by held-out rows, and makes a model of those alone: no other
        column has any influence on a prediction.
    max_features : int, default=None
        Most columns of a strict selection. A kernel of a distance on at most 60 columns uses as many of these as do no
        harm on held-out rows, others as few as are nearly as good.
    feature_groups : array-like of shape (n_features,), default=None
        A label for every column; in a strict selection columns of one label enter and leave together.
    max_basis : int, default=None
        Most basis vectors with ``n_basis="auto"``; None is 50.
    learn_bandwidth : {"auto", True, False, "columns"}, default="auto"
        Whether to learn the kernel's bandwidth with the basis; "auto" does for kernels of a distance, "columns" learns
        one for each column.
    fit_intercept : bool, default=True
        Whether to learn b.
    scale : {True, False, "common"}, default=True
        Columns are standardised and clipped at five deviations inside (sparse ones are not centred); "common" gives all
        columns one scale, as pixels want.
    solver : str or Solver, default="auto"
        "auto" picks by loss, penalties and size.
    start : str, Start or array of shape (n_basis, n_features), default="auto"
        First basis vectors; an array is in the units of X. "auto" is k-means by class.
    n_restarts : int, default=1
        Starts; the best objective wins.
    max_iter, tol : int and float, default=None
        Limits of the solver where it is given by name; None takes its own.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.
    warm_start : bool, default=False
        Whether to go on from the last fit: its basis, bandwidth and weights. A larger ``n_basis`` adds vectors to them.
    n_jobs : int, default=None
        Threads; None takes all cores, or what OMP_NUM_THREADS says. Results do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of start points, subsamples and mini-batches.
    verbose : int, default=0
        Whether to print the objective after each iteration.

    Attributes
    ----------
    basis_vectors_ : ndarray of shape (n_basis, n_features_in_)
        The basis vectors, in the units of X; NaN in columns that a strict selection left out, or that a vector's view
        does not look at.
    selected_features_ : ndarray of int
        The columns that the model reads. Those of a kernel of a distance are all columns, or those of a strict
        selection; those of a kernel of a dot product are the ones where some basis vector is not zero.
    relevances_ : ndarray of shape (n_features_in_,)
        The learned factor w_j of each column in the kernel's inner product sum_j w_j x_j u_j of scaled columns: 1 where
        none is learned, 0 where the column is not read.
    feature_importances_ : ndarray of shape (n_features_in_,)
        With a strict selection: by how much the mean training loss rises when the column leaves the kernel, all else as
        it is; of several binary problems the mean.
    cv_results_ : dict of ndarray
        With a strict selection or ``n_basis="auto"``: every model that held-out rows judged, one entry for each.
    dual_coef_ : ndarray of shape (n_basis,) or (n_basis, n_classes)
        Their weights c.
    intercept_ : float or ndarray of shape (n_classes,)
        The intercept b.
    kernel_ : Kernel or dict
        The kernel with what was learned of it; it acts on scaled columns. With views it is a dict by name.
    view_usage_ : dict of ViewUsage
        With views or terms, for each by name: the ``columns`` it looks at, its ``rows`` in ``basis_vectors_``, how many
        of these are in use (``n_used``) and its ``share`` of the variance of the predictions.
    classes_ : ndarray
        The labels; of an indicator matrix the indices of its columns.
    estimators_ : list of SPKMClassifier
        With ``multi_class="ovr"`` or "ovo" and more than two classes: the binary models, of which
        :meth:`estimator_for` finds one by its labels. ``basis_vectors_``, ``dual_coef_`` and ``intercept_`` are then
        those of all of them, one after the other, and ``selected_features_`` what any of them reads; they keep
        ``kernel_``, ``relevances_``, ``view_usage_``, ``cv_results_`` and ``objective_`` to themselves.
    basis_problem_ : ndarray of int
        Beside ``estimators_``: which of them each row of ``basis_vectors_`` belongs to.
    class_pairs_ : ndarray of shape (n_pairs, 2)
        Beside ``estimators_``, with ``multi_class="ovo"``: the labels of each of them.
    n_iter_ : int
        Iterations (passes for mini-batches) of the best start; of several binary problems the most.
    objective_ : float
        The objective at the end.
    objective_path_ : ndarray
        The objective from iteration to iteration.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SPKMClassifier(n_basis=2, random_state=0).fit(X, y)
    >>> clf.basis_vectors_.shape, bool(clf.score(X, y) > 0.97)
    ((2, 30), True)
    """

    _task = "classification"
    classes_: np.ndarray
    estimators_: list[SPKMClassifier]
    class_pairs_: np.ndarray
    basis_problem_: np.ndarray
    _problems: list[str]

    def __init__(
        self,
        n_basis: Any = 10,
        *,
        kernel: Any = "rbf",
        views: Any = None,
        terms: Any = None,
        loss: Any = "auto",
        multi_class: str = "joint",
        basis_penalty: Any = None,
        weight_penalty: Any = "auto",
        selection: Any = None,
        max_features: int | None = None,
        feature_groups: Any = None,
        max_basis: int | None = None,
        learn_bandwidth: Any = "auto",
        fit_intercept: bool = True,
        scale: Any = True,
        solver: Any = "auto",
        start: Any = "auto",
        n_restarts: int = 1,
        max_iter: int | None = None,
        tol: float | None = None,
        class_weight: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_basis = n_basis
        self.kernel = kernel
        self.views = views
        self.terms = terms
        self.loss = loss
        self.multi_class = multi_class
        self.basis_penalty = basis_penalty
        self.weight_penalty = weight_penalty
        self.selection = selection
        self.max_features = max_features
        self.feature_groups = feature_groups
        self.max_basis = max_basis
        self.learn_bandwidth = learn_bandwidth
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.solver = solver
        self.start = start
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        check_choice("multi_class", self.multi_class, MULTI_CLASS)
        super()._check_settings()

    def _fit_in_parts(self, X: Any, y: Any, sample_weight: Any, terms: tuple[Term, ...], context: Any) -> bool:
        return fit_in_parts(self, X, y, sample_weight, terms, context)

    def _loss(self, y: Any) -> Loss:
        loss = super()._loss(y)
        if isinstance(loss, Log):
            loss.columns = "labels" if is_multilabel(y) else "classes"
        return loss

    def _encode_targets(
        self, y: Any, weight: np.ndarray, previous: FittedState | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights with those of the classes, and signs (n, 1), (n, n_classes) or (n, labels to learn)."""
        if y.ndim == 2:
            if self.class_weight is not None:
                raise ValueError(
                    f"class_weight is for one label for every row; got {self.class_weight!r} and an indicator matrix "
                    "as y. Use sample_weight."
                )
            signs, label_scores = encode_labels(y, weight)
            self._set_classes(np.arange(y.shape[1]), label_scores, previous)
            self._two_dimensional = True
            return weight, signs
        try:
            # A class whose rows all have weight zero is as absent as if the rows were not there.
            classes = np.unique(y[weight > 0])
        except TypeError as error:  # labels that cannot be ordered
            kinds = sorted({type(label).__name__ for label in y})
            raise TypeError(f"y must hold labels of one kind, and None is none; got {', '.join(kinds)}.") from error
        check_classification_targets(y)
        n_classes = len(classes)
        if n_classes < 2:
            raise ValueError(
                f"y must hold at least two classes in rows of positive weight; got one class, {classes.tolist()[0]!r}."
            )
        self._set_classes(classes, None, previous)
        weight = weight.copy()
        known = np.isin(y, self.classes_)
        weight[~known] = 0.0
        code = np.searchsorted(self.classes_, y)
        code[~known] = 0
        if self.class_weight is not None:
            by_class = compute_class_weight(self.class_weight, classes=classes, y=y, sample_weight=weight)
            if not np.all(by_class > 0):
                raise ValueError(
                    f"class_weight must hold positive numbers; got {self.class_weight!r}. "
                    "Leave a class out by sample_weight."
                )
            weight *= by_class[code]
        self._two_dimensional = n_classes > 2
        if n_classes == 2:
            return weight, np.where(code == 1, 1.0, -1.0)[:, None]
        return weight, np.where(code[:, None] == np.arange(n_classes), 1.0, -1.0)

    def _set_classes(self, classes: np.ndarray, label_scores: np.ndarray | None, previous: FittedState | None) -> None:
        """Remember the classes; of labels, the scores of those that are the same in all rows, NaN for the others."""
        if previous is not None and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start=True needs the classes of the last fit, {self.classes_.tolist()}; got {classes.tolist()}. "
                "Set warm_start=False to fit anew."
            )
        self.classes_, self._label_scores = classes, label_scores

    def _standardized(self, Y: np.ndarray, weight: np.ndarray, loss: Loss) -> np.ndarray:
        self._target_scale, self._target_mean = 1.0, 0.0
        return Y

    def _complete_report(self) -> None:
        for name in OF_PARTS:  # of an earlier fit
            self.__dict__.pop(name, None)
        if self._label_scores is not None:
            scores = self._label_scores
            self.dual_coef_ = with_constant_labels(self.dual_coef_, scores, 0.0)
            self.intercept_ = with_constant_labels(self.intercept_[None], scores, scores)[0]

    def estimator_for(self, label: Any, other: Any = None) -> SPKMClassifier:
        """Return the binary classifier of a class.

        Parameters
        ----------
        label : label
            A class; of an indicator matrix, the index of a column.
        other : label, default=None
            Another class, with ``multi_class="ovo"``. The order of the two does not matter: scores are positive for the
            one that comes later in ``classes_``.

        Returns
        -------
        estimator : SPKMClassifier
            That of the pair with ``multi_class="ovo"``; with "ovr" that of the class against the rest, whose labels are
            False and True. Of two classes the model itself, which is binary.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = SPKMClassifier(n_basis=2, multi_class="ovo", random_state=0).fit(X, y)
        >>> clf.estimator_for(2, 0).classes_, clf.class_pairs_.tolist()
        (array([0, 2]), [[0, 1], [0, 2], [1, 2]])
        """
        check_is_fitted(self)
        return part_for(self, [label] if other is None else [label, other])

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores f(x).

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            One score for two classes, positive for ``classes_[1]``; else one for each class. With ``multi_class="ovo"``
            these are votes, at most ``n_classes - 1``: the probability of the class in each of its pairs, times that
            of the pair. Losses without probabilities give 1 / (1 + exp(-6 f)) in their place. Of an indicator matrix
            one for each label, positive if it is there.
        """
        F = self._scores(X)
        if hasattr(self, "class_pairs_"):
            return weighted_votes(binary_probabilities(self._fitted_loss(), F), len(self.classes_))
        return F if self._two_dimensional else F[:, 0]

    def _scores_of_checked(self, X: Any) -> np.ndarray:
        if hasattr(self, "estimators_"):
            F = np.hstack([part._scores_of_checked(X) for part in self.estimators_])
        else:
            F = super()._scores_of_checked(X)
        return F if self._label_scores is None else with_constant_labels(F, self._label_scores, self._label_scores)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely label of every row of ``X``, or a matrix that indicates its labels."""
        scores = self.decision_function(X)
        if self._label_scores is not None:
            return (scores > 0).astype(int)
        code = np.argmax(scores, axis=1) if self._two_dimensional else (scores > 0).astype(int)
        return self.classes_[code]

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every class, or label; only where the loss gives them ("log").

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            Those of classes sum to one. With ``multi_class="ovr"`` they are those of the binary problems over their
            sum; with "ovo" those that agree best with the pairs (Wu, Lin and Weng 2004, second method), of which the
            largest need not be the class with most votes where a row is in doubt.
        """
        F = self._scores(X)
        loss = self._fitted_loss()
        if not hasattr(self, "estimators_"):
            return loss.probabilities(F)
        P = binary_probabilities(loss, F)
        if self._label_scores is not None:
            return P
        return coupled_probabilities(P, len(self.classes_)) if hasattr(self, "class_pairs_") else normalized(P)

    @available_if(has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of :meth:`predict_proba`."""
        return np.log(self.predict_proba(X))

    def _fitted_loss(self) -> Any:
        check_is_fitted(self)
        return (self.estimators_[0] if hasattr(self, "estimators_") else self)._fitted.loss

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.multi_class != "ovo"
        return tags
