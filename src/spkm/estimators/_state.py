"""What a fit leaves behind, for predictions and for a fit that goes on from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spkm.kernels import DotKernel, Kernel
from spkm.losses import Loss
from spkm.model import PreimageModel
from spkm.sources import Scaling


@dataclass
class FittedState:
    """Model, parameters in the units of y, scaling of the columns, loss.

    ``columns`` are those of the user's ``n_features`` that the model, and the scaling, know of; None is all of them.
    A warm start needs two more: ``asked`` is the kernel as the user gave it, and ``noise`` what was learned with the
    evidence.
    """

    model: PreimageModel
    theta: np.ndarray
    scaling: Scaling | None
    loss: Loss
    asked: Kernel
    n_features: int
    columns: np.ndarray | None = None
    noise: float | None = None

    def basis_in_users_units(self) -> np.ndarray:
        """Return the basis vectors on the scale of X; columns that the model does not know of are NaN."""
        basis = self.model.unpack(self.theta).basis[0]
        basis = basis if self.scaling is None else self.scaling.inverse(basis)
        if self.columns is None:
            return basis
        everywhere = np.full((len(basis), self.n_features), np.nan)
        everywhere[:, self.columns] = basis
        return everywhere

    def n_nonzero(self) -> int:
        """Return how many entries of the basis vectors are not zero, on the scale of the model."""
        return int(np.count_nonzero(self.model.unpack(self.theta).basis[0]))

    def columns_read(self) -> np.ndarray:
        """Return the columns that can change a prediction.

        A kernel of a distance reads every column that it knows of, whatever the basis holds there; one of a dot product
        reads those where some basis vector is not zero.
        """
        known = np.arange(self.n_features) if self.columns is None else self.columns
        kernel = self.model.views[0][1].kernel
        if not isinstance(kernel, DotKernel):
            return known
        return known[np.any(self.model.unpack(self.theta).basis[0] != 0, axis=0)]

    def relevances(self) -> np.ndarray:
        """Return the learned factor of each column in the kernel's inner product: 1 if none is, 0 if it is not read."""
        view, places = self.model.views[0][1], slice(None) if self.columns is None else self.columns
        factors = np.zeros(self.n_features)
        factors[places] = view.factors(self.model.unpack(self.theta).log_metric[0])
        unread = np.ones(self.n_features, dtype=bool)
        unread[self.columns_read()] = False
        factors[unread] = 0.0
        return factors

    def restricted(self) -> FittedState:
        """Return the state of the model of the columns that are read, alone."""
        read = self.columns_read()
        places = np.searchsorted(np.arange(self.n_features) if self.columns is None else self.columns, read)
        model, theta = self.model.on_columns(self.theta, places)
        scaling = None if self.scaling is None else self.scaling.columns(places)
        return replace(
            self, model=model, theta=theta, scaling=scaling, n_features=len(read), columns=np.arange(len(read))
        )

    @property
    def kernel(self) -> Kernel:
        """The kernel with what was learned of its metric."""
        view = self.model.views[0][1]
        log_metric = self.model.unpack(self.theta).log_metric[0]
        if view.metric == "fixed":
            return view.kernel
        factors = np.exp(log_metric)
        return view.kernel.with_bandwidth(float(factors[0]) if view.metric == "scale" else factors)

    def check_continues(self, n_basis: int, n_features: int, n_outputs: int) -> None:
        """Raise ValueError if a fit of these sizes cannot go on from this one."""
        model = self.model
        pairs = {"columns": (model.n_features, n_features), "outputs": (model.n_outputs, n_outputs)}
        for what, (before, now) in pairs.items():
            if before != now:
                raise ValueError(
                    f"warm_start=True needs the {what} of the last fit, {before}; got {now}. "
                    "Set warm_start=False to fit anew."
                )
        if n_basis < model.n_basis:
            raise ValueError(
                f"n_basis must be at least that of the last fit, {model.n_basis}, with warm_start=True; got {n_basis}. "
                "Set warm_start=False to fit anew."
            )


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

    Basis vectors beyond those of the last fit are the last ones of ``fresh``, a theta of this model, with weights of
    zero: the function, and so the objective, is that of the last fit.
    """
    theta = fresh.copy()
    params, old = model.unpack(theta), previous.model.unpack(previous.theta)
    R = len(old.weights)
    basis = previous.basis_in_users_units()
    params.basis[0][:R] = basis if scaling is None else scaling.forward_points(basis)
    if params.log_metric[0].shape == old.log_metric[0].shape:
        params.log_metric[0][...] = old.log_metric[0]
    params.weights[:R] = old.weights / target_scale
    params.weights[R:] = 0.0
    params.intercept[...] = (old.intercept - target_mean) / target_scale
    return theta
