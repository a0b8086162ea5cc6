"""``spkm report``: a page about a model and its quality on the samples of a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spkm.cli._command import CommandError
from spkm.cli._output import STDIO, check_can_write, finish, notes, replacing, show
from spkm.cli._reading import add_data_options, add_target_options, target_of

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from spkm._arrays import TableLike, TargetLike

KINDS = (".html", ".htm", ".md", ".json")  # a page, a card, and the facts alone


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="the model file")
    parser.add_argument("data", help="samples that the model has not seen; - is stdin")
    add_target_options(parser, "the column with the true values")
    parser.add_argument(
        "--with", dest="second", metavar="FILE", help="for a model of two tables: the second, in the same order of rows"
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the page: .html, .md or .json")
    parser.add_argument("--json", metavar="FILE", help="a summary of the run as JSON; - is stdout")
    add_report_options(parser)
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    """Write the page and return the exit code."""
    from spkm.cli._models import read_model

    check_report("--output", options.output)
    if options.second is not None:
        return _two_tables(options)
    target = target_of(options)
    model = read_model(options.model)
    samples = model.truths(model.read(options.data, options.format), target)
    X = model.features(samples.X, options.data)
    model.encoded(X, options.data)  # before the work rather than in the midst of it
    write_report(model.whole, options, options.output, X, samples.y)
    _tell(options, len(samples.y))
    return 0


def _two_tables(options: argparse.Namespace) -> int:
    """Write the page of a model of two tables and return the exit code."""
    from spkm.cli._models import Model, read_two_tables
    from spkm.cli._reading import data_error

    if any(option is not None for option in (options.target, options.time, options.event)):
        raise CommandError("--with FILE is a table, in the place of --target, --time and --event.")
    model = read_two_tables(options.model, "--with")
    sides = ((Model(model.side("x")), options.data), (Model(model.side("y")), options.second))
    X, Y = (side.features(side.read(path, options.format), path) for side, path in sides)
    try:
        with replacing(options.output) as temporary, notes():
            tables = names_of_tables(options)
            model.report(temporary, X, Y, title=options.title, tables=tables, privacy=options.privacy)
    except (TypeError, ValueError) as error:
        raise data_error(f"{options.data} and {options.second}: {error}") from error
    _tell(options, len(X))
    return 0


def names_of_tables(options: argparse.Namespace) -> tuple[str, str]:
    """Return the names of two tables: those of their files, if these have names of their own."""
    first, second = (Path(path).name.partition(".")[0] for path in (options.data, options.second))
    return (first, second) if first and second and first != second and STDIO not in (first, second) else ("X", "Y")


def _tell(options: argparse.Namespace, n_samples: int) -> None:
    result = {"model": options.model, "samples": n_samples, "report": options.output}
    finish(options.json, result, lambda: show(f"Written: {options.output}"))


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

    named, target = {"title": options.title, "privacy": options.privacy}, options.target or options.event
    with replacing(path) as temporary, notes():
        report(model, temporary, X, y, train=train, target=target, **named)
