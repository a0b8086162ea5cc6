"""What a fit leaves behind, for predictions and for a fit that goes on from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spkm.kernels import DotKernel
from spkm.losses import Loss
from spkm.model import PreimageModel, Term, View
from spkm.sources import Scaling


@dataclass
class FittedState:
    """Model, parameters in the units of y, scaling of the columns, loss.

    ``columns`` are those of the user's ``n_features`` that the model, and the scaling, know of; None is all of them.
    ``interrupted`` tells of a fit that ended before its time. A warm start needs two more: ``asked`` are the terms as
    the user gave them, and ``noise`` what was learned with the evidence.
    """

    model: PreimageModel
    theta: np.ndarray
    scaling: Scaling | None
    loss: Loss
    asked: tuple[Term, ...]
    n_features: int
    columns: np.ndarray | None = None
    noise: float | None = None
    interrupted: bool = False

    @property
    def known(self) -> np.ndarray:
        """The columns of the user's table that the model knows of."""
        return np.arange(self.n_features) if self.columns is None else self.columns

    def looked_at(self) -> Iterator[tuple[slice, View, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield, view by view, its rows among all basis vectors, its columns in the model, basis and log metric."""
        params = self.model.unpack(self.theta)
        k = row = 0
        for term in self.model.terms:
            for view in term.views:
                columns = np.arange(self.model.n_features) if view.columns is None else view.columns
                yield slice(row, row + term.n_basis), view, columns, params.basis[k], params.log_metric[k]
                k += 1
            row += term.n_basis

    def basis_in_users_units(self) -> np.ndarray:
        """Return the basis vectors on the scale of X; NaN in columns that the view of a vector does not look at."""
        everywhere = np.full((self.model.n_basis, self.n_features), np.nan)
        for rows, _, columns, basis, _ in self.looked_at():
            units = basis if self.scaling is None else self.scaling.columns(columns).inverse(basis)
            everywhere[rows, self.known[columns]] = units
        return everywhere

    def n_nonzero(self) -> int:
        """Return how many entries of the basis vectors are not zero, on the scale of the model."""
        return sum(int(np.count_nonzero(basis)) for basis in self.model.unpack(self.theta).basis)

    def columns_read(self) -> np.ndarray:
        """Return the columns that can change a prediction.

        A kernel of a distance reads every column that it knows of, whatever the basis holds there; one of a dot product
        reads those where some basis vector is not zero. Vectors whose weights are all zero read nothing.
        """
        used = np.any(self.model.unpack(self.theta).weights != 0, axis=1)
        read = np.zeros(self.n_features, dtype=bool)
        for rows, view, columns, basis, _ in self.looked_at():
            weighted = basis[used[rows]]
            if isinstance(view.kernel, DotKernel):
                columns = columns[np.any(weighted != 0, axis=0)]
            if len(weighted):
                read[self.known[columns]] = True
        return np.flatnonzero(read)

    def relevances(self) -> np.ndarray:
        """Return the learned factor of each column in the kernel's inner product: 1 if none is, 0 if it is not read.

        Of a column that several views look at it is the largest.
        """
        factors = np.zeros(self.n_features)
        for _, view, columns, _, log_metric in self.looked_at():
            places = self.known[columns]
            factors[places] = np.maximum(factors[places], view.factors(log_metric))
        unread = np.ones(self.n_features, dtype=bool)
        unread[self.columns_read()] = False
        factors[unread] = 0.0
        return factors

    def restricted(self, chosen: np.ndarray) -> FittedState:
        """Return the state for rows of the columns ``chosen`` alone, in order; all that are read are among them."""
        read = self.columns_read()
        places = np.searchsorted(self.known, read)
        model, theta = self.model.on_columns(self.theta, places, [term.on(places) for term in self.model.terms])
        scaling = None if self.scaling is None else self.scaling.columns(places)
        return replace(
            self,
            model=model,
            theta=theta,
            scaling=scaling,
            n_features=len(chosen),
            columns=np.searchsorted(chosen, read),
        )

    @property
    def kernel(self) -> Any:
        """The kernel with what was learned of its metric; of several views a dict by name."""
        kernels = {}
        for _, view, _, _, log_metric in self.looked_at():
            factors = view.factors(log_metric)
            factors = float(factors) if np.ndim(factors) == 0 else factors
            kernels[view.name] = view.kernel.with_bandwidth(factors) if view.learns_metric else view.kernel
        return kernels[""] if list(kernels) == [""] else kernels

    def check_continues(self, terms: tuple[Term, ...], n_features: int, n_outputs: int) -> None:
        """Raise ValueError if a fit of these sizes cannot go on from this one."""
        model = self.model
        views = [len(term.views) for term in model.terms], [len(term.views) for term in terms]
        pairs = {"columns": (model.n_features, n_features), "outputs": (model.n_outputs, n_outputs), "views": views}
        for what, (before, now) in pairs.items():
            if before != now:
                raise ValueError(
                    f"warm_start=True needs the {what} of the last fit, {before}; got {now}. "
                    "Set warm_start=False to fit anew."
                )
        for before, now in zip(model.terms, terms, strict=True):
            if now.n_basis < before.n_basis:
                raise ValueError(
                    f"n_basis must be at least that of the last fit, {before.n_basis}, with warm_start=True; "
                    f"got {now.n_basis}. Set warm_start=False to fit anew."
                )
            if not np.array_equal(before.columns(n_features), now.columns(n_features)):
                raise ValueError("warm_start=True needs the views of the last fit. Set warm_start=False to fit anew.")


def same_views(a: tuple[Term, ...], b: tuple[Term, ...]) -> bool:
    """Whether terms hold views of equal kernels."""
    pairs = zip((view for term in a for view in term.views), (view for term in b for view in term.views), strict=True)
    return all(same_settings(one.kernel, other.kernel) for one, other in pairs)


def same_settings(a: Any, b: Any) -> bool:
    """Whether two objects are of one class and have equal parameters."""
    if type(a) is not type(b):
        return False
    mine, other = a.get_params(deep=False), b.get_params(deep=False)
    return all(
        same_settings(mine[name], other[name])
        if hasattr(mine[name], "get_params")
        else np.array_equal(mine[name], other[name])
        for name in mine
    )


def continued_theta(
    previous: FittedState,
    model: PreimageModel,
    scaling: Scaling | None,
    fresh: np.ndarray,
    target_scale: Any,
    target_mean: Any,
) -> np.ndarray:
    """Return the parameters of the last fit on the scales of this one.

    Basis vectors of a term beyond those of the last fit are the last ones of ``fresh``, a theta of this model, with
    weights of zero: the function, and so the objective, is that of the last fit.
    """
    theta = fresh.copy()
    params, old = model.unpack(theta), previous.model.unpack(previous.theta)
    params.weights[...] = 0.0
    before = previous.basis_in_users_units()
    k = row = old_row = 0
    for now, was in zip(model.terms, previous.model.terms, strict=True):
        rows, old_rows = slice(row, row + was.n_basis), slice(old_row, old_row + was.n_basis)
        for view in now.views:
            columns = np.arange(model.n_features) if view.columns is None else view.columns
            basis = before[old_rows, columns]
            params.basis[k][: was.n_basis] = (
                basis if scaling is None else scaling.columns(columns).forward_points(basis)
            )
            if params.log_metric[k].shape == old.log_metric[k].shape:
                params.log_metric[k][...] = old.log_metric[k]
            k += 1
        params.weights[rows] = old.weights[old_rows] / target_scale
        row, old_row = row + now.n_basis, old_row + was.n_basis
    params.intercept[...] = (old.intercept - target_mean) / target_scale
    return theta
