"""Types of the parameters that several estimators share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from numpy.typing import ArrayLike

from spkm._arrays import ColumnsLike
from spkm.core.model import Term
from spkm.core.starts import Start
from spkm.kernels import Kernel
from spkm.losses import Loss
from spkm.penalties import Penalty
from spkm.solvers import Solver


class Splitter(Protocol):
    """Makes the splits of a cross-validation, as those of scikit-learn do."""

    def split(self, X: Any, y: Any = ..., groups: Any = ..., /) -> Iterable[Any]:
        """Return pairs of training and test samples."""


#: Number of basis vectors; a dict has one for each view.
SizeLike = int | Literal["auto"] | Mapping[str, int] | None
#: A kernel, or its name; a dict has one for each view.
KernelLike = str | Kernel | Mapping[str, Any]
#: Several kernels of a side of pairs, or one.
KernelsLike = KernelLike | Sequence[Any]
#: Named groups of features.
ViewsLike = Mapping[str, ColumnsLike] | None
#: The general form of a model.
TermsLike = Sequence[Term] | None
#: A loss, or its name.
LossLike = str | Loss
#: A penalty, its name, or a list of them; a dict has one for each view.
PenaltyLike = str | Penalty | Sequence[Any] | Mapping[str, Any] | None
#: Bandwidths that are learned.
BandwidthLike = bool | Literal["auto", "columns"] | Mapping[str, Any]
#: Yes, no, or by the data.
Choice = bool | Literal["auto"]
#: How features are scaled.
ScaleLike = bool | Literal["common"] | None
#: Directions of monotone features, by name or number.
MonotoneLike = Mapping[Any, int] | None
#: A solver, or its name.
SolverLike = str | Solver
#: First basis vectors.
StartLike = str | Start | ArrayLike
#: Weights of classes.
ClassWeightLike = Mapping[Any, float] | Literal["balanced"] | None
#: Kind of a selection.
SelectionLike = Literal["strict"] | None
#: Labels of groups of features or samples.
GroupsLike = ArrayLike | Iterable[Any] | None
#: Splits of a cross-validation.
SplitsLike = int | Iterable[Any] | Splitter | None
#: A score, by name or as a function.
ScoringLike = str | Callable[..., float] | None
