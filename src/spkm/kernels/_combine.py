"""Kernels made of kernels: sums, products, other metrics, and scaling with a shift (2k - 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import add, is_, mul
from typing import Any

import numpy as np
from scipy import sparse

from spkm._arrays import Array, Factors, Matrix
from spkm.kernels._base import FORMULAS, Cotangents, Kernel, Pullback
from spkm.kernels._forms import Forms, no_forms, no_largest_diagonal, product_of, sum_of


def _of_parts(name: str, rule: Callable[[Iterable[bool]], bool]) -> Any:
    """Return a property of a kernel made of others: whether all, or any, of them have it."""
    return property(lambda self: rule(getattr(kernel, name) for kernel in self.kernels))


class MadeOfKernels(Kernel):
    """A kernel made of others, those of its parameters that ``parts`` names, under one metric."""

    #: All others are those of the kernels it is made of, whatever formula joins them.
    claims = {
        "formula": (FORMULAS, None),
        "affine_parts": (("vjp",), Kernel.affine_parts),
        "largest_diagonal": (("vjp",), no_largest_diagonal),
        "forms": (("vjp",), no_forms),
        "anywhere": (("vjp",), False),
    }
    parts: tuple[str, ...] = ("kernel",)

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels it is made of."""
        return [getattr(self, name) for name in self.parts]

    stationary = _of_parts("stationary", all)
    anywhere = _of_parts("anywhere", all)
    reads_zero_features = _of_parts("reads_zero_features", any)
    nonnegative = _of_parts("nonnegative", any)
    shifted = _of_parts("shifted", any)
    is_per_feature = _of_parts("is_per_feature", any)

    def check(self, argument: str) -> Any:
        for kernel in self.kernels:
            kernel.check(argument)
        return super().check(argument)

    def around(self, *kernels: Kernel) -> Kernel:
        """Return the same, made of other kernels."""
        return self.__class__(**{**self.get_params(deep=False), **dict(zip(self.parts, kernels, strict=True))})

    def resolved(self, X: Matrix, weight: Array) -> Kernel:
        kernels = [kernel.resolved(X, weight) for kernel in self.kernels]
        return self if all(map(is_, kernels, self.kernels)) else self.around(*kernels)

    def rkhs(self) -> Kernel:
        return self.around(*(kernel.rkhs() for kernel in self.kernels))


class _Pair(MadeOfKernels):
    """Two kernels of the same features."""

    parts = ("left", "right")

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    #: The operation that joins values of the two, and numbers.
    join: Any

    def diagonal(self, X: Matrix) -> Array:
        return np.asarray(self.join(self.left.diagonal(X), self.right.diagonal(X)))

    def _joined_largest(self, squared_radius: float = np.inf) -> float | None:
        """Return a bound of k(x, x) over |x|^2 <= ``squared_radius`` from those of the two; None if one is unknown."""
        a, b = self.left.largest_diagonal(squared_radius), self.right.largest_diagonal(squared_radius)
        if a is None or b is None:
            return None
        joined = float(self.join(a, b))
        return 0.0 if np.isnan(joined) else joined  # a product of zero, with a kernel that is not bounded


class Sum(_Pair):
    """k(x, u) = left(x, u) + right(x, u).

    Examples
    --------
    >>> from spkm.kernels import RBF, Linear
    >>> Sum(RBF(gamma=0.5), Linear(gamma=1.0))([[0.0, 1.0]], [[1.0, 1.0]]).round(4)
    array([[1.6065]])
    """

    formula = "sum"
    join = staticmethod(add)
    largest_diagonal = _Pair._joined_largest

    def vjp(
        self, X: Matrix, U: Array, metric: Factors = 1.0, xx: Array | None = None, learn_metric: bool = False
    ) -> tuple[Array, Pullback[Cotangents]]:
        A, pull_a = self.left.vjp(X, U, metric, xx, learn_metric)
        B, pull_b = self.right.vjp(X, U, metric, xx, learn_metric)
        return A + B, Pullback(lambda G: _added(pull_a(+G), pull_b(G)))  # +G is a copy

    def forms(self) -> Forms | None:
        return sum_of(self.left.forms(), self.right.forms())


class Product(_Pair):
    """k(x, u) = left(x, u) * right(x, u).

    Examples
    --------
    >>> from spkm.kernels import RBF, Linear
    >>> Product(RBF(gamma=0.5), Linear(gamma=1.0))([[0.0, 1.0]], [[1.0, 1.0]]).round(4)
    array([[0.6065]])
    """

    formula = "product"
    join = staticmethod(mul)
    largest_diagonal = _Pair._joined_largest

    def vjp(
        self, X: Matrix, U: Array, metric: Factors = 1.0, xx: Array | None = None, learn_metric: bool = False
    ) -> tuple[Array, Pullback[Cotangents]]:
        A, pull_a = self.left.vjp(X, U, metric, xx, learn_metric)
        B, pull_b = self.right.vjp(X, U, metric, xx, learn_metric)
        return A * B, Pullback(lambda G: _added(pull_a(G * B), pull_b(G * A)))

    def forms(self) -> Forms | None:
        return product_of(self.left.forms(), self.right.forms())


class WrappedKernel(MadeOfKernels):
    """A kernel made of one other, its ``kernel``."""

    kernel: Kernel

    @property
    def inner(self) -> Kernel:
        return self.kernel.inner


class Rescaled(WrappedKernel):
    """A kernel with a fixed factor on its metric: k(x, u) under w is the base kernel under factor * w.

    Parameters
    ----------
    kernel : Kernel
        The base kernel.
    factor : float or ndarray of shape (d,), default=1.0
        Factor on the metric: one number, or a relevance for each feature.
    """

    formula = "rescaled"

    def __init__(self, kernel: Kernel, factor: Factors = 1.0) -> None:
        self.kernel = kernel
        self.factor = factor

    @property
    def is_per_feature(self) -> bool:  # type: ignore[override]
        return np.ndim(self.factor) > 0 or self.kernel.is_per_feature

    def vjp(
        self, X: Matrix, U: Array, metric: Factors = 1.0, xx: Array | None = None, learn_metric: bool = False
    ) -> tuple[Array, Pullback[Cotangents]]:
        factor = np.asarray(self.factor)
        K, pull = self.kernel.vjp(X, U, metric * factor, xx, learn_metric)

        def pullback(G: Array) -> Cotangents:
            dU, d_metric = pull(G)
            if d_metric is None:
                return dU, None
            scaled = d_metric * factor
            return dU, scaled if np.ndim(metric) else np.sum(scaled)

        return K, Pullback(pullback)

    def diagonal(self, X: Matrix) -> Array:
        root = np.sqrt(np.broadcast_to(np.asarray(self.factor, dtype=float), X.shape[1:]))
        return self.kernel.diagonal(sparse.csr_array(X).multiply(root).tocsr() if sparse.issparse(X) else X * root)

    def affine_parts(self) -> tuple[float, float, Kernel]:
        scale, shift, core = self.kernel.affine_parts()
        return scale, shift, self.around(core)

    def largest_diagonal(self, squared_radius: float = np.inf) -> float | None:
        most = float(np.max(self.factor))
        return self.kernel.largest_diagonal(squared_radius * most if most > 0 else 0.0)

    def forms(self) -> Forms | None:
        forms = self.kernel.forms()
        return None if forms is None else tuple(form.rescaled(self.factor) for form in forms)


class Affine(WrappedKernel):
    """k(x, u) = scale * kernel(x, u) + shift; ``Affine(kernel)`` is the bipolar 2k - 1 of the paper.

    The RKHS norm of a model is that of ``kernel`` itself.

    Parameters
    ----------
    kernel : Kernel
        The kernel that is rescaled.
    scale, shift : float, default=2.0 and -1.0
        The two numbers.

    Examples
    --------
    >>> from spkm.kernels import RBF
    >>> Affine(RBF(gamma=0.5))([[0.0, 1.0]], [[1.0, 1.0]]).round(4)      # 2k - 1
    array([[0.2131]])
    """

    formula = "affine"

    def __init__(self, kernel: Kernel, scale: float = 2.0, shift: float = -1.0) -> None:
        self.kernel = kernel
        self.scale = scale
        self.shift = shift

    @property
    def shifted(self) -> bool:  # type: ignore[override]
        return self.shift != 0 or self.kernel.shifted

    def vjp(
        self, X: Matrix, U: Array, metric: Factors = 1.0, xx: Array | None = None, learn_metric: bool = False
    ) -> tuple[Array, Pullback[Cotangents]]:
        K, pull = self.kernel.vjp(X, U, metric, xx, learn_metric)
        return self.scale * K + self.shift, Pullback(lambda G: pull(self.scale * G))

    def diagonal(self, X: Matrix) -> Array:
        return self.scale * self.kernel.diagonal(X) + self.shift

    def rkhs(self) -> Kernel:
        return self.kernel.rkhs()

    def affine_parts(self) -> tuple[float, float, Kernel]:
        scale, shift, core = self.kernel.affine_parts()
        return float(self.scale * scale), float(self.scale * shift + self.shift), core

    def largest_diagonal(self, squared_radius: float = np.inf) -> float | None:
        inner = self.kernel.largest_diagonal(squared_radius)
        return None if inner is None or not self.scale > 0 else self.scale * inner + self.shift

    def forms(self) -> Forms | None:
        forms = self.kernel.forms()
        if forms is None:
            return None
        first, *others = (form.scaled(self.scale) for form in forms)
        return (first.shifted(self.shift), *others)

    def with_bandwidth(self, factor: Factors) -> Kernel:
        return self.around(self.kernel.with_bandwidth(factor))


def _added(a: Cotangents, b: Cotangents) -> Cotangents:
    return a[0] + b[0], None if a[1] is None else a[1] + b[1]
