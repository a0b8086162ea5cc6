"""Dask with processes that really die: the scheduler, and a worker that wants more memory than it has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

from tests.test_dask import SCORE, SHORT, WEIGHT, X, Y, acting, arrays, few_kept, regressor  # noqa: E402, F401

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default", SHORT),
    pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL"),
]


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler and a worker, each a process of its own; the file says where the scheduler is."""
    place = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    common = ["--scheduler-file", str(place), "--no-dashboard"]
    main = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1", *common]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", *common]
    processes = [subprocess.Popen(main, **quiet)]
    try:
        while not place.exists():
            assert processes[0].poll() is None
            time.sleep(0.05)
        processes.append(subprocess.Popen(worker, **quiet))
        yield processes[0], place
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def test_a_killed_scheduler_is_told_and_the_checkpoint_stays(scheduler, tmp_path):
    process, place = scheduler
    path = tmp_path / "state.npz"

    def kill():
        assert path.exists()
        process.send_signal(signal.SIGKILL)
        process.wait()

    # The scheduler is named so that it is forgotten at the end, also if the client cannot say goodbye in time.
    with dask.config.set({"distributed.comm.timeouts.connect": "1s", "scheduler": None}):
        client = distributed.Client(scheduler_file=str(place), timeout="60s")
        try:
            client.wait_for_workers(1)
            model = acting(5, kill)
            with pytest.raises(ConnectionError, match="scheduler is gone"):
                model.fit(*arrays(X, Y, WEIGHT), checkpoint=path, checkpoint_every=0)
        finally:
            with suppress(TimeoutError):
                client.close(timeout=20)  # a client that is still closing would be asked by the next fit
    assert path.exists() and not hasattr(model, "model_")
    with dask.config.set(scheduler="sync"):  # anywhere else: here without a cluster
        resumed = acting(5).fit(*arrays(X, Y, WEIGHT), checkpoint=path)
    assert resumed.score(X, SCORE) > 0.5 and not path.exists()


def hungry(block):
    """Take more memory than there is, slowly enough for Dask to see it."""
    held = []
    for _ in range(600):
        held.append(np.ones(2**20))  # 8 MB
        time.sleep(0.01)
    return block


def test_a_worker_short_of_memory_is_told():
    limits = {"distributed.scheduler.allowed-failures": 0, "distributed.worker.memory.spill": False}
    with (
        dask.config.set(limits),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit="600MB", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        x, y = arrays(X, Y)
        model = regressor()
        with pytest.raises(MemoryError, match="chunks of X smaller"):
            model.fit(x.map_blocks(hungry, dtype=float, meta=np.zeros((0, 0))), y)
        assert not hasattr(model, "model_")
