"""Kernel machines of a given number of vectors: matching pursuit, a reduced set, a network of radial functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.svm import SVC, SVR
from sklearn.utils.validation import check_array, validate_data

from spkm._checks import check_integer, check_real
from spkm_paper.competitors._rows import labelled_rows, rows_like_fitted

JITTER = 1e-8  # on the diagonal of kernel matrices that are solved
STARTS, STEPS = 5, 30  # of the fixed-point iteration for a vector of a reduced set
NEIGHBOURS = 2  # centres whose mean square distance sets the width of a radial function


class _DenseRegressor(RegressorMixin, BaseEstimator):
    """What these regressors share: dense samples, one target or several, a solution of features and an intercept."""

    def _checked(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        check_integer("n_vectors", self.n_vectors, 1)
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        self._flat = y.ndim == 1
        return X, np.asarray(y, dtype=np.float64).reshape(len(y), -1)

    def _features(self, X: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted targets of samples."""
        F = self._features(rows_like_fitted(self, X)) @ self.coef_ + self.intercept_
        return F[:, 0] if self._flat else F


class KernelMatchingPursuit(_DenseRegressor):
    """Kernel matching pursuit with pre-fitting: training samples enter one by one, each the one that helps most.

    Every candidate is judged by the squared error that is left when the weights of all functions are fitted again with
    it; a ridge on the weights is added at the end.

    Parameters
    ----------
    n_vectors : int, default=10
        Number of samples that enter.
    gamma : float, default=1.0
        Of the RBF kernel.
    alpha : float, default=1e-6
        Ridge of the last fit.

    Attributes
    ----------
    support_ : ndarray of int
        The samples, in the order in which they entered.
    coef_, intercept_ : ndarray
        Weights and intercept.

    References
    ----------
    P. Vincent and Y. Bengio. Kernel matching pursuit. Machine Learning 48, 2002.
    """

    def __init__(self, n_vectors: int = 10, gamma: float = 1.0, alpha: float = 1e-6) -> None:
        self.n_vectors = n_vectors
        self.gamma = gamma
        self.alpha = alpha

    def fit(self, X: Any, y: Any) -> KernelMatchingPursuit:
        """Fit the model to dense samples and numbers, (n,) or (n, m)."""
        X, Y = self._checked(X, y)
        K = rbf_kernel(X, gamma=self.gamma)
        left = K - K.mean(axis=0)  # functions without what those that entered, and the intercept, explain of them
        residual = Y - Y.mean(axis=0)
        chosen: list[int] = []
        first = np.einsum("ij,ij->j", left, left)
        for _ in range(min(self.n_vectors, len(X))):
            norms = np.einsum("ij,ij->j", left, left)
            usable = norms > 1e-10 * np.maximum(first, 1e-300)
            gain = np.where(usable, np.sum((left.T @ residual) ** 2, axis=1) / np.where(usable, norms, 1.0), -1.0)
            gain[chosen] = -1.0
            best = int(np.argmax(gain))
            if gain[best] < 0:
                break
            chosen.append(best)
            direction = left[:, best : best + 1] / np.sqrt(norms[best])
            residual = residual - direction @ (direction.T @ residual)
            left = left - direction @ (direction.T @ left)
        self.support_ = np.array(chosen)
        self.vectors_ = X[self.support_]
        self.coef_, self.intercept_ = _ridge(K[:, self.support_], Y, self.alpha)
        return self

    def _features(self, X: np.ndarray) -> np.ndarray:
        return rbf_kernel(X, self.vectors_, gamma=self.gamma)


class RBFNetwork(_DenseRegressor):
    """A network of radial functions on k-means centres: each as wide as its nearest centres are far.

    The width of a centre is ``width`` times the root mean square distance to its two nearest centres; the output is a
    ridge regression on exp(-|x - u|^2 / (2 width^2)).

    Parameters
    ----------
    n_vectors : int, default=10
        Number of centres.
    width : float, default=1.0
        Factor on the widths.
    alpha : float, default=1e-6
        Ridge on the weights.
    random_state : int, RandomState instance or None, default=None
        Of k-means.

    References
    ----------
    J. Moody and C. Darken. Fast learning in networks of locally-tuned processing units. Neural Computation 1, 1989.
    """

    def __init__(self, n_vectors: int = 10, width: float = 1.0, alpha: float = 1e-6, random_state: Any = None) -> None:
        self.n_vectors = n_vectors
        self.width = width
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> RBFNetwork:
        """Fit the model to dense samples and numbers, (n,) or (n, m)."""
        X, Y = self._checked(X, y)
        count = min(self.n_vectors, len(np.unique(X, axis=0)))
        self.vectors_ = KMeans(count, n_init=1, random_state=self.random_state).fit(X).cluster_centers_
        if count == 1:
            apart = np.array([np.mean(np.sum((X - self.vectors_) ** 2, axis=1))])
        else:
            distances = np.sort(euclidean_distances(self.vectors_, squared=True), axis=1)
            apart = distances[:, 1 : 1 + NEIGHBOURS].mean(axis=1)
        self.widths_ = self.width * np.sqrt(np.maximum(apart, 1e-12))
        self.coef_, self.intercept_ = _ridge(self._features(X), Y, self.alpha)
        return self

    def _features(self, X: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * euclidean_distances(X, self.vectors_, squared=True) / self.widths_**2)


class ReducedSetRegressor(_DenseRegressor):
    """A support vector regression whose expansion is replaced by one of few vectors.

    Parameters
    ----------
    n_vectors : int, default=10
        Number of vectors.
    C, epsilon : float, default=1.0 and 0.1
        Of the support vector machine.
    gamma : float, default=1.0
        Of the RBF kernel.
    random_state : int, RandomState instance or None, default=None
        Of the starts of the vectors.

    References
    ----------
    C. Burges. Simplified support vector decision rules. ICML 1996.
    B. Schölkopf et al. Input space versus feature space in kernel-based methods. IEEE Trans. Neural Networks 10, 1999.
    """

    def __init__(
        self, n_vectors: int = 10, C: float = 1.0, gamma: float = 1.0, epsilon: float = 0.1, random_state: Any = None
    ) -> None:
        self.n_vectors = n_vectors
        self.C = C
        self.gamma = gamma
        self.epsilon = epsilon
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ReducedSetRegressor:
        """Fit the model to dense samples and numbers, (n,) or (n, m)."""
        X, Y = self._checked(X, y)
        A, b = np.zeros(Y.shape), np.zeros(Y.shape[1])
        for k, column in enumerate(Y.T):
            machine = SVR(C=self.C, gamma=self.gamma, epsilon=self.epsilon).fit(X, column)
            A[machine.support_, k], b[k] = machine.dual_coef_[0], machine.intercept_[0]
        self.vectors_, self.coef_ = reduced_set(X, A, self.n_vectors, self.gamma, self.random_state)
        self.intercept_ = b
        return self

    def _features(self, X: np.ndarray) -> np.ndarray:
        return rbf_kernel(X, self.vectors_, gamma=self.gamma)


class ReducedSetClassifier(ClassifierMixin, BaseEstimator):
    """A support vector machine, one against the rest, whose expansions are replaced by one of few shared vectors.

    Parameters
    ----------
    n_vectors, C, gamma, random_state
        As in :class:`ReducedSetRegressor`.
    """

    def __init__(self, n_vectors: int = 10, C: float = 1.0, gamma: float = 1.0, random_state: Any = None) -> None:
        self.n_vectors = n_vectors
        self.C = C
        self.gamma = gamma
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ReducedSetClassifier:
        """Fit the model to dense samples and labels."""
        check_integer("n_vectors", self.n_vectors, 1)
        X = check_array(X, dtype=np.float64)
        X, codes = labelled_rows(self, X, y)
        classes = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        A, self.intercept_ = np.zeros((len(X), len(classes))), np.zeros(len(classes))
        for k, code in enumerate(classes):
            machine = SVC(C=self.C, gamma=self.gamma).fit(X, codes == code)
            A[machine.support_, k], self.intercept_[k] = machine.dual_coef_[0], machine.intercept_[0]
        self.vectors_, self.coef_ = reduced_set(X, A, self.n_vectors, self.gamma, self.random_state)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return a score of the second of two classes, or one for each of more."""
        rows = rows_like_fitted(self, X)
        F = rbf_kernel(rows, self.vectors_, gamma=self.gamma) @ self.coef_ + self.intercept_
        return F[:, 0] if len(self.classes_) == 2 else F

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of samples."""
        F = self.decision_function(X)
        return self.classes_[(F > 0).astype(int) if F.ndim == 1 else np.argmax(F, axis=1)]


def reduced_set(
    X: np.ndarray, A: np.ndarray, n_vectors: int, gamma: float, random_state: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors Z and weights B with sum_r B_r k(., z_r) near sum_i A_i k(., x_i) in the RKHS, for all features.

    A vector maximises what one function can take of what is left, sum_k <left_k, k(., z)>^2, by the fixed point
    z = sum_i g_i x_i / sum_i g_i with g_i = sum_k <left_k, k(., z)> a_ik k(x_i, z); after each all weights are the best
    for their vectors, B = K_ZZ^-1 K_ZX A. If the expansion has no more vectors than asked for, it is left as it is.
    """
    kept = np.any(A != 0, axis=1)
    X, A = X[kept], A[kept]
    if len(X) <= n_vectors:
        return X, A
    rng = np.random.default_rng(random_state)
    Z, B = np.zeros((0, X.shape[1])), np.zeros((0, A.shape[1]))
    for _ in range(n_vectors):
        P, left = np.vstack([X, Z]), np.vstack([A, -B])
        z = _best_vector(P, left, gamma, X[rng.choice(len(X), STARTS)])
        Z = np.vstack([Z, z])
        K = rbf_kernel(Z, gamma=gamma) + JITTER * np.eye(len(Z))
        B = cho_solve(cho_factor(K), rbf_kernel(Z, X, gamma=gamma) @ A)
    return Z, B


def _best_vector(P: np.ndarray, left: np.ndarray, gamma: float, starts: np.ndarray) -> np.ndarray:
    """Return the best end of the fixed-point iteration from several starts, which go on side by side."""

    def taken(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        K = np.exp(-gamma * euclidean_distances(Z, P, squared=True))
        projections = K @ left
        return np.sum(projections**2, axis=1), (projections @ left.T) * K

    Z = starts.copy()
    values, G = taken(Z)
    for _ in range(STEPS):
        total = G.sum(axis=1, keepdims=True)
        usable = np.abs(total) > 1e-12 * np.abs(G).sum(axis=1, keepdims=True)
        moved = np.where(usable, G @ P / np.where(usable, total, 1.0), Z)
        after, H = taken(moved)
        better = after > values * (1 + 1e-9)  # the iteration may jump away: it is left where it was best
        if not better.any():
            break
        Z[better], values[better], G[better] = moved[better], after[better], H[better]
    return Z[int(np.argmax(values))]


def _ridge(Phi: np.ndarray, Y: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and intercept of |Y - Phi C - b|^2 + alpha |C|^2."""
    check_real("alpha", alpha)
    mean, mean_y = Phi.mean(axis=0), Y.mean(axis=0)
    centred = Phi - mean
    A = centred.T @ centred
    A[range(len(A)), range(len(A))] += alpha + JITTER
    C = np.linalg.solve(A, centred.T @ (Y - mean_y))
    return C, mean_y - mean @ C
