"""One table of a pair: the function k(x, u) of a component, its parameters and their gradient.

A component of one side is a function a(x) = k(x, u) of a kernel with few features in it. Its *direction* p (d,) has
length one and an l1 norm of at most a radius between 1 and sqrt(d), so that entries are exactly zero. For a kernel of a
dot product p is the vector u itself. Any other kernel (RBF, say) reads features that are zero in u; its direction is
not negative and weighs the features in the distance, sum_j p_j (x_j - u_j)^2 / sum_j p_j, while u is free. Either way a
feature with p_j = 0 has no influence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spkm._proxes import soft_threshold
from spkm.kernels import Kernel

Pullback = Callable[[np.ndarray], np.ndarray]
WIDEST = 3.0  # the logarithm of a bandwidth stays within this of its start: beyond, a kernel is flat or a spike


@dataclass(frozen=True)
class Side:
    """Kernel, number of features and layout of the parameters of one side.

    Attributes
    ----------
    kernel : Kernel
        The kernel, with numbers for all its parameters.
    n_features : int
        Number of features d.
    learns_bandwidth : bool
        Whether a factor on the kernel's metric is learned.
    """

    kernel: Kernel
    n_features: int
    learns_bandwidth: bool

    @property
    def size(self) -> int:
        """Number of parameters of a component."""
        return self.n_features * (1 + self.kernel.reads_zero_features) + 1

    @property
    def blocks(self) -> list[slice]:
        """The parameters in parts of one scale each: direction, vector u if it is another one, log bandwidth."""
        d = self.n_features
        vector = [slice(d, 2 * d)] if self.kernel.reads_zero_features else []
        return [slice(0, d), *vector, slice(self.size - 1, self.size)]

    def parts(self, theta: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return the vector u, (1, d), and the metric, a number or (d,)."""
        p, bandwidth = theta[: self.n_features], float(np.exp(theta[-1]))
        if not self.kernel.reads_zero_features:
            return p[None, :], bandwidth
        return theta[None, self.n_features : -1], bandwidth * p / (p.sum() or 1.0)

    def values(self, theta: np.ndarray, X: Any) -> tuple[np.ndarray, Pullback]:
        """Return a(x_i), (n,), and the map from dL/da (n,) to dL/dtheta."""
        u, metric = self.parts(theta)
        learn = self.learns_bandwidth or self.kernel.reads_zero_features
        K, pull = self.kernel.vjp(X, u.astype(X.dtype), metric, None, learn)

        def pullback(g: np.ndarray) -> np.ndarray:
            d_vector, d_metric = pull(g[:, None].astype(K.dtype))
            return self._gradient(theta, np.asarray(d_vector[0], dtype=np.float64), d_metric)

        return K[:, 0].astype(np.float64), pullback

    def _gradient(self, theta: np.ndarray, d_vector: np.ndarray, d_metric: Any) -> np.ndarray:
        d_bandwidth = 0.0
        if not self.kernel.reads_zero_features:
            if self.learns_bandwidth:
                d_bandwidth = float(d_metric) * float(np.exp(theta[-1]))
            return np.append(d_vector, d_bandwidth)
        p, factor = theta[: self.n_features], float(np.exp(theta[-1]))
        total = p.sum() or 1.0
        along = float(d_metric @ p) / total
        if self.learns_bandwidth:
            d_bandwidth = factor * along
        return np.concatenate([factor / total * (d_metric - along), d_vector, [d_bandwidth]])

    def projected(self, theta: np.ndarray, radius: float) -> np.ndarray:
        """Return the nearest parameters whose direction is allowed."""
        d = self.n_features
        p = np.maximum(theta[:d], 0.0) if self.kernel.reads_zero_features else theta[:d]
        result = theta.copy()
        result[:d] = on_sphere(p, radius)
        result[-1] = np.clip(theta[-1], -WIDEST, WIDEST)
        if self.kernel.reads_zero_features:  # a vector has no entry at a feature that has no say
            result[d:-1] = np.where(result[:d] != 0, theta[d:-1], 0.0)
        return result

    def selected(self, theta: np.ndarray) -> np.ndarray:
        """Return which features have an influence, (d,)."""
        return theta[: self.n_features] != 0


def on_sphere(p: np.ndarray, radius: float) -> np.ndarray:
    """Return the vector of length one and l1 norm of at most ``radius`` that is nearest to p.

    On the sphere the nearest vector has the largest product with p: it is the soft threshold of p, made as long as one,
    with the smallest threshold that keeps the l1 norm (Witten, Tibshirani, Hastie 2009, lemma 2.2). With the k largest
    entries above the threshold, m their mean and V the sum of their squared deviations, it is m - radius sqrt(V / (k (k
    - radius^2))).
    """
    largest = np.abs(p).max()
    if not largest > 0:
        p, largest = np.ones_like(p), 1.0
    p = p / largest
    size = -np.sort(-np.abs(p))
    count = np.arange(1, len(p) + 1)
    total, squares = np.cumsum(size), np.cumsum(size**2)
    if total[-1] ** 2 <= radius**2 * squares[-1]:
        return p / np.linalg.norm(p)
    lower = np.append(size[1:], 0.0)
    l1, l2 = total - count * lower, squares - 2 * lower * total + count * lower**2
    k = int(np.argmax(l1**2 > radius**2 * l2))  # entries 0..k exceed the threshold, which exceeds the next entry
    mean = total[k] / count[k]
    deviations = float(np.square(size[: k + 1] - mean).sum())
    gap = count[k] - radius**2
    if gap <= 0 or deviations <= 1e-24:  # too many entries of one size: some of them are as near as others
        kept = np.argsort(-np.abs(p), kind="stable")[: max(1, int(radius**2))]
        result = np.zeros_like(p)
        result[kept] = p[kept]
    else:
        threshold = mean - radius * np.sqrt(deviations / (count[k] * gap))
        result = soft_threshold(p, max(threshold, lower[k]))
    return result / np.linalg.norm(result)
