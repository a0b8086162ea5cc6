"""Types of what stands between two rooms."""

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
    def offers(self) -> tuple[str, ...]: ...
    @property
    def is_smooth(self) -> bool: ...
    def why_not(self, need: str) -> str: ...
    def on(self, source: Source) -> AnyObjective: ...
    def eliminated(self) -> ProfiledObjective: ...
    def inside(self, theta: np.ndarray) -> np.ndarray: ...
    def totals(self, theta: np.ndarray) -> np.ndarray: ...
    def value(self, theta: np.ndarray) -> float: ...
    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]: ...


class Composite(Protocol):
    """A smooth function of theta with a gradient, plus a penalty with a prox."""

    model: PreimageModel

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]: ...
    def penalty(self, theta: np.ndarray) -> float: ...
    def prox(self, theta: np.ndarray, step: Factors) -> np.ndarray: ...
