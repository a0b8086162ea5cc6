"""A small experiment for the tests of the engine; a module of its own, as worker processes import it."""

import multiprocessing
import os
import signal
import time

import numpy as np

from spkm import SPKMClassifier
from spkm_paper.experiments import Experiment, Plan, Results, Task
from spkm_paper.experiments._blocks import Figure
from spkm_paper.experiments._figures import panels
from spkm_paper.experiments._tables import Line, comparison

METHODS = ("mean", "median")


def tasks(plan: Plan, sets=()):
    for seed in range(plan.n_seeds(3)):
        for method in METHODS:
            yield Task("toy", "made up", seed, method, {"n": plan.size(50, 20)})


def run(task, folder):
    values = np.random.default_rng(task.seed).normal(10.0, size=task.settings["n"])
    return {"error": abs(getattr(np, task.method)(values) - 10), "n": len(values), "list": values[:2]}


def report(results: Results):
    lines = [Line("mean"), Line("median", "0.5", competitor=True)]
    table = comparison(results, "made up", "A toy", lines, "error", "error", {"n": "rows"}, larger_is_better=False)

    def draw():
        figure, (axis,) = panels(1)
        axis.plot(results.values("made up", "mean", "error"))
        return figure

    return [table, Figure("toy", "Errors & <such>.", draw)]


TOY = Experiment("toy", "Toy", "Means and medians.", tasks, run, report)
LACKS_DATA = Experiment("lacking", "Lacking", "Needs data.", tasks, run, report, data=("ionosphere",))


def fit(task, folder):
    """Fit a problem: to see that processes give what this one gives."""
    rng = np.random.default_rng(task.seed)
    X = rng.normal(size=(60, 4))
    model = SPKMClassifier(2, random_state=task.seed, n_jobs=1).fit(X, X[:, 0] * X[:, 1] > 0)
    return {"weights": model.dual_coef_, "objective": model.objective_}


def fail_on_odd(task, folder):
    if task.seed % 2:
        raise ValueError("odd seeds are not for us")
    return {"seed": task.seed}


def die_on_one(task, folder):
    if task.seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"seed": task.seed}


def interrupt_parent(task, folder, number=signal.SIGINT):
    """Do as Ctrl-C does, once the tasks of two seeds are done."""
    if task.seed == 2:
        os.kill(multiprocessing.parent_process().pid, number)
        time.sleep(60)
    return {"seed": task.seed}


def terminate_parent(task, folder):
    """Do as a scheduler does whose patience is at an end."""
    return interrupt_parent(task, folder, signal.SIGTERM)


def warn(task, folder):
    import warnings

    warnings.warn("as an example", stacklevel=1)
    return {"seed": task.seed}


def bad_numbers(task, folder):
    return {"what": object()}
