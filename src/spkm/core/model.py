"""The model f(x) = b + sum_j sum_r c_jr k_j(x, u_jr): a sum of terms, a term a product of views, a view a kernel on
some features.

All parameters of one fit are one flat vector ``theta``: for each view its basis vectors and its learned metric, then
the weights C (R, m), then the intercept (m,).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from spkm._namespaces import on_host
from spkm.kernels import Pullback, gathered, squared_norms
from spkm.sources import Block

LINEAR_PART = "linear part"  # the name of the view that a linear part is


@dataclass(frozen=True)
class View:
    """A kernel on some features.

    Parameters
    ----------
    kernel : Kernel
        With numbers for all its parameters. In the ``terms`` of an estimator it may be a name, or wait for data.
    columns : ndarray of int, default=None
        The features it reads, in rising order; None is all. In the ``terms`` of an estimator anything that selects
        features of X: indices, a mask, a slice, names, or a function of X that returns one of these.
    metric : {"fixed", "scale", "relevances"}, default=None
        Learned part of the metric, beside the kernel's own parameters: nothing; one factor, the bandwidth; or a
        factor for each feature. The parameters are logarithms of the factors, so 0 is the kernel as it stands. None is
        "fixed"; in an estimator it is what ``learn_bandwidth`` says.
    basis_penalty : Penalty or list of Penalty, default=None
        Penalty on this view's basis vectors; if None, the objective's penalty.
    name : str, default=""
        Name of the view in reports.
    bounded : bool, default=False
        Whether its basis vectors stay inside the range of the data. An estimator sets it by ``basis_bounds``.
    monotone : tuple of pairs of int, default=()
        Features that the scores rise (1) or fall (-1) with. An estimator sets it by its own ``monotone``.

    Examples
    --------
    >>> View("rbf", slice(0, 5), name="first").columns
    slice(0, 5, None)
    """

    kernel: Any
    columns: Any = None
    metric: str | None = None
    basis_penalty: Any = None
    name: str = ""
    bounded: bool = False
    monotone: tuple[tuple[int, int], ...] = ()

    def width(self, n_features: int) -> int:
        """Return the number of features that it reads."""
        return n_features if self.columns is None else len(self.columns)

    def metric_size(self, n_features: int) -> int:
        """Return the number of learned parameters of the metric."""
        return {None: 0, "fixed": 0, "scale": 1, "relevances": self.width(n_features)}[self.metric]

    @property
    def learns_metric(self) -> bool:
        """Whether the metric has learned parameters."""
        return self.metric not in (None, "fixed")

    def factors(self, log_metric: np.ndarray) -> Any:
        """Return what the metric is multiplied by, a number or one for each feature."""
        if not self.learns_metric:
            return 1.0
        factors = np.exp(log_metric)
        return factors[0] if self.metric == "scale" else factors


@dataclass(frozen=True)
class Term:
    """Basis vectors whose kernel is the product of the kernels of some views.

    Parameters
    ----------
    n_basis : int
        Number of basis vectors.
    views : View or tuple of View
        The kernels that are multiplied, each with its features.
    is_linear_part : bool, default=False
        Whether it is a linear part: one vector of coefficients for each output, whose weights stay the identity.

    Examples
    --------
    >>> term = Term(3, (View("rbf", slice(0, 5), name="first"), View("rbf", slice(5, 10), name="second")))
    >>> term.name
    'first × second'
    """

    n_basis: Any
    views: tuple[View, ...]
    is_linear_part: bool = False

    @property
    def name(self) -> str:
        """Name of the term in reports."""
        return " × ".join(view.name for view in self.views)

    def columns(self, n_features: int) -> np.ndarray:
        """Return the features that any of the views reads, in rising order."""
        if any(view.columns is None for view in self.views):
            return np.arange(n_features)
        return np.unique(np.concatenate([view.columns for view in self.views]))

    def with_views(self, change: Callable[[View], View]) -> Term:
        """Return the term with each of its views changed."""
        return replace(self, views=tuple(map(change, self.views)))

    def on(self, columns: np.ndarray) -> Term:
        """Return the term for samples of the given features alone: views lose the others and are renumbered."""
        if all(view.columns is None for view in self.views):
            return self
        places = [None if v.columns is None else np.flatnonzero(np.isin(columns, v.columns)) for v in self.views]
        return replace(self, views=tuple(replace(v, columns=p) for v, p in zip(self.views, places, strict=True)))


@dataclass
class Params:
    """Parts of theta, as views on it: per view a basis (R_j, d_j) and the log of its metric; C (R, m); b (m,)."""

    basis: list[np.ndarray]
    log_metric: list[np.ndarray]
    weights: np.ndarray
    intercept: np.ndarray

    @property
    def arrays(self) -> list[np.ndarray]:
        """All parts, one after another."""
        return [*self.basis, *self.log_metric, self.weights, self.intercept]


@dataclass
class PreimageModel:
    """Packing, features, predictions and their pullbacks.

    Parameters
    ----------
    terms : list of Term
        The parts that are added up.
    n_features, n_outputs : int
        Number of features of X, and of outputs.
    fit_intercept : bool, default=True
        Without one, the intercept in theta stays as it is: its gradient is zero.
    """

    terms: list[Term]
    n_features: int
    n_outputs: int
    fit_intercept: bool = True
    n_basis: int = field(init=False)
    n_params: int = field(init=False)

    def __post_init__(self) -> None:
        self.n_basis = sum(term.n_basis for term in self.terms)
        self.views = [(term.n_basis, view) for term in self.terms for view in term.views]
        sizes = [(R * v.width(self.n_features), v.metric_size(self.n_features)) for R, v in self.views]
        cuts = np.cumsum([0] + [s for pair in sizes for s in pair]).tolist()
        shapes = [(R, v.width(self.n_features)) for R, v in self.views]
        self._view_cuts = list(zip(cuts[:-1:2], cuts[1::2], cuts[2::2], shapes, strict=True))
        self._weights_at = cuts[-1]
        self._intercept_at = self._weights_at + self.n_basis * self.n_outputs
        self.n_params = self._intercept_at + self.n_outputs
        #: Places where the parts of theta begin and end: basis and metric of each view, weights, intercept.
        self.part_cuts = [*cuts, self._intercept_at, self.n_params]
        #: The model of the kernels alone, if there is a linear part, the last term. Without one it is None, and not
        #: the model itself: tools that walk over attributes, as skops does, would never end.
        self.kernel_part: PreimageModel | None = None
        kernels = [term for term in self.terms if not term.is_linear_part]
        if len(kernels) < len(self.terms):
            self.kernel_part = PreimageModel(kernels, self.n_features, self.n_outputs, self.fit_intercept)

    @property
    def basis_part(self) -> slice:
        """Slice of theta that holds basis vectors and metrics."""
        return slice(0, self._weights_at)

    @property
    def weights_part(self) -> slice:
        """Slice of theta that holds weights and intercept."""
        return slice(self._weights_at, self.n_params)

    def unpack(self, theta: np.ndarray) -> Params:
        """Return the parts of ``theta``, as views on it."""
        parts = self.unpack_basis(theta)
        weights = theta[self._weights_at : self._intercept_at].reshape(self.n_basis, self.n_outputs)
        return Params([U for U, _ in parts], [p for _, p in parts], weights, theta[self._intercept_at :])

    def unpack_basis(self, theta: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return (basis, log metric) of every view, as views on ``theta`` or on its basis part alone."""
        return [(theta[a:b].reshape(shape), theta[b:c]) for a, b, c, shape in self._view_cuts]

    def zeros(self) -> tuple[np.ndarray, Params]:
        """Return a theta of zeros and its parts."""
        theta = np.zeros(self.n_params)
        return theta, self.unpack(theta)

    def features(self, block: Block, theta: np.ndarray) -> tuple[np.ndarray, Pullback[np.ndarray]]:
        """Return the features k(x, u) of a block, (n, R), and the map from their cotangent to theta's basis part.

        The pullback may overwrite the cotangent. Its ``of_outer`` is not None if the model has one view, whose kernel
        has such a map.
        """
        return self._features(block, theta)[1:]

    def _features(self, block: Block, theta: np.ndarray) -> tuple[Params, np.ndarray, Pullback[np.ndarray]]:
        """Return the parts of theta in the precision of a block, and what :meth:`features` returns."""
        tables, dtype, place = [block.columns(view.columns) for _, view in self.views], block.dtype, block.place
        params = self.unpack(theta.astype(dtype, copy=False))
        learned = [view.learns_metric for _, view in self.views]
        metrics = [view.factors(p) for (_, view), p in zip(self.views, params.log_metric, strict=True)]
        values, pulls = [], []
        for k, (_, view) in enumerate(self.views):
            (X, index), metric = tables[k], metrics[k]
            key = None if view.columns is None else view.columns.tobytes()  # models of other features may share blocks
            if np.ndim(metric) == 0 and key not in block.cache and place is None:
                block.cache[key] = squared_norms(X)
            K, pull = view.kernel.vjp(X, params.basis[k], metric, block.cache.get(key), learned[k])
            if index is not None:
                K, pull = gathered(K, pull, index)
            values.append(K)
            pulls.append((pull if isinstance(pull, Pullback) else Pullback(pull), metric))
        products, k = [], 0
        for term in self.terms:
            products.append(reduce(mul, values[k : k + len(term.views)]))
            k += len(term.views)
        Phi = products[0] if len(products) == 1 else (np if place is None else place.xp).concat(products, axis=1)

        def pullback(G: np.ndarray) -> np.ndarray:
            gradient = np.empty(self._weights_at, dtype=dtype)
            parts = self.unpack_basis(gradient)
            for k, cotangent in enumerate(self._cotangents(G, values)):
                pull, metric = pulls[k]
                dU, d_metric = pull(cotangent)
                parts[k][0][...] = dU
                parts[k][1][...] = 0.0 if d_metric is None else d_metric * metric  # d/d log w = w d/dw
            return gradient

        of_kernel = pulls[0][0].of_outer if len(pulls) == 1 else None
        if of_kernel is None:
            return params, Phi, Pullback(pullback)

        def of_outer(s: np.ndarray, c: np.ndarray) -> np.ndarray:
            dU, d_metric = of_kernel(s, c)
            d_log = np.atleast_1d(d_metric * metrics[0]) if learned[0] else np.zeros(0)
            return np.concatenate([dU.ravel(), d_log])

        return params, Phi, Pullback(pullback, of_outer)

    def gram(self, theta: np.ndarray) -> list[tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]]:
        """Return k(U, U) of each term's RKHS and the map from a symmetric cotangent to theta's basis part."""
        params = self.unpack(theta)
        grams = []
        k = 0
        for term in self.terms:
            first = k
            values, pulls = [], []
            for view in term.views:
                U = params.basis[k]
                metric = view.factors(params.log_metric[k])
                K, pull = view.kernel.rkhs().vjp(U, U, metric, None, view.learns_metric)
                values.append(K)
                pulls.append((pull, metric))
                k += 1
            grams.append(
                (np.prod(values, axis=0) if len(values) > 1 else values[0], self._gram_pullback(first, values, pulls))
            )
        return grams

    def _gram_pullback(self, first: int, values: list[Any], pulls: list[Any]) -> Callable[[np.ndarray], np.ndarray]:
        def pullback(G: np.ndarray) -> np.ndarray:
            gradient = np.zeros(self._weights_at)
            parts = self.unpack_basis(gradient)
            for j, (pull, metric) in enumerate(pulls):
                cotangent = _times_others(G, values, j)
                dU, d_metric = pull(cotangent)
                parts[first + j][0][...] = 2 * dU  # u stands on both sides of k(u, u'), and G is symmetric
                parts[first + j][1][...] = 0.0 if d_metric is None else d_metric * metric
            return gradient

        return pullback

    def predict(self, block: Block, theta: np.ndarray) -> np.ndarray:
        """Return the predictions F of a block, (n, m)."""
        return self.vjp(block, theta)[0]

    def vjp(self, block: Block, theta: np.ndarray) -> tuple[np.ndarray, Callable[..., np.ndarray]]:
        """Return the predictions of a block and the map from dL/dF to dL/dtheta.

        The map takes a second argument, ``last``: whether it will not be called again, and may overwrite its arrays.
        """
        params, Phi, pull = self._features(block, theta)
        if block.place is not None:
            return self._vjp_elsewhere(block, params, Phi, pull)
        F = Phi @ params.weights
        F += params.intercept

        def pullback(S: np.ndarray, last: bool = False) -> np.ndarray:
            gradient = np.zeros(self.n_params, dtype=Phi.dtype)
            gradient[self._weights_at : self._intercept_at] = (Phi.T @ S).ravel()
            if self.fit_intercept:
                gradient[self._intercept_at :] = np.ones(len(S), S.dtype) @ S
            if last and self.n_outputs == 1 and pull.of_outer is not None:
                gradient[: self._weights_at] = pull.of_outer(S, params.weights)
                return gradient
            # In the memory layout of the kernels' values, columns first; one output needs no matrix product.
            spread = params.weights * S.T if self.n_outputs == 1 else params.weights @ S.T
            gradient[: self._weights_at] = pull(spread.T)
            return gradient

        return F, pullback

    def _vjp_elsewhere(
        self, block: Block, params: Params, Phi: Any, pull: Callable[..., Any]
    ) -> tuple[Any, Callable[..., np.ndarray]]:
        """Return the same of a block of another library's arrays; gradients are NumPy's."""
        weights = block.place.array(params.weights)
        F = Phi @ weights + block.place.array(params.intercept)

        def pullback(S: Any, last: bool = False) -> np.ndarray:
            d_intercept = on_host(block.place.xp.sum(S, axis=0)) * float(self.fit_intercept)
            return np.concatenate([pull(S @ weights.T), on_host(Phi.T @ S).ravel(), d_intercept])

        return F, pullback

    def _cotangents(self, G: np.ndarray, values: list[Any]) -> Any:
        """Yield dL/dk of every view: the columns of its term times the values of the term's other views."""
        k = column = 0
        for term in self.terms:
            part = G[:, column : column + term.n_basis]
            group = values[k : k + len(term.views)]
            for j in range(len(group)):
                yield _times_others(part, group, j)
            k += len(group)
            column += term.n_basis


def _times_others(G: np.ndarray, values: list[Any], j: int) -> np.ndarray:
    others = [v for i, v in enumerate(values) if i != j]
    if not others:
        return G
    product: np.ndarray = G * others[0]
    for other in others[1:]:
        product *= other
    return product
