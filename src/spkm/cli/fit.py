"""``spkm fit``: from a file of samples to a model, its quality on held-out samples, and a page about it."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from spkm.cli._command import STOPPED, CommandError
from spkm.cli._output import STDIO, check_can_write, counted, finish, say, show, show_quality, show_written
from spkm.cli._reading import add_data_options, add_target_options, target_of
from spkm.cli.report import add_report_options, check_report

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Fit a model to a CSV, Parquet, Arrow or NPZ file and say how good it is on samples held out, beside a linear "
        "model and a constant."
    )
    parser.add_argument("data", help="the file, a folder of files or a pattern such as 'part-*.parquet'; - is stdin")
    add_target_options(parser, "the column to predict")
    parser.add_argument(
        "--with",
        dest="second",
        metavar="FILE",
        help="in place of a target: a second table of the same samples in the same order, to find what both have in "
        "common",
    )
    parser.add_argument("--components", type=int, default=1, metavar="K", help="with --with: pairs of functions (1)")
    parser.add_argument(
        "--kernels",
        default="rbf",
        metavar="X,Y",
        help="with --with: kernels of the two tables, of linear, square, polynomial and rbf (rbf,rbf)",
    )
    parser.add_argument(
        "--ordered", metavar="LEVELS", help="the target has ordered classes, lowest first: low,mid,high"
    )
    _add_column_options(parser)
    parser.add_argument("--features", type=int, metavar="N", help="keep at most N columns (strict selection)")
    parser.add_argument("--vectors", type=int, metavar="R", help="most basis vectors (classes: 10, numbers: 20)")
    parser.add_argument(
        "--monotone",
        action="append",
        default=[],
        metavar="COLUMN=+",
        help="the prediction must rise (+) or fall (-) with a column of numbers (repeatable)",
    )
    parser.add_argument(
        "--scale",
        choices=("each", "common", "none"),
        default="each",
        help="scale of the features: one for each, one for all (spectra, pixels), or as they are",
    )
    parser.add_argument(
        "--task",
        choices=("auto", "classes", "numbers", "ordered"),
        default="auto",
        help="kind of target; auto: text, booleans and at most ten different whole numbers are classes",
    )
    parser.add_argument(
        "--test-size", type=float, default=0.2, metavar="SHARE", help="share of the samples that is held out (0.2)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the held-out samples and of the fit (0)")
    parser.add_argument("--drop-missing-target", action="store_true", help="leave samples without a target out")
    parser.add_argument("-o", "--output", metavar="FILE", help="file for the model")
    parser.add_argument("--report", metavar="FILE", help="a page about the model: .html, .md or .json")
    parser.add_argument("--json", metavar="FILE", help="everything as JSON; - is stdout, instead of the table")
    add_report_options(parser)
    add_data_options(parser)


def _add_column_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what columns are."""
    parser.add_argument(
        "--id", action="append", default=[], metavar="COLUMN", help="names samples; not a feature (repeatable)"
    )
    parser.add_argument("--drop", action="append", default=[], metavar="COLUMN", help="not a feature (repeatable)")
    parser.add_argument(
        "--categorical", action="append", default=[], metavar="COLUMN", help="column of codes, not amounts (repeatable)"
    )
    parser.add_argument(
        "--groups",
        "--group",
        dest="group",
        metavar="COLUMN",
        help="samples of one value (replicates, a patient's visits) stay together when some are held out",
    )


def run(options: argparse.Namespace) -> int:
    """Fit, measure and write; return the exit code."""
    started = time.perf_counter()
    _check(options)
    if options.second is not None:
        from spkm.cli import _two_tables

        return _two_tables.run(options)
    # Heavy modules are imported once it is clear that they are needed.
    from spkm.cli._reading import Known, read_frame
    from spkm.cli._samples import counters, number_texts, samples_of, split

    target = target_of(options)
    named = [*([target] if isinstance(target, str) else target), *options.id, *options.drop, *options.categorical]
    texts = (*options.categorical, *options.id, *options.drop)  # whatever their cells look like
    known = Known(texts, (*named, *([options.group] if options.group else [])))
    frame = read_frame(options.data, options.format, known)
    samples = samples_of(
        frame,
        target,
        [*options.id, *options.drop],
        options.group,
        options.task,
        options.drop_missing_target,
        ordered=None if options.ordered is None else [level.strip() for level in options.ordered.split(",")],
    )
    # Brings scikit-learn, which bad files need not wait for.
    from spkm.cli._fitting import advice, compared, fit_pipeline

    train_rows, test_rows = split(samples, options.test_size, options.seed)
    train, test = samples.at(train_rows), samples.at(test_rows)
    settings = _settings(options)
    pipeline, told = fit_pipeline(train, settings)
    for note in [*counters(samples.X), *number_texts(samples.X), *told["encoder_notes"]]:
        say(f"note: {note}")
    quality = compared(pipeline, train, test, options.seed)
    warned = advice(quality, train, settings)
    left_out = [*options.id, *options.drop, *([options.group] if options.group else [])]
    result: dict[str, Any] = {
        "command": options.command_line,
        "data": {"file": options.data, "samples": len(frame), "columns": [str(name) for name in frame.columns]},
        "target": target,
        "task": samples.task,
        "why_this_task": samples.why,
        "columns_left_out": left_out,
        **told,
        "split": {"train": len(train.y), "test": len(test.y), "seed": options.seed, "by": options.group},
        "quality": quality.plain(),
        "difference_from_linear": quality.plain_difference("spkm", "linear"),
        "warnings": warned,
        **_about(pipeline),
        "written": _write(options, pipeline, train, test, quality),
        "seconds": time.perf_counter() - started,
    }
    finish(options.json, result, lambda: _tell(options, result, quality))
    for text in warned:
        say(f"warning: {text}" if text is warned[0] else text)
    return STOPPED if told["interrupted"] else 0


def _settings(options: argparse.Namespace) -> Any:
    """Return the choices that the options stand for."""
    from spkm.cli._fitting import Settings

    parameters: dict[str, Any] = {} if options.vectors is None else {"n_basis": options.vectors}
    if options.scale != "each":
        parameters["scale"] = "common" if options.scale == "common" else False
    monotone = dict(map(_direction, options.monotone))
    return Settings(options.seed, options.categorical, options.features, parameters, monotone)


def _direction(text: str) -> tuple[str, int]:
    name, equals, sign = text.rpartition("=")
    if not (name and equals and sign in ("+", "-", "1", "-1", "+1")):
        raise CommandError(f"--monotone must be COLUMN=+ or COLUMN=-; got {text!r}.")
    return name, -1 if sign.startswith("-") else 1


def _about(pipeline: Pipeline) -> dict[str, Any]:
    """Return the facts of the fitted model itself."""
    from spkm.cli._models import Model, facts

    parameters = pipeline.steps[-1][1].get_params()
    return {
        "features": list(pipeline.steps[0][1].get_feature_names_out()),
        "model": facts(Model(pipeline)),
        "parameters": {name: repr(value) for name, value in parameters.items()},
        "versions": _versions(),
    }


def _check(options: argparse.Namespace) -> None:
    if options.second is not None:
        from spkm.cli import _two_tables

        _two_tables.check(options)
    else:
        target_of(options)
        if options.components != 1 or options.kernels != "rbf":
            raise CommandError("--components and --kernels go with --with FILE, a fit of two tables.")
    if options.ordered is not None and options.target is None:
        raise CommandError("--ordered goes with --target COLUMN.")
    targets = {options.target, options.time, options.event} - {None}
    for option, names in (("id", options.id), ("drop", options.drop), ("groups", [options.group])):
        if targets & set(names):
            raise CommandError(f"--{option} must not name the target; got {(targets & set(names)).pop()!r}.")
    if not 0 < options.test_size < 1:
        raise CommandError(f"--test-size must be a share between 0 and 1; got {options.test_size:g}.")
    for name in ("features", "vectors"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise CommandError(f"--{name} must be at least 1; got {value}.")
    if options.seed < 0:
        raise CommandError(f"--seed must be at least 0; got {options.seed}.")
    for text in options.monotone:
        _direction(text)
    check_report("--report", options.report)
    taken = {options.data, options.second} - {STDIO, None}
    for option in ("output", "report", "json"):
        path = getattr(options, option)
        check_can_write(f"--{option}", path)
        if path in taken or (option == "output" and path == STDIO):
            raise CommandError(f"--{option} must be a file of its own; got {path!r}.")
        taken |= {path} - {None}


def _write(options: argparse.Namespace, pipeline: Pipeline, train: Any, test: Any, quality: Any) -> dict[str, str]:
    """Write the model and the report, and return what was written."""
    from spkm.cli._models import write_model
    from spkm.cli.report import write_report

    written, columns = {}, pipeline.steps[0][1].columns_
    if options.output is not None:
        held_out = {f"held-out {measure}": value for measure, value in quality.values["spkm"].items()}
        named = options.target if options.time is None else f"{options.time}, {options.event}"
        about = {"target": named, "samples": len(train.y), **held_out}
        write_model(pipeline, options.output, about, train.X[columns])
        written["model"] = options.output
    if options.report is not None:
        write_report(pipeline, options, options.report, test.X[columns], test.y, (train.X[columns], train.y))
        written["report"] = options.report
    return written


def _tell(options: argparse.Namespace, result: dict[str, Any], quality: Any) -> None:
    from spkm.cli._models import vectors_of

    show(f"Quality on {quality.n_samples:,} held-out samples, with 95 % intervals:")
    show_quality(quality, "spkm", "linear")
    model = result["model"]
    show(
        f"The model has {vectors_of(model)} and reads {counted(model['columns_read'], 'column')} of the table "
        f"({counted(model['features_read'], 'feature')}). It took {result['seconds']:.1f} s."
    )
    if model["chosen_on_halves"]:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in list(model["chosen_on_halves"].items())[:20])
        show(f"Chosen again on random halves of the training samples: {shares}.")
    show_written(result["written"], options.json)
    if result["interrupted"]:
        say("the fit was interrupted; this is its best model so far.")


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    import spkm

    return {"spkm": spkm.__version__, **{name: version(name) for name in ("numpy", "scipy", "scikit-learn", "pandas")}}
