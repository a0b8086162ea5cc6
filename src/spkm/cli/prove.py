"""``spkm prove``: whether a statement holds for every sample of a region, with a proof or a sample against it."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from spkm.cli._command import CommandError
from spkm.cli._output import finish, notes, show
from spkm.cli._reading import add_data_options

REFUTED, UNKNOWN = 5, 6  # exit codes
OPTIONS = {"max_boxes": "--boxes", "tolerance": "--tolerance", "other": "--other"}  # by names of parameters


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="the model file")
    parser.add_argument(
        "statement",
        help="such as 'score <= 0.8 where age < 25', 'probability of yes >= 0.1', 'score rises with income', 'changing "
        "sex moves probability by <= 0.05', 'prediction is yes where job in {nurse, baker}', 'difference of scores <= "
        "0.1'; ? in place of the number finds it",
    )
    parser.add_argument("--data", metavar="FILE", help="samples whose ranges limit the features; else all values")
    parser.add_argument("--other", metavar="MODEL", help="a second model file, for the difference of two models")
    parser.add_argument("--boxes", type=int, default=200_000, metavar="N", help="boxes to bound at most (200000)")
    parser.add_argument(
        "--tolerance", type=float, default=1e-3, metavar="T", help="accuracy of the number that ? finds"
    )
    parser.add_argument("--json", metavar="FILE", help="the answer as JSON; - is stdout, instead of the text")
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    """Answer the statement and return the exit code: 0 proved, 5 refuted, 6 unknown."""
    from spkm.cli._models import read_model
    from spkm.explain import prove

    model = read_model(options.model)
    other = None if options.other is None else read_model(options.other).whole
    ranges = None
    if options.data is not None:
        ranges = model.features(model.read(options.data, options.format), options.data)
    try:
        with notes():
            found = prove(
                model.whole,
                options.statement,
                other=other,
                ranges=ranges,
                tolerance=options.tolerance,
                max_boxes=options.boxes,
            )
    except ValueError as error:
        name, rest = str(error).partition(" ")[::2]
        raise CommandError(f"{OPTIONS.get(name, name)} {rest}") from error
    finish(options.json, {**asdict(found), "gap": found.gap}, lambda: show(str(found)))
    return {"proved": 0, "refuted": REFUTED, "unknown": UNKNOWN}[found.status]
