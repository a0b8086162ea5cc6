"""Dask collections: the same bits on any number of workers, also when one of them is killed."""

from __future__ import annotations

import os
import signal
from typing import ClassVar

import numpy as np
import pytest

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

import pandas as pd  # noqa: E402

from spkm import SPKMClassifier, SPKMRegressor  # noqa: E402
from spkm.solvers import LBFGS  # noqa: E402

# Warnings of Dask are not ours, and fits of 15 iterations have not converged.
SHORT = "ignore:.* stopped after 15 iterations:sklearn.exceptions.ConvergenceWarning"
pytestmark = pytest.mark.filterwarnings("default", SHORT)

RNG = np.random.default_rng(0)
N, D = 5000, 3  # in five shards
X = RNG.standard_normal((N, D)) * [1.0, 2.0, 0.5]
SCORE = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
Y = SCORE + 0.1 * RNG.standard_normal(N)
WEIGHT = np.where(np.arange(N) < 1000, 0.0, 1.0)  # the first shard has none


@pytest.fixture(autouse=True)
def few_kept(kept_of_chunks):
    kept_of_chunks(800)


def regressor():
    return SPKMRegressor(4, weight_penalty="rkhs", solver="lbfgs", max_iter=15, tol=1e-2, random_state=0)


def arrays(*parts, size=1000):
    return [da.from_array(part, chunks=(size, *part.shape[1:])) for part in parts]


def test_an_array_without_a_cluster():
    x, y, w = arrays(X, Y, WEIGHT)
    with dask.config.set(scheduler="sync"):
        model = regressor().fit(x, y, w)
    assert model.score(X[1000:], SCORE[1000:]) > 0.5
    with dask.config.set(scheduler="threads"):
        again = regressor().fit(x, y, w)
    np.testing.assert_array_equal(model.basis_vectors_, again.basis_vectors_)


def test_a_class_may_be_missing_in_a_shard():
    order = np.argsort(SCORE > 0, kind="stable")  # all but one shard have one class
    x, y = arrays(X[order], (SCORE > 0)[order])
    with dask.config.set(scheduler="sync"):
        model = SPKMClassifier(4, random_state=0).fit(x, y)
    assert model.score(X, SCORE > 0) > 0.85


def test_empty_shards_and_unknown_sizes():
    x, y = arrays(X, Y)
    some = x[:, 0] > -0.5
    none = da.where(da.arange(N, chunks=1000) < 1000, False, some)  # the first shard is empty
    with dask.config.set(scheduler="sync"):
        model = regressor().fit(x[none], y[none])
        with pytest.raises(TypeError, match="cut as X is"):
            regressor().fit(x[none], Y)
    kept = np.where(np.arange(N) < 1000, False, X[:, 0] > -0.5)
    assert model.score(X[kept], SCORE[kept]) > 0.5


def test_a_frame_with_names_of_columns():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y, w=WEIGHT)
    table = dd.from_pandas(frame, npartitions=5)
    with dask.config.set(scheduler="sync"):
        model = regressor().fit(table, "y", "w")
        series = regressor().fit(table[["a", "b", "c"]], table["y"], table["w"])
        with pytest.raises(ValueError, match="no column 'z'"):
            regressor().fit(table, "z")
        parts = list(model.predict_chunks(table))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.basis_vectors_, series.basis_vectors_)
    np.testing.assert_allclose(np.concatenate(parts), model.predict(frame[["a", "b", "c"]]), rtol=1e-9)


def test_columns_in_several_blocks_and_targets_of_other_cuts():
    x, y = da.from_array(X, chunks=(1000, 2)), da.from_array(Y, chunks=700)
    with dask.config.set(scheduler="sync"):
        model = regressor().fit(x, y)
        plain = regressor().fit(*arrays(X, Y))
    np.testing.assert_array_equal(model.basis_vectors_, plain.basis_vectors_)


class AtIteration(LBFGS):
    """L-BFGS that does something after some iteration."""

    actions: ClassVar[list] = []  # of the next fit; no parameter, as a checkpoint compares those

    def __init__(self, at=3, max_iter=15, tol=1e-2, first_rows=None):
        super().__init__(max_iter, tol, first_rows)
        self.at = at

    def minimize(self, objective, theta, rng, on_iteration=None):
        def tell(i, value):
            if i == self.at and self.actions:
                self.actions.pop()()
            return on_iteration(i, value)

        tell.store = on_iteration.store
        return super().minimize(objective, theta, rng, tell)


def acting(at, *actions):
    AtIteration.actions[:] = actions
    return regressor().set_params(solver=AtIteration(at))


def kill(client):
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_workers_do_not_show_in_the_result():
    """One worker; a second that joins late; one of two killed; three."""
    with dask.config.set(scheduler="sync"):
        local = regressor().fit(*arrays(X, Y, WEIGHT))
    assert local.score(X, SCORE) > 0.5
    found = {}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        found["one"] = regressor().fit(*arrays(X, Y, WEIGHT))
        found["late"] = acting(3, lambda: cluster.scale(2)).fit(*arrays(X, Y, WEIGHT))
        client.wait_for_workers(2)
        found["killed"] = acting(4, lambda: kill(client)).fit(*arrays(X, Y, WEIGHT))
        cluster.scale(3)
        client.wait_for_workers(3)
        found["three"] = regressor().fit(*arrays(X, Y, WEIGHT))
    for name, model in found.items():
        np.testing.assert_array_equal(model.basis_vectors_, local.basis_vectors_, err_msg=name)
        np.testing.assert_array_equal(model.dual_coef_, local.dual_coef_, err_msg=name)


class KilledWorker(Exception):
    """Dask's own has the same name."""


def dying(block):
    raise KilledWorker


def test_workers_that_die_for_want_of_memory_are_told():
    x, y = arrays(X, Y)
    with dask.config.set(scheduler="sync"), pytest.raises(MemoryError, match="chunks of X smaller"):
        regressor().fit(x.map_blocks(dying, dtype=float, meta=np.zeros((0, 0))), y)
