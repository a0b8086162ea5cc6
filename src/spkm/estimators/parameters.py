"""The parameters that several estimators share, and their types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from numpy.typing import ArrayLike

from spkm._arrays import ColumnsLike, NewPart, RandomState
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


C = TypeVar("C", bound=type)


def of(estimator: str) -> Callable[[C], C]:
    """Return a decorator that gives errors of ``__init__`` the name of the estimator, as for a misspelt parameter."""

    def renamed(parameters: C) -> C:
        vars(parameters)["__init__"].__qualname__ = f"{estimator}.__init__"
        return parameters

    return renamed


@dataclass(eq=False, repr=False, kw_only=True)
class OfTables:
    """Parameters of estimators of one table; each class has their meaning."""

    n_basis: SizeLike = field(default=10, kw_only=False)
    kernel: KernelLike = "rbf"
    views: ViewsLike = None
    terms: TermsLike = None
    weight_penalty: PenaltyLike = "auto"
    selection: SelectionLike = None
    max_features: int | None = None
    max_groups: int | None = None
    feature_groups: GroupsLike = None
    max_basis: int | None = None
    learn_bandwidth: BandwidthLike = "auto"
    linear_part: Choice = "auto"
    basis_bounds: Literal["data"] | None = "data"
    monotone: MonotoneLike = None
    scale: ScaleLike = True
    solver: SolverLike = "auto"
    start: StartLike = "auto"
    max_iter: int | None = None
    tol: float | None = None
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0


@dataclass(eq=False, repr=False, kw_only=True)
class WithLoss(OfTables):
    """Parameters of classifiers and regressors of one table, whose loss users may choose."""

    loss: LossLike = "auto"
    basis_penalty: PenaltyLike = None
    basis: Literal["free", "samples"] = "free"
    fit_intercept: bool = True
    n_restarts: int = 1
    warm_start: bool = False


@of("SPKMClassifier")
@dataclass(eq=False, repr=False, kw_only=True)
class OfClassifier(WithLoss):
    """Parameters of :class:`~spkm.SPKMClassifier`."""

    n_basis: SizeLike = field(default=None, kw_only=False)
    multi_class: Literal["joint", "ovr", "ovo"] = "joint"
    class_weight: ClassWeightLike = None


@of("SPKMRegressor")
@dataclass(eq=False, repr=False, kw_only=True)
class OfRegressor(WithLoss):
    """Parameters of :class:`~spkm.SPKMRegressor`."""

    n_basis: SizeLike = field(default=20, kw_only=False)
    kernel: KernelLike = "matern"


@of("SPKMOrdinalClassifier")
@dataclass(eq=False, repr=False, kw_only=True)
class OfOrdinal(OfTables):
    """Parameters of :class:`~spkm.SPKMOrdinalClassifier`."""

    order: Sequence[Any] | Literal["sorted"] | None = None


@of("SPKMSurvival")
@dataclass(eq=False, repr=False, kw_only=True)
class OfSurvival(OfTables):
    """Parameters of :class:`~spkm.SPKMSurvival`."""

    ties: Literal["efron", "breslow"] = "efron"
    baseline: Literal["steps", "weibull"] = "steps"


@of("SPKMRegressorCV")
@dataclass(eq=False, repr=False, kw_only=True)
class OfSearch:
    """Parameters of searches over kernels, features and strengths."""

    kernel: KernelsLike = field(default="auto", kw_only=False)
    n_basis: SizeLike = "auto"
    loss: LossLike = "auto"
    weight_penalty: PenaltyLike = "auto"
    selection: SelectionLike = "strict"
    max_features: int | None = None
    max_groups: int | None = None
    feature_groups: GroupsLike = None
    max_basis: int | None = None
    learn_bandwidth: BandwidthLike = "auto"
    fit_intercept: bool = True
    scale: ScaleLike = True
    solver: SolverLike = "auto"
    max_iter: int | None = None
    tol: float | None = None
    cv: SplitsLike = None
    scoring: ScoringLike = None
    refit: bool = True
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0


@of("SPKMClassifierCV")
@dataclass(eq=False, repr=False, kw_only=True)
class OfClassifierSearch(OfSearch):
    """Parameters of :class:`~spkm.SPKMClassifierCV`."""

    class_weight: ClassWeightLike = None


@of("PairwiseSPKMRegressor")
@dataclass(eq=False, repr=False, kw_only=True)
class OfPairs:
    """Parameters of estimators of pairs."""

    n_basis: int = field(default=20, kw_only=False)
    left_kernel: KernelsLike = "rbf"
    right_kernel: KernelsLike = "rbf"
    left_views: ViewsLike = None
    right_views: ViewsLike = None
    loss: LossLike = "auto"
    basis_penalty: PenaltyLike = None
    weight_penalty: PenaltyLike = "auto"
    learn_bandwidth: BandwidthLike = "auto"
    fit_intercept: bool = True
    scale: ScaleLike = True
    solver: SolverLike = "auto"
    n_restarts: int = 1
    max_iter: int | None = None
    tol: float | None = None
    n_jobs: int | None = None
    new: NewPart = "pairs"
    random_state: RandomState = None
    verbose: int = 0


@of("PairwiseSPKMClassifier")
@dataclass(eq=False, repr=False, kw_only=True)
class OfPairsOfClasses(OfPairs):
    """Parameters of :class:`~spkm.PairwiseSPKMClassifier`."""

    class_weight: ClassWeightLike = None
