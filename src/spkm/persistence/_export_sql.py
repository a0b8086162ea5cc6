"""A query in the SQL that SQLite and DuckDB share: one expression for each score, probability and prediction.

It reads a table ``samples`` and returns its columns with those of the model beside them. Steps are subqueries: features
on the model's scale, sums over features, similarities, scores, predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spkm.persistence._export import feature_names, joint_weights, with_constants

TABLE = "samples"
PREFIX = "spkm_"
LARGEST = 700.0  # of an exponent: exp(700) is still a number


def content(plain: dict[str, Any]) -> str:
    """Return the query of a plain model."""
    if plain["combine"] == "pairs":
        raise ValueError(
            "SQL has no expression for one against one, whose probabilities solve a linear system. Fit with "
            "multi_class='ovr' or 'joint', or export to another format."
        )
    names = feature_names(plain)
    for name in names:
        if "\0" in name or name.lower().startswith(PREFIX) or not _is_unicode(name):
            raise ValueError(f"A feature cannot be called {name!r} in SQL: rename it.")
    query = _Query()
    ks: list[str] = []
    for k, member in enumerate(plain["members"]):
        ks.extend(_member(query, k, member, names))
    weights, intercept = with_constants(plain, *joint_weights(plain))
    scores = []
    for m, b in enumerate(intercept):
        parts = [f"{number(c)} * {value}" for c, value in zip(weights[:, m], ks, strict=True) if c != 0]
        scores.append(query.add(f"score_{m}", 4, added([*parts, number(b)])))
    _answers(query, plain, scores)
    return query.text()


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
            lines.append(f"{own} AS (\n  SELECT *,\n{columns}\n  FROM {source}\n)" + ("," if step != steps[-1] else ""))
            source = own
        return "\n".join(lines) + f"\nSELECT * FROM {source};\n"


def _member(query: _Query, k: int, member: Any, names: list[str]) -> list[str]:
    """Add the similarities of a member and return their names."""
    z = []
    scaling = member["scaling"]
    for j, feature in enumerate(member["features"]):
        x = f"CAST({identifier(names[feature])} AS DOUBLE)"
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


def _answers(query: _Query, plain: dict[str, Any], scores: list[str]) -> None:
    kind = plain["probabilities"]
    if plain["task"] == "regression":
        for m, score in enumerate(scores):
            value = f"exp(CASE WHEN {score} > 30e0 THEN 30e0 ELSE {score} END)" if plain["link"] == "exp" else score
            query.add(f"prediction_{m}" if plain["two_dimensional"] else "prediction", 6, value)
        return
    if kind == "logistic":
        query.add("probability_0", 6, _logistic(f"-{scores[0]}"))
        query.add("probability_1", 6, _logistic(scores[0]))
    elif kind == "softmax":
        for k, score in enumerate(scores):
            shares = [_exponential(f"{other} - {score}") for other in scores]
            query.add(f"probability_{k}", 6, f"1e0 / ({added(shares)})")
    elif kind is not None:
        shares = [query.add(f"share_{k}", 5, _logistic(score)) for k, score in enumerate(scores)]
        total = f"({added(shares)})"
        for k, share in enumerate(shares):
            query.add(f"probability_{k}", 6, share if kind == "each" else f"{share} / {total}")
    if plain["task"] == "labels":
        for k, score in enumerate(scores):
            query.add(f"prediction_{k}", 6, f"CASE WHEN {score} > 0e0 THEN 1 ELSE 0 END")
        return
    labels = [literal(label) for label in plain["classes"]]
    if not plain["two_dimensional"]:
        query.add("prediction", 6, f"CASE WHEN {scores[0]} > 0e0 THEN {labels[1]} ELSE {labels[0]} END")
        return
    cases = []
    for k, score in enumerate(scores[:-1]):
        largest = " AND ".join(f"{score} >= {other}" for other in scores if other != score)
        cases.append(f"WHEN {largest} THEN {labels[k]}")
    query.add("prediction", 6, f"CASE {' '.join(cases)} ELSE {labels[-1]} END")


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
