"""What the parameters of an estimator ask for: names become objects here, and only here.

All that needs no data is checked here, too; :mod:`spkm.fitting.problems` adds the numbers that need them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from spkm._checks import check_choice, check_integer, check_real, n_threads, seed_of, warn_user
from spkm._namespaces import Place
from spkm.core.model import Term
from spkm.fitting.recipes.monotone import Constraints, check_monotone
from spkm.fitting.views import asked_terms, basis_penalties
from spkm.losses import LOSSES, Loss
from spkm.penalties import Penalty

# Of a classifier where n_basis is not given; panel: 10 lose 12 points on 11 classes.
LEAST_VECTORS, VECTORS_PER_CLASS = 10, 4
MULTI_CLASS = ("joint", "ovr", "ovo")

#: Parameters that not all estimators have.
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
    "class_weight": None,
    "linear_part": False,
    "basis_bounds": "data",
    "basis": "free",
    "monotone": (),
}


@dataclass(frozen=True)
class Request:
    """What is asked for; only numbers that depend on data are missing.

    Parameters
    ----------
    task : {"classification", "regression"}
        Whether targets are classes or labels, or real numbers.
    terms : tuple of Term
        Kernels and features; kernels may still wait for data.
    loss : Loss
        A copy: what the user does to the loss after the fit must not change predictions.
    asked_loss : object
        The loss as the user gave it, for messages.
    basis_penalties : list of Penalty
        Those of views that have none of their own.
    of_pairs : bool
        Whether samples are pairs of entities.
    threads : int
        Number of threads.
    seed : object
        What ``np.random.default_rng`` takes: each use of randomness begins with a generator of its own.
    by_folds : bool
        Whether folds may choose the strength of the penalty, where that is left to us.
    place : Place or None
        Where passes over the samples are done; None is NumPy.

    The other parameters are those of the estimator, as the user gave them; ``monotone`` with numbers of columns.
    """

    task: str
    terms: tuple[Term, ...]
    loss: Loss
    asked_loss: Any
    basis_penalties: list[Penalty]
    of_pairs: bool
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
    class_weight: Any
    warm_start: bool
    seed: Any
    by_folds: bool = True
    place: Place | None = None

    #: Whether features are selected.
    selects: bool = field(init=False)
    #: Whether numbers of basis vectors are to be found.
    is_automatic: bool = field(init=False)
    #: Whether features or numbers of vectors are sought among many models.
    is_searched: bool = field(init=False)
    #: Whether a kernel looks at counts, which are never negative.
    of_counts: bool = field(init=False)
    #: Whether it is a single stationary kernel on one table, without a search.
    is_plain: bool = field(init=False)
    #: Whether the penalty on the weights is left to us.
    has_free_strength: bool = field(init=False)
    #: Whether the strength of the penalty is chosen by held-out samples.
    is_adaptive: bool = field(init=False)
    #: Whether kernels and loss are formulas of arrays of any library.
    works_anywhere: bool = field(init=False)

    def __post_init__(self) -> None:
        views = [view for term in self.terms for view in term.views]
        selects = self.selection is not None
        automatic = any(isinstance(term.n_basis, str) for term in self.terms)
        only = len(views) == 1 and views[0].columns is None and not views[0].name
        plain = only and views[0].kernel.stationary and not (self.of_pairs or selects or automatic)
        free = isinstance(self.weight_penalty, str) and self.weight_penalty == "auto"
        by_gradient = isinstance(self.solver, str) and self.solver in ("auto", "lbfgs", "adam")
        suits = self.task == "classification" and not self.loss.coupled and not self.loss.is_quadratic
        bound = self.basis_penalties or self.monotone
        adaptive = free and by_gradient and plain and suits and not bound and self.by_folds
        derived = {
            "selects": selects,
            "is_automatic": automatic,
            "is_searched": selects or automatic,
            "of_counts": any(view.kernel.nonnegative for view in views),
            "is_plain": plain,
            "has_free_strength": free,
            "is_adaptive": adaptive,
            "works_anywhere": self.loss.anywhere and all(view.kernel.anywhere for view in views),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, bool(value))

    @staticmethod
    def of(
        params: Mapping[str, Any],
        X: Any,
        task: str,
        *,
        several_labels: bool = False,
        n_classes: int = 2,
        tables: Mapping[str, Any] | None = None,
        terms: tuple[Term, ...] | None = None,
    ) -> Request:
        """Return the request of an estimator's parameters, checked.

        Parameters
        ----------
        params : Mapping
            The parameters of the estimator.
        X : object
            What the user gave, which tells where columns go by name.
        task : {"classification", "regression"}
            As in :class:`Request`.
        several_labels : bool, default=False
            Whether a sample may have any number of labels.
        n_classes : int, default=2
            Number of classes or labels, which a number of vectors that is not given grows with.
        tables : Mapping, default=None
            Names and layouts of the tables, where X is a dict of them.
        terms : tuple of Term, default=None
            Those of pairs, which have parameters of their own.
        """
        params = {**ABSENT, **params}
        params["monotone"] = params["monotone"] or ()
        if params["monotone"] and isinstance(params["solver"], str) and params["solver"] == "auto":
            params["solver"] = "lbfgs"  # it keeps bounds
        if params["n_basis"] is None and task == "classification":
            params["n_basis"] = LEAST_VECTORS if params["multi_class"] != "joint" else default_vectors(n_classes)
        params["seed"] = seed_of(params["random_state"])
        _check_settings(params)
        params["threads"] = n_threads(params["n_jobs"])
        params["of_pairs"] = terms is not None
        if terms is None:
            terms = asked_terms(params, X, tables)
        asked = params["asked_loss"] = params["loss"]
        if isinstance(asked, str) and asked == "auto":
            asked = "log" if task == "classification" else "squared"
        loss = LOSSES.part(asked, "loss").for_labels(several_labels)
        _check_task(loss, asked, task)
        _check_selection(params, terms)
        common = params["basis_penalty"]
        penalties = [] if common is None or isinstance(common, Mapping) else basis_penalties(common)
        params |= {"task": task, "terms": terms, "loss": loss, "basis_penalties": penalties}
        request = Request(**{part.name: params[part.name] for part in fields(Request) if part.name in params})
        if request.monotone:
            check_monotone(request)
        if request.place is not None and not request.works_anywhere:
            tell_of_numpy(request.place, [loss, *(view.kernel for term in terms for view in term.views)])
        return request

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
    if params["warm_start"]:
        raise ValueError(f"{what} cannot go on from the last fit. Set warm_start=False.")
    if strict and penalized:
        raise ValueError(
            f"selection='strict' has its own penalty on the features; got basis_penalty={params['basis_penalty']!r}. "
            "Set basis_penalty=None, or selection=None for sparse basis vectors that still read every feature."
        )
    if not isinstance(params["start"], str) or params["start"] != "auto":
        raise ValueError(f"{what} finds its own start; got start={params['start']!r}. Set start='auto'.")


def _check_task(loss: Loss, asked: Any, task: str) -> None:
    """Raise ValueError if the loss is not one for the task."""
    if task == "regression" and loss.target == "signs" and not loss.scale_free:
        raise ValueError(
            f"loss={asked!r} is for classes. "
            "Use 'squared', 'huber', 'quantile', 'poisson' or another one for real targets."
        )
    if task == "classification" and not loss.for_classes:
        raise ValueError(f"loss={asked!r} is for real targets. Use 'log', 'squared_hinge' or another one for classes.")


def tell_of_numpy(place: Place, parts: Iterable[Any]) -> None:
    """Warn that what is asked of an array of another library is done by NumPy, because of some parts."""
    library = place.xp.__name__.split(".")[-1]
    names = sorted({type(part).__name__ for part in parts if not part.anywhere})
    warn_user(
        f"X is an array of {library}, but {' and '.join(names)} works with NumPy's arrays alone: the work is done by "
        "NumPy, on a copy in the processor's memory. Give X as a NumPy array, or set anywhere = True in the class if "
        "its formulas are those of any library.",
        UserWarning,
    )
