"""The experiments of the paper, each of them a list of tasks and a report; ``spkm reproduce`` runs them."""

from spkm.experiments import (
    differences,
    illustrations,
    landmarks,
    mkl,
    mnist,
    regression,
    simulated,
    sparsity,
    table1,
    table2,
    timing,
)
from spkm.experiments._figures import PlotExtraMissing
from spkm.experiments._page import by_reason
from spkm.experiments._progress import Progress
from spkm.experiments._reproduce import Outcome, reproduce
from spkm.experiments._tasks import Experiment, Plan, Result, Results, Task

#: All experiments, in the order of the report.
EXPERIMENTS: tuple[Experiment, ...] = (
    illustrations.EXPERIMENT,
    mnist.EXPERIMENT,
    table1.EXPERIMENT,
    differences.EXPERIMENT,
    table2.EXPERIMENT,
    landmarks.EXPERIMENT,
    regression.EXPERIMENT,
    timing.EXPERIMENT,
    simulated.EXPERIMENT,
    sparsity.EXPERIMENT,
    mkl.EXPERIMENT,
)

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Outcome",
    "Plan",
    "PlotExtraMissing",
    "Progress",
    "Result",
    "Results",
    "Task",
    "by_reason",
    "reproduce",
]
