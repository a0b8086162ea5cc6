"""The choice of a solver, by measurement."""

from __future__ import annotations

from spkm.objective import Objective
from spkm.penalties import Evidence
from spkm.solvers._adam import Adam
from spkm.solvers._base import Solver
from spkm.solvers._lbfgs import LBFGS, VarPro
from spkm.solvers._proximal import Proximal

ADAM_FROM = 50_000  # rows
SUBSAMPLE = 20_000  # rows of the first stage where stages grow


def choose_solver(objective: Objective) -> Solver:
    """Return the solver that was quickest, in measurements, for the objective's loss, penalties and size."""
    n = objective.source.n_rows
    if any(isinstance(p, Evidence) for p in objective.weight_penalties):
        return VarPro(first_rows=SUBSAMPLE)
    if n >= ADAM_FROM:
        return Adam()
    if not objective.is_smooth:
        return Proximal()
    if VarPro().refuses(objective) is None:
        return VarPro()
    return LBFGS()
