r"""Prototypes and criticisms: samples chosen greedily to be like all samples, and those the prototypes leave out.

With mean embeddings of all n samples and of a set S of them, the squared maximum mean discrepancy is

    MMD^2(S) = mean_ij k(x_i, x_j) - J(S),
    J(S) = 2 / (n |S|) sum_{i, s} k(x_i, x_s) - 1 / |S|^2 sum_{s, t} k(x_s, x_t).

Nothing of size n x n is stored: means of the kernel's columns are found block by block, and every step of
the greedy choice takes one column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import gen_batches

BLOCK = 2**22  # entries of the kernel at a time
LEAST_RESIDUAL = 1e-12  # below which a sample is, but for rounding, a combination of the criticisms in feature space


class Prototypes(NamedTuple):
    """Samples in the order of their choice, J and MMD after each, and the witness function at every sample in the end.

    That is the mean of a sample's kernel with all samples minus its mean with the prototypes.
    """

    rows: np.ndarray
    objective: np.ndarray
    mmd: np.ndarray
    witness: np.ndarray


class RowsKernel:
    """The RBF kernel between the samples of X, zero between samples of different groups.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
        Samples.
    gamma : float
        Of the kernel.
    groups : ndarray of int of shape (n,)
        Group of every sample; of one group the kernel is the RBF kernel.
    """

    def __init__(self, X: Any, gamma: float, groups: np.ndarray) -> None:
        self.X = X
        self.gamma = gamma
        self.groups = groups
        self.means = self._means()

    def column(self, j: int) -> np.ndarray:
        """Return k(x_i, x_j) for all samples i."""
        values = rbf_kernel(self.X, self.X[[j]], gamma=self.gamma).ravel()
        values[j] = 1.0  # of sparse samples, but for rounding
        return np.where(self.groups == self.groups[j], values, 0.0)

    def _means(self) -> np.ndarray:
        """Return the mean over i of k(x_i, x_j) for every sample j."""
        n = len(self.groups)
        means = np.empty(n)
        for group in np.unique(self.groups):
            rows = np.flatnonzero(self.groups == group)
            members = self.X[rows]
            for batch in gen_batches(len(rows), max(1, BLOCK // len(rows))):
                means[rows[batch]] = rbf_kernel(members[batch], members, gamma=self.gamma).sum(axis=1) / n
        return means


def greedy_prototypes(kernel: RowsKernel, n_prototypes: int) -> Prototypes:
    """Return samples each of which raises J the most, the first of equals."""
    n = len(kernel.means)
    chosen = np.empty(n_prototypes, dtype=int)
    objective = np.empty(n_prototypes)
    to_chosen = np.zeros(n)  # sum over the chosen samples of k(x_i, x_s)
    is_free = np.ones(n, dtype=bool)
    linear = quadratic = 0.0
    for step in range(n_prototypes):
        size = step + 1
        gains = 2.0 * kernel.means - (2.0 * to_chosen + 1.0) / size  # what J gains but for a factor and a constant
        best = int(np.argmax(np.where(is_free, gains, -np.inf)))
        linear += kernel.means[best]
        quadratic += 2.0 * to_chosen[best] + 1.0
        objective[step] = 2.0 * linear / size - quadratic / size**2
        chosen[step] = best
        is_free[best] = False
        to_chosen += kernel.column(best)
    # The difference of two numbers near one another can come out just below zero.
    mmd = np.sqrt(np.maximum(kernel.means.mean() - objective, 0.0))
    return Prototypes(chosen, objective, mmd, kernel.means - to_chosen / n_prototypes)


def greedy_criticisms(kernel: RowsKernel, prototypes: Prototypes, n_criticisms: int) -> np.ndarray:
    """Return samples C, not prototypes, that raise sum_c |witness(x_c)| + log det k(C, C) the most, one by one."""
    size = np.abs(prototypes.witness)
    n = len(size)
    is_free = np.ones(n, dtype=bool)
    is_free[prototypes.rows] = False
    # Partial Cholesky: the determinant grows by the factor 1 - |factor_i|^2 when sample i is added.
    factor = np.zeros((n, n_criticisms))
    residual = np.ones(n)
    chosen = np.empty(n_criticisms, dtype=int)
    for step in range(n_criticisms):
        gains = size + np.log(np.maximum(residual, LEAST_RESIDUAL))
        best = int(np.argmax(np.where(is_free, gains, -np.inf)))
        root = np.sqrt(max(residual[best], LEAST_RESIDUAL))
        factor[:, step] = (kernel.column(best) - factor[:, :step] @ factor[best, :step]) / root
        residual -= factor[:, step] ** 2
        chosen[step] = best
        is_free[best] = False
    return chosen
