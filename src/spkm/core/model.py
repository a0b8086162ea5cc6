"""The model f(x) = b + sum_j sum_r c_jr k_j(x, u_jr): a sum of terms, a term a product of views, a view a kernel on
some features.

All parameters of one fit are one flat vector ``theta``: for each view its basis vectors and its learned metric, then
the weights C (R, m), then the intercept (m,).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import accumulate, islice, pairwise
from operator import mul
from typing import Any

import numpy as np

from spkm._namespaces import moved_beside, namespace, on_host
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
    def layout(self) -> list[tuple[Term, slice, range]]:
        """Each term, with the rows of its vectors among those of all and the numbers of its views among all views."""
        rows = pairwise(accumulate((term.n_basis for term in self.terms), initial=0))
        views = pairwise(accumulate((len(term.views) for term in self.terms), initial=0))
        return [(t, slice(*r), range(*v)) for t, r, v in zip(self.terms, rows, views, strict=True)]

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
        basis, log_metric = map(list, zip(*parts, strict=True)) if parts else ([], [])
        return Params(basis, log_metric, weights, theta[self._intercept_at :])

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
        factors = [view.factors(p) for (_, view), p in zip(self.views, params.log_metric, strict=True)]
        pairs = []
        views = zip(self.views, tables, params.basis, factors, params.log_metric, strict=True)
        for (_, view), (X, index), U, metric, p in views:
            key = None if view.columns is None else view.columns.tobytes()  # models of other features may share blocks
            if np.ndim(metric) == 0 and key not in block.cache and place is None:
                block.cache[key] = squared_norms(X)
            K, pull = view.kernel.vjp(X, U, metric, block.cache.get(key), len(p) > 0)
            if index is not None:
                K, pull = gathered(K, pull, index)
            pairs.append((K, _to_theta(pull, metric, len(p))))
        rest = iter(pairs)
        return params, *_side_by_side([_product(list(islice(rest, len(term.views)))) for term in self.terms])

    def gram(self, theta: np.ndarray) -> list[tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]]:
        """Return k(U, U) of each term's RKHS and the map from a symmetric cotangent to theta's basis part."""
        params, pairs = self.unpack(theta), []
        for (_, view), U, p in zip(self.views, params.basis, params.log_metric, strict=True):
            metric = view.factors(p)
            K, pull = view.kernel.rkhs().vjp(U, U, metric, None, len(p) > 0)
            pairs.append((K, _to_theta(pull, metric, len(p), sides=2)))  # u stands on both sides of k(u, u')
        rest, cuts = iter(pairs), iter(self._view_cuts)
        grams: list[tuple[Any, Callable[[np.ndarray], np.ndarray]]] = []
        for term in self.terms:
            K, pull = _product(list(islice(rest, len(term.views))))
            places = list(islice(cuts, len(term.views)))
            grams.append((K, partial(self._placed, pull, places[0][0], places[-1][2])))
        return grams

    def _placed(self, pull: Callable[[np.ndarray], np.ndarray], start: int, stop: int, G: np.ndarray) -> np.ndarray:
        """Return the basis part of a theta that is zero but for what a pullback returns."""
        gradient = np.zeros(self._weights_at)
        gradient[start:stop] = pull(G)
        return gradient

    def predict(self, block: Block, theta: np.ndarray) -> np.ndarray:
        """Return the predictions F of a block, (n, m)."""
        return self.vjp(block, theta)[0]

    def vjp(self, block: Block, theta: np.ndarray) -> tuple[np.ndarray, Callable[..., np.ndarray]]:
        """Return the predictions of a block and the map from dL/dF to dL/dtheta.

        The map takes a second argument, ``last``: whether it will not be called again, and may overwrite its arrays.
        """
        params, Phi, pull = self._features(block, theta)
        weights = moved_beside(Phi, params.weights)
        F = Phi @ weights
        F += moved_beside(Phi, params.intercept)

        def pullback(S: np.ndarray, last: bool = False) -> np.ndarray:
            d_weights = on_host(Phi.T @ S)
            ones = moved_beside(Phi, np.ones(S.shape[0], params.weights.dtype))  # quicker than a sum
            d_intercept = on_host(ones @ S) if self.fit_intercept else np.zeros_like(params.intercept)
            if last and self.n_outputs == 1 and pull.of_outer is not None:
                d_basis = pull.of_outer(S, params.weights)
            else:
                # In the memory layout of the kernels' values, columns first; one output needs no matrix product.
                d_basis = pull((weights * S.T if self.n_outputs == 1 else weights @ S.T).T)
            return np.concatenate([d_basis, d_weights.ravel(), d_intercept])

        return F, pullback


def _to_theta(pull: Callable[[Any], Any], metric: Any, size: int, sides: int = 1) -> Pullback[np.ndarray]:
    """Return the pullback of a kernel to a view's part of theta: its basis, and the logarithms of its metric.

    ``size`` is the number of these; ``sides`` are the arguments of the kernel that the basis stands for.
    """
    apply, of_outer = (pull.apply, pull.of_outer) if isinstance(pull, Pullback) else (pull, None)

    def flat(found: tuple[np.ndarray, Any]) -> np.ndarray:
        dU, d_metric = found
        d_basis: np.ndarray = (dU if sides == 1 else sides * dU).ravel()
        if size == 0:
            return d_basis
        d_log = np.zeros(size, dU.dtype) if d_metric is None else d_metric * metric  # d/d log w = w d/dw
        return np.concatenate([d_basis, np.reshape(d_log, size)])

    return Pullback(lambda G: flat(apply(G)), None if of_outer is None else lambda s, c: flat(of_outer(s, c)))


def _product(factors: list[tuple[Any, Pullback[np.ndarray]]]) -> tuple[Any, Pullback[np.ndarray]]:
    """Return the product of values, and its pullback by the product rule: G times all other values for each."""
    if len(factors) == 1:
        return factors[0]
    values = [K for K, _ in factors]

    def pullback(G: np.ndarray) -> np.ndarray:
        parts = [pull(reduce(mul, values[:j] + values[j + 1 :], G)) for j, (_, pull) in enumerate(factors)]
        return np.concatenate(parts)

    return reduce(mul, values), Pullback(pullback)


def _side_by_side(parts: list[tuple[Any, Pullback[np.ndarray]]]) -> tuple[Any, Pullback[np.ndarray]]:
    """Return the values of all terms in one array, and its pullback."""
    if len(parts) == 1:
        return parts[0]
    cuts = list(accumulate((K.shape[1] for K, _ in parts), initial=0))

    def pullback(G: np.ndarray) -> np.ndarray:
        return np.concatenate([pull(G[:, a:b]) for (_, pull), (a, b) in zip(parts, pairwise(cuts), strict=True)])

    return namespace(parts[0][0]).concat([K for K, _ in parts], axis=1), Pullback(pullback)
