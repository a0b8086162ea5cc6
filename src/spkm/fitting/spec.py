"""Parameters of an estimator as objects: names become parts here, and only here.

All that needs no samples is checked here, too; :mod:`spkm.fitting.problems` adds the numbers that need them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from spkm._arrays import NewPart, TableLike
from spkm._checks import check_choice, check_integer, check_real, n_threads, seed_of
from spkm.core.model import Term, View
from spkm.core.regularization import as_list
from spkm.core.targets import Classes, Real
from spkm.fitting.views import asked_terms, basis_penalties
from spkm.kernels import Kernel
from spkm.losses import LOSSES, Loss
from spkm.penalties import WEIGHT_PENALTIES, Penalty

# Vectors of a classifier if n_basis is not given; panel: 10 lose 12 points on 11 classes.
LEAST_VECTORS, VECTORS_PER_CLASS = 10, 4
MULTI_CLASS = ("joint", "ovr", "ovo")
#: For each monotone feature its name or index as the user gave it, its index, and +1 or -1.
Constraints = tuple[tuple[Any, int, int], ...]

#: Values of parameters that an estimator does not have. None of them adds anything to a fit.
ABSENT: dict[str, Any] = {
    "kernel": "rbf",
    "views": None,
    "terms": None,
    "multi_class": "joint",
    "basis_penalty": None,
    "selection": None,
    "max_features": None,
    "max_groups": None,
    "feature_groups": None,
    "max_basis": None,
    "start": "auto",
    "n_restarts": 1,
    "warm_start": False,
    "linear_part": False,
    "basis_bounds": None,
    "basis": "free",
    "monotone": (),
    "new": "pairs",
}


@dataclass(frozen=True)
class Spec:
    """Checked parameters of a fit. Numbers that depend on samples are missing.

    Parameters
    ----------
    terms : tuple of Term
        Kernels and features; kernels may still wait for samples.
    loss : Loss
        A copy: changes to the user's loss after the fit must not change predictions.
    asked_loss : object
        The loss as the user gave it, for messages.
    basis_penalties : list of Penalty
        Penalties on the vectors of views that have none of their own.
    weight_penalties : list of Penalty or None
        Penalties on the weights that the user gives; None if the recipe chooses them.
    threads : int
        Number of threads.
    seed : object
        Argument of ``np.random.default_rng``: each use of randomness begins with a generator of its own.

    The other parameters are those of the estimator, as the user gave them; ``monotone`` has indices of features.
    """

    terms: tuple[Term, ...]
    loss: Loss
    asked_loss: Any
    basis_penalties: list[Penalty]
    weight_penalties: list[Any] | None
    threads: int

    multi_class: str
    basis_penalty: Any
    weight_penalty: Any
    selection: str | None
    max_features: int | None
    max_groups: int | None
    feature_groups: Any
    max_basis: int | None
    learn_bandwidth: Any
    linear_part: Any
    basis_bounds: str | None
    basis: str
    monotone: Constraints
    fit_intercept: bool
    scale: Any
    solver: Any
    start: Any
    n_restarts: int
    max_iter: int | None
    tol: float | None
    warm_start: bool
    new: NewPart
    seed: Any

    #: The views of all terms.
    views: list[View] = field(init=False, repr=False)
    #: The kernel, if there is one view without a name on all features; else None.
    kernel: Kernel | None = field(init=False, repr=False)
    #: Whether the strength of the penalty on the weights is "auto".
    has_free_strength: bool = field(init=False, repr=False)
    #: Whether some number of basis vectors is "auto".
    has_free_size: bool = field(init=False, repr=False)
    #: Whether features or numbers of vectors are sought among many models.
    is_searched: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        views = [view for term in self.terms for view in term.views]
        only = len(views) == 1 and views[0].columns is None and not views[0].name
        free = any(isinstance(term.n_basis, str) for term in self.terms)
        known = {"views": views, "kernel": views[0].kernel if only else None, "has_free_size": free}
        known["has_free_strength"] = isinstance(self.weight_penalty, str) and self.weight_penalty == "auto"
        for name, value in {**known, "is_searched": free or self.selection is not None}.items():
            object.__setattr__(self, name, value)

    @staticmethod
    def of(
        params: Mapping[str, Any],
        X: TableLike | None,
        of_classes: bool,
        *,
        several_labels: bool = False,
        n_classes: int = 2,
        tables: Mapping[str, Any] | None = None,
        terms: tuple[Term, ...] | None = None,
    ) -> Spec:
        """Return the checked parameters of an estimator.

        Parameters
        ----------
        params : Mapping
            The parameters of the estimator.
        X : object
            The user's samples, in which columns are found by name.
        of_classes : bool
            Whether targets are classes or labels, and not real numbers.
        several_labels : bool, default=False
            Whether a sample may have any number of labels.
        n_classes : int, default=2
            Number of classes or labels, which the default number of vectors grows with.
        tables : Mapping, default=None
            Names and layouts of the tables, if X is a dict of them.
        terms : tuple of Term, default=None
            Terms of pairs, which have parameters of their own.
        """
        params = {**ABSENT, **params}
        params["monotone"] = params["monotone"] or ()
        if params["n_basis"] is None and of_classes:
            params["n_basis"] = LEAST_VECTORS if params["multi_class"] != "joint" else default_vectors(n_classes)
        _check_settings(params)
        params["seed"], params["threads"] = seed_of(params["random_state"]), n_threads(params["n_jobs"])
        if terms is None:
            terms = asked_terms(params, X, tables)
        asked = params["asked_loss"] = params["loss"]
        if isinstance(asked, str) and asked == "auto":
            asked = (Classes if of_classes else Real).usual_loss
        loss = LOSSES.part(asked, "loss")
        loss = loss.for_labels(several_labels) if of_classes else loss
        _check_loss(loss, asked, of_classes)
        _check_selection(params, terms)
        common = params["basis_penalty"]
        penalties = [] if common is None or isinstance(common, Mapping) else basis_penalties(common)
        on_weights = _weight_penalties(params["weight_penalty"], loss, asked)
        if params["new"] != "pairs" and on_weights is not None:
            raise ValueError(
                f"new={params['new']!r} chooses the strength of the penalty on the weights by folds; got "
                f"weight_penalty={params['weight_penalty']!r} and loss={asked!r}, which leave nothing to choose. Set "
                "new='pairs', or weight_penalty='auto' with a loss that takes a penalty."
            )
        params["fit_intercept"] = bool(params["fit_intercept"])
        params |= {"terms": terms, "loss": loss, "basis_penalties": penalties, "weight_penalties": on_weights}
        return Spec(**{part.name: params[part.name] for part in fields(Spec) if part.init})

    def rng(self) -> np.random.Generator:
        """Return a generator of the seed."""
        return np.random.default_rng(self.seed)


def default_vectors(n_classes: int) -> int:
    """Return the number of basis vectors of a classifier where none is given."""
    return max(LEAST_VECTORS, VECTORS_PER_CLASS * n_classes)


def _check_settings(params: Mapping[str, Any]) -> None:
    check_choice("multi_class", params["multi_class"], MULTI_CLASS)
    check_integer("n_restarts", params["n_restarts"], 1)
    check_choice("fit_intercept", params["fit_intercept"], (True, False))
    check_choice("warm_start", params["warm_start"], (True, False))
    check_choice("scale", params["scale"], (True, False, "common"))
    check_choice("linear_part", params["linear_part"], ("auto", True, False))
    check_choice("basis_bounds", params["basis_bounds"], ("data", None))
    check_choice("basis", params["basis"], ("free", "samples"))
    check_choice("selection", params["selection"], (None, "strict"))
    check_choice("new", params["new"], ("pairs", "left", "right", "both"))
    if not isinstance(params["learn_bandwidth"], Mapping):
        check_choice("learn_bandwidth", params["learn_bandwidth"], ("auto", True, False, "columns"))
    if not isinstance(params["n_basis"], Mapping) and params["n_basis"] != "auto":
        check_integer("n_basis", params["n_basis"], 1)
    for name in ("max_iter", "max_features", "max_groups", "max_basis"):
        if params[name] is not None:
            check_integer(name, params[name], 1)
    if params["tol"] is not None:
        check_real("tol", params["tol"])


def _check_selection(params: Mapping[str, Any], terms: tuple[Term, ...]) -> None:
    """Raise ValueError if the parameters of a selection contradict each other."""
    strict = params["selection"] == "strict"
    penalized = params["basis_penalty"] is not None or any(v.basis_penalty for t in terms for v in t.views)
    if params["basis"] == "samples" and penalized:
        raise ValueError(
            "basis='samples' cannot be combined with a basis_penalty. Set basis_penalty=None, or basis='free'."
        )
    for name in ("max_features", "max_groups", "feature_groups"):
        if params[name] is not None and not strict:
            raise ValueError(f"{name} needs selection='strict'; got selection=None. Set it, or leave {name} out.")
    automatic = any(isinstance(term.n_basis, str) for term in terms)
    total = 0 if automatic else sum(term.n_basis for term in terms)
    if params["max_basis"] is not None and total > params["max_basis"]:
        raise ValueError(f"n_basis must not exceed max_basis={params['max_basis']}; got {total}.")
    if not (strict or automatic):
        return
    what = "selection='strict'" if strict else "n_basis='auto'"
    if params["linear_part"] is True:
        raise ValueError(
            "linear_part=True goes neither with a selection nor with a search for the number of vectors. Set "
            "linear_part=False."
        )
    if params["warm_start"]:
        raise ValueError(f"{what} cannot go on from the last fit. Set warm_start=False.")
    if strict and penalized:
        raise ValueError(
            f"selection='strict' has its own penalty on the features; got basis_penalty={params['basis_penalty']!r}. "
            "Set basis_penalty=None, or selection=None for sparse basis vectors that still read every feature."
        )
    if not isinstance(params["start"], str) or params["start"] != "auto":
        raise ValueError(f"{what} finds its own start; got start={params['start']!r}. Set start='auto'.")


def _check_loss(loss: Loss, asked: str | Loss, of_classes: bool) -> None:
    """Raise ValueError if the loss is not one for the targets."""
    if not of_classes and loss.target == "signs" and not loss.scale_free:
        raise ValueError(
            f"loss={asked!r} is for classes. "
            "Use 'squared', 'huber', 'quantile', 'poisson' or another one for real targets."
        )
    if of_classes and not loss.for_classes:
        raise ValueError(f"loss={asked!r} is for real targets. Use 'log', 'squared_hinge' or another one for classes.")


def _weight_penalties(asked: object, loss: Loss, asked_loss: str | Loss) -> list[Any] | None:
    """Return the penalties on the weights that the user gives; None if the recipe chooses them."""
    if isinstance(asked, str) and asked == "auto":
        return [] if loss.scale_free else None
    penalties = [WEIGHT_PENALTIES.part(penalty, "weight_penalty") for penalty in as_list(asked)]
    for penalty in penalties:
        if "weights" not in penalty.on:
            raise ValueError(
                f"weight_penalty cannot be {penalty!r}: it acts on the {penalty.on[0]}. "
                f"Known names: {', '.join(sorted(WEIGHT_PENALTIES))}."
            )
    if loss.scale_free and penalties:
        raise ValueError(
            f"loss={asked_loss!r} takes no weight_penalty: it is the same for weights c and for c / 2, so that a "
            "penalty on c would only shrink the weights towards zero, at the same predictions, whatever its strength. "
            "Use weight_penalty=None (or 'auto'), or another loss."
        )
    return penalties
