"""Mini-batch steps, for many samples or many classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from spkm._parts import OPTIONAL_COUNT, Number
from spkm.core.model import LINEAR_PART
from spkm.core.objective import Objective
from spkm.solvers._base import OnIteration, Result, Solver, found_state, keep_state, note_end, part_steps
from spkm.solvers._proximal import proximal_descent
from spkm.sources import MANY_ROWS, Block

BETA_1, BETA_2, EPSILON = 0.9, 0.99, 1e-8  # Kingma and Ba 2015, but for BETA_2 (0.999 there): runs are short
WARM_UP = 0.05  # share of the steps over which rates rise to their height; from there they fall to zero as a cosine
PENALTY_EVERY = 8  # steps; penalties change slowly, and k(U, U) costs as much as a small batch
RATE_ROWS = 1000  # samples whose deviations set the rates
COEFFICIENT_RATE = 0.01  # height of the rates of a linear part's coefficients, for standardised features
REPORTS = 50  # how often progress is reported
POLISH = 50  # proximal steps on all samples at the end, where a penalty has no gradient
SPLIT_FROM = 2e7  # multiplications in a step from which its batch is cut in two, for two threads; measured


@dataclass
class AdamState:
    """State of a stochastic descent: theta in single precision, moments of its gradients, rates and steps made."""

    theta: np.ndarray
    slow: np.ndarray
    fast: np.ndarray
    rates: np.ndarray
    step: int = 0

    @staticmethod
    def at(theta: np.ndarray, rates: np.ndarray) -> AdamState:
        """Return the beginning of a descent from ``theta``."""
        theta = theta.astype(np.float32)
        return AdamState(theta, np.zeros_like(theta), np.zeros_like(theta), rates)

    def move(self, objective: Objective, gradient: np.ndarray, height: float) -> bool:
        """Make one step of the given share of the rates; a wild gradient is left out, and False comes back."""
        squares = gradient * gradient
        if not np.all(np.isfinite(squares)):
            return False
        self.slow += (1 - BETA_1) * (gradient - self.slow)
        self.fast += (1 - BETA_2) * (squares - self.fast)
        lengths = np.float32(height) / np.float32(1 - BETA_1**self.step) * self.rates
        theta = self.theta - lengths * self.slow / (np.sqrt(self.fast / np.float32(1 - BETA_2**self.step)) + EPSILON)
        rough = not objective.is_smooth
        self.theta = objective.prox(theta, np.float32(height) * self.rates) if rough else objective.inside(theta)
        return True

    def kept(self, rest: dict[str, Any]) -> dict[str, Any]:
        """Return what a later fit needs to go on from here, to the bit: this state, and the rest."""
        return {"theta": self.theta, "slow": self.slow, "fast": self.fast, "step": self.step, **rest}


class Adam(Solver):
    """Adam on mini-batches, with a prox after each step where a penalty needs one; float32 inside.

    The rates suit standardised features and targets. With squared loss and a quadratic penalty the weights are solved
    for exactly at the end.

    Parameters
    ----------
    max_iter : int, default=None
        Passes over the samples; None is what makes 4,000 to 5,000 steps, or for many samples 2,000 steps but at least
        one pass.
    batch_size : int, default=None
        Samples in a step; None is 32 to 256, and 512 for many samples.
    basis_rate, weight_rate, metric_rate : float, default=0.05, 0.5 and 0.07
        Heights of the rates: of U in units of the mean distance of samples over sqrt(d), of C and b, and of the log
        bandwidth.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> SPKMClassifier(3, solver=Adam(max_iter=30), random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    needs = ("batches",)
    numbers = {
        "max_iter": OPTIONAL_COUNT,
        "batch_size": OPTIONAL_COUNT,
        "basis_rate": Number(),
        "weight_rate": Number(),
        "metric_rate": Number(),
    }

    def __init__(
        self,
        max_iter: int | None = None,
        batch_size: int | None = None,
        basis_rate: float = 0.05,
        weight_rate: float = 0.5,
        metric_rate: float = 0.07,
    ) -> None:
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.basis_rate = basis_rate
        self.weight_rate = weight_rate
        self.metric_rate = metric_rate

    def schedule(self, n_rows: int) -> tuple[int, int]:
        """Return the batch size and the number of steps."""
        many = n_rows >= MANY_ROWS
        batch = min(self.batch_size or (512 if many else int(np.clip(n_rows // 8, 32, 256))), n_rows)
        if self.max_iter is not None:
            return batch, max(1, int(self.max_iter * n_rows / batch))
        if many:
            return batch, max(2000, n_rows // batch)
        return batch, int(np.clip(20 * n_rows / batch, 4000, 5000))

    def minimize(
        self, objective: Objective, theta: np.ndarray, rng: np.random.Generator, on_iteration: OnIteration | None = None
    ) -> Result:
        source = objective.source
        batch, n_steps = self.schedule(source.n_rows)
        rates = self.rates(objective, rng)
        state = AdamState.at(theta, rates)
        trace: list[float] = []
        running, interrupted, by_signal, step = 0.0, False, False, 0
        found = found_state(on_iteration)
        if found is not None:
            state = AdamState(found["theta"], found["slow"], found["fast"], rates, int(found["step"]))
            trace, running, made = found["trace"].tolist(), float(found["running"]), state.step
            penalty, d_penalty = float(found["penalty"]), found["d_penalty"]
        else:
            made = 0
            penalty, d_penalty = objective.smooth_penalty(theta)
        # Batches come in the order in which they would have come: those that were used are passed over.
        batches = islice(source.batches(batch, n_steps, rng, np.float32), made, None)
        try:
            for step, block in enumerate(batches, start=made + 1):
                value, gradient = self._loss(objective, block, state.theta)
                if step % PENALTY_EVERY == 0:
                    penalty, d_penalty = objective.smooth_penalty(state.theta.astype(np.float64))
                state.step = step
                if not state.move(objective, gradient + d_penalty.astype(np.float32), _height(step / n_steps)):
                    continue
                running += (value + penalty - running) * max(1 / step, 0.02)
                if step % max(1, n_steps // REPORTS) == 0:
                    trace.append(running)
                    rest = {"trace": trace, "running": running, "penalty": penalty, "d_penalty": d_penalty}
                    keep_state(on_iteration, partial(state.kept, rest))
                    if on_iteration is not None and on_iteration(len(trace), running):
                        interrupted = True
                        break
        except KeyboardInterrupt:
            interrupted = by_signal = True
        n_passes = max(1, round(step * batch / source.n_rows))
        result = self._finished(objective, state.theta.astype(np.float64), n_passes, interrupted, trace)
        result.by_signal = result.by_signal or by_signal
        return result

    @staticmethod
    def _finished(
        objective: Objective, theta: np.ndarray, n_passes: int, interrupted: bool, trace: list[float]
    ) -> Result:
        if objective.can_eliminate:
            theta = objective.eliminated().complete(theta[objective.model.basis_part])
        theta = objective.inside(theta)  # single precision rounds across the bounds
        if not objective.is_smooth and not interrupted:
            # Noise keeps small entries from settling at zero; steps on all samples let them.
            polished = proximal_descent(objective, theta, POLISH, 0.0)
            return replace(polished, n_iter=n_passes, converged=True, trace=trace)
        result = Result(theta, np.nan, n_passes, not interrupted, interrupted, trace=trace)
        note_end(objective, result)
        return result

    def rates(self, objective: Objective, rng: np.random.Generator) -> np.ndarray:
        """Return the heights of the rates, one for each entry of theta."""
        source, model = objective.source, objective.model
        X = source.sample(RATE_ROWS, rng).dense()
        steps = []
        for _, view in model.views:
            columns = X if view.columns is None else X[:, view.columns]
            deviation = np.sqrt(columns.var(axis=0).mean())
            # The mean distance of samples over sqrt(d) is near sqrt(2) times the typical deviation of a feature. A
            # coefficient of a linear part has the units of one over a feature; samples that are all the same have none.
            of_vectors = self.basis_rate * np.sqrt(2.0) * deviation
            of_coefficients = COEFFICIENT_RATE / max(deviation, 1.0)
            steps += [of_coefficients if view.name == LINEAR_PART else of_vectors, self.metric_rate]
        steps += [self.weight_rate, self.weight_rate]
        return part_steps(objective, steps).astype(np.float32)

    @staticmethod
    def _loss(objective: Objective, block: Block, theta: np.ndarray) -> tuple[float, np.ndarray]:
        n, work = block.X.shape[0], block.X.shape[0] * block.X.shape[1] * objective.model.n_basis
        if work < SPLIT_FROM or objective.loss.coupled or block.place is not None:
            return objective.block_loss(block, theta)
        halves = [slice(0, n // 2), slice(n // 2, n)]
        parts = list(objective.source.each(lambda h: objective.block_loss(_part(block, h), theta), halves))
        return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]


def _part(block: Block, rows: slice) -> Block:
    return block._replace(X=block.X[rows], Y=block.Y[rows], w=block.w[rows], cache={})


def _height(share: float) -> float:
    """Return the height of the rates after a share of the steps."""
    if share < WARM_UP:
        return share / WARM_UP
    return 0.5 * (1 + float(np.cos(np.pi * (share - WARM_UP) / (1 - WARM_UP))))
