"""``spkm counterfactual``: the smallest change of a sample that changes its prediction, or a proof that none does."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from spkm.cli._command import FAILED, CommandError
from spkm.cli._output import bold, finish, notes, show
from spkm.cli._reading import add_data_options, add_sample_options, columns_told, named_sample, words_of_sample

if TYPE_CHECKING:
    from spkm.cli._models import Model


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="the model file")
    parser.add_argument("data", help="the file of the sample, whose columns also give the ranges; - is stdin")
    add_sample_options(parser)
    parser.add_argument(
        "--to", metavar="VALUE", help="the class to reach, a number, or an interval LOW:HIGH (the other of two classes)"
    )
    parser.add_argument("--frozen", action="append", default=[], metavar="COLUMN", help="must stay (repeatable)")
    parser.add_argument("--changes", type=int, choices=(1, 2), default=2, help="most columns that may change (2)")
    parser.add_argument("--background", metavar="FILE", help="samples that give the ranges, in place of the file")
    parser.add_argument("--json", metavar="FILE", help="as JSON; - is stdout, instead of the text")
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    """Search, and return 0, or 1 if the effort did not suffice for an answer."""
    from spkm.cli._models import read_model
    from spkm.explain import counterfactual

    model = read_model(options.model)
    target = _target(model, options.to)
    frame, row = named_sample(model, options)
    usual = frame if options.background is None else model.read(options.background)
    X = model.features(frame, options.data)[row : row + 1]
    columns = [] if model.names is None else list(model.names)
    for name in options.frozen:
        if name not in columns:
            raise CommandError(f"--frozen: the model reads no column {name!r}; it reads {columns_told(columns)}")
    ranges = model.features(usual, options.background or options.data)
    model.encoded(ranges, options.background or options.data)  # bad cells end the command before the search
    try:
        with notes():
            change = counterfactual(
                model.whole, X, target, frozen=options.frozen, ranges=ranges, max_changes=options.changes
            )
    except ValueError as error:
        raise CommandError(str(error)) from error
    result = {
        "row": row,
        "to": target,
        **{name: getattr(change, name) for name in ("found", "none_exists", "size", "size_bound", "prediction")},
        "changes": {name: {"before": old, "after": new} for name, (old, new) in change.changes.items()},
    }

    def tell() -> None:
        print(bold(words_of_sample(row, options.id)))
        show(str(change))

    finish(options.json, result, tell)
    return 0 if change.found or change.none_exists else FAILED


def _target(model: Model, text: str | None) -> Any:
    """Return the class, the number or the interval that ``--to`` means, or None if it is not given."""
    labels = {} if model.classes is None else {str(label): label for label in model.classes.tolist()}
    if text is None:
        if len(labels) != 2:
            what = "a number to reach or an interval LOW:HIGH"
            if labels:
                what = f"the class to reach, one of {', '.join(labels)}"
            raise CommandError(f"--to must be given: {what}.")
        return None
    if labels:
        if text not in labels:
            raise CommandError(f"--to must be one of the classes {', '.join(labels)}; got {text!r}.")
        return labels[text]
    try:
        numbers = [float(part) if part else None for part in text.split(":")]
    except ValueError:
        numbers = []
    given = [number for number in numbers if number is not None]
    if not given or len(numbers) > 2 or any(map(math.isnan, given)) or given != sorted(set(given)):
        raise CommandError(f"--to must be a number or an interval LOW:HIGH; got {text!r}.")
    if len(numbers) == 1:
        return numbers[0]
    low, high = numbers
    return (-math.inf if low is None else low, math.inf if high is None else high)
