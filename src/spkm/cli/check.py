"""``spkm check``: are new samples like those that a model was fitted on? The exit code says it, for jobs and alarms."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from spkm.cli._command import DRIFT, MODEL_FILE, CommandError
from spkm.cli._output import bold, finish, say, show, table
from spkm.cli._reading import add_data_options, data_error

if TYPE_CHECKING:
    from spkm._arrays import TableLike
    from spkm.cli._models import Model

LIMITS = {
    "psi": (0.2, "population stability index of a column, of the scores or of the similarity"),
    "unlike": (0.05, "share of samples unlike every basis vector; in the fit it was 0.01"),
    "outside": (0.05, "share of samples outside the range of a feature, or with a level or a gap that it never had"),
    "shift": (0.2, "largest difference between the distributions of the similarity, new ones and those of the fit"),
}
SHOWN = 20  # columns at most, those that moved most


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="the model file, written by fit or by save(path, data=samples)")
    parser.add_argument("data", help="new samples; - is stdin")
    for name, (limit, text) in LIMITS.items():
        what = "INDEX" if name == "psi" else "SHARE"
        parser.add_argument(
            f"--{name}", type=float, default=limit, metavar=what, help=f"limit of the {text} (default: {limit})"
        )
    parser.add_argument("--json", metavar="FILE", help="as JSON; - is stdout, instead of the table")
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    """Check, and return 0, or 5 where a limit is passed by more than chance explains."""
    from spkm.cli._models import read_model

    if not options.psi >= 0:
        raise CommandError(f"--psi must be a number of at least 0; got {options.psi}.")
    for name in ("unlike", "outside", "shift"):
        if not 0 <= getattr(options, name) <= 1:
            raise CommandError(f"--{name} must be a share from 0 to 1; got {getattr(options, name)}.")
    model = read_model(options.model)
    result = checked(model, model.features(model.read(options.data, options.format), options.data), options)
    finish(options.json, {"model": options.model, "data": options.data, **result}, lambda: _show(result))
    return DRIFT if result["alarms"] else 0


def checked(model: Model, X: TableLike, options: argparse.Namespace) -> dict[str, Any]:
    """Return what was found in new samples, and the alarms in words."""
    from spkm.persistence import monitor
    from spkm.persistence._monitor import records

    if vars(model.last).get("training_summary_") is None:
        raise CommandError(
            f"{options.model} says nothing of the samples of its fit. Save it with data=samples, or by spkm fit.",
            exit_code=MODEL_FILE,
        )
    try:
        drift = monitor(model.whole, X)
    except (TypeError, ValueError) as error:
        raise data_error(f"{options.data}: {error}") from error
    if not drift.columns:
        say(
            f"note: {options.model} is of an earlier version and has ranges alone: shifts inside of them are not seen. "
            "Save it again with data=samples."
        )
    found = {"unlike": drift.unlike, "shift": drift.shift, "similarity": drift.similarity, "expected": drift.expected}
    tables = {name: records(getattr(drift, name)) for name in ("features", "columns", "scores")}
    alarms = drift.alarms(**{name: getattr(options, name) for name in LIMITS})
    return {"samples": drift.n_samples, **found, **tables, "alarms": list(alarms)}


def _show(result: dict[str, Any]) -> None:
    show(f"{result['samples']:,} samples")
    if result["unlike"] is not None:
        show(f"unlike all that was seen: {result['unlike']:.1%}, where 1.0% is usual")
        show(f"shift of the similarity's distribution: {result['shift']:.2f}")
    rows = [
        [one["name"], *(f"{one[key]:.1%}" for key in ("below", "above", "clipped"))]
        for one in result["features"]
        if one["below"] + one["above"] > 0
    ]
    if rows:
        print(table([["feature", "below", "above", "clipped"], *rows]))
    moved = sorted([*result["scores"], *result["columns"]], key=lambda one: -one["psi"])[:SHOWN]
    if moved:
        chances = [f"{one['p_value']:.2g}" if one["p_value"] >= 1e-4 else "<0.0001" for one in moved]
        rows = [[one["name"], f"{one['psi']:.2f}", p, _detail(one)] for one, p in zip(moved, chances, strict=True)]
        print(table([["column", "PSI", "p-value", ""], *rows], right=False))
    for alarm in result["alarms"]:
        print(bold(f"ALARM {alarm}"))
    if not result["alarms"]:
        show("Nothing is beyond the limits.")


def _detail(one: dict[str, Any]) -> str:
    """Return further findings on a column or a score."""
    if "mean" in one:
        return f"mean {one['mean']:.3g}, was {one['mean_before']:.3g}"
    parts = [f"missing {one['missing']:.1%}, was {one['missing_before']:.1%}"] if one["missing"] else []
    parts += [f"new {level}: {share:.1%}" for level, share in one["new_levels"]]
    return "; ".join([*parts, *(f"none of {level}" for level in one["lost_levels"])])
