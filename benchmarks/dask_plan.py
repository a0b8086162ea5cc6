"""A pass on Dask against shards, size of the parameters, samples and workers; a model of it, and a plan past it.

A pass is the gradient of a squared loss over all shards: one graph, whose parameters go to the workers and whose sums
come back. It is measured on a ``LocalCluster`` of one and of two processes with a thread each, as CPU seconds, which a
busy machine changes less than those of the clock: "serial" are those of the process of client and scheduler, through
which everything goes, "parallel" those of all workers together. The models are

    serial = a + b shards + e shards² + g shards MB,  parallel = p shards + q shards MB + c samples

where MB are those of the parameters, with coefficients of at least zero by least squares of relative errors, and a pass
takes latency + serial + parallel / workers; the latency is what the clock shows beyond that with ten shards of ten
samples. Rows "check" were left out of the fit: they tell how far the models are off. Rows "plan" put a thousand million
samples of 20 features and 20 vectors into them. No network is in these figures. A figure is drawn to
``dask_plan.png`` in the folder that SPKM_FIGURES names.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from benchmarks._data import Settings
from benchmarks._report import Row
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import block_gradient
from spkm.kernels import RBF
from spkm.losses import Squared
from spkm.sources import Chunk, Preparation
from spkm.sources._summary import summary_of

COLUMNS = ("of model, %", "parallel, CPU s", "of model, %", "clock, s")
D, R = 20, 20
PLANNED = 10**9  # samples


class Point(NamedTuple):
    """What a pass is over; features and vectors set the size of the parameters."""

    workers: int
    shards: int
    rows: int  # in a shard
    d: int = D
    R: int = R

    @property
    def megabytes(self) -> float:
        return 8e-6 * _model(self).n_params

    def serial(self) -> np.ndarray:
        """Return what the coefficients of the serial part are multiplied by."""
        return np.array([1.0, self.shards, self.shards**2, self.shards * self.megabytes])

    def parallel(self) -> np.ndarray:
        """Return what the coefficients of the parallel part are multiplied by."""
        return np.array([self.shards, self.shards * self.megabytes, self.shards * self.rows])

    def __str__(self) -> str:
        size = f"{1000 * self.megabytes:,.0f} kB"
        return f"workers {self.workers:,}, shards {self.shards:,} of {self.rows:,} samples, {size}"


# Shards of ten samples are all overhead; those of many, with few shards, are all arithmetic.
MEASURED = (
    *(Point(2, S, 10) for S in (10, 100, 1_000, 10_000)),
    *(Point(2, S, 10, 20, 600) for S in (10, 100)),
    *(Point(2, S, 10, 200, 600) for S in (10, 100)),
    *(Point(2, 10, rows) for rows in (20_000, 100_000)),
    *(Point(1, 10, rows) for rows in (10, 20_000, 100_000)),
)
CHECKED = (
    Point(1, 200, 3_000),
    Point(2, 300, 2_000),
    Point(2, 30, 30_000),
    Point(2, 200, 10, 100, 600),
    Point(2, 3_000, 10),
)


class Cost(NamedTuple):
    """Seconds of a pass."""

    serial: float
    parallel: float
    clock: float


class Plan(NamedTuple):
    """Coefficients of both parts, and the latency."""

    serial: np.ndarray
    parallel: np.ndarray
    latency: float

    def seconds(self, point: Point) -> float:
        """Return the seconds of a pass."""
        return self.latency + self.serial @ point.serial() + self.parallel @ point.parallel() / point.workers


def run(settings: Settings) -> Iterator[Row]:
    points = [*MEASURED, *CHECKED] if not settings.quick else [*MEASURED[:2], *MEASURED[-3:-1]]
    costs: dict[Point, Cost] = {}
    for workers in (1, 2):
        costs |= measured([point for point in points if point.workers == workers], workers)
    known = {point: cost for point, cost in costs.items() if point not in CHECKED}
    plan = planned(known)
    for point in points:
        cost = costs[point]
        shares = plan.serial @ point.serial() / cost.serial, plan.parallel @ point.parallel() / cost.parallel
        serial, parallel = (f"{100 * share:.0f}" for share in shares)
        yield Row(
            f"{'check: ' if point in CHECKED else ''}{point}",
            cost.serial,
            form="{:.3f}",
            more=(serial, f"{cost.parallel:.3f}", parallel, f"{cost.clock:.3f}"),
        )
    a, b, e, g = plan.serial
    p, q, c = plan.parallel
    for name, value in (
        ("latency, ms", 1e3 * plan.latency),
        ("a, ms", 1e3 * a),
        ("b, ms a shard", 1e3 * b),
        ("e, ms a million pairs of shards", 1e9 * e),
        ("g, ms a shard and MB", 1e3 * g),
        ("p, ms a shard", 1e3 * p),
        ("q, ms a shard and MB", 1e3 * q),
        ("c, s a million samples", 1e6 * c),
    ):
        yield Row(name, value, form="{:.3g}", more=("",) * 4)
    for workers in (10, 100, 1_000):
        for shards in sorted({workers, 10 * workers, 10_000}):
            point = Point(workers, shards, PLANNED // shards)
            yield Row(f"plan: {point}, seconds", plan.seconds(point), form="{:.2f}", more=("",) * 4)
    if os.environ.get("SPKM_FIGURES"):
        draw(costs, plan, Path(os.environ["SPKM_FIGURES"]) / "dask_plan.png")


def planned(costs: dict[Point, Cost]) -> Plan:
    """Return the models that are nearest to what was measured."""
    serial = nearest([point.serial() for point in costs], [cost.serial for cost in costs.values()])
    parallel = nearest([point.parallel() for point in costs], [cost.parallel for cost in costs.values()])
    rest = [
        cost.clock - serial @ point.serial() - parallel @ point.parallel() / point.workers
        for point, cost in costs.items()
        if point.shards == 10 and point.rows == 10
    ]
    return Plan(serial, parallel, max(0.0, min(rest)))


def nearest(terms: list[np.ndarray], seconds: list[float]) -> np.ndarray:
    """Return coefficients of at least zero with the least squares of relative errors."""
    A = np.array(terms) / np.array(seconds)[:, None]
    scale = np.abs(A).max(axis=0)
    return nnls(A / scale, np.ones(len(A)))[0] / scale


def measured(points: list[Point], workers: int) -> dict[Point, Cost]:
    """Return the seconds of a pass over each point, on a cluster of so many workers."""
    import dask
    from distributed import Client, LocalCluster

    quiet = {"distributed.admin.large-graph-warning-threshold": "1GB"}
    with (
        dask.config.set(quiet),
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        costs = {}
        for point in points:
            costs[point] = cost_of(point, client)
            print(point, *costs[point], file=sys.stderr, flush=True)  # what a run that was stopped had so far
        return costs


def cost_of(point: Point, client: Any) -> Cost:
    """Return the mean CPU seconds of some passes, and the clock's seconds of the quickest."""
    one_pass = passes_over(point)
    if point.shards <= 10:
        one_pass()  # workers import what they need: the first point of a cluster has few shards
    clock: list[float] = []
    before, serial = sum(client.run(time.process_time).values()), time.process_time()
    while not clock or (len(clock) < 20 and sum(clock) < 2):
        started = time.perf_counter()
        one_pass()
        clock.append(time.perf_counter() - started)
    serial = time.process_time() - serial
    parallel = sum(client.run(time.process_time).values()) - before
    return Cost(serial / len(clock), parallel / len(clock), min(clock))


def passes_over(point: Point) -> Callable[[], tuple[np.ndarray, ...]]:
    """Return a function that makes a pass over made-up samples, which the workers of the current client hold."""
    import dask.array as da
    from distributed import wait

    from spkm.sources import ChunkSource
    from spkm.sources._dask import DaskReader

    n, d = point.shards * point.rows, point.d
    X = da.random.default_rng(0).random((n, d), chunks=(point.rows, d))  # cheap to make again
    reader = DaskReader(X, np.zeros(n))
    wait(reader.shards)
    recipe = Preparation(_column, None, np.float64, 1.0 / n, float(n))
    summary = summary_of(Chunk(np.zeros((2, d)), np.zeros(2), None), 0, 0, False, 2)  # a pass does not look at it
    source = ChunkSource(reader, summary, recipe)
    model = _model(point)
    theta = np.random.default_rng(0).standard_normal(model.n_params)
    return lambda: source.reduce(block_gradient, model, Squared(), theta, None, width=model.n_basis)


def _model(point: Point) -> PreimageModel:
    return PreimageModel([Term(point.R, (View(RBF(1.0 / point.d)),))], point.d, 1)


def _column(y: np.ndarray) -> np.ndarray:
    return y[:, None]


def draw(costs: dict[Point, Cost], plan: Plan, path: Path) -> None:
    """Draw the serial part against shards beside its model, and the plan against workers."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.4, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    shards = np.geomspace(10, 10_000, 50)
    here = [point for point in costs if point.workers == 2 and point.rows == 10]
    for k, (d, R) in enumerate(sorted({(p.d, p.R) for p in here if p not in CHECKED}, key=np.prod)):
        some = [p for p in here if (p.d, p.R) == (d, R)]
        left.plot([p.shards for p in some], [costs[p].serial for p in some], "o", color=f"C{k}")
        curve = [plan.serial @ Point(2, S, 10, d, R).serial() for S in shards]
        left.plot(shards, curve, color=f"C{k}", label=f"{1000 * some[0].megabytes:,.0f} kB of parameters")
    left.set(xscale="log", yscale="log", xlabel="shards", ylabel="CPU seconds of client and scheduler")
    left.set_title("The serial part of a pass: measured, and model")
    left.legend(frameon=False)
    workers = np.geomspace(2, 3_000, 80)
    for k, each in enumerate((10, 1)):
        curve = np.array([plan.seconds(Point(W, each * W, PLANNED / (each * W))) for W in workers])
        inside = each * workers <= 10_000  # shards that the model was fitted to
        label = "10 shards for each worker" if each > 1 else "a shard for each worker"
        right.plot(workers[inside], curve[inside], color=f"C{k}", label=label)
        right.plot(workers[~inside], curve[~inside], "--", color=f"C{k}", label="_more than 10,000 shards")
    right.plot(workers, plan.parallel[-1] * PLANNED / workers, "k:", label="arithmetic alone")
    right.set(xscale="log", yscale="log", xlabel="workers of one thread", ylabel="seconds of a pass")
    right.set_title("Plan: 1,000,000,000 samples of 20 features")
    right.legend(frameon=False, title="dashed: more than 10,000 shards")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["dask_plan", *sys.argv[1:]])
