"""Sparse kernel canonical correlation analysis of two tables, in scikit-learn's form."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from spkm._arrays import FileName, Matrix, RandomState, TableLike, TargetLike, dense, with_shape
from spkm._checks import check_choice, check_integer, check_real, generator, n_threads, warn_user
from spkm._methods import ExplainsComponents
from spkm._publish import feature_names, publish
from spkm.cca import Component, Effort, Found, Side, Table, fitted_side, search
from spkm.estimators.regressor import SPKMRegressor
from spkm.fitting.outcome import model_attributes
from spkm.kernels import KERNELS, Kernel
from spkm.sources import ArraySource, Scaling, fit_scaling
from spkm.tables.read import TableLayout, checked_entities, read_like, read_table

FEWEST = 4  # samples: any two numbers of three samples are correlated
LARGEST_SQUARE = 128  # largest square of a radius that "auto" tries: about the number of features of one size
BY_CHANCE = 1.64  # standard errors (of Fisher's transform) that one in twenty correlations of noise exceeds
POOLED = 1000  # entries that a bandwidth is taken from


class SPKMCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ExplainsComponents, BaseEstimator):
    """Sparse kernel canonical correlation analysis: what two tables of the same samples have in common.

    A component is a pair of functions, k_x(x, u) of the first table and k_y(y, v) of the second, that are as correlated
    as possible and read few features: all others have a weight of exactly zero. Later components are uncorrelated with
    earlier ones. A step costs O(n (d_x + d_y)); no kernel matrix is computed.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    kernel_x, kernel_y : str or Kernel, default="rbf"
        Kernels of the two tables. ``gamma="mean"`` and the like are those of a single feature, as a distance is a mean
        over the features of a component; ``gamma="auto"`` of a dot product is 1, as its vector has length one.
    radius : "auto", float or pair of floats, default="auto"
        Largest l1 norm of the weights of a component's features, which have an l2 norm of one: between 1 (one feature)
        and sqrt(d) (no bound), for both tables or for each. About radius^2 features of one size fit. "auto" takes the
        smallest of 1.4, 2, 2.8, 4, ... whose correlation on held-out samples is within one standard error of the best.
        In either case features that the correlation does not need leave afterwards.
    learn_bandwidth : bool, default=True
        Whether each component learns the bandwidths of its kernels.
    scale : bool, default=True
        Whether columns are standardised, and clipped at five standard deviations. Columns of kernels of counts are not.
    n_starts : int, default=8
        Number of start points, at pairs of features that are correlated by themselves.
    max_iter : int, default=200
        Most steps of one ascent.
    tol : float, default=1e-4
        An ascent ends if its steps gain less than this share of the unexplained variance.
    n_jobs : int, default=None
        Threads; None takes all cores, or what OMP_NUM_THREADS says. Results do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of splits and start points.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        Correlations of the training samples' scores.
    validation_correlations_ : ndarray of shape (n_components,)
        Mean correlations on the held-out samples that the radius and the start were chosen by; NaN below 24 samples.
        They are nearly honest; :meth:`score` on other samples is.
    x_weights_, y_weights_ : ndarray of shapes (n_components, d_x) and (n_components, d_y)
        Weights of the features, of length one, with exact zeros. For a dot product they are u and v on standardised
        columns, with signs; for other kernels, relevances in the distance.
    x_vectors_, y_vectors_ : ndarray of shapes (n_components, d_x) and (n_components, d_y)
        The vectors u and v in the units of the tables; NaN in features without influence.
    x_support_, y_support_ : ndarray of bool of shapes (n_components, d_x) and (n_components, d_y)
        Features of each component. The score of a component also subtracts what the earlier ones explain, and so reads
        their features, too.
    radii_ : ndarray of shape (n_components, 2)
        The l1 radii of the two tables.
    x_side_, y_side_ : FittedSide
        The fitted functions.
    n_samples_fit_ : int
        Number of samples of the fit.
    n_iter_ : int
        Steps of the last ascents of all components.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn, of X.
    y_feature_names_ : ndarray of str or None
        Names of the columns of Y if it was a frame.

    See Also
    --------
    sklearn.cross_decomposition.CCA : Linear and not sparse.

    References
    ----------
    Uurtio, Bhadra, Rousu: Large-scale sparse kernel canonical correlation analysis, ICML 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMCCA
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(-1, 1, (400, 20)), rng.uniform(-1, 1, (400, 20))
    >>> Y[:, 3] += (X[:, 5] + X[:, 6]) ** 2
    >>> model = SPKMCCA(kernel_x="rbf", kernel_y="linear", random_state=0).fit(X, Y)
    >>> np.flatnonzero(model.x_support_[0]), np.flatnonzero(model.y_support_[0])
    (array([5, 6]), array([3]))
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        kernel_x: str | Kernel = "rbf",
        kernel_y: str | Kernel = "rbf",
        radius: float | Literal["auto"] | Sequence[float] = "auto",
        learn_bandwidth: bool = True,
        scale: bool = True,
        n_starts: int = 8,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.kernel_x = kernel_x
        self.kernel_y = kernel_y
        self.radius = radius
        self.learn_bandwidth = learn_bandwidth
        self.scale = scale
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: TableLike, y: TargetLike | None = None) -> SPKMCCA:
        """Find the components.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, d_x)
            The first table.
        y : array-like, DataFrame or CSR of shape (n_samples, d_y) or (n_samples,)
            The second table: row i belongs to row i of X.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        effort, rng, threads = self._settings()
        table = read_table(self, X, "no_validation", None)
        Y, layout = self._read_y(y)
        if Y.shape[0] != table.X.shape[0]:
            raise ValueError(
                f"X and Y must have the same number of rows, one for each sample; got {table.X.shape[0]} and "
                f"{Y.shape[0]}."
            )
        if Y.shape[0] < FEWEST:
            raise ValueError(f"{type(self).__name__} needs at least {FEWEST} samples; got n_samples = {Y.shape[0]}.")
        prepared = self._side(table.X, "kernel_x", rng), self._side(Y, "kernel_y", rng)
        sides, sources = [part[0] for part in prepared], [part[1] for part in prepared]
        radii = self._radii(table.X.shape[1], Y.shape[1])
        with ExitStack() as stack:
            for source in sources:
                stack.enter_context(source.threads(threads))
            components = self._components(sides, sources, radii, effort, rng)
            described = _described(prepared, [component.found for component in components])
        attributes = {
            **table.attributes,
            **described,
            "y_layout_": layout,
            "y_feature_names_": layout.names,
            "correlations_": np.array([component.found.correlation for component in components]),
            "validation_correlations_": np.array([component.validation for component in components]),
            "n_samples_fit_": Y.shape[0],
            "radii_": np.array([component.radii for component in components]),
            "n_iter_": sum(component.found.n_iter for component in components),
            "_n_features_out": len(components),
        }
        return publish(self, attributes)

    def transform(self, X: TableLike) -> np.ndarray:
        """Return the canonical scores of samples of the first table.

        Parameters
        ----------
        X : array-like, DataFrame or CSR of shape (n_samples, d_x)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components)
            Mean 0, variance 1 and no correlation with one another on the training samples.
        """
        check_is_fitted(self)
        rows = read_like(self, X)
        return self.x_side_.scores(rows, n_threads(self.n_jobs)).astype(rows.dtype, copy=False)

    def transform_y(self, y: TargetLike | None) -> np.ndarray:
        """Return the canonical scores of samples of the second table.

        Parameters
        ----------
        y : array-like, DataFrame or CSR of shape (n_samples, d_y) or (n_samples,)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components)
            As those of :meth:`transform`; the correlation of the two is positive on the training samples.
        """
        check_is_fitted(self)
        rows, layout = self._read_y(y)
        self.y_layout_.check(layout, "Y")
        return self.y_side_.scores(rows, n_threads(self.n_jobs)).astype(rows.dtype, copy=False)

    def side(self, side: str) -> SPKMRegressor:
        """Return the scores of one table as a fitted regressor: it explains, saves, exports and prints like any other.

        Parameters
        ----------
        side : {"x", "y"}
            The table.

        Returns
        -------
        regressor : SPKMRegressor
            Its predictions are those of :meth:`transform` or of :meth:`transform_y`, (n_samples, n_components). Its
            model has a term for each component.

        Examples
        --------
        >>> import numpy as np
        >>> from spkm import SPKMCCA
        >>> rng = np.random.default_rng(0)
        >>> X, Y = rng.standard_normal((200, 4)), rng.standard_normal((200, 3))
        >>> Y[:, 0] += X[:, 1]
        >>> model = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0).fit(X, Y)
        >>> np.allclose(model.side("x").predict(X), model.transform(X))
        True
        >>> model.side("y").explain(Y[:1]).values.shape
        (1, 3, 1)
        """
        check_is_fitted(self)
        check_choice("side", side, ("x", "y"))
        of_x = side == "x"
        model = (self.x_side_ if of_x else self.y_side_).model()
        names = feature_names(self) if of_x else self.y_feature_names_
        regressor = SPKMRegressor(
            1,
            kernel=self.kernel_x if of_x else self.kernel_y,
            scale=self.scale,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        known = {"n_features_in_": model.n_features} | ({} if names is None else {"feature_names_in_": names})
        return publish(regressor, {**known, "model_": model, **model_attributes(model, np.dtype(np.float64))})

    def export(self, path: FileName, side: str, *, details: bool = False) -> None:
        """Write the scores of one table as code that computes them without this library.

        Parameters
        ----------
        path : str or path
            File to write; its suffix sets the form: ".json" (plain form), ".js" (JavaScript, for browsers and Node),
            ".py" (Python without any package), ".c" or ".h" (a header of C99), ".sql" (a query) or ".onnx".
        side : {"x", "y"}
            The table.
        details : bool, default=False
            For ".sql": whether the query returns the kernel values of the components, too.
        """
        self.side(side).export(path, details=details)

    def correlations(self, X: TableLike, y: TargetLike | None) -> np.ndarray:
        """Return the correlation of the two scores for each component.

        Parameters
        ----------
        X, y : tables
            Samples, best those that the fit has not used.

        Returns
        -------
        correlations : ndarray of shape (n_components,)
            Zero where a score does not vary.
        """
        left, right = self.transform(X), self.transform_y(y)
        if len(left) != len(right):
            raise ValueError(f"X and Y must have the same number of rows; got {len(left)} and {len(right)}.")
        return np.einsum("ir,ir->r", _standardised(left), _standardised(right))

    def score(self, X: TableLike, y: TargetLike | None) -> float:
        """Return the mean of :meth:`correlations`.

        Parameters
        ----------
        X, y : tables
            Samples, best those that the fit has not used.

        Returns
        -------
        score : float
            The mean correlation over components.
        """
        return float(self.correlations(X, y).mean())

    def permutation_test(
        self, X: TableLike, y: TargetLike | None, n_permutations: int = 999, random_state: RandomState = None
    ) -> np.ndarray:
        """Return p-values of the correlations: how often rows of Y in random order correlate as much.

        Parameters
        ----------
        X, y : tables
            Samples that the fit has not used: those of the fit correlate by construction, and their p-values are too
            small.
        n_permutations : int, default=999
            Number of random orders; the smallest possible p-value is 1 / (n_permutations + 1).
        random_state : int, RandomState, Generator or None, default=None
            Seed of the orders.

        Returns
        -------
        p_values : ndarray of shape (n_components,)
            (1 + number of orders with a correlation of at least the observed one) / (1 + n_permutations).
        """
        count = check_integer("n_permutations", n_permutations, 1)
        rng = generator(random_state)
        observed = self.correlations(X, y)
        left, right = _standardised(self.transform(X)), _standardised(self.transform_y(y))
        above = np.ones(len(observed))
        for _ in range(count):
            drawn = np.einsum("ir,ir->r", left, right[rng.permutation(len(right))])
            above += drawn >= observed - 1e-12
        return above / (count + 1)

    def _settings(self) -> tuple[Effort, np.random.Generator, int]:
        check_integer("n_components", self.n_components, 1)
        check_choice("learn_bandwidth", self.learn_bandwidth, (True, False))
        check_choice("scale", self.scale, (True, False))
        effort = Effort(
            check_integer("n_starts", self.n_starts, 1),
            check_integer("max_iter", self.max_iter, 1),
            check_real("tol", self.tol),
        )
        return effort, generator(self.random_state), n_threads(self.n_jobs)

    def _read_y(self, y: TargetLike | None) -> tuple[Any, TableLayout]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Give the second table."
            )
        if not sparse.issparse(y) and len(with_shape(y).shape) == 1:
            y = check_array(y, ensure_2d=False, dtype=[np.float64, np.float32], input_name="y").reshape(-1, 1)
        return checked_entities(y, "Y")

    def _side(self, X: Matrix, argument: str, rng: np.random.Generator) -> tuple[Side, ArraySource, Scaling | None]:
        """Return the kernel of one table, with numbers for its parameters, the scaled samples and the scaling."""
        kernel = KERNELS.part(getattr(self, argument), argument)
        if kernel.is_per_feature:
            raise ValueError(f"{argument} must be a kernel for any number of features; got {kernel!r}.")
        least = dense(X).min() if kernel.nonnegative else 0.0
        if least < 0:
            raise ValueError(
                f"{argument}={kernel!r} needs non-negative features; the smallest value is {least:g}. Use "
                "fingerprints or counts as they are, or 'rbf'."
            )
        weight = np.ones(X.shape[0])
        scaling = fit_scaling(X, weight, common=False) if self.scale and not kernel.nonnegative else None
        source = ArraySource(X, None, None, scaling)
        some = source.sample(POOLED, rng).dense().ravel()
        pooled = rng.choice(some, size=min(POOLED, len(some)), replace=False)[:, None]
        resolved = kernel.resolved(pooled, np.ones(len(pooled)))
        return Side(resolved, X.shape[1], bool(self.learn_bandwidth)), source, scaling

    def _radii(self, *widths: int) -> list[tuple[float, float]]:
        """Return the pairs of radii to choose from."""
        if isinstance(self.radius, str) and self.radius == "auto":
            squares = [2**k for k in range(1, 8) if 2**k < max(min(LARGEST_SQUARE, 2 * max(widths)), 4)]
            return [(float(np.sqrt(min(s, widths[0]))), float(np.sqrt(min(s, widths[1])))) for s in squares]
        pair = self.radius if isinstance(self.radius, tuple | list) else (self.radius, self.radius)
        if len(pair) != 2:
            raise ValueError(f"radius must be 'auto', a number or a pair of numbers; got {self.radius!r}.")
        left, right = (check_real("radius", radius, least=1.0) for radius in pair)
        return [(left, right)]

    def _components(self, sides: Any, sources: Any, radii: list, effort: Effort, rng: np.random.Generator) -> list:
        """Return the components, each without what the earlier ones explain."""
        known = [np.zeros((source.n_rows, 0)) for source in sources]
        components: list = []
        for r in range(self.n_components):
            tables = [Table(*parts) for parts in zip(sides, sources, known, strict=True)]
            component = search(tables[0], tables[1], radii, effort, rng)
            if component is None and r == 0:
                raise ValueError("No function of a feature of X or Y varies: both tables need columns that vary.")
            if component is None:
                warn_user(
                    f"Only {r} of n_components={self.n_components} components exist: the scores explain all that the "
                    "kernels can express of X or Y.",
                    UserWarning,
                )
                break
            components.append(component)
            _tell_of_chance(component, r, sources[0].n_rows)
            for k, theta in enumerate((component.found.left, component.found.right)):
                known[k] = np.column_stack([known[k], tables[k].values(theta)[0]])
        return components

    def __sklearn_is_fitted__(self) -> bool:
        return "x_side_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def within_chance(correlation: float, n_samples: int) -> bool:
    """Whether samples of unrelated tables often have such a correlation."""
    return bool(np.arctanh(np.clip(correlation, -0.9999, 0.9999)) <= BY_CHANCE / np.sqrt(n_samples - 3))


def _tell_of_chance(component: Component, place: int, n_samples: int) -> None:
    """Warn of a component whose correlation on held-out samples is that of unrelated tables."""
    found = component.validation
    if within_chance(found, n_samples):
        warn_user(
            f"Component {place + 1} has a correlation of {found:.2f} on held-out samples, no more than {n_samples} "
            f"samples of unrelated tables have by chance; on the samples of the fit it is "
            f"{component.found.correlation:.2f}. Lower n_components, or give more samples.",
            UserWarning,
        )


def _described(prepared: Any, found: list[Found]) -> dict[str, Any]:
    """Return the attributes of both fitted sides: their functions, and what these are made of."""
    attributes: dict[str, Any] = {}
    signs = np.ones(len(found)), np.array([component.sign for component in found])
    for k, (name, (side, source, scaling)) in enumerate(zip("xy", prepared, strict=True)):
        fitted = fitted_side(side, scaling, np.array([component[k] for component in found]), source, signs[k])
        attributes[f"{name}_side_"] = fitted
        attributes[f"{name}_weights_"] = fitted.directions
        attributes[f"{name}_vectors_"] = fitted.vectors()
        attributes[f"{name}_support_"] = fitted.support
    return attributes


def _standardised(scores: np.ndarray) -> np.ndarray:
    """Return centred columns of length one; those that do not vary are zero."""
    centred = scores.astype(np.float64) - scores.mean(axis=0, dtype=np.float64)
    norms = np.linalg.norm(centred, axis=0)
    return centred / np.where(norms > 0, norms, np.inf)
