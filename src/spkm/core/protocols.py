"""Types of the objects that one package makes and another uses."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from spkm._arrays import Factors
from spkm.core.bounds import Box
from spkm.core.model import PreimageModel
from spkm.core.profiled import ProfiledObjective
from spkm.losses import Loss
from spkm.sources import Source


class AnyObjective(Protocol):
    """The function that a fit minimises: a penalised loss, or an evidence.

    A solver reads in ``offers`` what else there is: :class:`spkm.core.objective.Objective` has the list.
    """

    model: PreimageModel
    loss: Loss
    source: Source
    box: Box | None

    @property
    def offers(self) -> tuple[str, ...]:
        """Names of what a solver may use."""
        ...

    @property
    def is_smooth(self) -> bool:
        """Whether all parts have a gradient."""
        ...

    def why_not(self, need: str) -> str:
        """Return the reason for which a need of a solver is not met."""
        ...

    def on(self, source: Source) -> AnyObjective:
        """Return the same objective for other samples."""
        ...

    def eliminated(self) -> ProfiledObjective:
        """Return the objective with the weights eliminated."""
        ...

    def inside(self, theta: np.ndarray) -> np.ndarray:
        """Return the nearest point within the bounds."""
        ...

    def totals(self, theta: np.ndarray) -> np.ndarray:
        """Return the sums over samples that the loss needs."""
        ...

    def value(self, theta: np.ndarray) -> float:
        """Return the value to minimise."""
        ...

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and its gradient."""
        ...


class Composite(Protocol):
    """A smooth function of theta with a gradient, plus a penalty with a prox."""

    model: PreimageModel

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and its gradient."""
        ...

    def penalty(self, theta: np.ndarray) -> float:
        """Return the value of the penalty."""
        ...

    def prox(self, theta: np.ndarray, step: Factors) -> np.ndarray:
        """Return the prox of the penalty."""
        ...
