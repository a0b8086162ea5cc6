"""Small problems for solvers: smooth and rough, with and without the evidence, or convex."""

from copy import copy

import numpy as np

from spkm.core.evidence import EvidenceObjective
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.core.regularization import as_list
from spkm.kernels import RBF
from spkm.losses import Squared
from spkm.sources import ArraySource
from tests import cases

N, D = 80, 4
RNG = np.random.default_rng(0)
X = cases.frozen(RNG.standard_normal((N, D)))
REAL = cases.frozen((np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.standard_normal(N))[:, None])
SIGNS = cases.frozen(np.where(REAL > 0.1, 1.0, -1.0))
FULL_BATCH = {name: s for name, s in cases.SOLVERS.items() if name != "adam"}


def make(
    loss=None,
    kernel=None,
    n_basis=3,
    cls=Objective,
    Y=None,
    metric="fixed",
    fit_intercept=True,
    evidence=None,
    **penalties,
):
    """Return an objective on small rows, that of the evidence if its settings are given, and a first theta."""
    loss = loss or Squared()
    Y = (REAL if loss.target == "real" else SIGNS) if Y is None else Y
    model = PreimageModel([Term(n_basis, (View(kernel or RBF(0.3), None, metric),))], D, Y.shape[1], fit_intercept)
    theta, params = model.zeros()
    params.basis[0][...] = X[:n_basis]
    params.weights[...] = np.where(np.arange(n_basis) % 2, -0.5, 0.5)[:, None]
    source = ArraySource(X, Y)
    if evidence is not None:
        penalty = as_list(penalties.get("basis_penalty"))
        return EvidenceObjective(model, loss, source, penalty, evidence), cases.frozen(theta)
    return cls(model, loss, source, **penalties), cases.frozen(theta)


def run(solver, objective, theta, on_iteration=None):
    """Return what a solver finds, from one seed."""
    return solver.minimize(objective, theta, np.random.default_rng(0), on_iteration)


class FixedBasis(Objective):
    """An objective whose basis does not move: what is left is convex in the weights."""

    def on(self, source):
        other = copy(self)
        other.source = source
        return other

    def value_and_gradient(self, theta):
        value, gradient = super().value_and_gradient(theta)
        gradient[self.model.basis_part] = 0.0
        return value, gradient

    def block_loss(self, block, theta):
        value, gradient = super().block_loss(block, theta)
        gradient[self.model.basis_part] = 0.0
        return value, gradient
