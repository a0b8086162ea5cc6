"""Names and "auto" become objects here, and only here."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from spkm._checks import check_real
from spkm.kernels import Kernel
from spkm.losses import LOSSES, Loss, Squared
from spkm.model import PreimageModel
from spkm.objective import Objective, as_list, is_smooth
from spkm.penalties import BASIS_PENALTIES, WEIGHT_PENALTIES, Evidence, Penalty, RKHSNorm
from spkm.solvers import SOLVERS, Solver, VarPro, choose_solver
from spkm.starts import STARTS, Given, KMeans, Start


def resolve_loss(loss: Any, task: str) -> Loss:
    """Return the loss; "auto" is "log" for classes and "squared" for real targets."""
    if isinstance(loss, str) and loss == "auto":
        loss = "log" if task == "classification" else "squared"
    resolved = LOSSES.resolve(loss)
    if task == "regression" and resolved.target == "signs" and not resolved.scale_free:
        raise ValueError(f"loss={loss!r} is for classes. Use 'squared', 'huber', 'quantile', 'poisson' or another one for real targets.")
    if task == "classification" and not resolved.standardize_target:
        raise ValueError(f"loss={loss!r} is for counts. Use 'log', 'squared_hinge' or another one for classes.")
    return resolved


def resolve_penalties(estimator: Any, loss: Loss, kernel: Kernel, n: float) -> tuple[list[Penalty], list[Penalty]]:
    """Return the penalties on basis and weights, with numbers for strengths that depend on the loss and the n rows."""
    basis = [_penalty(BASIS_PENALTIES, p, "basis", "basis_penalty") for p in as_list(estimator.basis_penalty)]
    if not (isinstance(estimator.weight_penalty, str) and estimator.weight_penalty == "auto"):
        weights = [_penalty(WEIGHT_PENALTIES, p, "weights", "weight_penalty") for p in as_list(estimator.weight_penalty)]
        if loss.scale_free and weights:
            raise ValueError(
                f"loss={estimator.loss!r} ignores the length of the weights, so a penalty would only shrink them to nothing. "
                "Use weight_penalty=None (or 'auto'), or another loss."
            )
    elif loss.scale_free:
        weights = []
    elif isinstance(loss, Squared) and _evidence_fits(estimator, kernel, basis):
        weights = [Evidence()]
    else:
        weights = [RKHSNorm()]
    for i, penalty in enumerate(weights):
        if isinstance(penalty, RKHSNorm):
            if isinstance(penalty.strength, str):
                if penalty.strength != "auto":
                    raise ValueError(f"strength of RKHSNorm must be a number or 'auto'; got {penalty.strength!r}.")
                weights[i] = RKHSNorm(loss.rkhs_strength / n)
        if isinstance(penalty, Evidence) and not isinstance(loss, Squared):
            raise ValueError(f"weight_penalty='evidence' needs loss='squared'; got loss={estimator.loss!r}. Use weight_penalty='rkhs'.")
        if isinstance(penalty, Evidence) and kernel.shifted:
            raise ValueError("weight_penalty='evidence' needs a kernel without a shift (2k-1). Use weight_penalty='rkhs'.")
    return basis, weights


def _evidence_fits(estimator: Any, kernel: Kernel, basis: list[Penalty]) -> bool:
    solver = estimator.solver
    solver_fits = isinstance(solver, VarPro) or (isinstance(solver, str) and solver in ("auto", "varpro"))
    kernel_fits = not kernel.shifted and (kernel.stationary or estimator.learn_bandwidth in ("auto", False))
    return estimator._task == "regression" and solver_fits and kernel_fits and all(is_smooth(p) for p in basis)


def _penalty(registry: Any, value: Any, part: str, argument: str) -> Penalty:
    penalty = registry.resolve(value, argument)
    if part not in penalty.on:
        raise ValueError(f"{argument} cannot be {penalty!r}: it acts on the {penalty.on[0]}. Known names: {', '.join(sorted(registry))}.")
    for name in ("strength", "radius"):
        number = getattr(penalty, name, 0.0)
        if not isinstance(number, str):
            check_real(f"{name} of {argument}", number)
    return penalty


def resolve_solver(solver: Any, max_iter: int | None, tol: float | None, objective: Objective) -> Solver:
    """Return the solver, with the estimator's ``max_iter`` and ``tol`` if it was given by name; an error if it cannot do the job."""
    by_name = isinstance(solver, str)
    chosen = choose_solver(objective) if by_name and solver == "auto" else SOLVERS.resolve(solver)
    if by_name:
        known = chosen.get_params()
        settings = {"max_iter": max_iter, "tol": tol}
        chosen = clone(chosen).set_params(**{k: v for k, v in settings.items() if v is not None and k in known})
    reason = chosen.refuses(objective)
    if reason is not None:
        raise ValueError(f"{type(chosen).__name__} cannot minimise this objective: {reason}")
    return chosen


def resolve_start(start: Any, model: PreimageModel, scaling: Any) -> Start:
    """Return the start rule; arrays are in the user's units."""
    if isinstance(start, str) and start == "auto":
        return KMeans()
    if isinstance(start, str | Start) or isinstance(start, type):
        return STARTS.resolve(start)
    basis = np.asarray(start, dtype=np.float64)
    if basis.shape != (model.n_basis, model.n_features) or not np.all(np.isfinite(basis)):
        raise ValueError(
            f"start must be a name, a Start or a finite array of shape (n_basis, n_features) = {(model.n_basis, model.n_features)}; "
            f"got shape {basis.shape}."
        )
    return Given(basis if scaling is None else scaling.forward_points(basis))
