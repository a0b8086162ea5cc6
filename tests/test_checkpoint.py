"""Fits that go on after their process was killed."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from spkm import SPKMClassifier, SPKMRegressor
from spkm.core.objective import Objective
from spkm.fitting.checkpoint import Checkpoint
from spkm.solvers import LBFGS, Adam
from tests.interrupting import interrupt_at

RNG = np.random.default_rng(0)
X = RNG.standard_normal((900, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.standard_normal(900)

KILLED = """
import os, signal
from spkm.fitting import checkpoint as checkpoint_module
from tests.test_checkpoint import fit

class Killed(checkpoint_module.Checkpoint):
    count = 0

    def keep(self, state):
        super().keep(state)
        Killed.count += 1
        if Killed.count == {writes}:
            os.kill(os.getpid(), signal.SIGKILL)

checkpoint_module.Checkpoint = Killed
fit({name!r}, {path!r})
"""


class Killed(BaseException):
    """Stands for the end of the process."""


def chunks():
    """Yield more samples than are kept in memory."""
    for i in range(3):
        rng = np.random.default_rng(i)
        rows = rng.standard_normal((7000, 3))
        yield rows, np.sin(2 * rows[:, 0]) + rows[:, 1] * rows[:, 2] > 0


LINEAR = {"n_basis": 1, "kernel": "linear", "weight_penalty": "rkhs", "tol": 1e-9, "random_state": 0}  # one optimum
MADE = {
    "lbfgs": SPKMClassifier(solver="lbfgs", **LINEAR),
    "varpro": SPKMRegressor(solver="varpro", **LINEAR),
    "proximal": SPKMRegressor(solver="proximal", **LINEAR),
    "stages": SPKMClassifier(**{**LINEAR, "solver": LBFGS(first_rows=90, tol=1e-9)}),
    "adam": SPKMClassifier(4, solver=Adam(max_iter=8), random_state=0),
    "stream": SPKMClassifier(4, solver=Adam(max_iter=8), random_state=0),
}
EXACT = ("adam", "stream")  # to the bit: the others lose the memory of a quasi-Newton method, or step lengths


def fit(name, path):
    model = MADE[name]
    if name == "stream":
        return model.fit(chunks, checkpoint=path, checkpoint_every=0)
    return model.fit(X, Y if isinstance(model, SPKMRegressor) else Y > 0, checkpoint=path, checkpoint_every=0)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", list(MADE))
def test_a_killed_fit_goes_on(name, tmp_path):
    path = str(tmp_path / "state.npz")
    if name in ("stages", "stream"):
        code = KILLED.format(name=name, path=path, writes=5)
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
        assert done.returncode == -signal.SIGKILL, done.stderr
    else:  # quicker than a process of its own
        with interrupt_at(Checkpoint.keep, 6, Killed), pytest.raises(Killed):
            fit(name, path)
    assert [p.name for p in tmp_path.iterdir()] == ["state.npz"]
    found = fit(name, path)
    assert not list(tmp_path.iterdir())
    method = "predict" if isinstance(found, SPKMRegressor) else "predict_proba"
    resumed, objective = getattr(found, method)(X), found.objective_
    whole = fit(name, None)
    assert objective == pytest.approx(whole.objective_, rel=0 if name in EXACT else 1e-5)
    np.testing.assert_allclose(resumed, getattr(whole, method)(X), rtol=0, atol=0 if name in EXACT else 0.02)


def left_by(tmp_path, **params):
    """Return the path of a checkpoint that a fit has left."""
    path = tmp_path / "state.npz"
    model = SPKMClassifier(3, solver="lbfgs", weight_penalty="rkhs").set_params(**params)
    with interrupt_at(Objective.value_and_gradient, 8), pytest.warns(match="interrupted"):
        model.fit(X, Y > 0, checkpoint=path, checkpoint_every=0)
    assert path.exists()
    return path


def test_an_interrupted_fit_leaves_its_state_and_goes_on_from_its_own_seed(tmp_path, caplog):
    path = left_by(tmp_path)
    caplog.set_level(logging.INFO, "spkm")
    seed = Checkpoint(path, 0, SPKMClassifier(3, solver="lbfgs", weight_penalty="rkhs")).header["seed"]
    model = SPKMClassifier(3, solver="lbfgs", weight_penalty="rkhs", n_jobs=2).fit(X, Y > 0, checkpoint=path)
    whole = SPKMClassifier(3, solver="lbfgs", weight_penalty="rkhs", random_state=seed).fit(X, Y > 0)
    np.testing.assert_allclose(model.objective_, whole.objective_, rtol=1e-2)
    assert caplog.messages == [f"SPKMClassifier goes on from the checkpoint {path}"]


@pytest.mark.parametrize(
    ("params", "rows", "message"),
    [
        ({"n_basis": 4}, X, "written with n_basis=3, and now it is 4"),
        ({"kernel": "matern"}, X, "written with kernel=rbf, and now it is matern"),
        ({}, X[:-1], "their samples were 900, and now are 899"),
        ({}, X + 0.1, "their numbers were"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(tmp_path, params, rows, message):
    path = left_by(tmp_path)
    model = SPKMClassifier(3, solver="lbfgs", weight_penalty="rkhs", scale=True).set_params(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(rows, Y[: len(rows)] > 0, checkpoint=path)
    assert path.exists() and not hasattr(model, "model_")


def test_other_files_and_fits_are_refused(tmp_path):
    other = tmp_path / "notes.txt"
    other.write_text("not an archive")
    model = SPKMRegressor(2)
    for arguments, message in (
        ({"checkpoint": other}, "no checkpoint of a fit"),
        ({"checkpoint": tmp_path}, "must be a file"),
        ({"checkpoint": tmp_path / "none" / "x"}, "folder that exists"),
        ({"checkpoint": tmp_path / "x", "checkpoint_every": -1}, "at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y, **arguments)
    for params in ({"selection": "strict"}, {"n_basis": "auto"}, {"warm_start": True}):
        with pytest.raises(ValueError, match="plain fit"):
            SPKMRegressor(**params).fit(X, Y, checkpoint=tmp_path / "x")
    with pytest.raises(ValueError, match="integer or None"):
        SPKMRegressor(2, random_state=np.random.default_rng(0)).fit(X, Y, checkpoint=tmp_path / "x")
    assert other.read_text() == "not an archive"


def test_it_is_not_written_more_often_than_asked(tmp_path):
    path = tmp_path / "state.npz"
    store = Checkpoint(path, 1000, SPKMRegressor(2))
    store.keep(lambda: pytest.fail("too early"))
    assert not path.exists()


def test_a_fit_killed_in_its_second_descent_keeps_all_of_the_first(tmp_path):
    path = tmp_path / "state.npz"
    model = SPKMClassifier(2, solver="lbfgs", weight_penalty="rkhs", n_restarts=2, random_state=0)
    whole = clone(model).fit(X, Y > 0)
    with interrupt_at(Checkpoint.keep, whole.n_iter_ + 6, Killed), pytest.raises(Killed):
        clone(model).fit(X, Y > 0, checkpoint=path, checkpoint_every=0)
    assert np.load(path)["restart"] == 1
    found = model.fit(X, Y > 0, checkpoint=path)
    assert found.objective_path_[0] > found.objective_ and found.n_iter_ > 1 and np.isfinite(found.stationarity_)
