"""The command ``spkm-paper``."""

from __future__ import annotations

from collections.abc import Sequence

import spkm_paper
from spkm.cli import Verb, run_command

#: The verbs of ``spkm-paper``.
VERBS = {"reproduce": Verb("spkm_paper.cli.reproduce", "run the paper's experiments, and make its tables and figures")}

__all__ = ["VERBS", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 where a run failed, 2 for bad usage, 130 after Ctrl-C."""
    about = "The experiments of the paper on sparse pre-image kernel machines."
    return run_command("spkm-paper", about, spkm_paper.__version__, VERBS, arguments)
