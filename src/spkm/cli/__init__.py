"""The command ``spkm``.

A new verb is a module with ``add_parser(subparsers)`` and ``run(options)``, and a line in :data:`VERBS`.
"""

from __future__ import annotations

from collections.abc import Sequence

import spkm
from spkm.cli._command import CommandError, Subparsers, Verb, run_command

#: The verbs of ``spkm``, in the order of its help.
VERBS = {
    "reproduce": Verb("spkm.cli.reproduce", "run the paper's experiments (needs the package spkm-paper)"),
}

__all__ = ["VERBS", "CommandError", "Subparsers", "Verb", "main", "run_command"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 where something failed, 2 for bad usage, 130 after Ctrl-C."""
    return run_command("spkm", "Sparse pre-image kernel machines.", spkm.__version__, VERBS, arguments)
