"""Quasi-Newton steps by SciPy: on all parameters, or with the weights of a squared loss eliminated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

from spkm._parts import COUNT, OPTIONAL_COUNT, Number
from spkm.core.bounds import Box
from spkm.core.evidence import AnyObjective
from spkm.core.profiled import ProfiledObjective
from spkm.solvers._base import Composite, OnIteration, Result, Solver, found_state, note_end
from spkm.solvers._descent import descend
from spkm.sources import Source

FINE = 3e-4  # tolerance of a stage of few samples, which costs little: the default of VarPro
FIRST_ITERATIONS = 50  # of a first stage that an objective wants
# Iterations of each of its last stages, which begin near their minimum. With 60, fits take 1.2 times as long; squared
# errors are the same (halves A and B of the panel, 200 and 600 training samples).
LAST_ITERATIONS = 20
# By which the value of a simpler model may exceed the lowest. Medians over halves A, B of the panel: with 0.06 and not
# 0.03 cancellation falls from 12.8 to 8.5 and from 16.6 to 12.3, with 0.1 and not 0.06 (other splits) from 6.5 to 4.6
# and from 12.1 to 7.9; R² changes by +0.1, -0.05 and by +0.05, +0.45 points on average.
AS_GOOD = 0.1


class LBFGS(Solver):
    """L-BFGS on all parameters at once; for smooth penalties.

    Parameters
    ----------
    max_iter : int, default=500
        Most iterations.
    tol : float, default=1e-3
        Stop when the objective falls by less than this share over ten iterations.
    first_rows : int, default=None
        Samples of a first subsample; it grows tenfold from stage to stage until it holds all samples. None starts with
        all.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> SPKMClassifier(3, solver=LBFGS(max_iter=100), random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    needs = ("gradient",)
    numbers = {"max_iter": COUNT, "tol": Number(), "first_rows": OPTIONAL_COUNT}

    def __init__(self, max_iter: int = 500, tol: float = 1e-3, first_rows: int | None = None) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.first_rows = first_rows

    def minimize(
        self,
        objective: AnyObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        on_iteration: OnIteration | None = None,
    ) -> Result:
        theta, first = resumed_at(on_iteration, theta)
        for k, source in enumerate(stages(objective.source, self.first_rows, rng)):
            if k < first:
                continue
            function = objective.on(source).value_and_gradient
            result = descend(function, theta, self.max_iter, self.tol, on_iteration, objective.box, k)
            theta = result.theta
            if result.interrupted:
                if source is not objective.source:
                    note_end(cast(Composite, objective), result)  # not of a subsample
                break
        return result


class VarPro(Solver):
    """Variable projection: the weights of a squared loss are eliminated, L-BFGS moves the basis; then a joint polish.

    With :class:`~spkm.penalties.Evidence` it is the evidence that is minimised, and there is no polish.

    Parameters
    ----------
    max_iter : int, default=1000
        Most iterations.
    tol : float, default=3e-4
        As for :class:`LBFGS`.
    basis_rows : int, default=None
        Samples that the basis is learned from, drawn at random if there are more; the weights are solved for on all
        samples. None takes all.
    polish : int, default=10
        Joint iterations on all parameters at the end.
    first_rows : int, default=None
        As for :class:`LBFGS`, but never to a rougher tolerance than ``FINE`` before the last stage. It is more than a
        matter of time: the evidence of few samples leads to better vectors than that of many, as its trace term is
        larger.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spkm import SPKMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> SPKMRegressor(5, solver=VarPro(max_iter=100), random_state=0).fit(X, y).score(X, y) > 0.4
    True
    """

    needs = ("elimination",)
    first_weights = "none"
    numbers = {
        "max_iter": COUNT,
        "tol": Number(),
        "basis_rows": OPTIONAL_COUNT,
        "polish": Number(0, integer=True),
        "first_rows": OPTIONAL_COUNT,
    }

    def __init__(
        self,
        max_iter: int = 1000,
        tol: float = 3e-4,
        basis_rows: int | None = None,
        polish: int = 10,
        first_rows: int | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.basis_rows = basis_rows
        self.first_rows = first_rows
        self.polish = polish

    def minimize(
        self,
        objective: AnyObjective,
        theta: np.ndarray,
        rng: np.random.Generator,
        on_iteration: OnIteration | None = None,
    ) -> Result:
        source = objective.source
        rows = source.n_rows if self.basis_rows is None else self.basis_rows
        partial = rows < source.n_rows
        if partial:
            source = source.sample(rows, rng)
        whole: ProfiledObjective = objective.eliminated()
        fresh = whole.start(theta)
        phi, begin = resumed_at(on_iteration, fresh)
        box = whole.bounds(objective.box)
        for k, stage in enumerate(stages(source, self.first_rows, rng)):
            if k < begin:
                continue
            profiled: ProfiledObjective = objective.on(stage).eliminated()
            first = profiled.first_stage() if k == 0 and phi is fresh else None
            if first is not None:
                result = descend(first.value_and_gradient, phi, FIRST_ITERATIONS, self.tol, None, box)
                phi = result.theta
                if result.interrupted:
                    result.value = profiled.value(phi)
                    break
            elif not np.isfinite(profiled.value(phi)):
                # A noise that was learned on few samples without any may be too small for the rounding of more.
                learned = objective.model.basis_part.stop
                phi = profiled.with_enough_noise(np.append(phi[:learned], whole.start(theta)[learned:]))
            tol = self.tol if stage is source else min(self.tol, FINE)
            result = descend(profiled.value_and_gradient, phi, self.max_iter, tol, on_iteration, box, k)
            phi = result.theta
            if result.interrupted:
                break
        else:
            result, profiled = self._simplified(profiled, result, box)
        phi = result.theta
        if "gradient" not in objective.offers:
            whole = whole.with_ridge_of(profiled)
        result.theta = whole.complete(phi)
        if "gradient" not in objective.offers:  # the evidence has no joint form to polish, but its noise was learned
            result.noise, result.ridge = whole.noise(phi), whole.diagonal
            result.linear_variance = whole.linear_variance(phi)
            return result
        if partial:
            note_end(cast(Composite, objective), result)  # not of the subsample; it offers a gradient
            return result
        if not self.polish or result.interrupted:
            return result
        polished = descend(objective.value_and_gradient, result.theta, self.polish, self.tol, None, objective.box)
        polished.trace = result.trace + polished.trace[1:]
        polished.n_iter, polished.converged = result.n_iter, result.converged
        return polished

    def _simplified(
        self, profiled: ProfiledObjective, result: Result, box: Box | None
    ) -> tuple[Result, ProfiledObjective]:
        """Return the result of the last of the objective's last stages whose value is as good as the lowest.

        Its trace is that of the stage: values of several ridges are not comparable. A descent that has not converged
        is left where it is.
        """
        lowest = result.value
        for simpler in profiled.last_stages() if result.converged else []:
            tried = descend(simpler.value_and_gradient, result.theta, LAST_ITERATIONS, self.tol, None, box)
            if tried.interrupted:
                result.interrupted, result.by_signal = True, tried.by_signal
                break
            if not tried.value <= lowest + AS_GOOD:
                break
            lowest = min(lowest, tried.value)
            tried.n_iter, tried.converged = result.n_iter, True
            result, profiled = tried, simpler
        return result, profiled


def stages(source: Source, first_rows: int | None, rng: np.random.Generator) -> Iterator[Source]:
    """Yield random samples, each ten times the one before and holding it, and at last the source itself."""
    sizes = [first_rows or source.n_rows]
    while sizes[-1] < source.n_rows:
        sizes.append(10 * sizes[-1])
    yield from source.samples(sizes, rng)


def resumed_at(on_iteration: OnIteration | None, fresh: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the point and the stage at which an earlier fit was left, or ``fresh`` and 0."""
    found = found_state(on_iteration)
    return (fresh, 0) if found is None else (found["theta"], int(found["stage"]))
