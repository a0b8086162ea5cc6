"""A query in the SQL that SQLite and DuckDB share: one expression for each score, probability and prediction.

The query reads a table ``samples`` and returns its columns, ``spkm_row`` (1, 2 and so on, in the order in which the
database reads the samples), and prediction, probabilities (``spkm_survival_0`` and so on, if the model has a baseline
hazard: that of no event until each of its times) and scores; with ``details`` also similarities and the scores
of pairs of classes. Steps are subqueries: features on the model's scale, sums over features, similarities, scores,
predictions; each carries the columns that later ones need.

A sample with a value that is NULL, NaN, infinite or no number has NULL as every answer, as Python refuses it. Behind an
encoder the columns are those of the encoder, and NULL and NaN are missing values.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import numpy as np

from spkm._cells import level_text, single_names
from spkm.persistence._encoding import columns_of, encoder_of, names_of_levels, starts_of
from spkm.persistence._export import feature_names, joint_weights, with_constants
from spkm.persistence._formulas import (
    bounded_exp,
    class_probabilities,
    class_votes,
    kernel_value,
    ordered_probabilities,
)
from spkm.persistence._languages import Language, Value

TABLE = "samples"
PREFIX = "spkm_"
MOST_COLUMNS = 2000  # of a step, in SQLite as it is usually built
MOST_WORK = 20_000  # columns of all steps: databases plan for minutes beyond
ANSWERS = 10**6  # the last step
LARGEST_NUMBER = repr(float(np.finfo(np.float64).max))
FLOATS = "('real', 'double', 'float')"  # types of fractions, in small letters
ROW = '"spkm_row"'
OWN = re.compile(r'"spkm_[a-z0-9_]+"')  # names of columns of the query, in its expressions
#: Parts of texts of digits, points, signs and e, after a bar, that are no number: a sign elsewhere than at the start
#: of a number or of its exponent, a second point or e, no digits before or after the e.
NO_NUMBER = ("*[0-9.+-][+-]*", "*[+e-]", "*[|+-]e*", "*[|+-].e*", "*[.e]*.*", "*e*e*")
LARGEST = 700.0  # of an exponent: exp(700) is still a number


def content(plain: dict[str, Any], details: bool = False) -> str:
    """Return the query of a plain model."""
    names = columns_of(plain) or feature_names(plain)
    for name in names:
        # Readers of text files turn carriage returns into line feeds.
        if set("\0\r") & set(name) or name.lower().startswith(PREFIX) or not _is_unicode(name):
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
        total = query.add(f"sum_{m}", 4, added([*parts, number(b)]))
        scores.append(query.add(f"pair_score_{m}" if in_pairs else f"score_{m}", 5, finite(total)))
    extra = [*ks, *scores] if in_pairs else ks
    if in_pairs:
        scores = _pairs(query, plain, scores)
    answers = [*_answers(query, plain, scores), *scores, *(extra if details else [])]
    return query.text(answers)


def _features(query: _Query, plain: dict[str, Any], names: list[str]) -> list[str]:
    """Return the names of the features: numbers of the table, or of what an encoder makes of it."""
    read = {int(feature) for member in plain["members"] for feature in member["features"]}
    found = ["0e0"] * plain["n_features"]  # those that no member reads
    encoder = encoder_of(plain)
    if encoder is None:
        for j in sorted(read):
            found[j] = query.add(f"x_{j}", -1, _number_of(identifier(names[j])))
        return found
    for j, plan, first in starts_of(encoder):
        for at, expression in enumerate(_cells(identifier(names[j]), plan), start=first):
            if at in read:
                found[at] = query.add(f"x_{at}", -1, expression)
    return found


def _number_of(cell: str) -> str:
    """Return a cell as a finite number, else NULL; databases by themselves take 2020-01-01 or 1_0 for a number."""
    text = f"('|' || lower(trim(CAST({cell} AS VARCHAR))))"
    is_none = " OR ".join([f"trim({text}, '|0123456789.+-e') <> ''", *(f"{text} GLOB '{part}'" for part in NO_NUMBER)])
    is_text = f"lower(typeof({cell})) IN ('text', 'blob', 'varchar')"
    none = f"{is_text} AND ({is_none} OR NOT {text} GLOB '*[0-9]*')"
    return f"CASE WHEN {none} THEN NULL ELSE {finite(f'CAST({cell} AS DOUBLE)')} END"


def _is_absent(cell: str) -> str:
    is_nan = f"lower(typeof({cell})) IN {FLOATS} AND CAST({cell} AS VARCHAR) IN ('nan', '-nan')"
    return f"({cell} IS NULL OR ({is_nan}))"


def _cells(cell: str, plan: Any) -> list[str]:
    """Return the expressions of the numbers that a column of the table becomes."""
    is_absent = _is_absent(cell)
    absent = f"CASE WHEN {is_absent} THEN 1e0 ELSE 0e0 END"
    if "levels" not in plan:
        value = _number_of(cell)
        if plan["boolean"]:
            text = f"lower(trim(CAST({cell} AS VARCHAR)))"
            value = (
                f"CASE WHEN {text} IN ('true', '1', '1.0') THEN 1e0 WHEN {text} IN ('false', '0', '0.0') THEN 0e0 END"
            )
        filled = f"CASE WHEN {is_absent} THEN {number(plan['fill'])} ELSE {value} END"
        return [filled] * plan["value"] + [absent] * plan["missing"]
    levels = [_is_level(cell, names, plan["levels"]) for names in names_of_levels(plan)]
    found = [f"CASE WHEN {is_level} THEN 1e0 ELSE 0e0 END" for is_level in levels]
    if plan["other"]:
        known = " OR ".join([is_absent, *levels])
        found.append(f"CASE WHEN {known} THEN 0e0 ELSE 1e0 END")
    return found + [absent] * plan["missing"]


def _is_level(cell: str, names: list[str], levels: list[str]) -> str:
    """Return whether a cell is a level: fractions by their value, all else by the text that Python has for it.

    The ``names`` are those of the level, its own first.
    """
    level = names[0]
    kind = f"lower(typeof({cell}))"
    is_fraction = f"({kind} IN {FLOATS} OR {kind} LIKE 'decimal%')"
    texts = ", ".join(map(literal, names))
    ways = [f"(NOT {is_fraction} AND CAST({cell} AS VARCHAR) IN ({texts}))"]
    if _is_number(level):
        values = ", ".join(number(float(name)) for name in names)
        ways.append(f"({is_fraction} AND {kind} <> 'float' AND CAST({cell} AS DOUBLE) IN ({values}))")
        singles = [_single(name) for name in names if _prints_as(name)]
        if singles:
            ways.append(f"({kind} = 'float' AND CAST({cell} AS DOUBLE) IN ({', '.join(map(number, singles))}))")
    if level in ("True", "False"):
        ways.append(f"({kind} = 'boolean' AND CAST({cell} AS VARCHAR) = {literal(level.lower())})")
        if not {"0", "1"} & set(levels):  # SQLite has no truths
            ways.append(f"(typeof({cell}) = 'integer' AND CAST({cell} AS VARCHAR) = '{int(level == 'True')}')")
    return f"({' OR '.join(ways)})"


def _is_number(level: str) -> bool:
    """Whether a level is the text of a finite number, as Python writes it."""
    try:
        value = float(level)
    except ValueError:
        return False
    return bool(np.isfinite(value)) and level_text(value) == level


def _prints_as(name: str) -> bool:
    """Whether a number of single precision has this name: a fraction that prints so, or a whole number."""
    names = single_names(name)
    return names[0] == name if names else float(name).is_integer() and _single(name) == float(name)


def _single(name: str) -> float:
    """Return the number of single precision next to a name's."""
    with np.errstate(over="ignore"):
        return float(np.float32(float(name)))


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

    def text(self, answers: list[str]) -> str:
        """Return the query whose result has the columns of the samples and the given ones."""
        steps = sorted(self.steps)
        needed, widths = set(answers), [0]
        lines: list[str] = []
        for place in range(len(steps) - 1, -1, -1):
            own = self.steps[steps[place]]
            names = [name for name, _ in own]
            before = [name for step in steps[:place] for name, _ in self.steps[step] if name in needed]
            source = identifier(f"{PREFIX}step_{place - 1}" if place else f"{PREFIX}samples")
            columns = [ROW, *before, *(f"{expression} AS {name}" for name, expression in own)]
            listed = ",\n    ".join(columns)
            here = identifier(f"{PREFIX}step_{place}")
            lines.insert(0, f"{here} AS MATERIALIZED (\n  SELECT\n    {listed}\n  FROM {source}\n)")
            needed = (needed - set(names)) | {name for _, text in own for name in OWN.findall(text)}
            widths.append(len(columns))
        if max(widths) > MOST_COLUMNS or sum(widths) > MOST_WORK:
            raise ValueError(
                f"The model is too large for SQL: its query needs {max(widths)} columns at once and {sum(widths)} in "
                f"all, and databases have {MOST_COLUMNS} and {MOST_WORK}. Fit it with fewer features "
                "(selection='strict'), basis vectors or classes, or export to another format."
            )
        numbered = f"SELECT *, row_number() OVER () AS {ROW} FROM {identifier(TABLE)}"
        lines.insert(0, f"{identifier(f'{PREFIX}samples')} AS MATERIALIZED (\n  {numbered}\n)")
        chosen = ", ".join(f"answers.{name}" for name in answers)
        last = identifier(f"{PREFIX}step_{len(steps) - 1}")
        return (
            "WITH\n"
            + ",\n".join(lines)
            + f"\nSELECT given.*, {chosen}\nFROM {identifier(f'{PREFIX}samples')} AS given"
            + f" JOIN {last} AS answers ON given.{ROW} = answers.{ROW}\nORDER BY given.{ROW};\n"
        )


def _member(query: _Query, k: int, member: dict[str, Any], cells: list[str]) -> list[str]:
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


class _SQL(Language):
    """Expressions of SQL, between brackets where they need some."""

    def number(self, value: float) -> str:
        return number(value)

    def write(self, operation: str, *parts: str) -> str:
        a, b, c = (*parts, "", "")[:3]
        if operation in ("min", "max"):  # NULL where one of them is
            sign = "<" if operation == "min" else ">"
            return f"CASE WHEN {a} {sign} {b} THEN {a} WHEN {b} {sign}= {a} THEN {b} END"
        if operation == "where":
            return f"CASE WHEN {a} THEN {b} ELSE {c} END"
        if operation == "logistic":
            return f"({_logistic(a)})"
        if operation == "neg":
            return f"(-{a})"
        return f"{operation}({', '.join(parts)})" if operation.isalpha() else f"({a} {operation} {b})"

    def power(self, base: Value, degree: int) -> Value:
        return self.value(f"({' * '.join([base.code] * degree)})")


def _kernel(query: _Query, at: str, kernel: dict[str, Any], x: list[str], u: np.ndarray) -> str:
    """Return the expression of a kernel; its sums over features become columns."""
    do, count = _SQL(), itertools.count()

    def sums(kind: str, metric: Any) -> Any:
        w = np.broadcast_to(metric, len(x))
        if kind == "uu":
            return float(w @ np.square(u))
        parts = []
        for a, b, c in zip(x, u, w, strict=True):
            gap = f"({a} - {number(b)})"
            forms = {"squares": f"{gap} * {gap}", "sizes": f"abs({gap})", "xx": f"{a} * {a}", "xu": a}
            parts.append(f"{number(c * b if kind == 'xu' else c)} * {forms[kind]}")
        return do.value(query.add(f"{kind}_{at}_{next(count)}", 2, added(parts)))

    return kernel_value(do, kernel, sums).code


class _Steps(_SQL):
    """Operations as columns of the query, for one against one: each column stands after those that it needs."""

    def __init__(self, query: _Query, step: int) -> None:
        self.query, self.first = query, step
        self.step_of: dict[str, int] = {}

    def apply(self, operation: str, *values: Value | float) -> Value:
        step = 1 + max(self.step_of.get(value.code, self.first) for value in values if isinstance(value, Value))
        name = self.query.add(f"t_{len(self.step_of)}", step, super().apply(operation, *values).code)
        self.step_of[name] = step
        return Value(self, name)


def _pairs(query: _Query, plain: dict[str, Any], scores: list[str]) -> list[str]:
    """Return the votes of one against one from the scores of its pairs, and add its probabilities."""
    factor = number(plain["steepness"])
    columns = [query.add(f"share_{k}", 6, _logistic(f"{factor} * {score}")) for k, score in enumerate(scores)]
    do = _Steps(query, 6)
    shares = [Value(do, column) for column in columns]
    p = class_probabilities(do, shares, len(plain["classes"]))
    if plain["probabilities"] is not None:
        for k, value in enumerate(p):
            query.add(f"probability_{k}", ANSWERS, value.code)
    return [query.add(f"score_{k}", ANSWERS - 1, vote.code) for k, vote in enumerate(class_votes(shares, p))]


def _answers(query: _Query, plain: dict[str, Any], scores: list[str]) -> list[str]:
    """Add predictions and probabilities, and return their names."""
    if plain["task"] == "regression":
        found = []
        for m, score in enumerate(scores):
            value = _hazard(score).code if plain["link"] == "exp" else score
            found.append(query.add(f"prediction_{m}" if plain["two_dimensional"] else "prediction", ANSWERS, value))
        for k, hazard in enumerate((plain.get("survival") or {"hazard": ()})["hazard"]):
            value = f"exp(-({number(hazard)} * {_hazard(scores[0]).code}))"
            found.append(query.add(f"survival_{k}", ANSWERS, value))
        return found
    shares = _probabilities(query, plain, scores)
    if plain["task"] == "labels":
        return [
            query.add(f"prediction_{k}", ANSWERS, f"CASE WHEN {score} > 0e0 THEN 1 WHEN {score} <= 0e0 THEN 0 END")
            for k, score in enumerate(scores)
        ] + shares
    labels = literals(plain["classes"])
    if plain["task"] == "ordered":
        above = zip(reversed(plain["cuts"]), reversed(labels[1:]), strict=True)
        cases = [f"WHEN {scores[0]} >= {number(cut)} THEN {label}" for cut, label in above]
        cases.append(f"WHEN {scores[0]} < {number(plain['cuts'][0])} THEN {labels[0]}")
    elif not plain["two_dimensional"]:
        f = scores[0]
        cases = [f"WHEN {f} > 0e0 THEN {labels[1]} WHEN {f} <= 0e0 THEN {labels[0]}"]
    else:  # all of them are compared with all, so that a score that is NULL leaves none
        cases = [
            f"WHEN {' AND '.join(f'{score} >= {other}' for other in scores if other != score)} THEN {label}"
            for score, label in zip(scores, labels, strict=True)
        ]
    return [query.add("prediction", ANSWERS, f"CASE {' '.join(cases)} END"), *shares]


def _probabilities(query: _Query, plain: dict[str, Any], scores: list[str]) -> list[str]:
    kind = plain["probabilities"]
    if kind is None:
        return []
    if kind == "coupled":  # they are there already
        return [identifier(f"{PREFIX}probability_{k}") for k in range(len(plain["classes"]))]
    if kind == "logistic":
        parts = [_logistic(f"-{scores[0]}"), _logistic(scores[0])]
    elif kind == "ordered":
        do = _SQL()
        parts = [p.code for p in ordered_probabilities(do, plain, do.value(scores[0]))]
    elif kind == "softmax":
        parts = [f"1e0 / ({added([_exponential(f'{other} - {score}') for other in scores])})" for score in scores]
    else:
        parts = [query.add(f"share_{k}", 6, _logistic(score)) for k, score in enumerate(scores)]
        if kind == "normalized":
            total = query.add("total", 7, added(parts))
            parts = [f"{share} / {total}" for share in parts]
    return [query.add(f"probability_{k}", ANSWERS, part) for k, part in enumerate(parts)]


def _hazard(score: str) -> Value:
    do = _SQL()
    return bounded_exp(do, do.value(score))


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


def finite(expression: str) -> str:
    """Return a number if it is finite, else NULL; in DuckDB NaN is above all numbers."""
    return f"CASE WHEN {expression} BETWEEN -{LARGEST_NUMBER} AND {LARGEST_NUMBER} THEN {expression} END"


def identifier(name: str) -> str:
    """Return a name between quotes."""
    return '"' + name.replace('"', '""') + '"'


def literals(labels: list[Any]) -> list[str]:
    """Return class labels as literals of one type: texts if a whole number is too large for a database.

    Databases have numbers with a point beyond, which would merge labels.
    """
    large = any(isinstance(label, int) and abs(label) >= 2**63 for label in labels)
    return [literal(str(label) if large else label) for label in labels]


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
    if any(letter < " " and letter not in "\n\t" for letter in label):  # readers of text files change some of them
        text = json.dumps([label], ensure_ascii=False).replace("'", "''")
        return f"('{text}' ->> '$[0]')"
    return "'" + label.replace("'", "''") + "'"


def _exponential(expression: str) -> str:
    limit = number(LARGEST)
    return f"exp(CASE WHEN {expression} > {limit} THEN {limit} ELSE {expression} END)"


def _logistic(score: str) -> str:
    return f"1e0 / (1e0 + {_exponential(f'-({score})')})"
