"""``spkm report``: a page about a model and its quality on the samples of a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from spkm.cli._command import CommandError, Subparsers, plain_text
from spkm.cli._output import STDIO, check_can_write, notes, replacing, show, write_json
from spkm.cli._reading import add_data_options, add_target_options, target_of

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from spkm._arrays import TableLike, TargetLike

KINDS = (".html", ".htm", ".md", ".json")  # a page, a card, and the facts alone


def add_parser(subparsers: Subparsers) -> None:
    """Add the options."""
    parser = subparsers.add_parser("report", help="write a page about a model", description=plain_text(__doc__))
    parser.add_argument("model", help="the model file")
    parser.add_argument("data", help="samples that the model has not seen; - is stdin")
    add_target_options(parser, "the column with the true values")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the page: .html, .md or .json")
    parser.add_argument("--json", metavar="FILE", help="what was written, as JSON; - is stdout")
    add_report_options(parser)
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    """Write the page and return the exit code."""
    from spkm.cli._models import read_model, readable, text_columns, truths_of
    from spkm.cli._reading import read_frame
    from spkm.cli.predict import features_of

    check_report("--output", options.output)
    check_can_write("--json", options.json)
    target = target_of(options)
    model = read_model(options.model)
    frame = read_frame(options.data, options.format, text_columns(model))
    samples = truths_of(model, frame, target)
    X = features_of(model, samples.X, options.data)
    readable(model, X, options.data)  # before the work rather than in the midst of it
    write_report(model, options, options.output, X, samples.y)
    if options.json is not None:
        write_json(options.json, {"model": options.model, "samples": len(samples.y), "report": options.output})
    if options.json != STDIO:
        show(f"Written: {options.output}")
    return 0


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a page."""
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    parser.add_argument(
        "--privacy", choices=("rows", "aggregate"), default="rows", help="aggregate: no sample is in the page"
    )


def check_report(option: str, path: str | None) -> None:
    """Raise CommandError where a page of that name could not be written."""
    check_can_write(option, path)
    if path is not None and not path.lower().endswith(KINDS):
        raise CommandError(f"{option} must be a file whose name ends with {', '.join(KINDS)}; got {path!r}.")


def write_report(
    model: BaseEstimator, options: argparse.Namespace, path: str, X: TableLike, y: TargetLike, train: Any = None
) -> None:
    """Write the page about a model.

    Parameters
    ----------
    model : pipeline or estimator
        The model.
    options : Namespace
        With title and privacy.
    path : str
        File to write.
    X, y : DataFrame and ndarray
        Samples that the model has not seen.
    train : tuple of DataFrame and ndarray, default=None
        Training samples.
    """
    from spkm.inspection import report

    with replacing(path) as temporary, notes():
        report(model, temporary, X, y, train=train, title=options.title, target=options.target, privacy=options.privacy)
