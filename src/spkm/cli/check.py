"""``spkm check``: are new samples like those that a model was fitted on? The exit code says it, for jobs and alarms."""

from __future__ import annotations

import argparse
import math
from typing import Any

from spkm.cli._command import DRIFT, MODEL_FILE, CommandError, Subparsers
from spkm.cli._output import STDIO, bold, check_can_write, table, write_json
from spkm.cli._reading import add_data_options, data_error, read_frame

CHANCE = 0.01  # how likely an alarm may be where a share is exactly at its limit
LIMITS = {
    "unlike": (0.05, "share of samples that resemble no basis vector as those of the fit do, of which 0.01 has"),
    "outside": (0.05, "share of samples out of the range of a feature, or with levels or gaps it never had"),
    "shift": (0.2, "largest difference between the distributions of the similarity, new and of the fit"),
}


def add_parser(subparsers: Subparsers) -> None:
    """Add the options."""
    parser = subparsers.add_parser(
        "check", help="say whether new samples are like those of the fit", description=__doc__
    )
    parser.add_argument("model", help="the model file, written by fit or by save(path, data=samples)")
    parser.add_argument("data", help="new samples; - is stdin")
    for name, (limit, text) in LIMITS.items():
        parser.add_argument(f"--{name}", type=float, default=limit, metavar="SHARE", help=f"most {text} ({limit})")
    parser.add_argument("--json", metavar="FILE", help="as JSON; - is stdout, instead of the table")
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    """Check, and return 0, or 5 where a limit is passed by more than chance explains."""
    from spkm.cli._models import read_model, text_columns
    from spkm.cli.predict import features_of

    for name in LIMITS:
        if not 0 <= getattr(options, name) <= 1:
            raise CommandError(f"--{name} must be a share from 0 to 1; got {getattr(options, name)}.")
    check_can_write("--json", options.json)
    model = read_model(options.model)
    frame = read_frame(options.data, options.format, text_columns(model))
    X = features_of(model, frame, options.data)
    result = checked(model, X, options)
    if options.json is not None:
        write_json(options.json, {"model": options.model, "data": options.data, **result})
    if options.json != STDIO:
        _show(result)
    return DRIFT if result["alarms"] else 0


def checked(model: Any, X: Any, options: Any) -> dict[str, Any]:
    """Return what was found in new samples, and the alarms in words."""
    from spkm.cli._models import estimator_of
    from spkm.persistence import monitor

    if getattr(estimator_of(model), "training_summary_", None) is None:
        raise CommandError(
            f"{options.model} says nothing of the samples of its fit. Save it with data=samples, or by spkm fit.",
            exit_code=MODEL_FILE,
        )
    try:
        drift = monitor(model, X)
    except (TypeError, ValueError) as error:
        raise data_error(f"{options.data}: {error}") from error
    n, alarms = drift.n_samples, []
    if drift.unlike is not None and exceeds(drift.unlike, n, options.unlike):
        alarms.append(f"{drift.unlike:.1%} of the samples are unlike all that was seen (limit {options.unlike:.1%})")
    if drift.shift is not None and drift.shift > options.shift + chance_shift(n):
        alarms.append(f"the distribution of the similarity moved by {drift.shift:.2f} (limit {options.shift:.2f})")
    features = [dict(zip(drift.features, values, strict=True)) for values in zip(*drift.features.values(), strict=True)]
    columns = _new_cells(model, X)
    for one in features:
        if exceeds(one["below"] + one["above"], n, options.outside):
            share = one["below"] + one["above"]
            alarms.append(f"{one['name']}: {share:.1%} out of the range of the fit (limit {options.outside:.1%})")
    for name, shares in columns.items():
        for what, share in shares.items():
            if exceeds(share, n, options.outside):
                alarms.append(f"{name}: {share:.1%} {what.replace('_', ' ')} (limit {options.outside:.1%})")
    found = {"unlike": drift.unlike, "shift": drift.shift, "similarity": drift.similarity, "expected": drift.expected}
    return {"samples": n, **found, "features": features, "columns": columns, "alarms": alarms}


def exceeds(share: float, n: int, limit: float) -> bool:
    """Whether a share of n samples is above a limit by more than chance: a binomial test at ``CHANCE``.

    Examples
    --------
    >>> exceeds(0.1, 10, 0.05), exceeds(0.1, 1000, 0.05)
    (False, True)
    """
    from scipy.special import bdtrc

    count = round(share * n)
    if share <= limit or count == 0:
        return False
    return limit == 0 or float(bdtrc(count - 1, n, limit)) < CHANCE


def chance_shift(n: int) -> float:
    """Return the largest difference of distributions that chance explains (Dvoretzky, Kiefer and Wolfowitz)."""
    return math.sqrt(math.log(2 / CHANCE) / (2 * n))


def _new_cells(model: Any, X: Any) -> dict[str, dict[str, float]]:
    """Return, for columns of the table where the fit had none, the shares of unknown levels and of missing values."""
    from spkm._cells import is_missing, level_text
    from spkm.cli._models import encoder_of

    encoder = encoder_of(model)
    found: dict[str, dict[str, float]] = {}
    for plan in () if encoder is None else encoder.plans_:
        if plan is None:
            continue
        cells = X[plan.column].tolist()
        absent = [is_missing(cell) for cell in cells]
        shares = {} if plan.missing else {"missing": sum(absent) / len(cells)}
        if plan.kind == "category" and not plan.other:
            known = set(plan.levels)
            unknown = sum(not gone and level_text(cell) not in known for cell, gone in zip(cells, absent, strict=True))
            shares["unknown_levels"] = unknown / len(cells)
        found[plan.column] = shares
    return found


def _show(result: dict[str, Any]) -> None:
    print(f"{result['samples']:,} samples")
    if result["unlike"] is not None:
        print(f"unlike all that was seen: {result['unlike']:.1%}, where 1.0% is usual")
        print(f"shift of the similarity's distribution: {result['shift']:.2f}")
    rows = [
        [one["name"], *(f"{one[key]:.1%}" for key in ("below", "above", "clipped"))]
        for one in result["features"]
        if one["below"] + one["above"] > 0
    ]
    if rows:
        print(table([["feature", "below", "above", "clipped"], *rows]))
    new = [
        [name, what.replace("_", " "), f"{share:.1%}"]
        for name, shares in result["columns"].items()
        for what, share in shares.items()
        if share > 0
    ]
    if new:
        print(table([["column", "never in the fit", "share"], *new]))
    for alarm in result["alarms"]:
        print(bold(f"ALARM {alarm}"))
    if not result["alarms"]:
        print("nothing beyond the limits")
