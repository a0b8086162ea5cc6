"""Results of the public functions, and their printed form."""

from __future__ import annotations

from dataclasses import dataclass


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
