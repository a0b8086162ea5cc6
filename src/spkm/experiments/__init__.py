"""The experiments of the paper, each of them a list of tasks and a report; ``spkm reproduce`` runs them."""

from spkm.experiments import table1
from spkm.experiments._figures import PlotExtraMissing
from spkm.experiments._progress import Progress
from spkm.experiments._reproduce import Outcome, reproduce
from spkm.experiments._tasks import Experiment, Plan, Result, Results, Task

#: All experiments, in the order of the report.
EXPERIMENTS: tuple[Experiment, ...] = (table1.EXPERIMENT,)

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
    "reproduce",
]
