"""The choice of a solver, by measurement: ``python -m benchmarks crossover large`` shows what is behind it."""

from __future__ import annotations

from spkm.losses import Squared
from spkm.objective import Objective
from spkm.penalties import Evidence
from spkm.solvers._adam import Adam
from spkm.solvers._base import Solver
from spkm.solvers._lbfgs import LBFGS, VarPro
from spkm.solvers._proximal import Proximal

ADAM_FROM = 50_000  # rows
ADAM_FROM_CLASSES = 5_000  # rows, for more than two classes
BASIS_ROWS = 20_000  # rows that learn the basis under a squared loss; the weights see all rows
FIRST_ROWS = 1_000  # rows of a first stage under the evidence, where there are at least three times as many
ROUGH = 5e-3  # tolerance beyond that many rows: to learn a subsample by heart does not pay


def choose_solver(objective: Objective) -> Solver:
    """Return the solver that was quickest, in measurements, for the objective's loss, penalties and size."""
    n, model = objective.source.n_rows, objective.model
    evidence = any(isinstance(p, Evidence) for p in objective.weight_penalties)
    varpro = VarPro(
        tol=VarPro().tol if n <= BASIS_ROWS else ROUGH,
        basis_rows=BASIS_ROWS,
        first_rows=FIRST_ROWS if evidence and n >= 3 * FIRST_ROWS else None,
    )
    if evidence or varpro.refuses(objective) is None:
        return varpro
    many_classes = model.n_outputs > 1 and not isinstance(objective.loss, Squared)
    if n >= ADAM_FROM or (many_classes and objective.is_smooth and (n >= ADAM_FROM_CLASSES or model.n_features > 100)):
        return Adam()
    return LBFGS() if objective.is_smooth else Proximal()
