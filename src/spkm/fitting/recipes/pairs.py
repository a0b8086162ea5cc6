"""Pairs of entities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from spkm._checks import warn_user
from spkm.core.evidence import AnyObjective
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.core.targets import Target
from spkm.fitting.problems import LINEAR_STRENGTH, Defaults
from spkm.fitting.progress import Progress
from spkm.fitting.recipe import Fit, Recipe, Start
from spkm.fitting.spec import Spec
from spkm.kernels import Linear
from spkm.penalties import SquaredL2
from spkm.solvers import LBFGS, Result, best_of_restarts, choose_solver, with_settings
from spkm.sources import Scaling, Source

# Tolerance at most, also for many pairs. Davis, 20 vectors, four seeds: R² .551 to .569 with 5e-3, as for tables of
# that size, .571 to .588 with 2e-3, .581 to .599 with 1e-3 (1.8 times the time), .591 to .600 with 3e-4 (2.6 times).
LARGEST_TOL = 1e-3
LINEAR_ITERATIONS = 30  # of the linear model that a fit is compared with
# Least gain of a fit over the best constant, as a share of that of the linear model. Davis: fits that stayed on a
# plateau had 0.4 to 0.5, a single pair of vectors has 0.94, 20 have 1.9.
LEAST_GAIN = 0.8


class Pairs(Recipe):
    """Pairs share entities, so they are not independent samples: neither the evidence nor folds choose a strength.

    A product of two kernels hardly varies if either of them does not, and a descent that begins there may end there. A
    linear model of both entities has no such trouble: a fit that gains much less on its own samples starts once more,
    and warns if that does not help.

    **Defaults.** One learned bandwidth for each stationary kernel, starting at the mean distance of entities. Free
    basis vectors, but for those of kernels of counts: bounded ones fit Davis worse, R² .13 to .56 in six seeds against
    .55 to .58 in ten. No linear part. The RKHS norm with the strength of the loss, over the number of pairs. A
    tolerance of at most 0.001.
    """

    name = "pairs"

    def defaults(self, spec: Spec, source: Source) -> Defaults:
        return Defaults(bounds_counts=True)

    def begin(self, spec: Spec, source: Source, scaling: Scaling | None, target: Target) -> Start:
        start = super().begin(spec, source, scaling, target)
        solver = choose_solver(start.problem.objective(source))
        tol = min(solver.get_params().get("tol", LARGEST_TOL), LARGEST_TOL)
        return replace(start, solver=with_settings(solver, {"tol": tol}))

    def refine(self, spec: Spec, fit: Fit, progress: Progress) -> Fit:
        objective, best = fit.objective, fit.result
        if best.interrupted or not best.converged or objective.loss.scale_free:
            return fit
        constant, linear = plain_losses(objective)
        limit = constant - LEAST_GAIN * (constant - linear)
        if loss_of(objective, best) <= limit:
            return fit
        other = spec.rng().spawn(spec.n_restarts + 1)[-1:]  # a generator that no start has had
        tried = best_of_restarts(objective, fit.solver, "auto", other, progress)
        best = tried if tried.value < best.value else best
        best.interrupted, best.by_signal = tried.interrupted, tried.by_signal
        found = loss_of(objective, best)
        if not best.interrupted and found > limit:
            warn_user(
                f"The fit has hardly begun, from {spec.n_restarts + 1} starts: on its own pairs its loss is "
                f"{found:.4g}, that of a linear model {linear:.4g}, that of a constant {constant:.4g}. Raise n_basis "
                "or n_restarts, or lower the strengths of the penalties.",
                ConvergenceWarning,
            )
        return replace(fit, result=best)


def loss_of(objective: AnyObjective, result: Result) -> float:
    """Return the loss without penalties; one pass."""
    return float(objective.loss.value(objective.totals(result.theta)))


def plain_losses(objective: AnyObjective) -> tuple[float, float]:
    """Return the losses of the best constant, and of a linear model with a penalty as that of a linear part."""
    model, source = objective.model, objective.source
    m, n_features = model.n_outputs, model.n_features
    sides = sorted({tuple(view.columns) for _, view in model.views})
    terms = [Term(m, (View(Linear(gamma=1.0), np.array(columns), "fixed"),)) for columns in sides]
    plain = PreimageModel(terms, n_features, m, model.fit_intercept)
    theta, params = plain.zeros()
    params.weights[...] = np.tile(np.eye(m), (len(terms), 1))
    penalty = SquaredL2(LINEAR_STRENGTH * n_features / source.total_weight)
    losses = []
    for reach in (0.0, np.inf):  # of the coefficients
        box = theta - reach, theta + reach
        for bound, side in zip(box, (-np.inf, np.inf), strict=True):
            parts = plain.unpack(bound)
            parts.weights[...] = params.weights  # free ones would take the place of penalised coefficients
            parts.intercept[...] = side if model.fit_intercept else 0.0
        problem = Objective(plain, objective.loss, source, penalty, box=box)
        losses.append(loss_of(problem, LBFGS(LINEAR_ITERATIONS).minimize(problem, theta, np.random.default_rng(0))))
    return losses[0], losses[1]
