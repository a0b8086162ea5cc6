"""Check a kernel or loss of your own: derivatives by finite differences, dense against sparse, parts against sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from spkm.kernels import Kernel
from spkm.losses import Loss

STEP = 1e-4  # of the differences; their error is of order STEP^4


def check_kernel(kernel: Kernel, *, X: Any = None, n_basis: int = 3, tol: float = 1e-6, random_state: int = 0) -> float:
    """Check a kernel's values and pullback.

    Parameters
    ----------
    kernel : Kernel
        With numbers for its parameters, or data-driven ones that are then chosen on ``X``.
    X : array-like of shape (n, d), default=None
        Samples to check it on; positive random numbers if None.
    n_basis : int, default=3
        Number of basis vectors. Above 1, so that contributions of different vectors cannot be confused.
    tol : float, default=1e-6
        Largest relative error allowed.
    random_state : int, default=0
        Seed.

    Returns
    -------
    error : float
        The largest relative error found.

    Raises
    ------
    ValueError
        If something is off; the message says what, and by how much.

    Examples
    --------
    >>> from spkm.kernels import RBF
    >>> check_kernel(RBF(gamma=0.5)) < 1e-6
    True
    """
    rng = np.random.default_rng(random_state)
    X = rng.uniform(0.1, 1.5, size=(12, 4)) if X is None else np.array(X, dtype=np.float64)
    U = rng.uniform(0.1, 1.5, size=(n_basis, X.shape[1])) * np.abs(X).mean(axis=0)
    kernel = kernel.resolved(X, np.ones(len(X)))
    G = rng.standard_normal((len(X), n_basis))
    name = type(kernel).__name__
    K = kernel(X, U)
    if K.shape != G.shape or not np.all(np.isfinite(K)):
        raise ValueError(f"{name} must return finite values of shape {G.shape}; got shape {K.shape}.")
    errors = [_compared(f"{name}: values of CSR samples", kernel(sparse.csr_array(X), U), K, tol)]
    for metric in (1.3, rng.uniform(0.5, 1.5, size=X.shape[1])):
        dU, d_metric = kernel.vjp(X, U, metric, None, True)[1](G.copy())

        def of_basis(u: np.ndarray, metric: Any = metric) -> float:
            return float(np.sum(G * kernel.vjp(X, u, metric)[0]))

        def of_metric(w: np.ndarray) -> float:
            return float(np.sum(G * kernel.vjp(X, U, w if w.size > 1 else float(w[0]))[0]))

        errors.append(_compared(f"{name}: derivative in u", dU, differences(of_basis, U), tol))
        numeric = differences(of_metric, np.atleast_1d(metric))
        errors.append(_compared(f"{name}: derivative in the metric", np.atleast_1d(d_metric), numeric, tol))
    return max(errors)


def check_loss(loss: Loss, *, n_outputs: int = 2, tol: float = 1e-6, random_state: int = 0) -> float:
    """Check a loss: its derivative in the predictions, and that totals of parts add up to those of the whole.

    Parameters
    ----------
    loss : Loss
        The loss.
    n_outputs : int, default=2
        Number of outputs (columns of Y).
    tol : float, default=1e-6
        Largest relative error allowed.
    random_state : int, default=0
        Seed.

    Returns
    -------
    error : float
        The largest relative error found.

    Raises
    ------
    ValueError
        If something is off; the message says what, and by how much.

    Examples
    --------
    >>> from spkm.losses import Huber
    >>> check_loss(Huber(delta=0.5)) < 1e-6
    True
    """
    rng = np.random.default_rng(random_state)
    n = 15
    F = rng.standard_normal((n, n_outputs))
    if loss.target == "signs":
        Y = np.where(rng.integers(n_outputs, size=n)[:, None] == np.arange(n_outputs), 1.0, -1.0)
    else:
        Y = np.abs(rng.standard_normal((n, n_outputs))) + 0.1
    w = rng.uniform(0.5, 1.5, size=(n, 1))
    w /= w.sum()
    name = type(loss).__name__
    totals = loss.totals(Y, F, w)
    parts = loss.totals(Y[:6], F[:6], w[:6]) + loss.totals(Y[6:], F[6:], w[6:])
    gradient = sum(c * S for c, S in zip(loss.mix(totals), loss.directions(Y, F, w), strict=True))
    at_once, directions = loss.totals_and_directions(Y, F, w)
    gradient_at_once = sum(c * S for c, S in zip(loss.mix(totals), directions, strict=True))
    numeric = differences(lambda f: loss.value(loss.totals(Y, f, w)), F)
    return max(
        _compared(f"{name}: totals of two parts", parts, totals, tol),
        _compared(f"{name}: derivative in the predictions", gradient, numeric, tol),
        _compared(f"{name}: totals at once with directions", at_once, totals, tol),
        _compared(f"{name}: derivative at once with totals", gradient_at_once, numeric, tol),
    )


def differences(function: Callable[[np.ndarray], float], x: np.ndarray, step: float = STEP) -> np.ndarray:
    """Return the gradient of ``function`` at ``x`` by central differences of fourth order."""
    gradient = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        values = []
        for k in (-2, -1, 1, 2):
            moved = np.array(x, dtype=np.float64)
            moved[i] += k * step
            values.append(function(moved))
        gradient[i] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
    return gradient


def _compared(what: str, found: object, expected: object, tol: float) -> float:
    found, expected = np.asarray(found), np.asarray(expected)
    # Derivatives that vanish, such as that of a scale-free kernel in its scale, are compared with 1e-3.
    error = float(np.max(np.abs(found - expected)) / max(np.max(np.abs(expected)), 1e-3))
    if not error <= tol:
        raise ValueError(
            f"{what} is off by {error:.1e} relative to the largest entry (allowed: {tol:.0e}). Check its formula."
        )
    return error
