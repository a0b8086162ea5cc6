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

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from spkm._cells import level_text, single_names
from spkm.persistence._coupling_arithmetic import class_probabilities, votes_of
from spkm.persistence._decisions import class_gaps
from spkm.persistence._encoding import columns_of, encoder_of, names_of_levels, starts_of
from spkm.persistence._export import feature_names, joint_weights, with_constants

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


def _kernel(query: _Query, at: str, kernel: dict[str, Any], x: list[str], u: np.ndarray) -> str:
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


def _profile(kernel: dict[str, Any], s: str) -> str:
    if kernel["name"] == "rbf":
        return f"exp(-{s})"
    if kernel["name"] == "rational_quadratic":
        return f"pow(1e0 + {s} / {number(kernel['alpha'])}, {number(-kernel['alpha'])})"
    q = f"{number(4 * kernel['nu'])} * {s}"
    more = "" if kernel["nu"] == 1.5 else f" + {q} / 3e0"
    return f"((1e0 + sqrt({q}){more}) * exp(-sqrt({q})))"


class _Columns:
    """Arithmetic with columns of the query for one against one: each column stands after those that it needs."""

    def __init__(self, query: _Query, step: int) -> None:
        self.query = query
        self.first = step
        self.step_of: dict[str, int] = {}

    def number(self, value: float) -> str:
        return number(value)

    def apply(self, operation: str, a: str, b: str) -> str:
        step = 1 + max(self.step_of.get(a, self.first), self.step_of.get(b, self.first))
        sign = {"add": "+", "sub": "-", "mul": "*", "div": "/", "min": "<", "max": ">"}[operation]
        text = f"{a} {sign} {b}"
        if operation in ("min", "max"):  # NULL where one of them is
            text = f"CASE WHEN {text} THEN {a} WHEN {b} {sign}= {a} THEN {b} END"
        name = self.query.add(f"t_{len(self.step_of)}", step, text)
        self.step_of[name] = step
        return name


def _pairs(query: _Query, plain: dict[str, Any], scores: list[str]) -> list[str]:
    """Return the votes of one against one from the scores of its pairs, and add its probabilities."""
    factor = number(plain["steepness"])
    shares = [query.add(f"share_{k}", 6, _logistic(f"{factor} * {score}")) for k, score in enumerate(scores)]
    do = _Columns(query, 6)
    p = class_probabilities(shares, len(plain["classes"]), do)
    if plain["probabilities"] is not None:
        for k, value in enumerate(p):
            query.add(f"probability_{k}", ANSWERS, value)
    return [query.add(f"score_{k}", ANSWERS - 1, vote) for k, vote in enumerate(votes_of(shares, p, do))]


def _answers(query: _Query, plain: dict[str, Any], scores: list[str]) -> list[str]:
    """Add predictions and probabilities, and return their names."""
    if plain["task"] == "regression":
        found = []
        for m, score in enumerate(scores):
            value = f"exp(CASE WHEN {score} > 30e0 THEN 30e0 ELSE {score} END)" if plain["link"] == "exp" else score
            found.append(query.add(f"prediction_{m}" if plain["two_dimensional"] else "prediction", ANSWERS, value))
        return [*found, *_survival(query, plain, scores)]
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
        parts = _ordered(plain, scores[0])
    elif kind == "softmax":
        parts = [f"1e0 / ({added([_exponential(f'{other} - {score}') for other in scores])})" for score in scores]
    else:
        parts = [query.add(f"share_{k}", 6, _logistic(score)) for k, score in enumerate(scores)]
        if kind == "normalized":
            total = query.add("total", 7, added(parts))
            parts = [f"{share} / {total}" for share in parts]
    return [query.add(f"probability_{k}", ANSWERS, part) for k, part in enumerate(parts)]


def _ordered(plain: dict[str, Any], f: str) -> list[str]:
    """Return the probabilities of ordered classes, each a product of two logistic functions."""
    t, gaps = plain["thresholds"], class_gaps(plain)
    above = ["1e0", *(f"({_logistic(f'{f} - {number(one)}')})" for one in t)]
    below = [*(f"({_logistic(f'{number(one)} - {f}')})" for one in t), "1e0"]
    return [f"{number(gap)} * {a} * {b}" for gap, a, b in zip(gaps, above, below, strict=True)]


def _survival(query: _Query, plain: dict[str, Any], scores: list[str]) -> list[str]:
    """Add the probability of no event until each time of a baseline hazard, and return their names."""
    survival = plain.get("survival")
    if survival is None:
        return []
    risk = f"exp(CASE WHEN {scores[0]} > 30e0 THEN 30e0 ELSE {scores[0]} END)"
    hazards = enumerate(survival["hazard"])
    return [query.add(f"survival_{k}", ANSWERS, f"exp(-({number(hazard)} * {risk}))") for k, hazard in hazards]


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
