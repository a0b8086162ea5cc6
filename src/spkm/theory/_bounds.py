"""The bounds by margins: public functions of a fitted classifier and its samples, and their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, column_or_1d

from spkm._arrays import TableLike, TargetLike
from spkm._checks import check_choice, check_integer, check_real
from spkm.theory._conditions import (
    check_samples_inside,
    checked_confidence,
    fixed_model,
    kernel_assumptions,
    kernels_considered,
)
from spkm.theory._margin_bound import Union
from spkm.theory._sizes import basis_vector_outside, bound_of_term, margins_of, sizes_of


@dataclass(frozen=True)
class RademacherBound:
    """Bounds on the Rademacher complexity of all models of the size of a fitted one.

    Parameters
    ----------
    l1 : float or None
        From the l1 norm of the weights, the bound of the paper; None where a basis vector lies outside the radius.
    rkhs : float
        From the RKHS norm of the scores.
    lambda_ : float
        The l1 norm of the weights, of several outputs the sum of the rows' l2 norms.
    gamma_ : float
        The RKHS norm of the scores without their constant.
    tau : float
        The largest k(x, x), a sum over terms.
    intercept, constant : float
        Sizes of the intercept, and of the constant with what a shifted kernel (2k - 1) adds to it.
    n_samples : int
        Number of samples.
    assumptions : tuple of str
        Conditions, each with whether it was checked or is taken on trust.
    """

    l1: float | None
    rkhs: float
    lambda_: float
    gamma_: float
    tau: float
    intercept: float
    constant: float
    n_samples: int
    assumptions: tuple[str, ...]

    def __str__(self) -> str:
        l1 = "not known" if self.l1 is None else f"{self.l1:.4g}"
        first = (
            f"Rademacher complexity for {self.n_samples:,} samples: at most {self.rkhs:.4g} by the RKHS norm "
            f"{self.gamma_:.4g}, {l1} by the l1 norm {self.lambda_:.4g} (tau = {self.tau:.4g})."
        )
        return "\n".join([first, *(f"- {sentence}" for sentence in self.assumptions)])


@dataclass(frozen=True)
class GeneralizationBound:
    """A bound on the share of wrong labels among new samples: the sum of its three terms.

    Parameters
    ----------
    value : float
        The bound, not cut off at 1.
    empirical_margin_loss : float
        Mean over the samples of the ramp that is 0 from the margin on and 1 for a wrong label.
    complexity_term : float
        Term for the size of the class.
    confidence_term : float
        Term for chance, and for the choice of sizes, margin and kernel after the fact.
    margin : float
        The margin, in units of the scores.
    norm : {"rkhs", "l1"}
        Norm that measured the size of the model.
    norm_value : float
        The norm of the model.
    tau : float
        The largest k(x, x), a sum over terms.
    training_error : float
        Share of the given samples whose margin is not positive.
    confidence : float
        Probability, over the draw of the samples, with which the bound holds.
    n_samples : int
        Number of samples.
    assumptions : tuple of str
        Conditions, each with whether it was checked or is taken on trust.
    """

    value: float
    empirical_margin_loss: float
    complexity_term: float
    confidence_term: float
    margin: float
    norm: str
    norm_value: float
    tau: float
    training_error: float
    confidence: float
    n_samples: int
    assumptions: tuple[str, ...]

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound says nothing: no error is above 1."""
        return self.value >= 1.0

    def __str__(self) -> str:
        lines = [
            f"With probability {self.confidence:g} the error on new samples is at most {self.value:.4f}"
            f" (on the given ones it is {self.training_error:.4f}):",
            f"  {self.empirical_margin_loss:.4f}  margin loss of {self.n_samples:,} samples at margin "
            f"{self.margin:.4g}",
            f"  {self.complexity_term:.4f}  complexity, {self.norm} norm {self.norm_value:.4g}, tau {self.tau:.4g}",
            f"  {self.confidence_term:.4f}  confidence",
        ]
        if self.is_vacuous:
            lines.insert(0, f"Vacuous: {self.value:.4f} says nothing, as no error is above 1. More samples would help.")
        return "\n".join([*lines, *(f"- {sentence}" for sentence in self.assumptions)])


def rademacher_complexity(estimator: BaseEstimator, n_samples: int, *, radius: float | None = None) -> RademacherBound:
    """Return bounds on the Rademacher complexity, Gamma sqrt(tau/n) and tau Lambda/sqrt(n) with what a constant adds.

    The class is that of all models with the kernel of the fitted one whose norms are at most those of the fitted one.
    The docstring of :mod:`spkm.theory` has the proofs, and the factors of 2k - 1 and of several classes.

    Parameters
    ----------
    estimator : SPKMClassifier
        Fitted with a kernel that was fixed beforehand: numbers for its parameters, ``learn_bandwidth=False``,
        ``scale=False`` and no selection.
    n_samples : int
        The number n of samples.
    radius : float, default=None
        Bound on the length of every sample that can occur, known beforehand. Dot-product kernels need it.

    Returns
    -------
    bound : RademacherBound
        Both bounds and the sizes they are made of.

    Raises
    ------
    ValueError
        If no bound holds, with the reason.

    Examples
    --------
    >>> from spkm import SPKMClassifier, theory
    >>> from spkm.kernels import RBF
    >>> model = SPKMClassifier(2, kernel=RBF(0.5), learn_bandwidth=False, scale=False, fit_intercept=False)
    >>> model = model.fit([[0.0], [0.1], [3.0], [3.1]], [0, 0, 1, 1])
    >>> bound = theory.rademacher_complexity(model, n_samples=100)
    >>> bound.tau, bool(bound.rkhs == bound.gamma_ / 10), bool(bound.l1 == bound.lambda_ / 10)
    (1.0, True, True)
    """
    model = fixed_model(estimator)
    check_integer("n_samples", n_samples, 1)
    bounds = [bound_of_term(term, radius) for term in model.terms]
    sizes = sizes_of(model, bounds)
    root = np.sqrt(n_samples)
    outside = basis_vector_outside(model, bounds, radius)
    assumptions = kernel_assumptions(model, bounds, radius)
    if outside is not None:
        assumptions.append(f"No bound from the l1 norm: {outside}.")
    return RademacherBound(
        l1=None if outside is not None else (sizes.l1 + sizes.outputs * sizes.intercept) / root,
        rkhs=(sizes.rkhs + sizes.outputs * sizes.constant) / root,
        lambda_=sizes.weights,
        gamma_=sizes.norm,
        tau=sizes.tau,
        intercept=sizes.intercept,
        constant=sizes.constant,
        n_samples=int(n_samples),
        assumptions=tuple(assumptions),
    )


def generalization_bound(
    estimator: BaseEstimator,
    X: TableLike,
    y: TargetLike,
    *,
    margin: Any = "best",
    confidence: float = 0.95,
    norm: str = "rkhs",
    radius: float | None = None,
    kernels: Any = None,
) -> GeneralizationBound:
    """Return a bound on the error of a fitted classifier on new samples, from its training samples.

    Parameters
    ----------
    estimator : SPKMClassifier
        Fitted with a kernel that was fixed beforehand: numbers for its parameters, ``learn_bandwidth=False``,
        ``scale=False`` and no selection.
    X : array-like, DataFrame or CSR of shape (n_samples, n_features)
        The training samples, each of them once. Weights in the fit do no harm: every sample counts the same here.
    y : array-like of shape (n_samples,)
        Their labels.
    margin : float or "best", default="best"
        The margin, in units of the scores; "best" is the one with the smallest bound. As the bound holds for all
        margins at once, it may be chosen after the fact.
    confidence : float, default=0.95
        Probability with which the bound is to hold.
    norm : {"rkhs", "l1"}, default="rkhs"
        Norm that measures the size of the model, chosen beforehand. "l1" is the paper's; "rkhs" is tighter.
    radius : float, default=None
        Bound on the length of every sample that can occur, known beforehand. Dot-product kernels need it.
    kernels : int or list of Kernel, default=None
        If the kernel or its bandwidth was chosen by the samples: the list, fixed beforehand, that it was chosen from,
        or the length of that list.

    Returns
    -------
    bound : GeneralizationBound
        The bound, its three terms and its assumptions; ``print`` shows them.

    Raises
    ------
    ValueError
        If no bound holds, with the reason.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMClassifier, theory
    >>> from spkm.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(4000) % 2
    >>> X = rng.normal(size=(4000, 2)) + 6 * y[:, None]
    >>> fixed = {"kernel": RBF(0.05), "learn_bandwidth": False, "weight_penalty": "rkhs", "scale": False}
    >>> model = SPKMClassifier(2, random_state=0, **fixed).fit(X, y)
    >>> bound = theory.generalization_bound(model, X, y)
    >>> bound.is_vacuous, bool(bound.value < 0.3)
    (False, True)
    """
    model = fixed_model(estimator)
    confidence = checked_confidence(confidence)
    check_choice("norm", norm, ("rkhs", "l1"))
    if not (isinstance(margin, str) and margin == "best"):
        margin = check_real("margin", margin, strict=True)
    n_kernels, choice = kernels_considered(estimator, model, kernels)
    bounds = [bound_of_term(term, radius) for term in model.terms]
    outside = basis_vector_outside(model, bounds, radius)
    if norm == "l1" and outside is not None:
        raise ValueError(f"norm='l1' does not hold here: {outside}. Use norm='rkhs', which does not need it.")
    margins = _margins(estimator, X, y)
    if radius is not None and any(bound.needs_radius for bound in bounds):
        check_samples_inside(estimator, X, radius)
    sizes = sizes_of(model, bounds)
    kernel_part, constant = (sizes.rkhs, sizes.constant) if norm == "rkhs" else (sizes.l1, sizes.intercept)
    union = Union(
        n_samples=len(margins),
        lipschitz=1.0 if model.n_outputs == 1 else 2.0,
        kernel_part=kernel_part,
        constant_part=sizes.outputs * constant,
        log_choices=np.log(n_kernels) - np.log1p(-confidence),
    )
    best, (loss, complexity, chance) = union.best(margins, margin)
    return GeneralizationBound(
        value=loss + complexity + chance,
        empirical_margin_loss=loss,
        complexity_term=complexity,
        confidence_term=chance,
        margin=best,
        norm=norm,
        norm_value=sizes.norm if norm == "rkhs" else sizes.weights,
        tau=sizes.tau,
        training_error=float(np.mean(margins <= 0)),
        confidence=confidence,
        n_samples=len(margins),
        assumptions=(
            "On trust: the samples are drawn independently from one distribution, as those to be predicted are, "
            "and each is given once.",
            *kernel_assumptions(model, bounds, radius, choice),
            f"On trust: no labels occur but the {len(estimator.classes_)} of the model, and norm={norm!r} was not "
            "chosen for its result.",
            "Not needed: basis vectors, their number, weights, penalties, loss and margin may depend on the samples.",
        ),
    )


def _margins(estimator: Any, X: Any, y: Any) -> np.ndarray:
    """Return the margin of every sample, (n,)."""
    scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
    y = column_or_1d(y)
    check_consistent_length(scores, y)
    classes = estimator.classes_
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(f"y must hold the labels of the fit, {classes.tolist()}; got {y[unknown].tolist()[0]!r}.")
    return margins_of(scores, np.searchsorted(classes, y))
