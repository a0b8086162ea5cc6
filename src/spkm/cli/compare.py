"""``spkm compare``: two models side by side: their sizes, what they read and, on samples, how good they are."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from spkm.cli._command import CommandError
from spkm.cli._output import finish, notes, show, show_quality, table
from spkm.cli._reading import add_data_options, add_target_options, target_of

if TYPE_CHECKING:
    from spkm.cli._models import Model


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("a", help="one model file")
    parser.add_argument("b", help="another")
    parser.add_argument("--data", metavar="FILE", help="samples that neither has seen; - is stdin")
    add_target_options(parser, "the column with the true values")
    parser.add_argument("--group", metavar="COLUMN", help="samples of one value are resampled together")
    parser.add_argument("--seed", type=int, default=0, help="seed of the resamples behind the intervals (0)")
    parser.add_argument("--json", metavar="FILE", help="as JSON; - is stdout, instead of the tables")
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    """Compare and return the exit code."""
    from spkm.cli._models import facts, read_model

    if (options.data is None) != (options.target is None and options.time is None):
        raise CommandError(
            "--data and --target (or --time and --event) go together: a file of samples and its true values."
        )
    target = None if options.data is None else target_of(options)
    models = {"a": read_model(options.a), "b": read_model(options.b)}
    found = {name: facts(model) for name, model in models.items()}
    result: dict[str, Any] = {"models": found}
    quality = None
    if options.data is not None:
        quality = _quality(models, options, target)
        result["quality"], result["difference"] = quality.plain(), quality.plain_difference("a", "b")

    def tell() -> None:
        print(table([["", "a", "b"], *_size_rows(found)]))
        if quality is not None:
            show(f"\nQuality on {quality.n_samples:,} samples, with 95 % intervals:")
            show_quality(quality, "a", "b")

    finish(options.json, result, tell)
    return 0


def _size_rows(found: dict[str, dict[str, Any]]) -> list[list[str]]:
    a, b = found["a"], found["b"]
    rows = [[label, str(a[key]), str(b[key])] for label, key in (("file", "file"), ("task", "task"))]
    rows += [["bytes", f"{a['bytes']:,}", f"{b['bytes']:,}"], ["basis vectors", str(a["n_basis"]), str(b["n_basis"])]]
    rows.append(["features read", *(str(len(one["features_read"])) for one in (a, b))])
    for label, one, other in (("only a reads", a, b), ("only b reads", b, a)):
        mine, theirs = (set(x["columns_read"] or x["features_read"]) for x in (one, other))
        names = sorted(mine - theirs)
        text = ", ".join(names[:5]) + (" ..." if len(names) > 5 else "") or "nothing"
        rows.append([label, *((text, "") if one is a else ("", text))])
    return rows


def _quality(models: dict[str, Model], options: argparse.Namespace, target: object) -> Any:
    import numpy as np

    from spkm.cli._reading import Known, read_frame
    from spkm.cli._tasks import TASKS

    a, b = models.values()
    if a.task != b.task:
        raise CommandError(f"one model predicts {a.task} and the other {b.task}: they have no measure in common.")
    if a.classes is not None:
        if not np.array_equal(a.classes, b.classes):
            raise CommandError("the models have different classes, and so no measure in common.")
        # A loss may have no probabilities, and then there is no such method.
        if not all(hasattr(model.last, "predict_proba") for model in (a, b)):
            raise CommandError(
                "a model of classes without probabilities has no measure in common. Fit it with loss='log'."
            )
    known = [model.known() for model in (a, b)]
    both = Known(known[0].texts + known[1].texts, known[0].names + known[1].names)
    samples = a.truths(read_frame(options.data, options.format, both), target, options.group)
    with notes():
        seen = {
            name: model.encoded(model.features(samples.X, options.data), options.data) for name, model in models.items()
        }
    estimators = {name: model.last for name, model in models.items()}
    return TASKS[a.task].quality(estimators, seen, samples, options.seed)
