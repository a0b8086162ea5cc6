"""One full pass (objective and gradient) over the time of its two bare matrix products, X U' and G' X, in float64.

RBF kernel, one output, columns as they are. Times are minima over rounds in which all of them take turns: of one
thread its CPU time, so that other jobs change little, of two the clock's. The products are whole matrices and BLAS's
own threads, the pass is in blocks on as many. The column "exp" is what numpy's exp takes, on one thread and in cache,
for the n R numbers that the kernel needs: without AVX512 it alone may use up the allowance. "bandwidth" is the ratio
when the bandwidth is learned too. The speed-up by a second thread is by the clock, and means something on a machine
that does nothing else; ``--families "1 thread"`` leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._data import Settings
from benchmarks._report import Row, at_least, at_most
from benchmarks._timing import seconds_of
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.kernels import RBF
from spkm.losses import LOSSES
from spkm.penalties import RKHSNorm
from spkm.sources import ArraySource

COLUMNS = ("pass, ms", "bare, ms", "exp, ms", "bandwidth")
SHAPES = ((1_000_000, 20, 10), (100_000, 100, 50), (60_000, 784, 100))
RATIO_REACH = (1.4, 1.2, 1.05)
SPEED_UP_REACH = (1.6, 1.8, 1.9)
ROUNDS = 11
THREADS = {1: "1 thread", 2: "2 threads"}


def run(settings: Settings) -> Iterator[Row]:
    for shape, ratio, speed_up in zip(SHAPES, RATIO_REACH, SPEED_UP_REACH, strict=True):
        n, d, R = (settings.size(shape[0], shape[0] // 50), *shape[1:])
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, d))
        for loss in ("squared", "log"):
            counts = [k for k, threads in THREADS.items() if settings.wants(threads)]
            times = measure(X, R, loss, settings.size(ROUNDS, 3), counts)
            what = f"n = {n:,}, d = {d}, R = {R}, {loss}"
            for k in counts:
                single, learned, bare = times["pass", k], times["learned", k], times["bare", k]
                more = (_ms(single), _ms(bare), _ms(times["exp", 1]) if k == 1 else "", f"{learned / bare:.2f}")
                yield Row(f"{what}, {THREADS[k]}", single / bare, at_most(ratio) if k == 1 else None, more=more)
            if len(counts) < 2:
                continue
            yield Row(
                f"{what}, speed-up", times["clock", 1] / times["pass", 2], at_least(speed_up), more=("", "", "", "")
            )


def measure(X: np.ndarray, R: int, loss: str, rounds: int, counts: list[int]) -> dict[tuple[str, int], float]:
    """Return the least seconds of ("pass" | "learned" | "bare", threads), ("clock", 1) and ("exp", 1)."""
    n, d = X.shape
    rng = np.random.default_rng(1)
    y = np.sign(X[:, 0])[:, None]
    source = ArraySource(X, y)
    objectives = {"pass": objective(source, R, loss, "fixed"), "learned": objective(source, R, loss, "scale")}
    theta = {name: 0.5 * rng.standard_normal(o.model.n_params) for name, o in objectives.items()}
    U, G = rng.standard_normal((R, d)), rng.standard_normal((n, R))
    dot, back = np.empty((n, R)), np.empty((R, d))
    seconds: dict[tuple[str, int], list[float]] = {}

    def bare() -> None:
        np.matmul(X, U.T, out=dot)
        np.matmul(G.T, X, out=back)

    def measured(key: tuple[str, int], call: Callable[[], Any], clock: Callable[[], float]) -> None:
        seconds.setdefault(key, []).append(seconds_of(call, clock))

    # Bare products on two threads come last: BLAS's second thread goes on spinning for a while, and slows all else.
    for k in counts:
        clock = thread_time if k == 1 else perf_counter
        for _ in range(rounds + 1):
            with source.threads(k):
                for name, o in objectives.items():
                    measured((name, k), partial(o.value_and_gradient, theta[name]), clock)
                if k == 1:
                    measured(("clock", 1), partial(objectives["pass"].value_and_gradient, theta["pass"]), perf_counter)
                    measured(("bare", 1), bare, clock)
    for _ in range(rounds + 1):
        measured(("exp", 1), partial(exponentials, n * R), thread_time)
    if 2 in counts:
        with threadpool_limits(2, user_api="blas"):
            for _ in range(rounds + 1):
                measured(("bare", 2), bare, perf_counter)
    return {key: min(values[1:]) for key, values in seconds.items()}  # the first round only warms up


def objective(source: ArraySource, R: int, loss: str, metric: str) -> Objective:
    model = PreimageModel([Term(R, (View(RBF(0.5 / source.n_features), None, metric),))], source.n_features, 1)
    return Objective(model, LOSSES[loss](), source, None, RKHSNorm(1e-6))


def exponentials(count: int, at_once: int = 2**15) -> None:
    """Take ``count`` exponentials of numbers between -2 and 0, in a buffer that stays in cache."""
    given = np.linspace(-2, 0, min(count, at_once))
    out = np.empty_like(given)
    for _ in range(0, count, at_once):
        np.exp(given, out=out)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f}"


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["passes", *sys.argv[1:]])
