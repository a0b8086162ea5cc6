"""Result of a fit: one immutable model, from which predictions, explanations, files and exports start.

It depends neither on scikit-learn nor on solvers. With ``Z = model.scaled(X)`` the scores are

    f(x) = intercept + sum over terms of (product over the term's views of kernel(Z[:, columns], basis)) @ weights
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from spkm._arrays import Samples, with_shape
from spkm._namespaces import Place, anywhere
from spkm.core.columns import on_columns
from spkm.core.model import PreimageModel, Term, View
from spkm.core.posterior import Posterior
from spkm.core.targets import Target
from spkm.kernels import Kernel
from spkm.losses import Loss
from spkm.sources import Block, Scaling, scaled_table, source_of

FEW = 2_000  # entries of X; fewer are one block, and need none of the arrangements for many
ON_THREADS = 10_000  # samples; fewer are done before threads have started


@dataclass(frozen=True)
class FittedView:
    """A kernel on some features.

    Attributes
    ----------
    name : str
        Name of the view in reports; empty for the only one.
    kernel : Kernel
        With what was learned of its bandwidth and relevances.
    columns : ndarray of int
        The columns of ``model.scaled(X)`` that it reads.
    basis : ndarray of shape (n_basis, n_columns)
        Its part of the basis vectors, on the scale of the model.
    """

    name: str
    kernel: Kernel
    columns: np.ndarray
    basis: np.ndarray


@dataclass(frozen=True)
class FittedTerm:
    """Basis vectors whose kernel is the product of the kernels of some views.

    Attributes
    ----------
    name : str
        Name of the term in reports.
    views : tuple of FittedView
        The views.
    weights : ndarray of shape (n_basis, n_outputs)
        The weights of the vectors, in the units of the scores.
    rows : slice
        Place of the vectors among those of all terms.
    is_linear_part : bool
        Whether the vectors are the coefficients of a linear part, one vector for each output.
    """

    name: str
    views: tuple[FittedView, ...]
    weights: np.ndarray
    rows: slice
    is_linear_part: bool = False


@dataclass(frozen=True)
class FittedModel:
    """A fitted model.

    Attributes
    ----------
    target : Target
        Meaning of the scores.
    scaling : Scaling or None
        Map of the features before kernels: ``center``, ``scale`` and ``clip``. If None, features stay as they are.
    features : ndarray of int
        The features of X that the model holds, in rising order.
    n_features : int
        Number of features of X.
    model : PreimageModel
        Terms and shapes.
    theta : ndarray
        All parameters, in the units of the scores.
    loss : Loss
        The loss; it has the link between scores and predictions.
    asked : tuple of Term
        The terms as they were asked for, for a warm start.
    noise : float or None
        The ratio of noise to signal variance, where the evidence learned it.
    ridge : float
        Number that the evidence added to the diagonal of k(U, U).
    linear_variance : float or None
        The variance of the coefficients of a linear part over that of the kernels, where the evidence learned it.
    posterior : Posterior or None
        Numbers for standard deviations of predictions, if the evidence was the objective.
    strength, linear_strength : float or None
        Strengths of the penalties on the weights and on a linear part, times the total weight, if they were chosen by
        held-out samples.
    samples : ndarray of shape (n_vectors, n_features) or None
        The training samples that the basis vectors are, where they were asked to be some, in the user's units.
    interrupted : bool
        Whether the fit was stopped before its end.
    selected : bool
        Whether the samples decided which features it holds, by a selection or by :meth:`restricted`.
    recipe : str
        Name of the way it was fitted, such as "folds" or "evidence"; empty if it is not known.
    refit_thetas : ndarray of shape (n_refits, n_params) or None
        Parameters of fits of the same samples with random weights, which show how sure the model is.
    refit_spread : float
        Factor from deviations over refits to those over other samples: above 1 where the model follows its samples.
    """

    target: Target
    scaling: Scaling | None
    features: np.ndarray
    n_features: int
    model: PreimageModel
    theta: np.ndarray
    loss: Loss
    asked: tuple[Term, ...] = field(default=(), repr=False)
    noise: float | None = None
    ridge: float = 0.0
    linear_variance: float | None = None
    posterior: Posterior | None = field(default=None, repr=False)
    strength: float | None = None
    linear_strength: float | None = None
    samples: np.ndarray | None = field(default=None, repr=False)
    interrupted: bool = False
    selected: bool = False
    recipe: str = ""
    refit_thetas: np.ndarray | None = field(default=None, repr=False)
    refit_spread: float = 1.0

    def __post_init__(self) -> None:
        self.theta.setflags(write=False)
        self.features.setflags(write=False)

    def __reduce__(self) -> Any:
        # Made anew from its fields: pickle would give arrays back that can be written to.
        return type(self), tuple(getattr(self, part.name) for part in fields(self))

    # Its parts

    #: Whether it is one model of all outputs; False for the binary models of a ``ModelEnsemble``.
    is_joint = True
    #: Places of the two classes of each binary model, with one against one.
    pairs = None

    @property
    def members(self) -> tuple[FittedModel, ...]:
        """The models that make it up: itself."""
        return (self,)

    @cached_property
    def refits(self) -> tuple[FittedModel, ...]:
        """The models of the same samples with random weights; basis vector r of each is that of this model, moved."""
        thetas = [] if self.refit_thetas is None else list(self.refit_thetas)
        return tuple(replace(self, theta=theta.copy(), posterior=None, refit_thetas=None) for theta in thetas)

    @property
    def n_basis(self) -> int:
        """Number of basis vectors."""
        return self.model.n_basis

    @property
    def n_outputs(self) -> int:
        """Number of scores of a sample."""
        return self.model.n_outputs

    @property
    def weights(self) -> np.ndarray:
        """The weights of the basis vectors, (n_basis, n_outputs)."""
        return self.model.unpack(self.theta).weights

    @property
    def intercept(self) -> np.ndarray:
        """The intercept, (n_outputs,)."""
        return self.model.unpack(self.theta).intercept

    @cached_property
    def terms(self) -> tuple[FittedTerm, ...]:
        """The terms that are added up."""
        return fitted_terms(self.model, self.theta)

    @property
    def kernel(self) -> Any:
        """The kernel with what was learned of it; of several views a dict by name."""
        kernels = {v.name: v.kernel for term in self.terms if not term.is_linear_part for v in term.views}
        return kernels[""] if list(kernels) == [""] else kernels

    @cached_property
    def basis_vectors(self) -> np.ndarray:
        """The basis vectors in the user's units, (n_basis, n_features); NaN where a vector's view does not look.

        Rows of a linear part are changes of the score for a change of the feature by one unit.
        """
        everywhere = np.full((self.n_basis, self.n_features), np.nan)
        for term in self.terms:
            for view in term.views:
                units = view.basis
                if self.scaling is not None:
                    scaling = self.scaling.columns(view.columns)
                    units = units / scaling.scale if term.is_linear_part else scaling.inverse(units)
                if self.samples is not None and not term.is_linear_part:  # the inverse of the scaling would round
                    units = self.samples[term.rows, self.features[view.columns]]
                everywhere[term.rows, self.features[view.columns]] = units
        everywhere.setflags(write=False)
        return everywhere

    def features_read(self) -> np.ndarray:
        """Return the features of X that can change a score.

        A stationary kernel reads every feature of its view, whatever the basis holds there; a dot-product kernel reads
        those where some basis vector is not zero. Vectors whose weights are all zero read nothing.
        """
        read = np.zeros(self.n_features, dtype=bool)
        for term in self.terms:
            used = np.any(term.weights != 0, axis=1)
            for view in term.views:
                columns = view.columns
                if not view.kernel.reads_zero_features:
                    columns = columns[np.any(view.basis[used] != 0, axis=0)]
                if used.any():
                    read[self.features[columns]] = True
        return np.flatnonzero(read)

    def relevances(self) -> np.ndarray:
        """Return the learned factor of each feature in the kernel's inner product: 1 if none is, 0 if it is not read.

        For a feature of several views it is the largest.
        """
        factors = np.zeros(self.n_features)
        log_metrics = self.model.unpack(self.theta).log_metric
        linear = [term.is_linear_part for term in self.model.terms for _ in term.views]
        for (_, view), log_metric, skipped in zip(self.model.views, log_metrics, linear, strict=True):
            if skipped:
                continue
            columns = np.arange(self.model.n_features) if view.columns is None else view.columns
            places = self.features[columns]
            factors[places] = np.maximum(factors[places], view.factors(log_metric))
        unread = np.ones(self.n_features, dtype=bool)
        unread[self.features_read()] = False
        factors[unread] = 0.0
        return factors

    @property
    def vector_rows(self) -> np.ndarray:
        """Rows of basis and weights that are basis vectors, and not coefficients of a linear part."""
        rows = np.ones(self.n_basis, dtype=bool)
        for term in self.terms:
            rows[term.rows] = not term.is_linear_part
        return rows

    def linear_coef(self) -> np.ndarray | None:
        """Return the coefficients of the linear part in the user's units, (n_features, n_outputs); None without one."""
        for term in self.terms:
            if term.is_linear_part:
                return np.asarray(np.nan_to_num(self.basis_vectors[term.rows]).T @ term.weights)
        return None

    def cancellation(self, X: Samples) -> float:
        """Return by how much contributions cancel: the median of sum_r |c_r (k_r - mean k_r)| over |f - mean f|.

        1 is a model whose contributions all point the same way. The linear part is one contribution.
        """
        parts = self.contributions(X)
        rows = self.vector_rows
        parts = np.concatenate([parts[:, rows], parts[:, ~rows].sum(axis=1, keepdims=True)], axis=1)
        parts = parts - parts.mean(axis=0)
        total = np.abs(parts.sum(axis=1))
        ratio = np.abs(parts).sum(axis=1) / np.maximum(total, np.finfo(float).tiny)
        return float(np.median(ratio[total > 0])) if np.any(total > 0) else 1.0

    def n_nonzero(self) -> int:
        """Return how many entries of the basis vectors are not zero, on the scale of the model."""
        return sum(int(np.count_nonzero(basis)) for basis in self.model.unpack(self.theta).basis)

    def standardized_theta(self) -> np.ndarray:
        """Return the parameters for targets as the fit standardised them: those that a solver had at its end."""
        learned, target, old = self.target.learned, self.target, self.model.unpack(self.theta)
        weights = old.weights[:, learned] / target.scale
        intercept = (old.intercept[learned] - target.mean) / target.scale
        return np.concatenate([self.theta[self.model.basis_part], weights.ravel(), intercept])

    # Its answers for samples

    def scaled(self, X: Samples) -> Any:
        """Return the model's features of X, scaled and clipped: what the kernels look at."""
        held = self._held(X)
        if self.scaling is None:
            return held
        return scaled_table(held, self.scaling)

    def scores(self, X: Samples, n_threads: int = 1, place: Place | None = None) -> np.ndarray:
        """Return f(x) for every sample, (n, n_outputs), computed by the library of ``place`` if there is one."""
        return self.by_blocks(_block_scores, X, n_threads, place)

    def similarities(self, X: Samples, n_threads: int = 1) -> np.ndarray:
        """Return the values k(x, u_r) of the terms' kernels for every sample, (n, n_basis)."""
        return self.by_blocks(_block_similarities, X, n_threads)

    def contributions(self, X: Samples, n_threads: int = 1) -> np.ndarray:
        """Return what each basis vector adds to the scores, (n, n_basis, n_outputs): f minus the intercept in sum."""
        return np.asarray(self.similarities(X, n_threads)[:, :, None] * self.weights)

    def deviations(self, X: Samples, n_threads: int = 1) -> np.ndarray:
        """Return the standard deviation of a new target of every sample, (n, n_outputs); zero for constant outputs.

        It needs :attr:`posterior`.
        """
        assert self.posterior is not None
        Z, rows, learned = self.scaled(X), self.vector_rows, self.target.learned
        weights = self.weights[rows][:, learned] / self.target.scale
        kernel, Phi = self.terms[0].views[0].kernel, self.similarities(X, n_threads)[:, rows]
        found = np.zeros((Z.shape[0], self.n_outputs))
        found[:, learned] = np.sqrt(self.posterior.variance(kernel, Phi, Z, weights)) * self.target.scale
        return found

    def by_blocks(
        self, function: Callable[..., Any], X: Samples, n_threads: int = 1, place: Place | None = None
    ) -> np.ndarray:
        """Return ``function(block, model, theta)``, (n, k), of all samples."""
        held = self._held(X)
        if isinstance(held, np.ndarray) and 0 < held.size <= FEW:
            Z = held if self.scaling is None else self.scaling(held)
            none = np.empty((len(Z), 0), Z.dtype)
            with np.errstate(under="ignore"):
                return np.asarray(function(Block(Z, none, none, {}), self.model, self.theta))
        source = source_of(held, self.scaling, place)
        found, done = np.empty((0, self.n_outputs), dtype=source.dtype), 0
        # Values far from every basis vector underflow to zero, as they should.
        with np.errstate(under="ignore"), source.threads(n_threads if source.n_rows > ON_THREADS else 1):
            for part in source.map(function, self.model, self.theta, width=self.n_basis):
                if done == 0:
                    found = np.empty((source.n_rows, part.shape[1]), dtype=part.dtype)
                found[done : done + len(part)] = part
                done += len(part)
        return found

    def _held(self, X: Samples) -> Any:
        table = with_shape(X)
        table = table if table.dtype.kind == "f" else table.astype(np.float64)
        if table.shape[1] != self.n_features:
            raise ValueError(f"X must have the {self.n_features} features of the fit; got {table.shape[1]}.")
        # A selection makes a copy even of all features, so that the layout of X in memory cannot show in the last bit.
        return table[:, self.features] if self.selected or len(self.features) < self.n_features else table

    # Other models made of it

    def restricted(self, features: np.ndarray) -> FittedModel:
        """Return the model for samples of ``features`` alone, in rising order; it must read no others."""
        features = np.asarray(features)
        read = self.features_read()
        missing = np.setdiff1d(read, features)
        if len(missing):
            raise ValueError(f"features must include all that the model reads; {missing.tolist()} are missing.")
        places = np.searchsorted(self.features, read)
        terms = [term.on(places) for term in self.model.terms]
        model, theta = on_columns(self.model, self.theta, places, terms)
        refits = self.refit_thetas
        if refits is not None:
            refits = np.array([on_columns(self.model, refit, places, terms)[1] for refit in refits])
        return replace(
            self,
            model=model,
            theta=theta,
            refit_thetas=refits,
            scaling=None if self.scaling is None else self.scaling.columns(places),
            n_features=len(features),
            samples=None if self.samples is None else self.samples[:, features],
            features=np.searchsorted(features, read),
            selected=self.selected or len(read) < self.n_features,
            posterior=self.posterior if len(read) == len(self.features) else None,
        )

    def without_linear_part(self) -> FittedModel:
        """Return the model without its linear part."""
        kernels = self.model.kernel_part
        if kernels is None:
            return self
        theta, params = kernels.zeros()
        theta[kernels.basis_part] = self.theta[kernels.basis_part]
        params.weights[...] = self.weights[self.vector_rows]
        params.intercept[...] = self.intercept
        return replace(self, model=kernels, theta=theta, posterior=None, refit_thetas=None)

    def of_rkhs(self) -> FittedModel:
        """Return the model whose similarities are the kernels of the RKHS themselves, where they are 2k - 1."""
        terms = [t.with_views(lambda view: replace(view, kernel=view.kernel.rkhs())) for t in self.model.terms]
        return replace(self, model=replace(self.model, terms=terms))


@dataclass(frozen=True)
class ModelEnsemble:
    """Models of several binary problems, one against one or one against the rest, with the methods of a single one.

    Its scores are those of the members, side by side; its basis vectors those of the members, one after another.

    Attributes
    ----------
    members : tuple of FittedModel
        The models, each of one score.
    names : tuple of str
        Names of their problems in reports.
    target : Target
        Meaning of all scores together.
    pairs : ndarray of shape (n_members, 2) or None
        With one against one: the places of the two classes of each problem.
    """

    members: tuple[FittedModel, ...]
    names: tuple[str, ...]
    target: Target
    pairs: np.ndarray | None = None
    is_joint = False

    @cached_property
    def refits(self) -> tuple[ModelEnsemble, ...]:
        """The models of the same samples with random weights; every member has the same weights of samples."""
        found = zip(*(member.refits for member in self.members), strict=True)
        return tuple(replace(self, members=members) for members in found)

    @property
    def refit_spread(self) -> float:
        """Factor from deviations over refits to those over other samples, the mean of the members'."""
        return float(np.mean([member.refit_spread for member in self.members]))

    @property
    def loss(self) -> Loss:
        """The loss, which all members share."""
        return self.members[0].loss

    @property
    def n_features(self) -> int:
        """Number of features of X."""
        return self.members[0].n_features

    @property
    def features(self) -> np.ndarray:
        """The features of X that any member holds."""
        return np.unique(np.concatenate([member.features for member in self.members]))

    @property
    def n_basis(self) -> int:
        """Number of basis vectors of all members."""
        return sum(member.n_basis for member in self.members)

    @property
    def n_outputs(self) -> int:
        """Number of members, each of which has one score."""
        return len(self.members)

    @property
    def recipe(self) -> str:
        """Name of the way the members were fitted."""
        return self.members[0].recipe

    @property
    def interrupted(self) -> bool:
        """Whether the fit of any member was stopped before its end."""
        return any(member.interrupted for member in self.members)

    @property
    def weights(self) -> np.ndarray:
        """The weights of all basis vectors, (n_basis, n_outputs): zero outside the vector's own problem."""
        weights = np.zeros((self.n_basis, self.n_outputs))
        row = 0
        for k, member in enumerate(self.members):
            weights[row : row + member.n_basis, k] = member.weights[:, 0]
            row += member.n_basis
        return weights

    @property
    def intercept(self) -> np.ndarray:
        """The intercepts of the members, (n_outputs,)."""
        return np.concatenate([member.intercept for member in self.members])

    @property
    def basis_vectors(self) -> np.ndarray:
        """The basis vectors of all members, (n_basis, n_features)."""
        return np.concatenate([member.basis_vectors for member in self.members])

    @property
    def vector_rows(self) -> np.ndarray:
        """Rows of basis and weights that are basis vectors, and not coefficients of a linear part."""
        return np.concatenate([member.vector_rows for member in self.members])

    def features_read(self) -> np.ndarray:
        """Return the features of X that can change a score."""
        return np.unique(np.concatenate([member.features_read() for member in self.members]))

    def scores(self, X: Samples, n_threads: int = 1, place: Place | None = None) -> np.ndarray:
        """Return the score of every member for every sample, (n, n_outputs); ``place`` as for a single model."""
        return np.hstack([member.scores(X, n_threads, place) for member in self.members])

    def similarities(self, X: Samples, n_threads: int = 1) -> np.ndarray:
        """Return the values k(x, u_r), (n, n_basis)."""
        return np.hstack([member.similarities(X, n_threads) for member in self.members])

    def contributions(self, X: Samples, n_threads: int = 1) -> np.ndarray:
        """Return what each basis vector adds to the scores, (n, n_basis, n_outputs)."""
        return np.asarray(self.similarities(X, n_threads)[:, :, None] * self.weights)

    def restricted(self, features: np.ndarray) -> ModelEnsemble:
        """Return the models for samples of ``features`` alone."""
        return replace(self, members=tuple(member.restricted(features) for member in self.members))


#: The result of a fit: one model, or the binary models of several classes.
Fitted = FittedModel | ModelEnsemble


def fitted_terms(model: PreimageModel, theta: np.ndarray) -> tuple[FittedTerm, ...]:
    """Return the terms of a model with the values that theta gives them."""
    params = model.unpack(theta)
    terms = []
    for term, rows, places in model.layout:
        views = []
        for view, k in zip(term.views, places, strict=True):
            columns = np.arange(model.n_features) if view.columns is None else np.array(view.columns)
            columns.setflags(write=False)
            views.append(FittedView(view.name, _learned_kernel(view, params.log_metric[k]), columns, params.basis[k]))
        terms.append(FittedTerm(term.name, tuple(views), params.weights[rows], rows, term.is_linear_part))
    return tuple(terms)


def _learned_kernel(view: View, log_metric: np.ndarray) -> Kernel:
    kernel: Kernel = view.kernel
    if not view.learns_metric:
        return kernel
    factors = view.factors(log_metric)
    return kernel.with_bandwidth(float(factors) if np.ndim(factors) == 0 else factors)


@anywhere
def _block_scores(block: Block, model: PreimageModel, theta: np.ndarray) -> np.ndarray:
    return model.predict(block, theta)


def _block_similarities(block: Block, model: PreimageModel, theta: np.ndarray) -> np.ndarray:
    return model.features(block, theta)[0]
