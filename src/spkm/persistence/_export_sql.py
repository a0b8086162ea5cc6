"""A query in the SQL that SQLite and DuckDB share: one expression for each score, probability and prediction.

It reads a table ``samples`` and returns its columns with those of the model beside them. Steps are subqueries: features
on the model's scale, sums over features, similarities, scores, predictions. Behind an encoder the columns are those of
the encoder, NULL where a value is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spkm.persistence._coupling import class_probabilities, votes_of
from spkm.persistence._encoding import columns_of, encoder_of, starts_of
from spkm.persistence._export import feature_names, joint_weights, with_constants

TABLE = "samples"
PREFIX = "spkm_"
MOST_COLUMNS = 2000  # of SQLite, as it is usually built
ANSWERS = 10**6  # the last step
LARGEST = 700.0  # of an exponent: exp(700) is still a number


def content(plain: dict[str, Any]) -> str:
    """Return the query of a plain model."""
    names = columns_of(plain) or feature_names(plain)
    for name in names:
        if "\0" in name or name.lower().startswith(PREFIX) or not _is_unicode(name):
            raise ValueError(f"A feature cannot be called {name!r} in SQL: rename it.")
    query = _Query()
    ks: list[str] = []
    cells = _features(query, plain, names)
    for k, member in enumerate(plain["members"]):
        ks.extend(_member(query, k, member, cells))
    weights, intercept = with_constants(plain, *joint_weights(plain))
    scores, in_pairs = [], plain["combine"] == "pairs"
    for m, b in enumerate(intercept):
        parts = [f"{number(c)} * {value}" for c, value in zip(weights[:, m], ks, strict=True) if c != 0]
        scores.append(query.add(f"pair_score_{m}" if in_pairs else f"score_{m}", 4, added([*parts, number(b)])))
    if in_pairs:
        scores = _pairs(query, plain, scores)
    _answers(query, plain, scores)
    count = len(names) + sum(map(len, query.steps.values()))
    if count > MOST_COLUMNS:
        raise ValueError(
            f"The model is too large for SQL: its query needs {count} columns, and databases have {MOST_COLUMNS}. Fit "
            "it with fewer features (selection='strict'), basis vectors or classes, or export to another format."
        )
    return query.text()


def _features(query: _Query, plain: dict[str, Any], names: list[str]) -> list[str]:
    """Return the expressions of the features: columns of the table, or what an encoder makes of them."""
    encoder = encoder_of(plain)
    if encoder is None:
        return [f"CAST({identifier(name)} AS DOUBLE)" for name in names]
    read = {int(feature) for member in plain["members"] for feature in member["features"]}
    found = ["0e0"] * plain["n_features"]  # those that no member reads
    for j, plan, first in starts_of(encoder):
        for at, expression in enumerate(_cells(identifier(names[j]), plan), start=first):
            if at in read:
                found[at] = query.add(f"x_{at}", -1, expression)
    return found


def _cells(cell: str, plan: Any) -> list[str]:
    """Return the expressions of the numbers that a column of the table becomes."""
    absent = f"CASE WHEN {cell} IS NULL THEN 1e0 ELSE 0e0 END"
    if "levels" not in plan:
        value = f"CAST({cell} AS DOUBLE)"
        if plan["boolean"]:
            text = f"lower(CAST({cell} AS VARCHAR))"
            value = (
                f"CASE WHEN {text} IN ('true', '1', '1.0') THEN 1e0 WHEN {text} IN ('false', '0', '0.0') THEN 0e0 END"
            )
        filled = f"CASE WHEN {cell} IS NULL THEN {number(plan['fill'])} ELSE {value} END"
        return [filled] * plan["value"] + [absent] * plan["missing"]
    levels = [_is_level(cell, level) for level in plan["levels"]]
    found = [f"CASE WHEN {is_level} THEN 1e0 ELSE 0e0 END" for is_level in levels]
    if plan["other"]:
        known = " OR ".join([f"{cell} IS NULL", *levels])
        found.append(f"CASE WHEN {known} THEN 0e0 ELSE 1e0 END")
    return found + [absent] * plan["missing"]


def _is_level(cell: str, level: str) -> str:
    """Return whether a cell is a level: numbers and truths are levels by the text that Python has for them."""
    text = f"CAST({cell} AS VARCHAR)"
    same = f"{text} = {literal(level)}"
    if level.lstrip("-").isdigit():
        return (
            f"({same} OR (lower(typeof({cell})) IN ('real', 'double', 'float') AND {text} = {literal(level + '.0')}))"
        )
    if level in ("True", "False"):
        return f"({same} OR (lower(typeof({cell})) = 'boolean' AND {text} = {literal(level.lower())}))"
    return f"({same})"


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


class _Query:
    """Expressions by name and step; those of a step may use all that come before."""

    def __init__(self) -> None:
        self.steps: dict[int, list[tuple[str, str]]] = {}

    def add(self, name: str, step: int, expression: str) -> str:
        """Add a column and return its name, quoted."""
        quoted = identifier(PREFIX + name)
        self.steps.setdefault(step, []).append((quoted, expression))
        return quoted

    def text(self) -> str:
        """Return the query; only the columns of the last steps, scores and answers, are in its result."""
        lines, source = ["WITH"], identifier(TABLE)
        steps = sorted(self.steps)
        for step in steps:
            columns = ",\n".join(f"    {expression} AS {name}" for name, expression in self.steps[step])
            own = identifier(f"{PREFIX}step_{step}")
            lines.append(
                f"{own} AS MATERIALIZED (\n  SELECT *,\n{columns}\n  FROM {source}\n)"
                + ("," if step != steps[-1] else "")
            )
            source = own
        return "\n".join(lines) + f"\nSELECT * FROM {source};\n"


def _member(query: _Query, k: int, member: Any, cells: list[str]) -> list[str]:
    """Add the similarities of a member and return their names."""
    z = []
    scaling = member["scaling"]
    for j, feature in enumerate(member["features"]):
        x = cells[feature]
        if scaling is not None:
            x = f"({x} - {number(scaling['center'][j])}) / {number(scaling['scale'][j])}"
        z.append(query.add(f"z_{k}_{j}", 0, x))
    if scaling is not None:
        clipped = []
        for j, name in enumerate(z):
            low, high = scaling["low"][j], scaling["high"][j]
            cases = f" WHEN {name} < {number(low)} THEN {number(low)}" if np.isfinite(low) else ""
            cases += f" WHEN {name} > {number(high)} THEN {number(high)}" if np.isfinite(high) else ""
            clipped.append(query.add(f"c_{k}_{j}", 1, f"CASE{cases} ELSE {name} END") if cases else name)
        z = clipped
    found = []
    for t, term in enumerate(member["terms"]):
        for r in range(len(term["weights"])):
            factors = []
            for v, view in enumerate(term["views"]):
                seen = [z[c] for c in view["columns"]]
                factors.append(_kernel(query, f"{k}_{t}_{v}_{r}", view["kernel"], seen, view["basis"][r]))
            found.append(query.add(f"similarity_{k}_{t}_{r}", 3, " * ".join(factors)))
    return found


def _kernel(query: _Query, at: str, kernel: Any, x: list[str], u: np.ndarray) -> str:
    """Return the expression of a kernel; its sums over features become columns."""
    kind = kernel["name"]
    if kind == "affine":
        inside = _kernel(query, at, kernel["kernel"], x, u)
        return f"({number(kernel['scale'])} * {inside} + {number(kernel['shift'])})"
    if kind in ("sum", "product"):
        left, right = (_kernel(query, f"{at}{part[0]}", kernel[part], x, u) for part in ("left", "right"))
        return f"({left} {'+' if kind == 'sum' else '*'} {right})"
    w = np.broadcast_to(kernel["metric"], len(x))

    def column(name: str, part: Callable[[str, float, float], str]) -> str:
        return query.add(f"{name}_{at}", 2, added([part(*values) for values in zip(x, u, w, strict=True)]))

    def squares() -> str:
        return column("s", lambda a, b, c: f"{number(c)} * ({a} - {number(b)}) * ({a} - {number(b)})")

    def dot() -> str:
        return column("d", lambda a, b, c: f"{number(c * b)} * {a}")

    def norm() -> str:
        return column("n", lambda a, b, c: f"{number(c)} * {a} * {a}")

    if kind == "laplacian":
        return f"exp(-{column('s', lambda a, b, c: f'{number(c)} * abs({a} - {number(b)})')})"
    if kind in ("rbf", "matern", "rational_quadratic"):
        return _profile(kernel, squares())
    if kind == "linear":
        return dot()
    uu = float(w @ np.square(u))
    if kind == "tanimoto":
        shared, union = dot(), f"({norm()} + {number(uu)}"
        return f"({shared} / CASE WHEN {union} - {shared}) <= 0e0 THEN 1e0 ELSE {union} - {shared}) END)"
    q = kernel["coef0"]
    base = f"({dot()} + {number(q)})"
    if kind == "normalized_polynomial":
        base = f"({base} / sqrt(({norm()} + {number(q)}) * {number(uu + q)}))"
    return "(" + " * ".join([base] * kernel["degree"]) + ")"


def _profile(kernel: Any, s: str) -> str:
    if kernel["name"] == "rbf":
        return f"exp(-{s})"
    if kernel["name"] == "rational_quadratic":
        return f"pow(1e0 + {s} / {number(kernel['alpha'])}, {number(-kernel['alpha'])})"
    q = f"{number(4 * kernel['nu'])} * {s}"
    more = "" if kernel["nu"] == 1.5 else f" + {q} / 3e0"
    return f"((1e0 + sqrt({q}){more}) * exp(-sqrt({q})))"


class _Columns:
    """Arithmetic with columns of the query, for :mod:`spkm.persistence._coupling`: each stands after what it needs."""

    def __init__(self, query: _Query, step: int) -> None:
        self.query = query
        self.first = step
        self.step_of: dict[str, int] = {}

    def number(self, value: float) -> str:
        return number(value)

    def apply(self, operation: str, a: str, b: str) -> str:
        step = 1 + max(self.step_of.get(a, self.first), self.step_of.get(b, self.first))
        sign = {"add": "+", "sub": "-", "mul": "*", "div": "/", "min": "<", "max": ">"}[operation]
        text = f"CASE WHEN {a} {sign} {b} THEN {a} ELSE {b} END" if operation in ("min", "max") else f"{a} {sign} {b}"
        name = self.query.add(f"t_{len(self.step_of)}", step, text)
        self.step_of[name] = step
        return name


def _pairs(query: _Query, plain: dict[str, Any], scores: list[str]) -> list[str]:
    """Return the votes of one against one from the scores of its pairs, and add its probabilities."""
    factor = number(plain["steepness"])
    shares = [query.add(f"share_{k}", 5, _logistic(f"{factor} * {score}")) for k, score in enumerate(scores)]
    do = _Columns(query, 5)
    p = class_probabilities(shares, len(plain["classes"]), do)
    if plain["probabilities"] is not None:
        for k, value in enumerate(p):
            query.add(f"probability_{k}", ANSWERS, value)
    return [query.add(f"score_{k}", ANSWERS - 1, vote) for k, vote in enumerate(votes_of(shares, p, do))]


def _answers(query: _Query, plain: dict[str, Any], scores: list[str]) -> None:
    kind = plain["probabilities"]
    if plain["task"] == "regression":
        for m, score in enumerate(scores):
            value = f"exp(CASE WHEN {score} > 30e0 THEN 30e0 ELSE {score} END)" if plain["link"] == "exp" else score
            query.add(f"prediction_{m}" if plain["two_dimensional"] else "prediction", ANSWERS, value)
        return
    if kind == "logistic":
        query.add("probability_0", ANSWERS, _logistic(f"-{scores[0]}"))
        query.add("probability_1", ANSWERS, _logistic(scores[0]))
    elif kind == "softmax":
        for k, score in enumerate(scores):
            shares = [_exponential(f"{other} - {score}") for other in scores]
            query.add(f"probability_{k}", ANSWERS, f"1e0 / ({added(shares)})")
    elif kind in ("each", "normalized"):
        shares = [query.add(f"share_{k}", 5, _logistic(score)) for k, score in enumerate(scores)]
        total = f"({added(shares)})"
        for k, share in enumerate(shares):
            query.add(f"probability_{k}", ANSWERS, share if kind == "each" else f"{share} / {total}")
    if plain["task"] == "labels":
        for k, score in enumerate(scores):
            query.add(f"prediction_{k}", ANSWERS, f"CASE WHEN {score} > 0e0 THEN 1 ELSE 0 END")
        return
    labels = [literal(label) for label in plain["classes"]]
    if not plain["two_dimensional"]:
        query.add("prediction", ANSWERS, f"CASE WHEN {scores[0]} > 0e0 THEN {labels[1]} ELSE {labels[0]} END")
        return
    cases = []
    for k, score in enumerate(scores[:-1]):
        largest = " AND ".join(f"{score} >= {other}" for other in scores if other != score)
        cases.append(f"WHEN {largest} THEN {labels[k]}")
    query.add("prediction", ANSWERS, f"CASE {' '.join(cases)} ELSE {labels[-1]} END")


def added(parts: list[str]) -> str:
    """Return a sum as a balanced tree: databases limit how deep an expression may be."""
    if not parts:
        return "0e0"
    if len(parts) <= 8:
        return "(" + " + ".join(parts) + ")"
    middle = len(parts) // 2
    return f"({added(parts[:middle])} + {added(parts[middle:])})"


def number(value: float) -> str:
    """Return a number that databases take for one of double precision, in brackets if it is negative."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text


def identifier(name: str) -> str:
    """Return a name between quotes."""
    return '"' + name.replace('"', '""') + '"'


def literal(label: Any) -> str:
    """Return a class label as a literal."""
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    if isinstance(label, int):
        return str(label)
    if isinstance(label, float):
        return number(label)
    if "\0" in label or not _is_unicode(label):
        raise ValueError(f"A class cannot be called {label!r} in SQL: rename it.")
    return "'" + label.replace("'", "''") + "'"


def _exponential(expression: str) -> str:
    limit = number(LARGEST)
    return f"exp(CASE WHEN {expression} > {limit} THEN {limit} ELSE {expression} END)"


def _logistic(score: str) -> str:
    return f"1e0 / (1e0 + {_exponential(f'-({score})')})"
