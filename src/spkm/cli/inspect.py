"""``spkm inspect``: the contents of a model file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from spkm.cli._output import counted, finish, notes, show, table

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", help="the model file")
    parser.add_argument("--json", metavar="FILE", help="as JSON; - is stdout, instead of the text")


def run(options: argparse.Namespace) -> int:
    """Show the model and return the exit code."""
    from spkm.cli._models import facts, is_of_two_tables, read_model
    from spkm.cli._reading import read_saved
    from spkm.persistence import describe

    saved = read_saved(options.model)
    about = describe(options.model).get("metrics") or {}
    if is_of_two_tables(saved):
        return _two_tables(saved, about, options)
    model = read_model(options.model)
    found = {**facts(model), "about": about}
    encoder = None if model.encoding is None else model.encoding.encoder
    if encoder is not None:
        found["inputs"] = [_input(encoder, j, name) for j, name in enumerate(encoder.columns_)]
        found["encoder_notes"] = encoder.notes_

    def tell() -> None:
        show("\n".join(lines_of(found)))
        for name, value in found["about"].items():
            show(f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value}")
        if encoder is not None:
            rows = [[one["column"], one["kind"], one["detail"]] for one in found["inputs"]]
            print(table([["column", "kind", ""], *rows], right=False))
        show(f"\n{_summary(model.last if encoder is None else model.whole)}")

    finish(options.json, found, tell)
    return 0


def _two_tables(model: Any, about: dict[str, Any], options: argparse.Namespace) -> int:
    """Show a model of two tables and return the exit code."""
    from spkm.cli._two_tables import components_of

    found = {"file": options.model, "estimator": type(model).__name__, "components": components_of(model)}
    first = f"{options.model}: {type(model).__name__}, what two tables have in common\n"
    finish(options.json, {**found, "about": about}, lambda: show(f"{first}\n{model.summary()}"))
    return 0


def lines_of(found: dict[str, Any]) -> list[str]:
    """Return the facts about a model as lines."""
    from spkm.cli._models import vectors_of

    what = {"times": "the log hazard of censored times, and survival curves"}.get(found["task"], "numbers")
    if found["classes"] is not None:
        ordered = found["task"] == "ordered"
        what = ("ordered classes " if ordered else "classes ") + (" < " if ordered else ", ").join(
            map(str, found["classes"])
        )
    columns = "" if found["columns_read"] is None else f" ({counted(found['columns_read'], 'column')} of the table)"
    return [
        f"{found['file']}: {found['estimator']}, {found['bytes']:,} bytes",
        f"predicts {what}",
        f"{vectors_of(found)}, kernel {found['kernel']}",
        f"reads {len(found['features_read'])} of {found['n_features']} features{columns}",
    ]


def _input(encoder: Any, place: int, name: str) -> dict[str, Any]:
    plan = encoder.plans_[place]
    if plan is None:
        return {"column": name, "kind": "dropped", "detail": ""}
    if plan.kind == "category":
        more = [text for text, there in (("(other)", plan.other), ("missing", plan.missing)) if there]
        levels = [*plan.levels[:6], *(["..."] if len(plan.levels) > 6 else []), *more]
        return {"column": name, "kind": plan.kind, "levels": list(plan.levels), "detail": ", ".join(levels)}
    return {"column": name, "kind": plan.kind, "detail": f"missing becomes {plan.fill:g}" if plan.missing else ""}


def _summary(estimator: BaseEstimator) -> str:
    """Return the summary of a model in words."""
    from spkm.explain import summary

    with notes():
        return summary(estimator)
