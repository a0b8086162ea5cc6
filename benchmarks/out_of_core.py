"""Samples in Parquet files, larger than what is ever in memory: seconds of a fit, peak memory, accuracy.

n samples of 20 features and two classes are written to a temporary folder, a million at a time. A classifier of 20
vectors is fitted to the folder in a process of its own, whose peak memory is read at the end; the column "of which" is
what the process has before the fit. Accuracy is that on 100,000 new samples, beside that of a fit of 20,000 samples in
memory. "CPU" are the seconds of all threads, "read" those of reading all samples once. Slopes are those of the
logarithm of seconds in that of n: below one as long as what is done to 20,000 samples counts. Memory is flat if ten
times as many samples take a tenth more at the most.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks._data import Settings
from benchmarks._report import Row, at_least, at_most, below
from spkm import SPKMClassifier

COLUMNS = ("CPU, s", "of which MB", "accuracy", "read, s")
SIZES = (100_000, 1_000_000, 10_000_000)
WRITTEN = 1_000_000  # samples in a file
D, R = 20, 20

CHILD = """
import json, time
import numpy as np
import pyarrow.parquet, pyarrow.dataset, sklearn.cluster
from spkm import SPKMClassifier
from benchmarks.out_of_core import new_samples
from spkm.sources._parquet import TableReader

def peak():
    # Not ru_maxrss, which a process inherits from the one that started it.
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))) / 1024

before = peak()
start, used = time.perf_counter(), time.process_time()
model = SPKMClassifier({R}, random_state=0).fit({folder!r}, "y")
seconds, used = time.perf_counter() - start, time.process_time() - used
most = peak()
start = time.perf_counter()
for chunk in TableReader({folder!r}, "y").chunks():
    pass
read = time.perf_counter() - start
X, y = new_samples()
accuracy = float(np.mean(np.concatenate(list(model.predict_chunks([X]))) == y))
print(json.dumps(dict(seconds=seconds, used=used, before=before, peak=most, accuracy=accuracy, read=read)))
"""


def run(settings: Settings) -> Iterator[Row]:
    none = ("", "", "", "")
    X, y = samples(0, 20_000)
    known, labels = new_samples()
    reached = float(np.mean(SPKMClassifier(R, random_state=0).fit(X, y).predict(known) == labels))
    yield Row("accuracy of 20,000 samples in memory", reached, form="{:.3f}", more=none)
    times: dict[int, float] = {}
    peaks: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        written = 0
        for n in SIZES:
            n = settings.size(n, n // 200)
            written = write(Path(folder), written, n)
            done = subprocess.run(
                [sys.executable, "-c", CHILD.format(R=R, folder=folder)], capture_output=True, text=True, check=True
            )
            found = json.loads(done.stdout)
            times[n], peaks[n] = found["seconds"], found["peak"]
            more = (
                f"{found['used']:.1f}",
                f"{found['before']:.0f}",
                f"{found['accuracy']:.3f}",
                f"{found['read']:.1f}",
            )
            yield Row(
                f"n = {n:,}, seconds", found["seconds"], below(120) if n == SIZES[-1] else None, "{:.1f}", more=more
            )
            yield Row(f"n = {n:,}, peak memory in MB", found["peak"], below(500), "{:.0f}", more=none)
            yield Row(
                f"n = {n:,}, accuracy over that of 20,000",
                found["accuracy"] / reached,
                at_least(0.995),
                "{:.3f}",
                more=none,
            )
    yield from growth(times, peaks)


def growth(times: dict[int, float], peaks: dict[int, float]) -> Iterator[Row]:
    """Yield how time and memory grow: slopes of the logarithm of time in that of n, and the ratio of peaks."""
    none = ("", "", "", "")
    first, *_, before, last = sizes = list(times)
    whole = float(np.polyfit(np.log(sizes), np.log([times[n] for n in sizes]), 1)[0])
    yield Row(f"slope of time in n, {first:,} to {last:,}", whole, at_most(1.02), "{:.2f}", more=none)
    end = float(np.log(times[last] / times[before]) / np.log(last / before))
    yield Row(f"slope of time in n, {before:,} to {last:,}", end, at_most(1.02), "{:.2f}", more=none)
    flat = peaks[last] / peaks[before]
    yield Row(f"peak memory, {last:,} over {before:,} samples", flat, at_most(1.1), "{:.2f}", more=none)


def samples(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of two classes, told apart by products, a sine and a sum."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3] + 0.3 * rng.standard_normal(n)
    return X, (score > 0).astype(int)


def new_samples() -> tuple[np.ndarray, np.ndarray]:
    """Return samples that no fit sees."""
    return samples(10**6, 100_000)


def write(folder: Path, written: int, n: int) -> int:
    """Write samples until there are n of them; return n."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    while written < n:
        count = min(WRITTEN, n - written)
        X, y = samples(written + 1, count)
        table = pa.table({**{f"x{j}": X[:, j] for j in range(D)}, "y": y})
        pq.write_table(table, folder / f"{written:09d}.parquet", row_group_size=100_000)
        written += count
    return written


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main(["out_of_core", *sys.argv[1:]])
