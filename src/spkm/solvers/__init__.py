"""Solvers and their names."""

from spkm._registry import Registry
from spkm.solvers._adam import Adam
from spkm.solvers._alternating import Alternating
from spkm.solvers._auto import choose_solver
from spkm.solvers._base import Result, Solver
from spkm.solvers._lbfgs import LBFGS, VarPro
from spkm.solvers._proximal import Proximal, proximal_descent

SOLVERS = Registry("solver", Solver)
SOLVERS.update(lbfgs=LBFGS, varpro=VarPro, proximal=Proximal, adam=Adam, alternating=Alternating)

__all__ = [
    "LBFGS",
    "SOLVERS",
    "Adam",
    "Alternating",
    "Proximal",
    "Result",
    "Solver",
    "VarPro",
    "choose_solver",
    "proximal_descent",
]
