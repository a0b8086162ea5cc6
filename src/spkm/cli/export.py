"""``spkm export``: a model as code that predicts without this library, in Python, C, JavaScript, SQL, ONNX or JSON."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from spkm.cli._command import CommandError
from spkm.cli._output import STDIO, check_can_write, finish, notes, replacing, show

#: Names of the languages, and what the names of their files end with.
SUFFIXES = {"python": ".py", "c": ".c", "js": ".js", "sql": ".sql", "onnx": ".onnx", "json": ".json"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="the model file")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help=f"the code, {', '.join(SUFFIXES.values())}; - is stdout"
    )
    parser.add_argument("--to", choices=tuple(SUFFIXES), help="the language; by the name of the file, unless given")
    parser.add_argument("--details", action="store_true", help="sql: similarities to the basis vectors, too")
    parser.add_argument("--times", metavar="T,T", help="for a model of censored times: survival until each")
    parser.add_argument("--side", choices=("x", "y"), help="for a model of two tables: the scores of one")
    parser.add_argument("--json", metavar="FILE", help="a summary of the run as JSON; - is stdout")


def run(options: argparse.Namespace) -> int:
    """Write the code and return the exit code."""
    language = _language(options)
    check_can_write("--output", options.output)
    if options.output == STDIO and (language == "onnx" or options.json == STDIO):
        raise CommandError("-o - is for text alone, and --json - cannot go with it. Give -o a file.")
    if options.details and language != "sql":
        raise CommandError(f"--details goes with sql; the language is {language}.")
    from spkm.cli._models import Model, read_model, read_two_tables
    from spkm.cli.predict import asked_times
    from spkm.persistence import export

    if options.side is None:
        model = read_model(options.model)
    else:
        model = Model(read_two_tables(options.model, "--side").side(options.side))
    times = asked_times(model, options.times)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{SUFFIXES[language]}"
        try:
            with notes():
                export(model.whole, path, details=options.details, times=times)
        except ImportError as error:
            raise CommandError(str(error), exit_code=1) from error
        except (TypeError, ValueError) as error:
            raise CommandError(f"{options.model} cannot be written as {language}: {error}", exit_code=1) from error
        content = path.read_bytes()
    if options.output == STDIO:
        sys.stdout.write(content.decode())
        return 0
    with replacing(options.output) as temporary:
        temporary.write_bytes(content)
    result = {"model": options.model, "language": language, "bytes": len(content), "written": options.output}
    finish(options.json, result, lambda: show(f"Written: {options.output}, {len(content):,} bytes of {language}"))
    return 0


def _language(options: argparse.Namespace) -> str:
    if options.to is not None:
        return options.to
    ends = {suffix: name for name, suffix in SUFFIXES.items()} | {".h": "c"}
    suffix = Path(options.output).suffix.lower()
    if suffix not in ends:
        raise CommandError(
            f"--output must end with {', '.join(SUFFIXES.values())}, or --to must name the language; got "
            f"{options.output!r}."
        )
    return ends[suffix]
