"""Checks of the parameters of an estimator that need no data: what each must be, and what contradicts what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spkm._checks import check_choice, check_integer, check_real
from spkm.losses import Loss
from spkm.model import Term

MULTI_CLASS = ("joint", "ovr", "ovo")


def check_settings(params: Mapping[str, Any]) -> None:
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
    for name in ("max_iter", "max_features", "max_basis"):
        if params[name] is not None:
            check_integer(name, params[name], 1)
    if params["tol"] is not None:
        check_real("tol", params["tol"])


def check_selection(params: Mapping[str, Any], terms: tuple[Term, ...]) -> None:
    """Raise ValueError if the parameters of a selection contradict each other."""
    strict = params["selection"] == "strict"
    penalized = params["basis_penalty"] is not None or any(v.basis_penalty for t in terms for v in t.views)
    if params["basis"] == "samples" and penalized:
        raise ValueError(
            "basis='samples' goes with no basis_penalty: samples are what they are. Set basis_penalty=None, or "
            "basis='free'."
        )
    for name in ("max_features", "feature_groups"):
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


def check_task(loss: Loss, asked: Any, task: str) -> None:
    """Raise ValueError if the loss is not one for the task."""
    if task == "regression" and loss.target == "signs" and not loss.scale_free:
        raise ValueError(
            f"loss={asked!r} is for classes. "
            "Use 'squared', 'huber', 'quantile', 'poisson' or another one for real targets."
        )
    if task == "classification" and not loss.for_classes:
        raise ValueError(f"loss={asked!r} is for real targets. Use 'log', 'squared_hinge' or another one for classes.")
