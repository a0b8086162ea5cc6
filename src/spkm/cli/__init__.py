"""The command ``spkm``.

A new verb is a module with ``add_options(parser)`` and ``run(options)``, and a line in :data:`VERBS`.
"""

from __future__ import annotations

from collections.abc import Sequence

import spkm
from spkm.cli._command import CommandError, Verb, run_command

#: The verbs of ``spkm``, in the order of its help.
VERBS = {
    "fit": Verb("spkm.cli.fit", "fit a model to a file of samples, and say how good it is"),
    "predict": Verb("spkm.cli.predict", "predict the samples of a file, however long"),
    "explain": Verb("spkm.cli.explain", "say why a sample is predicted as it is"),
    "counterfactual": Verb("spkm.cli.counterfactual", "find the smallest change that changes a prediction"),
    "prove": Verb("spkm.cli.prove", "prove or refute a statement about a model"),
    "report": Verb("spkm.cli.report", "write a page about a model and its quality on new samples"),
    "inspect": Verb("spkm.cli.inspect", "say what is in a model file"),
    "compare": Verb("spkm.cli.compare", "set two models side by side"),
    "check": Verb("spkm.cli.check", "say whether new samples are like those of the fit"),
    "export": Verb("spkm.cli.export", "write a model as Python, C, JavaScript, SQL, ONNX or JSON"),
    "serve": Verb("spkm.cli.serve", "answer requests from a model file, over HTTP"),
    "doctor": Verb("spkm.cli.doctor", "say what is installed, and what a file of samples holds"),
    "reproduce": Verb("spkm.cli.reproduce", "run the paper's experiments (needs the package spkm-paper)"),
}

__all__ = ["VERBS", "CommandError", "Verb", "main", "run_command"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 failed, 2 usage, 3 data, 4 model file, 5 drift, 130 Ctrl-C."""
    return run_command("spkm", "Sparse pre-image kernel machines.", spkm.__version__, VERBS, arguments)
