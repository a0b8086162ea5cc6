"""The classifier: classes and labels become signs, scores become classes and labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from spkm._arrays import TableLike, TargetLike, WeightLike
from spkm._methods import available_if
from spkm._namespaces import returned_like_X
from spkm._publish import publish
from spkm.core.decisions import decision, log_probabilities, probabilities
from spkm.estimators.base import FitsTables, ReadsModel
from spkm.estimators.parameters import GroupsLike, OfClassifier
from spkm.fitting.partial import partial_classes, takes_batches
from spkm.fitting.progress import CallbackSupportMixin
from spkm.losses import Loss


def has_probabilities(estimator: BaseEstimator) -> bool:
    """Whether the loss of a classifier gives probabilities."""
    if "model_" in vars(estimator):
        return estimator.model_.loss.has_probabilities
    loss = estimator.get_params(deep=False).get("loss", "auto")  # that of ordered classes is no parameter
    return loss in ("auto", "log") if isinstance(loss, str) else isinstance(loss, Loss) and loss.has_probabilities


class PredictsProbabilities(ReadsModel):
    """Predictions of classes or labels and their probabilities, from the scores of ``model_``."""

    @returned_like_X
    def predict(self, X: TableLike) -> np.ndarray:
        """Return the most likely label of every sample of ``X``, or a matrix that indicates its labels."""
        check_is_fitted(self)
        return self.model_.target.decode(decision(self.model_, self._scores(X)))

    @available_if(has_probabilities)
    @returned_like_X
    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Return the probability of every class, or label; only where the loss gives them ("log").

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            They sum to one over classes, which are in the order of ``classes_``. With ``multi_class="ovr"`` they are
            those of the binary problems over their sum; with "ovo" those that agree best with the pairs (Wu, Lin and
            Weng 2004, second method), of which the largest need not be the class with most votes where a sample is in
            doubt.
        """
        check_is_fitted(self)
        return probabilities(self.model_, self._scores(X))

    @available_if(has_probabilities)
    @returned_like_X
    def predict_log_proba(self, X: TableLike) -> np.ndarray:
        """Return the logarithm of :meth:`predict_proba`, finite also where a probability rounds to zero."""
        check_is_fitted(self)
        return log_probabilities(self.model_, self._scores(X))


class PredictsClasses(PredictsProbabilities):
    """Predictions of classes or labels with a score for each, from the scores of ``model_``."""

    multi_class: Any = "joint"

    @returned_like_X
    def decision_function(self, X: TableLike) -> np.ndarray:
        """Return the scores f(x).

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_labels)
            One score for two classes, positive for ``classes_[1]``; else one for each class. With ``multi_class="ovo"``
            these are votes, at most ``n_classes - 1``: the probability of the class in each of its pairs, times that
            of the pair. Losses without probabilities give 1 / (1 + exp(-6 f)) in their place. An indicator matrix
            has one for each label, positive if it is there.
        """
        check_is_fitted(self)
        scores = decision(self.model_, self._scores(X))
        return scores if self.model_.target.two_dimensional else scores[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.multi_class != "ovo"
        return tags


class SPKMClassifier(OfClassifier, FitsTables, PredictsClasses, ClassifierMixin, CallbackSupportMixin, BaseEstimator):
    """Sparse pre-image kernel classifier, f(x) = b + Σ_r c_r k(x, u_r) with learned basis vectors u_r.

    The targets are one label for each sample, or an indicator matrix of 0 and 1, dense or sparse, for samples with any
    number of labels. A label that all training samples have, or none, is predicted so for every sample.

    Parameters
    ----------
    n_basis : int, "auto", dict or None, default=None
        Largest number of basis vectors, which all classes share; None is 10, or 4 for each class if that is more.
        Vectors that end at the same place are merged. "auto" adds vectors while the held-out loss falls, then prunes
        them by an l1 penalty. With ``views`` a dict has a number for each view.
    kernel : str, Kernel or dict, default="rbf"
        Kernel that compares a sample with a basis vector: "rbf", "matern", "rational_quadratic", "laplacian", "linear",
        "polynomial", "normalized_polynomial" or "tanimoto", or a Kernel. With ``views`` a dict has one for each view.
    views : dict, default=None
        Named groups of features, each with a kernel and ``n_basis`` vectors of its own; the model is the sum over them.
        Features are given by index, mask, slice, name or a function of X; views may overlap. X may be a dict of tables
        instead.
    terms : list of Term, default=None
        The general form: a sum of :class:`spkm.Term`, each a product of one or more :class:`spkm.View`. Replaces
        ``views``, ``kernel`` and ``n_basis``.
    loss : str or Loss, default="auto"
        Loss that the fit minimises: "log", "squared", "squared_hinge", "smooth_hinge", "exponential", "cosine" or a
        Loss. "auto" is "log", the only name that gives probabilities. For more than two classes "log" is the softmax;
        any other loss acts on the sign of each class.
    multi_class : {"joint", "ovr", "ovo"}, default="joint"
        Model of more than two classes. "joint" is one model whose basis vectors all classes share. "ovr" is a
        binary model for each class, against the rest, and "ovo" one for each pair of classes; each has ``n_basis``
        vectors and at most ``max_features`` features of its own.
    basis_penalty : str, Penalty, list, dict or None, default=None
        Penalty on the basis vectors, on scaled features: "l1", "l1_ball", "l2", "elastic_net", "features" (whole
        features), a Penalty or a list of them. With ``views`` a dict has one for each view.
    weight_penalty : str, Penalty, list or None, default="auto"
        Penalty on the weights: "rkhs" (the norm of f in the space of the kernel), "l1", "l2", "elastic_net", "rows"
        (whole basis vectors), "evidence" (with squared loss), a Penalty or a list of them. "auto" is "rkhs" and a ridge
        of 0.3 of its strength, which three-fold cross-validation chooses; for views, dot-product kernels and searches
        it is "rkhs" of a fixed strength.
    selection : {None, "strict"}, default=None
        "strict" selects features by cross-validation and fits a model of those alone: no other feature has any
        influence on a prediction. None keeps all features.
    max_features, max_groups : int, default=None
        Largest number of features, and of groups, in a strict selection; it takes fewer if these are nearly as good.
    feature_groups : array-like of shape (n_features,), default=None
        Label for every feature; in a strict selection features of one label enter and leave together.
    max_basis : int, default=None
        Largest number of basis vectors with ``n_basis="auto"``; None is 50.
    learn_bandwidth : {"auto", True, False, "columns"} or dict, default="auto"
        Whether the bandwidth of the kernel is learned with the basis: True learns one for all features, "columns" one
        for each. "auto" is "columns" for a single stationary kernel, and True in views and searches. With ``views`` a
        dict has a choice for each view.
    linear_part : {"auto", True, False}, default="auto"
        Whether to add a linear function, f(x) = b + w'x + Σ_r c_r k(x, u_r). "auto" adds it where the strength of the
        penalty is chosen by cross-validation.
    basis_bounds : {"data", None}, default="data"
        "data" keeps basis vectors of stationary kernels, and of fingerprints, inside the range of the training samples,
        feature by feature; None leaves them free. Vectors of dot-product kernels are never bounded.
    basis : {"free", "samples"}, default="free"
        "samples" makes every basis vector a distinct training sample, for prototypes that must be real cases: after a
        free fit each vector moves to the nearest sample, and all else is fitted again. It costs some accuracy.
    monotone : dict, default=None
        Features, by name or index, with which the score of the second class must rise (1) or fall (-1), whatever the
        others are. Holds by construction; for two classes, and kernels that fall with the distance or "linear".
    fit_intercept : bool, default=True
        Whether the intercept b is learned; False sets it to zero.
    scale : {True, False, "common"}, default=True
        Whether features are scaled for the kernel: True standardises each and clips it at five deviations (sparse ones
        are not centred), "common" gives all features one scale, which suits pixels, and False takes them as they are.
    solver : str or Solver, default="auto"
        Method that minimises the objective: "lbfgs", "varpro" (squared loss), "proximal" (penalties that are not
        smooth), "adam" (mini-batches), "alternating" (the paper's) or a Solver. "auto" takes one by loss, penalties and
        number of samples.
    start : str, Start or array-like of shape (n_basis, n_features), default="auto"
        First basis vectors: "kmeans", "greedy", "rows", "random", a Start or an array in the units of X. "auto" is
        "kmeans", class by class.
    n_restarts : int, default=1
        Number of starts; the fit with the lowest objective is kept.
    max_iter : int, default=None
        Largest number of iterations of the solver; None is its default. A Solver has its own.
    tol : float, default=None
        Tolerance at which the solver ends; None is its default. A Solver has its own.
    class_weight : dict, "balanced" or None, default=None
        Factors on the weights of the samples of each class; "balanced" gives all classes the same total weight.
    warm_start : bool, default=False
        Whether a fit begins with the basis, bandwidth and weights of the last one. A larger ``n_basis`` adds vectors.
    n_jobs : int, default=None
        Number of threads; None takes all cores, or what OMP_NUM_THREADS says. Results do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of start points, subsamples and mini-batches.
    verbose : int, default=0
        Messages to the logger "spkm": 1 for the stages and the objective, at most a line a second; 2 for every
        iteration.

    Attributes
    ----------
    classes_ : ndarray
        The labels; of an indicator matrix the indices of its columns.
    basis_vectors_ : ndarray of shape (n_vectors, n_features_in_)
        The basis vectors, in the units of X; NaN in features that a strict selection left out, or that the view of
        a vector does not use.
    dual_coef_ : ndarray of shape (n_vectors,) or (n_vectors, n_classes)
        Their weights c.
    intercept_ : float or ndarray of shape (n_classes,)
        The intercept b.
    linear_coef_ : ndarray of shape (n_features_in_,) or (n_features_in_, n_classes)
        With a linear part: the change of the score for a change of each feature by one unit.
    kernel_ : Kernel or dict
        The kernel with what was learned of it; it acts on scaled features. With views it is a dict by name.
    relevances_ : ndarray of shape (n_features_in_,)
        The learned factor w_j of each feature in the kernel's inner product sum_j w_j x_j u_j of scaled features: 1
        where none is learned, 0 where the feature is not used.
    selected_features_ : ndarray of int
        The features that predictions depend on: all, those of a strict selection, or those in which some basis vector
        of a dot-product kernel is not zero.
    feature_importances_ : ndarray of shape (n_features_in_,)
        With a strict selection: the increase of the mean training loss when the feature is removed from the kernel,
        without a refit; for several binary problems the mean.
    half_frequency_ : ndarray of shape (n_features_in_,)
        With a strict selection: the share of six random halves of the samples on which the feature is chosen, each half
        by itself. Not inside a cross-validation, nor for tables of more than a million numbers.
    fold_frequency_ : ndarray of shape (n_features_in_,)
        With a strict selection: the share of the folds of the search that choose the feature. Folds share most of their
        samples, so it is mostly higher than ``half_frequency_``.
    alternatives_ : dict
        With a strict selection: for each selected feature those that could replace it, with an absolute correlation
        of at least 0.9.
    cv_results_ : dict of ndarray
        With a strict selection or ``n_basis="auto"``: every model that was tried, with its held-out loss.
    monotone_ : dict
        With ``monotone``: the directions, proved from the fitted numbers.
    nearest_samples_, nearest_distances_ : ndarray of shape (n_vectors,)
        Index of the training sample nearest to each basis vector, and its distance: sqrt(2 - 2 k(x, u)) for a
        stationary kernel, with k(x, u) over its norms for others. Not for samples that are read in chunks.
    cancellation_ : float
        How much contributions of basis vectors cancel on the training samples: the median of
        Σ_r |c_r (k_r - mean k_r)| over |f - mean f|. It is 1 where none cancel; if it is above 10, do not read
        contributions one by one.
    view_usage_ : dict of ViewUsage
        With views or terms, for each by name: the ``columns`` it uses, its ``rows`` of ``basis_vectors_``, how many
        of these are in use (``n_used``) and its ``share`` of the variance of the predictions.
    estimators_ : list of SPKMClassifier
        With ``multi_class="ovr"`` or "ovo" and more than two classes: the binary models, of which
        :meth:`estimator_for` finds one by its labels. ``basis_vectors_``, ``dual_coef_`` and ``intercept_`` are then
        those of all of them, one after the other, and ``selected_features_`` the features that any of them reads.
        Each has its own ``kernel_``, ``relevances_``, ``view_usage_``, ``cv_results_`` and ``objective_``.
    basis_problem_ : ndarray of int of shape (n_vectors,)
        With ``estimators_``: the binary model that each row of ``basis_vectors_`` belongs to.
    class_pairs_ : ndarray of shape (n_pairs, 2)
        With ``estimators_`` and ``multi_class="ovo"``: the labels of each pair.
    model_ : FittedModel
        The fitted model, immutable, which predictions, explanations, exports and files read.
    n_iter_ : int
        Iterations (passes for mini-batches) of the best start; for several binary problems the most.
    objective_, objective_path_ : float, ndarray
        The objective at the end, and from iteration to iteration.
    stationarity_ : float
        Length of a proximal gradient step of rate one from the fitted parameters, on the scale of the model: zero at a
        minimum. For several binary problems the largest; NaN after ``partial_fit`` and for a solver that does not give
        it.
    n_features_in_ : int
        Number of features of the fit.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Their names, where X has names that are all strings.

    See Also
    --------
    SPKMClassifierCV : Chooses kernel, features and penalty by cross-validation.
    SPKMOrdinalClassifier : For classes that have an order.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SPKMClassifier(n_basis=2, random_state=0).fit(X, y)
    >>> clf.basis_vectors_.shape, bool(clf.score(X, y) > 0.97)
    ((2, 30), True)
    """

    classes_: np.ndarray
    estimators_: list[SPKMClassifier]
    class_pairs_: np.ndarray
    basis_problem_: np.ndarray

    _of_classes = True

    @available_if(takes_batches)
    def partial_fit(
        self, X: TableLike, y: TargetLike, classes: GroupsLike = None, sample_weight: WeightLike = None
    ) -> Self:
        """Improve the model by one more batch of samples, in memory of the batch alone.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, n_features)
            A batch. The first one fixes scaling, bandwidth and start points: let it be a few hundred samples at random.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like, default=None
            All labels; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; they count from call to call.

        Returns
        -------
        self : object
            The estimator. ``max_iter`` are passes over each batch, one unless given. After :meth:`fit` it goes on from
            that model.
        """
        return publish(self, partial_classes(self, X, y, classes, sample_weight))

    def estimator_for(self, label: object, other: object = None) -> SPKMClassifier:
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
            False and True. For two classes the model itself, which is binary.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = SPKMClassifier(n_basis=2, multi_class="ovo", random_state=0).fit(X, y)
        >>> clf.estimator_for(2, 0).classes_, clf.class_pairs_.tolist()
        (array([0, 2]), [[0, 1], [0, 2], [1, 2]])
        """
        check_is_fitted(self)
        labels = [label] if other is None else [label, other]
        model, classes = self.model_, self.classes_.tolist()
        one_each = not model.is_joint and model.pairs is None
        codes = sorted({k for k, known in enumerate(classes) if known in labels})
        if len(codes) != len(labels) or len(labels) != (1 if one_each else 2):
            what = "one label" if one_each else "two different labels"
            raise ValueError(f"estimator_for needs {what} of classes_, {classes}; got {labels}.")
        if model.is_joint:
            if len(classes) > 2:
                raise ValueError("estimator_for needs a fit with multi_class='ovo' or 'ovr'; this one is joint.")
            return self
        if model.pairs is not None:
            return self.estimators_[int(np.flatnonzero(np.all(model.pairs == codes, axis=1))[0])]
        learned = model.target.learned
        if not learned[codes[0]]:
            raise ValueError(f"Label {codes[0]} was the same in all samples of the fit, so it has no estimator.")
        return self.estimators_[int(np.count_nonzero(learned[: codes[0]]))]
