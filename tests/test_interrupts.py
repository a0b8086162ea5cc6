"""Ctrl-C by a real signal: a fit that a user calls keeps its best, other work stops; and threads of BLAS come back."""

import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from threadpoolctl import threadpool_info, threadpool_limits

from spkm import SPKMClassifier, SPKMClassifierCV, SPKMRegressor
from tests.small_data import two_classes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

# The signal comes from a thread of its own once the solver, or the search, is at work.
PROLOGUE = """
import os, signal, threading, warnings
import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from spkm import SPKMClassifier, SPKMClassifierCV, SPKMRegressor
from spkm.core.objective import Objective

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have programs in the background ignore it
rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 12))
y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] > 0
busy, calls = threading.Event(), [0]
plain = Objective.value_and_gradient

def counted(self, theta, *args, **kwargs):
    calls[0] += 1
    if calls[0] == AFTER:
        busy.set()
    return plain(self, theta, *args, **kwargs)

Objective.value_and_gradient = counted

def send():
    busy.wait()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=send, daemon=True).start()
slow = SPKMClassifier(30, solver="lbfgs", tol=0.0, max_iter=10**7, n_jobs=1, random_state=0)
"""


def run(body, after=20):
    """Return what a program prints that is interrupted after some steps of the solver."""
    code = PROLOGUE.replace("AFTER", str(after)) + textwrap.dedent(body)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    return done.stdout.split(), done.returncode, done.stderr


def test_a_plain_fit_keeps_the_best_model_with_a_warning():
    out, code, errors = run("""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            slow.fit(X, y)
        assert any("interrupted; the best model so far is kept" in str(w.message) for w in caught), caught
        print(slow.model_.interrupted, slow.score(X, y) > 0.6)
    """)
    assert (out, code) == (["True", "True"], 0), errors


@pytest.mark.parametrize(
    "work",
    [
        'work, first = GridSearchCV(slow, {"n_basis": [30, 31]}, cv=2), "best_params_"',
        'work, first = make_pipeline(StandardScaler(), slow), "classes_"',
    ],
)
def test_an_interrupt_stops_the_work_that_a_fit_is_part_of(work):
    out, code, errors = run(f"""
        {work}
        try:
            work.fit(X, y)
        except KeyboardInterrupt:
            print("stopped")
        print(hasattr(work, first), hasattr(slow, "model_"))
    """)
    assert (out, code) == (["stopped", "False", "False"], 0), errors


def test_a_search_returns_the_best_so_far():
    out, code, errors = run(
        """
        from spkm import SPKMClassifierCV
        from spkm.selection import Search

        first = Search._eliminated

        def eliminated(self, candidate, rivals):
            if candidate.name == "rbf":  # there is a choice to keep from here on
                busy.set()
            return first(self, candidate, rivals)

        Search._eliminated = eliminated
        kernels = ["linear", "rbf"]
        search = SPKMClassifierCV(kernel=kernels, solver="lbfgs", n_basis=6, n_jobs=1, random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search.fit(X, y)
        assert any("interrupted; the best model so far is kept" in str(w.message) for w in caught), caught
        print(len(search.selected_features_) > 0, search.predict(X).shape == y.shape)
        """,
        after=10**9,
    )
    assert (out, code) == (["True", "True"], 0), errors


def test_an_interrupt_that_nobody_catches_ends_the_program():
    _, code, errors = run('GridSearchCV(slow, {"n_basis": [30]}, cv=2).fit(X, y)')
    assert code in (-signal.SIGINT, 130, 1) and "KeyboardInterrupt" in errors


# A callback that asks to stop


class StopAt:
    """A callback that asks to stop at its n-th task."""

    def __init__(self, n):
        self.n, self.tasks = n, 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.tasks += 1
        return self.tasks >= self.n

    def teardown(self, estimator, context):
        pass


SEARCH = {"kernel": "linear", "n_basis": 2, "n_jobs": 1, "random_state": 0}
STOPPED = {
    "plain": SPKMClassifier(4, n_jobs=1, random_state=0),
    "ovo": SPKMClassifier(4, multi_class="ovo", n_jobs=1, random_state=0),
    "selection": SPKMClassifier(selection="strict", **SEARCH),
    "cv": SPKMClassifierCV(cv=2, **SEARCH),
}


@pytest.mark.usefixtures("hasty")
@pytest.mark.filterwarnings("ignore:The best .* lies at the edge:UserWarning")
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("name", STOPPED)
def test_a_callback_that_asks_to_stop_is_no_interrupt(name, n):
    """Not even in the company of scikit-learn, where an interrupt would stop all work."""
    X, y = two_classes()
    y = np.arange(len(y)) % 3 if name == "ovo" else y
    y = (X[:, 0] > 0).astype(int) if name in ("selection", "cv") else y  # what a linear kernel finds
    model = clone(STOPPED[name])
    if not hasattr(model, "set_callbacks"):
        pytest.skip("callbacks came with scikit-learn 1.9")
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.set_callbacks(StopAt(n)).fit(X, y)
    assert model.predict(X).shape == y.shape
    if n == 1:
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            assert len(cross_val_score(model, X, y, cv=2, error_score="raise")) == 2


# Threads of BLAS


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("task", ["fit", "predict"])
def test_fits_and_predictions_in_threads_give_the_threads_of_blas_back(task):
    X, y = two_classes()
    model = SPKMRegressor(4, tol=0.1, n_jobs=1, random_state=0).fit(X, y)

    def one(seed):
        if task == "fit":
            return SPKMRegressor(4, tol=0.1, n_jobs=1, random_state=seed).fit(X, y).predict(X)
        return model.predict(X)

    with threadpool_limits(2):
        before = blas_threads()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(one, range(4)))
        assert blas_threads() == before


def test_an_error_in_one_thread_gives_the_threads_of_blas_back():
    X, y = two_classes()

    def one(seed):
        kernel = "rbf" if seed % 2 else "linear"
        start = np.full((4, 2), np.nan) if seed % 3 == 0 else "auto"
        try:
            model = SPKMRegressor(4, kernel=kernel, start=start, tol=0.1, n_jobs=1, random_state=seed)
            return model.fit(X, y).predict(X)
        except ValueError:
            return None

    with threadpool_limits(2):
        before = blas_threads()
        with ThreadPoolExecutor(4) as pool:
            assert None in list(pool.map(one, range(4)))
        assert blas_threads() == before
