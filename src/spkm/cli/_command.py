"""A command made of verbs, each a module that is loaded only when it is named.

Programs that people type must answer ``--help`` at once, so this module imports nothing but the standard library, and a
verb's module is imported when the verb is the first word of the command line.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

#: Exit codes.
FAILED, USAGE, DATA, MODEL_FILE = 1, 2, 3, 4
DRIFT = 5  # of check: new samples are unlike those of the fit
STOPPED = 130  # the exit code of a program that Ctrl-C ended, as shells have it


def plain_text(doc: str | None) -> str:
    """Return the docstring of a verb as text for a terminal, without the name of the verb.

    Examples
    --------
    >>> plain_text("``spkm check``: are samples like those of the fit?")
    'Are samples like those of the fit?'
    """
    text = (doc or "").partition(": ")[2].replace("``", "")
    return text[:1].upper() + text[1:]


class Verb(NamedTuple):
    """A verb of a command.

    Parameters
    ----------
    module : str
        Name of its module, whose docstring describes it and which has two functions: ``add_options(parser)`` adds its
        options, and ``run(options)`` does the work and returns the exit code. ``options.command_line`` is what was
        typed.
    help : str
        The line in the help of the whole command.
    """

    module: str
    help: str


class CommandError(Exception):
    """Ends a command with a message for the user and without a traceback.

    Parameters
    ----------
    message : str
        Message: the argument, what it must be, what came, and what to do.
    exit_code : int, default=2
        2 for what the user can mend by another command line, 1 where the work itself failed, 3 for data that cannot be
        used, 4 for a file that is no model.
    """

    def __init__(self, message: str, exit_code: int = USAGE) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def _meant(word: str, known: Iterable[str]) -> str:
    """Return a question for the known word that is most like a word, or nothing."""
    close = get_close_matches(word, list(known), 1)
    return f". Did you mean {close[0]}?" if close else ""


def _check_verb(parser: argparse.ArgumentParser, named: str, verbs: Mapping[str, Verb]) -> None:
    """End with the verb that was meant, if a verb is not known and one is like it."""
    if named and named not in verbs and (meant := _meant(named, verbs)):
        parser.error(f"argument COMMAND: invalid choice: {named!r}{meant}")


def run_command(
    program: str, about: str, version: str, verbs: Mapping[str, Verb], arguments: Sequence[str] | None = None
) -> int:
    """Run the verb that the arguments name, and return its exit code.

    Parameters
    ----------
    program, about, version : str
        Name of the command, a line for its help, and what ``--version`` says.
    verbs : mapping of str to Verb
        The verbs by name, in the order of the help.
    arguments : sequence of str, default=None
        The words after the command; None: those of this process.

    Returns
    -------
    int
        0, 1 where something failed, 2 for bad usage, 3 for bad data, 4 for a bad model file, 130 after Ctrl-C.

    Examples
    --------
    >>> run_command("hello", "Says hello.", "1.0", {}, ["--version"])
    Traceback (most recent call last):
    ...
    SystemExit: 0
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    named = next((word for word in arguments if not word.startswith("-")), "")
    try:
        parser = argparse.ArgumentParser(prog=program, description=about)
        parser.add_argument("--version", action="version", version=f"{program} {version}")
        commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
        module: Any = None
        for name, verb in verbs.items():
            parser_of_verb = commands.add_parser(name, help=verb.help)  # enough for the list in the help
            if name == named:
                module = import_module(verb.module)
                parser_of_verb.description = plain_text(module.__doc__)
                module.add_options(parser_of_verb)
        if not arguments:
            parser.print_help(sys.stderr)
            return USAGE
        _check_verb(parser, named, verbs)
        options, unknown = parser.parse_known_args(arguments)
        if unknown:  # with the usage of the verb, not that of the whole command
            verb_parser = commands.choices[named]
            options_there = re.findall(r"--[a-z-]+", verb_parser.format_help())
            verb_parser.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(unknown[0], options_there)}")
        options.command_line = shlex.join([program, *arguments])
        if vars(options).get("json") is not None:
            from spkm.cli._output import check_can_write

            check_can_write("--json", options.json)
        code = module.run(options)
        sys.stdout.flush()
        return code
    except CommandError as error:
        from spkm.cli._output import say  # after the work has failed, time no longer matters

        say(f"{program} {named}: {error}")
        return error.exit_code
    except BrokenPipeError:  # the reader, such as `head`, has seen enough; Python must not flush again at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"\n{program} {named}: stopped.", file=sys.stderr)
        return STOPPED
