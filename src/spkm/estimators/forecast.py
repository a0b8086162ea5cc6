"""Forecast of a fit: passes over the samples, memory and minutes on this machine.

A fit of at most 1,000 made-up samples is timed, and so are one step of mini-batches and one pass. The work on at
most 20,000 samples (folds, strengths, start points, the basis under a squared loss) grows with the root of their number
and then no more; what it does to all samples is counted.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier

from spkm._checks import check_integer, n_threads
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.fitting.spec import default_vectors
from spkm.kernels import RBF
from spkm.losses import Log, Squared
from spkm.penalties import RKHSNorm
from spkm.solvers import Adam
from spkm.solvers._auto import ADAM_FROM, BASIS_ROWS
from spkm.sources import ArraySource

TRIAL_ROWS = 1_000  # samples of the fit that is timed
GROWTH = 0.5  # power of the number of samples up to 20,000: .41 to .63, measured with 20 and 100 features
PASS_ROWS = 8_192  # samples of the pass that is timed: a block or two
STEPS = 40  # of mini-batches that are timed
LIBRARIES = 200 * 2**20  # bytes of Python with NumPy, SciPy and scikit-learn, measured
READERS = 100 * 2**20  # bytes of readers of files, their buffers and open groups of rows, measured
WORKING = 40 * 2**20  # bytes of blocks and chunks in work, for each thread, measured
PAGE = 2**20  # bytes of a MB


@dataclass(frozen=True)
class Forecast:
    """Forecast of a fit; ``str`` gives it in words.

    Attributes
    ----------
    n_samples, n_features : int
        Size of the table.
    streamed : bool
        Whether samples are read in chunks.
    passes : float
        Passes over all samples, the first look included.
    seconds : float
        On this machine, reading of files not included; within a factor of about three.
    memory_bytes : int
        Peak of the process, samples in memory included.
    machine_bytes : int or None
        Memory of the machine, if the system reports it.
    """

    n_samples: int
    n_features: int
    streamed: bool
    passes: float
    seconds: float
    memory_bytes: int
    machine_bytes: int | None

    @property
    def minutes(self) -> float:
        """The seconds as minutes."""
        return self.seconds / 60

    @property
    def fits(self) -> bool:
        """Whether the machine has the memory, as far as is known."""
        return self.machine_bytes is None or self.memory_bytes < 0.9 * self.machine_bytes

    def __str__(self) -> str:
        how = "read in chunks" if self.streamed else "in memory"
        took = f"{self.seconds:.0f} seconds" if self.seconds < 120 else f"{self.minutes:.0f} minutes"
        took = "a second" if self.seconds < 1.5 else took
        words = (
            f"A fit of {self.n_samples:,} samples of {self.n_features:,} features, {how}: about {self.passes:.0f} "
            f"passes over them, {self.memory_bytes / PAGE:,.0f} MB of memory and {took}."
        )
        if not self.fits and self.machine_bytes is not None:
            words += f" This machine has {self.machine_bytes / PAGE:,.0f} MB."
            words += (
                " Take fewer features, or a sample." if self.streamed else " Give files or chunks in place of arrays."
            )
        if self.seconds > 3600:
            words += " Fit a sample first, and pass checkpoint= to the long fit."
        return words


def forecast(self: Any, n_samples: int, n_features: int, *, n_classes: int = 2, streamed: bool = False) -> Forecast:
    """Return what a fit will take on this machine, from small trials: passes, memory, seconds.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the table.
    n_classes : int, default=2
        Number of classes; a regressor has none.
    streamed : bool, default=False
        Whether samples are read in chunks, from files say.

    Returns
    -------
    forecast : Forecast
        Numbers; ``print`` writes them in words. Nothing is refused.

    Examples
    --------
    >>> from spkm import SPKMRegressor
    >>> found = SPKMRegressor(5).forecast(10_000_000, 20, streamed=True)
    >>> found.passes, found.memory_bytes < 2**30
    (2.0, True)
    """
    n, d = check_integer("n_samples", n_samples, 1), check_integer("n_features", n_features, 1)
    classes = check_integer("n_classes", n_classes, 2) if is_classifier(self) else None
    return _forecast_of(self, n, d, streamed, classes)


def _forecast_of(estimator: BaseEstimator, n: int, d: int, streamed: bool, n_classes: int | None) -> Forecast:
    first = min(n, TRIAL_ROWS)
    seconds, iterations = _trial(estimator, first, d, n_classes)
    seconds *= (min(n, BASIS_ROWS) / first) ** GROWTH
    threads = n_threads(estimator.n_jobs)
    R = _vectors(estimator, n_classes)
    objective = _objective(d, R, n_classes)
    one_pass = _seconds_of_pass(objective) * n / PASS_ROWS / threads
    passes = 1.0 if streamed else 0.0
    if n > BASIS_ROWS or n >= ADAM_FROM:
        if n_classes is None:  # the weights are solved for
            passes, seconds = passes + 1, seconds + one_pass
        else:
            batch, n_steps = Adam().schedule(n)
            step = _seconds_of_step(objective, batch)
            passes += n_steps * batch / n + 1
            seconds += n_steps * step + one_pass
    else:
        passes += iterations
    return Forecast(n, d, streamed, passes, seconds, _memory(n, d, R, streamed, threads), machine_memory())


def machine_memory() -> int | None:
    """Return the bytes of memory of the machine, if the system reports it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _memory(n: int, d: int, R: int, streamed: bool, threads: int) -> int:
    kept = 4 * 8 * min(n, BASIS_ROWS) * (d + R)  # samples that are kept, scaled, in subsamples, and their values
    samples = READERS if streamed else 8 * n * (d + 4)
    return LIBRARIES + kept + threads * WORKING + samples


def _vectors(estimator: BaseEstimator, n_classes: int | None) -> int:
    if isinstance(estimator.n_basis, int):
        return int(estimator.n_basis)
    return 20 if n_classes is None else default_vectors(n_classes)


def _made(n: int, d: int, n_classes: int | None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    score = np.sin(2 * X[:, 0]) + X[:, d // 2] ** 2 + 0.3 * rng.standard_normal(n)
    if n_classes is None:
        return X, score
    cuts = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.digitize(score, cuts)


def _trial(estimator: BaseEstimator, n: int, d: int, n_classes: int | None) -> tuple[float, int]:
    """Return the seconds and the iterations of a fit of made-up samples."""
    X, y = _made(n, d, n_classes)
    model = clone(estimator).set_params(verbose=0, warm_start=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds = _quickest(lambda: model.fit(X, y), 1)
    return seconds, int(model.n_iter_)


def _objective(d: int, R: int, n_classes: int | None) -> Objective:
    X, y = _made(PASS_ROWS, d, n_classes)
    m = 1 if n_classes is None or n_classes == 2 else n_classes
    Y = y[:, None].astype(float) if n_classes is None else np.where(y[:, None] == np.arange(m), 1.0, -1.0)
    model = PreimageModel([Term(R, (View(RBF(0.5 / d), None, "relevances"),))], d, m)
    loss = Squared() if n_classes is None else Log()
    return Objective(model, loss, ArraySource(X, Y), None, RKHSNorm(1e-6))


def _seconds_of_pass(objective: Objective) -> float:
    theta = np.random.default_rng(0).standard_normal(objective.model.n_params)
    with objective.source.threads(1):
        return _quickest(lambda: objective.value_and_gradient(theta), 3)


def _seconds_of_step(objective: Objective, batch: int) -> float:
    theta = 0.1 * np.random.default_rng(0).standard_normal(objective.model.n_params)
    share = STEPS * batch / objective.source.n_rows
    solver = Adam(max_iter=max(1, round(share)), batch_size=batch)
    _, steps = solver.schedule(objective.source.n_rows)

    def run() -> None:
        solver.minimize(objective, theta, np.random.default_rng(0))

    with objective.source.threads(1):
        return _quickest(run, 2) / steps


def _quickest(function: Callable[[], Any], times: int) -> float:
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - started)
    return min(seconds)
