r"""How far the error of a fitted classifier on new rows can be from what its training rows show.

The scores are f(x) = b + sum_t sum_r c_tr k_t(x, u_tr); a term's kernel may have values a k + s, as 2k - 1 has. All of
what follows is for kernels **fixed before the rows were seen**, on inputs with k_t(x, x) <= tau_t. Everything else
(basis vectors, their number, weights, intercept, penalties, loss, solver, weights of rows) may depend on the rows in
any way: what is shown holds for all models of the class at once. Nothing is assumed of the basis vectors but where
the l1 norm is used with a kernel that is bounded on a ball only.

**Rademacher complexity**, E sup_f (1/n) sum_i sigma_i f(x_i) over random signs sigma. Write Z = sum_i sigma_i
phi(x_i); then E|Z|^2 = sum_i k(x_i, x_i) <= n tau, and E|sum_i sigma_i| <= sqrt(n). Hence, for one term:

- ``rkhs``: the part of f that is not constant has norm at most Gamma and the constant, b + s sum(c), is at most B:
  sup <f, Z>/n gives **Gamma sqrt(tau/n) + B/sqrt(n)**.
- ``l1``: sum_r |c_r| <= Lambda, |b| <= B: the sum over r is at most Lambda sup_u |a <phi(u), Z> + s sum_i sigma_i|,
  and |phi(u)| <= sqrt(tau), which gives **(|a| tau + |s|) Lambda/sqrt(n) + B/sqrt(n)**: tau Lambda/sqrt(n) of a
  kernel as it is, (2 tau + 1) Lambda/sqrt(n) of 2k - 1.

A term of several views has the product of their taus. Several terms live in the sum of their spaces: tau is the sum
of theirs; with ``l1``, where a maximum over terms is at most the root of a sum of squares, |a| tau + |s| is the root
of the sum of the squares of theirs. As Gamma <= |a| sqrt(tau) Lambda, ``rkhs`` is never the weaker one for one term.

**Margin bound, two classes** (Mohri, Rostamizadeh, Talwalkar 2018, theorem 5.8). Let y be -1 or +1, let the ramp be
min(1, max(0, 1 - y f(x)/rho)). For one class of functions and one margin rho, with probability 1 - delta, for all f

    P(y f(x) <= 0)  <=  mean ramp of the rows  +  (2/rho) Rademacher  +  sqrt(log(1/delta) / (2n)).

The complexity is the expected one; as the bounds above do not depend on the rows, no second confidence term is due.

**Margin bound, m > 2 classes.** Now f has m outputs, and the margin is that of the right class over the best other
one. It does not change when the same is added to all outputs, so weights and constants are taken with their mean over
the outputs subtracted. It is sqrt(2)-Lipschitz in the Euclidean norm of the m scores; by the vector contraction of
Maurer (2016), another sqrt(2), the term becomes (2/rho) * 2 * Rademacher with signs for each row *and* output. The
signs, too, count only up to their mean over outputs, so that E|Z|^2 <= (m - 1) n tau: the complexities above are
multiplied by sqrt(m - 1), with Gamma^2 the sum over outputs, Lambda = sum_r |c_r|_2 over rows of C, and B = |b|_2.

**Sizes and margin chosen after the fact.** The bound of f with margin rho is that of f/rho with margin 1, so that only
ratios count: G = (kernel part of sqrt(n) Rademacher)/rho and H = (constant part)/rho. Let both run through the powers
2^(j/4), j any integer, with confidence shared out as p_j = (2/3) / ((|j|+1) (|j|+2)), which sums to one; half of the
confidence goes to models whose constant is zero. By the union bound, at once for all f and **all margins**,

    error  <=  mean ramp  +  (2 L / sqrt(n)) (2^(i/4) + 2^(j/4))  +  sqrt((log(1/delta) + log(2 N/(p_i p_j))) / (2n))

for all i, j with 2^(i/4) >= G and 2^(j/4) >= H (if the constant is zero, the terms of j are left out), L = 1
for two classes and 2 for more, and N the number of kernels of a list stated beforehand.

References
----------
Mohri, Rostamizadeh, Talwalkar: Foundations of machine learning, 2nd edition, MIT Press 2018.
Maurer: A vector-contraction inequality for Rademacher complexities, ALT 2016.
Huusari, Bhadra, Capponi, Kadri, Rousu: Learning primal-dual sparse kernel machines (the l1 form).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from spkm._checks import check_choice, check_integer, check_real
from spkm.estimators import SPKMClassifier
from spkm.estimators._base import BaseSPKM
from spkm.estimators._state import FittedState, same_settings
from spkm.kernels import (
    KERNELS,
    Affine,
    DotKernel,
    Kernel,
    NormalizedPolynomial,
    Product,
    Rescaled,
    Sum,
    Tanimoto,
    squared_norms,
)
from spkm.model import Term, View

__all__ = ["GeneralizationBound", "RademacherBound", "generalization_bound", "rademacher_complexity"]

STEPS_PER_DOUBLING = 4  # of the sizes in the union: a size is rounded up by 19 % at most, for a log of a few steps more
LOWEST_LEVEL = -64  # 2^-16; below it nothing is gained


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
        Rows.
    assumptions : tuple of str
        What has to hold, each with whether it was checked or is taken on trust.
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
            f"Rademacher complexity for {self.n_samples:,} rows: at most {self.rkhs:.4g} by the RKHS norm "
            f"{self.gamma_:.4g}, {l1} by the l1 norm {self.lambda_:.4g} (tau = {self.tau:.4g})."
        )
        return "\n".join([first, *(f"- {sentence}" for sentence in self.assumptions)])


@dataclass(frozen=True)
class GeneralizationBound:
    """A bound on the share of wrong labels among new rows: the sum of its three terms.

    Parameters
    ----------
    value : float
        The bound, not cut off at 1.
    empirical_margin_loss : float
        Mean over the rows of the ramp that is 0 from the margin on and 1 for a wrong label.
    complexity_term : float
        What the size of the class adds.
    confidence_term : float
        What chance adds, and the choice of sizes, margin and kernel after the fact.
    margin : float
        The margin, in units of the scores.
    norm : {"rkhs", "l1"}
        What the size of the model was measured by.
    norm_value : float
        The norm of the model.
    tau : float
        The largest k(x, x), a sum over terms.
    training_error : float
        Share of the given rows whose margin is not positive.
    confidence : float
        Probability, over the draw of the rows, with which the bound holds.
    n_samples : int
        Rows.
    assumptions : tuple of str
        What has to hold, each with whether it was checked or is taken on trust.
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
            f"With probability {self.confidence:g} the error on new rows is at most {self.value:.4f}"
            f" (on the given ones it is {self.training_error:.4f}):",
            f"  {self.empirical_margin_loss:.4f}  margin loss of {self.n_samples:,} rows at margin {self.margin:.4g}",
            f"  {self.complexity_term:.4f}  complexity, {self.norm} norm {self.norm_value:.4g}, tau {self.tau:.4g}",
            f"  {self.confidence_term:.4f}  confidence",
        ]
        if self.is_vacuous:
            lines.insert(0, f"Vacuous: {self.value:.4f} says nothing, as no error is above 1. More rows would help.")
        return "\n".join([*lines, *(f"- {sentence}" for sentence in self.assumptions)])


def rademacher_complexity(estimator: Any, n_samples: int, *, radius: float | None = None) -> RademacherBound:
    """Return bounds on the Rademacher complexity, Gamma sqrt(tau/n) and tau Lambda/sqrt(n) with what a constant adds.

    The class is that of all models with the kernel of the fitted one whose norms are at most those of the fitted one.
    The module's docstring has the proofs, and the factors of 2k - 1 and of several classes.

    Parameters
    ----------
    estimator : SPKMClassifier
        Fitted with a kernel that was fixed beforehand: numbers for its parameters, ``learn_bandwidth=False``,
        ``scale=False`` and no selection.
    n_samples : int
        The number n of rows.
    radius : float, default=None
        Bound on the length of every row that can occur, known beforehand. Kernels of a dot product need it.

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
    state = _fitted_with_fixed_kernels(estimator)
    check_integer("n_samples", n_samples, 1)
    terms = [_bounded(term, radius) for term in state.model.terms]
    sizes = _sizes(state, terms)
    root = np.sqrt(n_samples)
    outside = _basis_vector_outside(state, terms, radius)
    assumptions = _kernel_assumptions(state, terms, radius)
    if outside is not None:
        assumptions.append(f"No bound from the l1 norm: {outside}.")
    return RademacherBound(
        None if outside is not None else (sizes.l1 + sizes.outputs * sizes.intercept) / root,
        (sizes.rkhs + sizes.outputs * sizes.constant) / root,
        sizes.weights,
        sizes.norm,
        sum(term.tau for term in terms),
        sizes.intercept,
        sizes.constant,
        int(n_samples),
        tuple(assumptions),
    )


def generalization_bound(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    margin: Any = "best",
    confidence: float = 0.95,
    norm: str = "rkhs",
    radius: float | None = None,
    kernels: Any = None,
) -> GeneralizationBound:
    """Return a bound on the error of a fitted classifier on new rows, from its training rows.

    Parameters
    ----------
    estimator : SPKMClassifier
        Fitted with a kernel that was fixed beforehand: numbers for its parameters, ``learn_bandwidth=False``,
        ``scale=False`` and no selection.
    X : array-like, DataFrame or CSR of shape (n_samples, n_features)
        The training rows, each of them once. Weights in the fit do no harm: every row counts the same here.
    y : array-like of shape (n_samples,)
        Their labels.
    margin : float or "best", default="best"
        The margin, in units of the scores; "best" is the one with the smallest bound. As the bound holds for all
        margins at once, it may be chosen after the fact.
    confidence : float, default=0.95
        Probability with which the bound is to hold.
    norm : {"rkhs", "l1"}, default="rkhs"
        What measures the size of the model, chosen beforehand. "l1" is the paper's; "rkhs" is tighter.
    radius : float, default=None
        Bound on the length of every row that can occur, known beforehand. Kernels of a dot product need it.
    kernels : int or list of Kernel, default=None
        If the kernel or its bandwidth was chosen by the rows: the list, fixed beforehand, that it was chosen from, or
        the length of that list.

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
    >>> model = SPKMClassifier(2, kernel=RBF(0.05), learn_bandwidth=False, scale=False, random_state=0).fit(X, y)
    >>> bound = theory.generalization_bound(model, X, y)
    >>> bound.is_vacuous, bool(bound.value < 0.3)
    (False, True)
    """
    state = _fitted_with_fixed_kernels(estimator)
    confidence = check_real("confidence", confidence, strict=True)
    if not confidence < 1:
        raise ValueError(f"confidence must be below 1; got {confidence!r}.")
    check_choice("norm", norm, ("rkhs", "l1"))
    if not (isinstance(margin, str) and margin == "best"):
        margin = check_real("margin", margin, strict=True)
    n_kernels, choice = _kernels_considered(estimator, state, kernels)
    terms = [_bounded(term, radius) for term in state.model.terms]
    outside = _basis_vector_outside(state, terms, radius)
    if norm == "l1" and outside is not None:
        raise ValueError(f"norm='l1' does not hold here: {outside}. Use norm='rkhs', which does not ask for it.")
    margins = _margins(estimator, X, y)
    if any(term.needs_radius for term in terms):
        _check_rows_inside(estimator, X, radius)
    sizes = _sizes(state, terms)
    kernel_part, constant = (sizes.rkhs, sizes.constant) if norm == "rkhs" else (sizes.l1, sizes.intercept)
    union = _Union(
        n_samples=len(margins),
        lipschitz=1.0 if state.model.n_outputs == 1 else 2.0,
        kernel_part=kernel_part,
        constant_part=sizes.outputs * constant,
        log_choices=np.log(n_kernels) - np.log1p(-confidence),
    )
    terms_of = {rho: (_ramp(margins, rho), *union.terms(rho)) for rho in union.margins_to_try(margin)}
    best = min(terms_of, key=lambda rho: sum(terms_of[rho]))
    loss, complexity, chance = terms_of[best]
    return GeneralizationBound(
        loss + complexity + chance,
        loss,
        complexity,
        chance,
        best,
        norm,
        sizes.norm if norm == "rkhs" else sizes.weights,
        sum(term.tau for term in terms),
        float(np.mean(margins <= 0)),
        confidence,
        len(margins),
        (
            "On trust: the rows are drawn independently from one distribution, as those to be predicted are, "
            "and each is given once.",
            *_kernel_assumptions(state, terms, radius, choice),
            f"On trust: no labels occur but the {len(estimator.classes_)} of the model, and norm={norm!r} was not "
            "chosen for its result.",
            "Not needed: basis vectors, their number, weights, penalties, loss and margin may depend on the rows.",
        ),
    )


@dataclass(frozen=True)
class _BoundedTerm:
    """A term with values scale * k + shift and k(x, x) <= tau."""

    scale: float
    shift: float
    tau: float
    needs_radius: bool


@dataclass(frozen=True)
class _Sizes:
    """Sizes of a fitted model; ``l1`` and ``rkhs`` are sqrt(n) times the complexities of the part with the kernel."""

    weights: float
    norm: float
    intercept: float
    constant: float
    outputs: float
    l1: float
    rkhs: float


@dataclass(frozen=True)
class _Union:
    """The two terms of the bound that do not depend on the margins of the rows, for all margins and sizes at once."""

    n_samples: int
    lipschitz: float
    kernel_part: float
    constant_part: float
    log_choices: float

    def terms(self, margin: float) -> tuple[float, float]:
        """Return the complexity and the confidence term of the best levels that cover the sizes at this margin."""
        levels = _levels_above(self.kernel_part / margin)
        size, cost = _size(levels), _cost(levels) + np.log(2.0)  # half of the confidence is for constants of zero
        if self.constant_part > 0:
            more = _levels_above(self.constant_part / margin)
            size, cost = np.add.outer(size, _size(more)).ravel(), np.add.outer(cost, _cost(more)).ravel()
        complexity = 2 * self.lipschitz * size / np.sqrt(self.n_samples)
        chance = np.sqrt((self.log_choices + cost) / (2 * self.n_samples))
        best = int(np.argmin(complexity + chance))
        return float(complexity[best]), float(chance[best])

    def margins_to_try(self, margin: Any) -> list[float]:
        """Return the given margin, or those among which the best one is.

        Below a margin that makes one of the sizes equal to a level, the terms stay the same while the ramp falls, until
        the next such margin. Levels beyond sqrt(n) cost more than a ramp of 1 everywhere.
        """
        if not isinstance(margin, str):
            return [margin]
        highest = int(np.ceil(STEPS_PER_DOUBLING * np.log2(4 * np.sqrt(self.n_samples))))
        sizes = _size(np.arange(LOWEST_LEVEL, highest + 1))
        parts = [part for part in (self.kernel_part, self.constant_part) if part > 0]
        # A hair above, lest rounding lift a size over its level.
        return [float(part / size * (1 + 1e-12)) for part in parts for size in sizes] or [1.0]


def _size(levels: np.ndarray) -> np.ndarray:
    return 2.0 ** (levels / STEPS_PER_DOUBLING)


def _cost(levels: np.ndarray) -> np.ndarray:
    """Return log(1/p_j) of the levels' shares of the confidence, which sum to one over all integers."""
    steps = np.abs(levels)
    return np.log(1.5 * (steps + 1) * (steps + 2))


def _levels_above(size: float) -> np.ndarray:
    """Return levels whose size is at least ``size``; from 0 on, the first of them is the best."""
    first = LOWEST_LEVEL
    if size > _size(np.array(LOWEST_LEVEL)):
        first = int(np.ceil(STEPS_PER_DOUBLING * np.log2(size)))
    return np.arange(first, max(first, 0) + 1)


def _ramp(margins: np.ndarray, rho: float) -> float:
    return float(np.mean(np.clip(1 - margins / rho, 0, 1)))


def _fitted_with_fixed_kernels(estimator: Any) -> FittedState:
    """Return what the fit left behind, or raise with every reason why its kernel was not fixed beforehand."""
    if isinstance(estimator, BaseSPKM) and not isinstance(estimator, SPKMClassifier):
        raise ValueError(
            f"estimator must be a classifier; got {type(estimator).__name__}. The theorem bounds the share of wrong "
            "labels; errors of real targets have no upper limit, so nothing follows for them."
        )
    if isinstance(estimator, BaseSPKM) and estimator._of_pairs:
        raise ValueError(
            "No bound holds for a model of pairs: pairs that share an entity are not drawn independently of each other."
        )
    if not isinstance(estimator, SPKMClassifier):
        raise TypeError(
            f"estimator must be a fitted SPKMClassifier; got {type(estimator).__name__}. "
            "Of a search or a pipeline, give the classifier inside, with rows as it gets them."
        )
    check_is_fitted(estimator)
    if hasattr(estimator, "estimators_") or estimator._label_scores is not None:
        what = "several binary models" if hasattr(estimator, "estimators_") else "several labels"
        raise ValueError(
            f"estimator must be one model of two or more classes; got one of {what}. "
            "Bound a binary model by itself: one of its estimators_, or one that is fitted to one label."
        )
    state: FittedState = estimator._fitted
    width = state.model.n_features
    reasons = []
    if state.columns is not None:
        reasons.append("columns were selected by the rows: use selection=None")
    if state.scaling is not None:
        reasons.append(
            "columns were scaled by statistics of the rows: use scale=False, and scale by numbers known beforehand"
        )
    for (_, view), asked in zip(state.model.views, _asked_kernels(state), strict=True):
        if not same_settings(_with_numbers(asked, view.width(width)), view.kernel):
            reasons.append(f"parameters of kernel={asked!r} were set by the rows: give numbers, RBF(gamma=0.5) say")
        if view.metric_size(width) > 0:
            what = "a bandwidth" if view.metric == "scale" else "a bandwidth for every column"
            reasons.append(f"{what} was learned from the rows: use learn_bandwidth=False")
    if reasons:
        raise ValueError(
            "No bound holds for this model, as its kernel was not fixed before the rows were seen: "
            + "; ".join(reasons)
            + ". If you choose among a few kernels by the rows, say so by kernels=."
        )
    return state


def _asked_kernels(state: FittedState) -> Sequence[Kernel]:
    """Return the kernels that the user gave, one for each view."""
    return [view.kernel for term in state.asked for view in term.views]


def _with_numbers(kernel: Kernel, n_columns: int) -> Kernel:
    """Return a kernel with gamma="auto", one over the number of columns, as a number: it does not depend on rows."""
    names = [
        name
        for name, value in kernel.get_params(deep=True).items()
        if name.split("__")[-1] == "gamma" and isinstance(value, str) and value == "auto"
    ]
    return clone(kernel).set_params(**dict.fromkeys(names, 1.0 / max(n_columns, 1)))


def _kernels_considered(estimator: Any, state: FittedState, kernels: Any) -> tuple[int, str]:
    """Return the number of kernels in the union and the sentence that says so."""
    raced = len(estimator._race()) if hasattr(estimator, "_race") else 1
    asked = list(_asked_kernels(state))
    fitted = asked[0] if len(asked) == 1 else asked
    if kernels is None:
        if raced > 1:
            raise ValueError(
                f"The kernel was chosen by the rows, from {raced}: give kernels=, the list that it was chosen from, "
                "with numbers for all parameters."
            )
        return 1, f"On trust: kernel={fitted!r} was fixed before the rows were seen."
    if isinstance(kernels, Integral):
        number = check_integer("kernels", kernels, raced)
    else:
        if isinstance(kernels, str | Kernel) or not isinstance(kernels, Sequence):
            raise TypeError(f"kernels must be an integer or a list of kernels; got {kernels!r}.")
        if len(asked) > 1:
            raise ValueError("kernels must be an integer for a model of several kernels: the number of combinations.")
        view: View = state.model.views[0][1]
        listed = [_with_numbers(KERNELS.resolve(k, "kernels"), view.width(state.model.n_features)) for k in kernels]
        if not any(same_settings(kernel, view.kernel) for kernel in listed):
            raise ValueError(f"kernels must hold the kernel of the model, {view.kernel!r}; got {list(kernels)!r}.")
        number = len(listed)
        if number < raced:
            raise ValueError(f"kernels must hold all {raced} kernels that the model was chosen from; got {number}.")
    return number, f"On trust: kernel={fitted!r} is one of {number} that were fixed before the rows were seen."


def _bounded(term: Term, radius: float | None) -> _BoundedTerm:
    """Return what bounds the values of a term, on rows of length at most ``radius``."""
    if radius is not None:
        radius = check_real("radius", radius, strict=True)
    scale, shift, tau, needs_radius = 1.0, 0.0, 1.0, False
    for view in term.views:
        a, s, core = _affine_parts(view.kernel)
        inside = core.get_params(deep=True).values()
        if any(isinstance(part, Affine) for part in inside) or (s != 0 and len(term.views) > 1):
            raise ValueError(
                f"No bound is worked out for {view.kernel!r}, where 2k - 1 is part of a sum or a product. "
                "Put Affine around the whole, or leave it out."
            )
        unbounded = _unbounded_part(core)
        if unbounded is not None and radius is None:
            raise ValueError(
                f"kernel={unbounded!r} is bounded only on rows of bounded length. Give radius=, a bound on the length "
                "of every row that can occur, known beforehand and not read off the rows."
            )
        needs_radius = needs_radius or unbounded is not None
        tau *= _largest_diagonal(core, 0.0 if radius is None else radius**2)
        scale, shift = scale * a, s
    return _BoundedTerm(scale, shift, tau, needs_radius)


def _affine_parts(kernel: Kernel) -> tuple[float, float, Kernel]:
    """Return (a, s, core) with the kernel's values equal to a * core + s."""
    if isinstance(kernel, Affine):
        a, s, core = _affine_parts(kernel.kernel)
        return float(kernel.scale * a), float(kernel.scale * s + kernel.shift), core
    if isinstance(kernel, Rescaled):
        a, s, core = _affine_parts(kernel.kernel)
        return a, s, Rescaled(core, kernel.factor)
    return 1.0, 0.0, kernel


def _unbounded_part(kernel: Kernel) -> Kernel | None:
    """Return a part of the kernel that grows with the length of a row, if there is one."""
    parts = [kernel, *kernel.get_params(deep=True).values()]
    return next((part for part in parts if isinstance(part, DotKernel)), None)


def _largest_diagonal(kernel: Kernel, squared_radius: float) -> float:
    """Return the largest k(x, x) of a positive semi-definite kernel over |x|^2 <= ``squared_radius``."""
    if isinstance(kernel, Rescaled):
        return _largest_diagonal(kernel.kernel, squared_radius * float(np.max(kernel.factor)))
    if isinstance(kernel, Sum):
        return _largest_diagonal(kernel.left, squared_radius) + _largest_diagonal(kernel.right, squared_radius)
    if isinstance(kernel, Product):
        return _largest_diagonal(kernel.left, squared_radius) * _largest_diagonal(kernel.right, squared_radius)
    if isinstance(kernel, DotKernel):
        # k(x, x) never falls as x grows: on a ray, log k is convex in log|x|, and k is finite at 0.
        return float(kernel.value(np.full((1, 1), kernel.gamma * squared_radius))[0, 0])
    if kernel.stationary or isinstance(kernel, NormalizedPolynomial | Tanimoto):
        return 1.0
    raise ValueError(
        f"No bound on k(x, x) is known for kernel={kernel!r}. Known are kernels with stationary=True, kernels of a dot "
        "product, the library's own, and sums and products of them."
    )


def _sizes(state: FittedState, terms: list[_BoundedTerm]) -> _Sizes:
    model, params = state.model, state.model.unpack(state.theta)
    weights, intercept = _centred(params.weights), _centred(params.intercept)
    by_term = np.split(weights, np.cumsum([term.n_basis for term in model.terms])[:-1])
    constant = intercept + sum(term.shift * C.sum(axis=0) for term, C in zip(terms, by_term, strict=True))
    lengths = np.linalg.norm(weights, axis=1)
    l1 = float(lengths.sum())
    squared = 0.0
    for term, C, (gram, _) in zip(terms, by_term, model.gram(state.theta), strict=True):
        part = max(float(np.vdot(C, gram @ C)), 0.0)
        # Large weights that cancel leave rounding of this order: the norm must not come out too small.
        squared += term.scale**2 * (part + np.finfo(float).eps * float(np.abs(gram).max()) * len(C) * l1**2)
    outputs = float(np.sqrt(max(model.n_outputs - 1, 1)))
    steepness = float(np.sqrt(sum((abs(term.scale) * term.tau + abs(term.shift)) ** 2 for term in terms)))
    norm = float(np.sqrt(squared))
    return _Sizes(
        weights=l1,
        norm=norm,
        intercept=float(np.linalg.norm(intercept)),
        constant=float(np.linalg.norm(constant)),
        outputs=outputs,
        l1=outputs * steepness * l1,
        rkhs=outputs * float(np.sqrt(sum(term.tau for term in terms))) * norm,
    )


def _centred(A: np.ndarray) -> np.ndarray:
    """Return A less its mean over the outputs, its last axis; labels and margins do not see that mean."""
    return A if A.shape[-1] == 1 else A - A.mean(axis=-1, keepdims=True)


def _basis_vector_outside(state: FittedState, terms: list[_BoundedTerm], radius: float | None) -> str | None:
    """Return what the l1 form lacks: basis vectors within the radius, where the kernel is bounded only there."""
    bases = iter(state.model.unpack(state.theta).basis)
    for term, bounded in zip(state.model.terms, terms, strict=True):
        for U in (next(bases) for _ in term.views):
            longest = float(np.sqrt(squared_norms(U).max()))
            if bounded.needs_radius and radius is not None and longest > radius:
                return f"the longest basis vector has length {longest:.4g}, beyond radius={radius:g}"
    return None


def _margins(estimator: Any, X: Any, y: Any) -> np.ndarray:
    """Return by how much the score of the right class exceeds that of the best other one, (n,)."""
    scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
    y = column_or_1d(y)
    check_consistent_length(scores, y)
    classes = estimator.classes_
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(f"y must hold the labels of the fit, {classes.tolist()}; got {y[unknown].tolist()[0]!r}.")
    code = np.searchsorted(classes, y)
    if scores.ndim == 1:
        return np.where(code == 1, scores, -scores)
    rows = np.arange(len(scores))
    right = scores[rows, code]
    scores[rows, code] = -np.inf
    return right - scores.max(axis=1)


def _check_rows_inside(estimator: Any, X: Any, radius: float | None) -> None:
    assert radius is not None
    rows = estimator._checked_rows(X, reset=False)
    lengths = np.sqrt(squared_norms(rows.astype(np.float64)))
    i = int(np.argmax(lengths))
    if lengths[i] > radius:
        raise ValueError(
            f"radius must bound the length of every row; row {i} of X has length {lengths[i]:.6g}, got "
            f"radius={radius:g}. A radius read off the rows would not do: give one that is known beforehand."
        )


def _kernel_assumptions(
    state: FittedState, terms: list[_BoundedTerm], radius: float | None, choice: str | None = None
) -> list[str]:
    fixed = "Checked: nothing of the kernel was learned, columns are neither selected nor scaled by the rows."
    sentences = [fixed] if choice is None else [fixed, choice]
    if any(term.needs_radius for term in terms):
        checked = "" if choice is None else " (checked for the given ones)"
        sentences.append(f"On trust: radius={radius:g}, set beforehand, bounds the length of every row{checked}.")
    ours = {type(kernel).__module__.split(".")[0] for kernel in _asked_kernels(state)} == {"spkm"}
    if not ours:
        sentences.append("On trust: the kernel is positive semi-definite and, if stationary, 1 at distance 0.")
    return sentences
