"""A report as Markdown: a model card of the same facts."""

from __future__ import annotations

import re
from typing import Any

MOST = 20  # features and basis vectors in a table
LEVELS = {"pass": "passed", "look": "worth a look", "none": "not run"}


def to_markdown(facts: dict[str, Any]) -> str:
    """Return the model card of some facts."""
    model, samples, quality = facts["model"], facts["samples"], facts["quality"]
    lines = [f"# {text_of(facts['title'])}", ""]
    for sentence in facts["answer"]:
        lines += [text_of(sentence), ""]
    looks = [f"- {text_of(c['title'])}. {text_of(c['detail'])}" for c in facts["first"]]
    lines += ["**Before you read on:**", "", *looks, ""] if looks else []
    settings = ", ".join(f"{name}={value}" for name, value in model["settings"].items()) or "defaults"
    lines += [text_of(model["sentence"]), ""]
    lines += table_of(
        ["what", ""],
        [
            ["estimator", model["estimator"]],
            ["recipe of the fit", model["recipe"] or "not known"],
            ["settings", settings],
            ["loss", model["loss"]],
            ["basis vectors", model["n_basis"]],
            ["features it reads", f"{model['n_read']} of {model['n_features']}"],
            ["training samples", "not given" if samples["n_train"] is None else samples["n_train"]],
            ["samples of this card", samples["n"]],
        ],
    )
    if model["formula"]:
        lines += ["", "```", model["formula"].replace("```", "'''").replace("<", "&lt;"), "```"]
    lines += ["", "## Quality", "", *_quality(facts, quality)]
    lines += _targets(facts)
    lines += ["", "## Basis vectors", "", *_basis(facts)]
    lines += ["", "## Features", "", *_features(facts)] if facts["columns"] is not None else []
    lines += ["", "## Checks", ""]
    checks = [[c["code"], c["title"], LEVELS[c["level"]], c["detail"], c["remedy"]] for c in facts["checks"]]
    lines += table_of(["code", "check", "result", "what was found", "what to do"], checks)
    lines += ["", "## Cautions", "", *(f"- {text_of(text)}" for text in facts["cautions"])]
    lines += ["", "## Versions", "", ", ".join(f"{name} {version}" for name, version in facts["versions"].items()), ""]
    return "\n".join(lines)


def _quality(facts: dict[str, Any], quality: dict[str, Any] | None) -> list[str]:
    if quality is None:
        return ["No targets were given."]
    lines = [f"On {quality['n']} samples; {quality['note']}.", ""]
    outputs = quality.get("outputs") or [{"name": "", **quality}]
    for output in outputs:
        if len(outputs) > 1:
            lines += [f"Output {text_of(output['name'])}:", ""]
        rows = [[m["name"], m["value"], m["low"], m["high"]] for m in output["metrics"]]
        if output.get("baseline"):
            rows.append([output["baseline"]["name"], output["baseline"]["value"], None, None])
        lines += [*table_of(["metric", "value", "low", "high"], rows), ""]
    if quality.get("confusion"):
        names = facts["model"]["classes"]
        rows = [[name, *row] for name, row in zip(names, quality["confusion"], strict=True)]
        lines += ["Rows are the truth, columns predictions:", "", *table_of(["", *names], rows)]
    for one in facts["by_group"] or []:
        lines += ["", f"By {text_of(one['name'])}:", "", *table_of(one["head"], one["rows"]), ""]
        lines += [text_of(one["gap"]["text"])] if one["gap"] else []
    if quality.get("labels"):
        rows = [[one[k] for k in ("name", "share", "accuracy", "precision", "recall")] for one in quality["labels"]]
        lines += table_of(["label", "share", "accuracy", "precision", "recall"], rows)
    return lines


def _targets(facts: dict[str, Any]) -> list[str]:
    """Return the thresholds of ordered classes, or the survival of basis vectors at some times."""
    order, survival = facts["order"], facts["survival"]
    if order is not None:
        names = facts["model"]["classes"]
        pairs = zip(names, names[1:], order["thresholds"], strict=False)
        rows = [[f"{low} to {high}", value] for low, high, value in pairs]
        return ["", "## Thresholds of the score", "", *table_of(["between", "score"], rows)]
    if survival is None:
        return []
    places = [round(share * (len(survival["times"]) - 1)) for share in (0.25, 0.5, 0.75)]
    curves = [*survival["vectors"], {"name": "usual", "score": 0.0, "survival": survival["usual"]}]
    rows = [[one["name"], one["score"], *(one["survival"][i] for i in places)] for one in curves]
    head = ["", "log hazard", *(f"no event until {_number(survival['times'][i])}" for i in places)]
    return ["", "## Survival of basis vectors", "", *table_of(head, rows)]


def _basis(facts: dict[str, Any]) -> list[str]:
    outputs = facts["model"]["outputs"]
    rows = []
    for card in facts["basis"]["cards"][:MOST]:
        most = max(range(len(outputs)), key=lambda o: abs(card["weights"][o]))
        weight = _number(card["weights"][most]) + (f" ({outputs[most]})" if len(outputs) > 1 else "")
        telling = ", ".join(
            f"{name}: {value}" if isinstance(value, str) else f"{name} = {_number(value)}"
            for name, value, _ in card["features"][:3]
        )
        rows.append([card["name"], weight, _number(card["swing"]), f"{card['count']:.0%}", telling])
    lines = table_of(["", "weight", "moves scores by ±", "most like", "what sets it apart"], rows)
    left = facts["basis"]["left_out"] + max(0, len(facts["basis"]["cards"]) - MOST)
    lines += ["", f"{left} more are not shown."] if left else []
    dead = facts["basis"]["n_dead"]
    lines += ["", f"{dead} more have a weight of zero and are not shown."] if dead else []
    cautions = [f"- {text_of(card['caution'])}" for card in facts["basis"]["cards"][:MOST] if card["caution"]]
    return [*lines, *(["", *cautions] if cautions else [])]


def _features(facts: dict[str, Any]) -> list[str]:
    order = sorted(facts["columns"], key=lambda c: -c["variance"])
    nothing = {"low": None, "median": None, "high": None}
    rows = []
    for c in order[:MOST]:
        f = nothing if c["options"] is not None else facts["features"]["read"][c["features"][0]]
        name = c["name"] + (f", {c['unit']}" if c["unit"] else "")
        effect = "–" if c["effect"] is None else " ".join(c["effect"]["shapes"][:10])
        importance = _number(c["variance"]) + ("" if c["bar"] is None else f" ± {_number(c['bar'])}")
        rows.append([name, importance, f["low"], f["median"], f["high"], effect])
    lines = table_of(["column", "importance", "lowest", "median", "highest", "effect"], rows)
    left = len(order) - MOST
    return [*lines, "", f"{left} more are not shown."] if left > 0 else lines


def table_of(head: list[Any], rows: list[list[Any]]) -> list[str]:
    return [
        "| " + " | ".join(_cell(name) for name in head) + " |",
        "|" + " --- |" * len(head),
        *("| " + " | ".join(_cell(value) for value in row) + " |" for row in rows),
    ]


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return _number(value) if isinstance(value, float) else text_of(value)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def text_of(value: object) -> str:
    """Return text that Markdown shows as it is: no markup of it, no HTML, no line breaks."""
    text = re.sub(r"\s+", " ", str(value))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", text)
