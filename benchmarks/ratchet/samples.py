"""Figures of sources: the same samples in another form give the same model; and of what the forms alone can do."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.ratchet.made import affinities, apart, classes, counts, halves, waves
from benchmarks.ratchet.record import ERROR, PERCENT, figure
from spkm import PairwiseSPKMRegressor, SPKMClassifier, SPKMRegressor
from spkm.kernels import RBF
from spkm.penalties import RKHSNorm

#: A fit of few iterations, in which rounding errors of two computations stay small.
SHORT: dict[str, Any] = {
    "kernel": RBF(0.2),
    "weight_penalty": RKHSNorm(0.01),
    "learn_bandwidth": False,
    "linear_part": False,
    "solver": "lbfgs",
    "max_iter": 10,
    "scale": False,
}


def short(X: np.ndarray, **settings: Any) -> SPKMRegressor:
    """Return a regressor that takes few steps from the first samples."""
    return SPKMRegressor(5, **{**SHORT, "start": X[:5], "random_state": 0, **settings})


@figure("source.csr", "difference of scores, CSR and dense, relative", ERROR)
def csr(seed: int) -> float:
    X, y = counts(seed=seed)
    dense = short(X).fit(X, y).predict(X)
    return apart(dense, short(X).fit(csr_array(X), y).predict(X))


@figure("source.weights", "difference of scores, weights of 2 and repeated samples, relative", ERROR)
def weights(seed: int) -> float:
    X, y = waves(300, 3, seed)
    w = 1.0 + (np.arange(300) % 3 == 0)
    repeated = np.repeat(np.arange(300), w.astype(int))
    one = short(X).fit(X, y, sample_weight=w).predict(X)
    return apart(one, short(X).fit(X[repeated], y[repeated]).predict(X))


@figure("source.order", "difference of scores, samples in another order, relative", ERROR)
def order(seed: int) -> float:
    X, y = waves(300, 3, seed)
    p = np.random.default_rng(0).permutation(300)
    return apart(short(X).fit(X, y).predict(X), short(X).fit(X[p], y[p]).predict(X))


@figure("source.pairs", "difference of predictions, pairs and the joined kernel by hand, relative", ERROR)
def pairs(seed: int) -> float:
    D = affinities(seed)
    P, y = D["pairs"][D["train"]], D["y"][D["train"]]
    model = PairwiseSPKMRegressor(5, left_kernel=RBF(0.2), right_kernel=RBF(0.2), learn_bandwidth=False, scale=False,
                                  max_iter=20, random_state=0).fit(P, y, left=D["left"], right=D["right"])  # fmt: skip

    def kernel(A: np.ndarray, U: np.ndarray) -> np.ndarray:
        return np.exp(-0.2 * ((A[:, None] - U[None]) ** 2).sum(axis=2))

    left, right = kernel(D["left"], model.basis_left_), kernel(D["right"], model.basis_right_)
    scores = (left[P[:, 0]] * right[P[:, 1]]) @ model.dual_coef_ + model.intercept_
    return apart(model.predict(P), np.asarray(scores).reshape(-1))


@figure("source.threads", "difference of scores, one thread and two, relative", ERROR)
def threads(seed: int) -> float:
    X, y = waves(9000, 3, seed)
    one, two = (short(X, n_jobs=jobs, max_iter=3).fit(X, y).predict(X) for jobs in (1, 2))
    return apart(one, two)


@figure("source.chunks", "R2, chunks from a function, adam, %", PERCENT)
def chunks(seed: int) -> float:
    X, y = waves(6000, 4)
    Xb, yb = waves(1000, 4, 1)

    def parts() -> Any:
        for i in range(0, 6000, 500):
            yield X[i : i + 500], y[i : i + 500]

    return 100 * SPKMRegressor(15, random_state=seed).fit(parts).score(Xb, yb)


@figure("source.files", "accuracy, Parquet files, %", PERCENT)
def files(seed: int) -> float:
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = classes(4000, 4)
    Xb, yb = classes(1000, 4, 1)
    with TemporaryDirectory() as folder:
        for i in range(4):
            part = slice(1000 * i, 1000 * (i + 1))
            columns = {f"x{j}": X[part, j] for j in range(4)} | {"label": y[part]}
            pq.write_table(pa.table(columns), Path(folder) / f"{i}.parquet")
        model = SPKMClassifier(15, random_state=seed).fit(folder, target="label")
    return 100 * float(np.mean(model.predict(Xb) == yb))


@figure("source.dask", "R2, a Dask array, %", PERCENT)
def dask(seed: int) -> float:
    import dask.array as da

    X, y = waves(4000, 4)
    Xb, yb = waves(1000, 4, 1)
    chunked = da.from_array(X, chunks=(1000, 4)), da.from_array(y, chunks=1000)
    return 100 * SPKMRegressor(15, random_state=seed).fit(*chunked).score(Xb, yb)


@figure("source.float32", "R2, single precision, %", PERCENT)
def single(seed: int) -> float:
    Xa, ya, Xb, yb = halves(*waves(800, 4))
    return 100 * SPKMRegressor(15, random_state=seed).fit(Xa.astype(np.float32), ya).score(Xb.astype(np.float32), yb)
