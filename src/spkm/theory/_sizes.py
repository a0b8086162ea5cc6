"""The sizes of a fitted model: bounds on its kernels, the norms of its weights and scores, its margins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spkm._checks import check_real
from spkm.core.fitted import FittedModel, FittedTerm
from spkm.fitting.continuing import same_settings
from spkm.kernels import Kernel, squared_norms


@dataclass(frozen=True)
class TermBound:
    """A term has values scale * k + shift with k(x, x) <= tau, of all samples or of those within the radius."""

    scale: float
    shift: float
    tau: float
    needs_radius: bool


@dataclass(frozen=True)
class Sizes:
    """Sizes of a fitted model.

    Parameters
    ----------
    weights, norm : float
        Lambda, the l1 norm of the weights; Gamma, the RKHS norm of the scores without their constant.
    intercept, constant : float
        Sizes of the intercept, and of the constant with what shifts of the kernels add to it.
    outputs : float
        The factor sqrt(m - 1) of m > 2 classes, 1 of two.
    tau : float
        The largest k(x, x), a sum over terms.
    l1, rkhs : float
        sqrt(n) times the complexities of the part with the kernel.
    """

    weights: float
    norm: float
    intercept: float
    constant: float
    outputs: float
    tau: float
    l1: float
    rkhs: float


def bound_of_term(term: FittedTerm, radius: float | None) -> TermBound:
    """Return what bounds the values of a term, on samples of length at most ``radius``."""
    if radius is not None:
        radius = check_real("radius", radius, strict=True)
    scale, shift, tau, needs_radius = 1.0, 0.0, 1.0, False
    for view in term.views:
        a, s, core = view.kernel.affine_parts()
        if not same_settings(core, core.rkhs()) or (s != 0 and len(term.views) > 1):
            raise ValueError(
                f"No bound is worked out for {view.kernel!r}: its values must be a k + s with k the kernel of its RKHS "
                "norm, which they are not where 2k - 1 is part of a sum or a product. Put Affine around the whole, or "
                "leave it out."
            )
        everywhere = _largest_diagonal(core, np.inf)
        if everywhere < np.inf:
            tau *= everywhere
        elif radius is None:
            raise ValueError(
                f"kernel={core!r} is bounded only on samples of bounded length. Give radius=, a bound on the length "
                "of every sample that can occur, known beforehand and not read off the samples."
            )
        else:
            tau *= _largest_diagonal(core, radius**2)
            needs_radius = True
        scale, shift = scale * a, s
    return TermBound(scale, shift, tau, needs_radius)


def _largest_diagonal(kernel: Kernel, squared_radius: float) -> float:
    largest = kernel.largest_diagonal(squared_radius)
    if largest is None:
        raise ValueError(
            f"No bound on k(x, x) is known for kernel={kernel!r}. Known are stationary kernels, dot-product kernels, "
            "the library's own, and sums and products of them; a kernel of your own can define its method "
            "largest_diagonal(squared_radius)."
        )
    return largest


def sizes_of(model: FittedModel, bounds: list[TermBound]) -> Sizes:
    """Return the sizes of a model whose terms have the given bounds."""
    weights, intercept = _centred(model.weights), _centred(model.intercept)
    l1 = float(np.linalg.norm(weights, axis=1).sum())
    constant, squared = intercept, 0.0
    for term, bound in zip(model.terms, bounds, strict=True):
        C = weights[term.rows]
        gram = np.prod([view.kernel.rkhs()(view.basis, view.basis) for view in term.views], axis=0)
        part = max(float(np.vdot(C, gram @ C)), 0.0)
        # Large weights that cancel leave rounding of this order: the norm must not come out too small.
        squared += bound.scale**2 * (part + np.finfo(float).eps * float(np.abs(gram).max()) * len(C) * l1**2)
        constant = constant + bound.shift * C.sum(axis=0)
    outputs = float(np.sqrt(max(model.n_outputs - 1, 1)))
    steepness = float(np.sqrt(sum((abs(bound.scale) * bound.tau + abs(bound.shift)) ** 2 for bound in bounds)))
    tau, norm = float(sum(bound.tau for bound in bounds)), float(np.sqrt(squared))
    return Sizes(
        weights=l1,
        norm=norm,
        intercept=float(np.linalg.norm(intercept)),
        constant=float(np.linalg.norm(constant)),
        outputs=outputs,
        tau=tau,
        l1=outputs * steepness * l1,
        rkhs=outputs * float(np.sqrt(tau)) * norm,
    )


def _centred(A: np.ndarray) -> np.ndarray:
    """Return A less its mean over the outputs, its last axis; labels and margins do not see that mean."""
    return A if A.shape[-1] == 1 else A - A.mean(axis=-1, keepdims=True)


def basis_vector_outside(model: FittedModel, bounds: list[TermBound], radius: float | None) -> str | None:
    """Return what the l1 form lacks: basis vectors within the radius, where the kernel is bounded only there."""
    for term, bound in zip(model.terms, bounds, strict=True):
        for view in term.views:
            longest = float(np.sqrt(squared_norms(view.basis).max()))
            if bound.needs_radius and radius is not None and longest > radius:
                return f"the longest basis vector has length {longest:.4g}, beyond radius={radius:g}"
    return None


def margins_of(scores: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Return by how much the score of the right class exceeds that of the best other one, (n,).

    Parameters
    ----------
    scores : ndarray of shape (n,) or (n, m)
        One score for two classes, positive for the second; else one for each class.
    code : ndarray of shape (n,)
        The right classes, as numbers from 0.
    """
    if scores.ndim == 1:
        return np.where(code == 1, scores, -scores)
    samples = np.arange(len(scores))
    others = scores.copy()
    others[samples, code] = -np.inf
    return scores[samples, code] - others.max(axis=1)
