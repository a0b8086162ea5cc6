"""``spkm reproduce``: the experiments of the paper, which a package of their own holds."""

from __future__ import annotations

import argparse
from typing import Any

from spkm.cli._command import CommandError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options, which are those of ``spkm-paper reproduce``."""
    _experiments().add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the experiments and return the exit code."""
    return _experiments().run(options)


def _experiments() -> Any:
    """Return the verb of the paper's package, or end with the way to get it."""
    try:
        from spkm_paper.cli import reproduce
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "spkm_paper":
            raise  # it is installed, and something that it needs is not
        raise CommandError(
            "the paper's experiments are in the package spkm-paper, which is not installed. It is the folder paper of "
            "spkm's repository: run `pip install './paper[plot]'` there, or `make reproduce`, which installs it by "
            "itself."
        ) from None
    return reproduce
