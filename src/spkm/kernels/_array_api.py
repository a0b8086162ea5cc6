"""Kernels for samples of any library; shapes are those of ``_base.py``, and basis vectors are NumPy's.

X and what has a number for each sample stay where they are: only sums over the samples come back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from spkm._arrays import Array, Factors, Matrix
from spkm._namespaces import namespace, on_host, place_like
from spkm.kernels._bandwidth import number
from spkm.kernels._pullbacks import Cotangents, Pullback

#: The value and its derivatives in x.u, |x|^2 and |u|^2 (None is zero), from these invariants.
Evaluated = tuple[Any, Callable[[], tuple[Any, Any, Any]]]


class Invariant(Protocol):
    """A kernel of invariants, :class:`spkm.kernels.InvariantKernel`."""

    gamma: Any
    uses_norms: bool

    def _evaluated_anywhere(self, dot: Any, xx: Any, uu: Any) -> Evaluated: ...


def vjp_anywhere(
    kernel: Invariant, X: Matrix, U: Array, metric: Factors, learn_metric: bool
) -> tuple[Array, Pullback[Cotangents]]:
    """Return the values of a kernel of invariants and their pullback, which leaves its argument as it is."""
    xp = namespace(X)
    place = place_like(X)
    gamma = number(kernel)
    w = np.broadcast_to(np.asarray(metric * gamma, dtype=U.dtype), U.shape[1:])
    V = U * w
    dot = X @ place.array(np.ascontiguousarray(V.T))
    xx = ((X * X) @ place.array(w.copy()))[:, None] if kernel.uses_norms else None
    uu = place.array(np.einsum("rj,rj->r", U, V))[None, :]
    K, slopes = kernel._evaluated_anywhere(dot, xx, uu)

    def pullback(G: Array) -> Cotangents:
        d_dot, d_xx, d_uu = slopes()
        P = on_host((G * d_dot).T @ X)
        T = np.zeros(len(U), U.dtype) if d_uu is None else on_host(xp.sum(G * d_uu, axis=0))
        dU = gamma * metric * (P + 2 * T[:, None] * U)
        if not learn_metric:
            return dU, None
        d_metric = np.einsum("rj,rj->j", U, P) + T @ (U * U)
        if d_xx is not None:
            d_metric = d_metric + on_host(xp.sum(G * d_xx, axis=1) @ (X * X))
        d_metric = gamma * d_metric
        return dU, d_metric if np.ndim(metric) else d_metric.sum()

    return K, Pullback(pullback)


def absolute_vjp_anywhere(
    gamma: float, X: Matrix, U: Array, metric: Factors, learn_metric: bool
) -> tuple[Array, Pullback[Cotangents]]:
    """Return exp(-gamma sum_j w_j |x_j - u_j|) and its pullback, which leaves its argument as it is."""
    xp = namespace(X)
    place = place_like(X)
    w = np.broadcast_to(np.asarray(metric * gamma, dtype=U.dtype), U.shape[1:]).copy()
    there, vectors = place.array(w), [place.array(u.copy()) for u in U]
    K = xp.exp(-xp.stack([xp.abs(X - u) @ there for u in vectors], axis=1))

    def pullback(G: Array) -> Cotangents:
        E = G * K
        apart = [X - u for u in vectors]
        signs = [on_host(E[:, r] @ xp.sign(difference)) for r, difference in enumerate(apart)]
        dU = w * np.asarray(signs).reshape(U.shape)
        if not learn_metric:
            return dU, None
        d_metric = -gamma * sum(on_host(E[:, r] @ xp.abs(difference)) for r, difference in enumerate(apart))
        return dU, d_metric if np.ndim(metric) else d_metric.sum()

    return K, Pullback(pullback)
