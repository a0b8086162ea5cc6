"""The experiments of the paper, each of them a list of tasks and a report; ``spkm-paper reproduce`` runs them."""

from spkm_paper.experiments import (
    cells,
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
from spkm_paper.experiments._code import check, stale, stamp
from spkm_paper.experiments._figures import PlotExtraMissing
from spkm_paper.experiments._page import by_reason
from spkm_paper.experiments._progress import Progress
from spkm_paper.experiments._renew import keep_what_agrees
from spkm_paper.experiments._reproduce import Outcome, absent_sets, reproduce
from spkm_paper.experiments._store import OutputError
from spkm_paper.experiments._tasks import Experiment, Plan, Result, Results, Task

#: All experiments, in the order of the report.
EXPERIMENTS: tuple[Experiment, ...] = (
    illustrations.EXPERIMENT,
    mnist.EXPERIMENT,
    table1.EXPERIMENT,
    differences.EXPERIMENT,
    cells.EXPERIMENT,
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
    "OutputError",
    "Plan",
    "PlotExtraMissing",
    "Progress",
    "Result",
    "Results",
    "Task",
    "absent_sets",
    "by_reason",
    "check",
    "keep_what_agrees",
    "reproduce",
    "stale",
    "stamp",
]
