"""Solvers and their names."""

from spkm.solvers._adam import Adam, AdamState
from spkm.solvers._alternating import Alternating
from spkm.solvers._auto import SOLVERS, choose_solver, resolve_solver, with_settings
from spkm.solvers._base import Monitor, Result, Solver, Stop, best_of_restarts, projected_norm
from spkm.solvers._descent import descend, known_routine
from spkm.solvers._lbfgs import LBFGS, VarPro
from spkm.solvers._proximal import Proximal, proximal_descent

__all__ = [
    "LBFGS",
    "SOLVERS",
    "Adam",
    "AdamState",
    "Alternating",
    "Monitor",
    "Proximal",
    "Result",
    "Solver",
    "Stop",
    "VarPro",
    "best_of_restarts",
    "choose_solver",
    "descend",
    "known_routine",
    "projected_norm",
    "proximal_descent",
    "resolve_solver",
    "with_settings",
]
