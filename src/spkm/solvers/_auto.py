"""The choice of a solver, by measurement: ``python -m benchmarks crossover large`` shows what is behind it."""

from __future__ import annotations

from typing import Any

from spkm._parts import Registry
from spkm.core.evidence import AnyObjective
from spkm.solvers._adam import Adam
from spkm.solvers._alternating import Alternating
from spkm.solvers._base import Solver
from spkm.solvers._lbfgs import LBFGS, VarPro
from spkm.solvers._proximal import Proximal

SOLVERS = Registry("solver", Solver)
SOLVERS.update(lbfgs=LBFGS, varpro=VarPro, proximal=Proximal, adam=Adam, alternating=Alternating)

# All from `python -m benchmarks crossover`: seconds to the same objective of each solver by samples, features, vectors.
ADAM_FROM = 50_000  # samples
ADAM_FROM_CLASSES = 5_000  # samples, for more than two classes
ADAM_FROM_FEATURES = 100  # features, for more than two classes
BASIS_ROWS = 20_000  # samples that learn the basis under a squared loss; the weights see all samples
# Samples of a first stage under the evidence, where there are at least three times as many. Error over that of all
# samples at once, inverse dynamics: 1.0 of 3,000 samples (3 draws), 0.9 of 6,000 (7), 0.4 of 12,000 (3), in equal time.
FIRST_ROWS = 1_000
ROUGH = 5e-3  # tolerance beyond BASIS_ROWS: a subsample is not worth overfitting


def choose_solver(objective: AnyObjective) -> Solver:
    """Return the solver that was quickest, in measurements, for the objective's loss, penalties and size."""
    n, model = objective.source.n_rows, objective.model
    if "elimination" in objective.offers:
        only_elimination = "gradient" not in objective.offers
        return VarPro(
            tol=VarPro().tol if n <= BASIS_ROWS else ROUGH,
            basis_rows=BASIS_ROWS,
            first_rows=FIRST_ROWS if only_elimination and n >= 3 * FIRST_ROWS else None,
        )
    many_classes = model.n_outputs > 1 and not objective.loss.is_quadratic and objective.is_smooth
    if n >= ADAM_FROM or (many_classes and (n >= ADAM_FROM_CLASSES or model.n_features > ADAM_FROM_FEATURES)):
        return Adam()
    return LBFGS() if objective.is_smooth else Proximal()


def resolve_solver(
    solver: str | Solver,
    max_iter: int | None,
    tol: float | None,
    objective: AnyObjective,
    usual: Solver | None = None,
) -> Solver:
    """Return a solver, by name with ``max_iter`` and ``tol`` where they are given; an error if it cannot do the job.

    "auto" is the ``usual`` solver, or the choice for the objective.
    """
    by_name = isinstance(solver, str)
    automatic = by_name and solver == "auto"
    chosen = (usual or choose_solver(objective)) if automatic else SOLVERS.part(solver, "solver")
    given = {name: value for name, value in (("max_iter", max_iter), ("tol", tol)) if value is not None}
    if by_name and given:
        with_settings(chosen, given)
    reason = None if automatic else chosen.refuses(objective)
    if reason is not None:
        raise ValueError(f"{type(chosen).__name__} cannot minimise this objective: {reason}")
    return chosen


def with_settings(solver: Solver, settings: dict[str, Any]) -> Solver:
    """Return the solver with those of the settings that it has."""
    known = solver.get_params()
    solver.set_params(**{name: value for name, value in settings.items() if name in known})
    return solver
