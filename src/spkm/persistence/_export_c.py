"""A header of C99: static functions of one sample, an array of doubles. The C library's math is all it needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.persistence._encoding import encoder_of, names_of_levels, starts_of
from spkm.persistence._export import feature_names, joint_weights
from spkm.persistence._formulas import kernel_value, ordered_probabilities
from spkm.persistence._languages import Language, Value

ENGINE = r"""
#define SPKM_SUM(name, part) \
    static inline double spkm_##name(const double *x, const double *u, const double *w, double c, int n) \
    { \
        double s = 0; \
        for (int j = 0; j < n; j++) s += (w ? w[j] : 1.0) * (part); \
        return c * s; \
    }
SPKM_SUM(squares, (x[j] - u[j]) * (x[j] - u[j]))
SPKM_SUM(sizes, fabs(x[j] - u[j]))
SPKM_SUM(dot, x[j] * u[j])

static inline double spkm_power(double base, int degree)
{
    double result = 1;
    for (int i = 0; i < degree; i++) result *= base;
    return result;
}

/* Infinite numbers are refused as NAN is: else they would have the scores of large ones. */
static inline double spkm_finite(double x) { return isfinite(x) ? x : NAN; }

static inline double spkm_scaled(double x, double center, double scale, double low, double high)
{
    double z = (spkm_finite(x) - center) / scale;
    return z < low ? low : z > high ? high : z;
}

static inline double spkm_logistic(double f)
{
    double small = exp(-fabs(f));
    return (f >= 0 ? 1.0 : small) / (1 + small);
}

static inline void spkm_normalize(double *p, int n)
{
    double total = 0;
    for (int k = 0; k < n; k++) total += p[k] = p[k] < 2.2250738585072014e-308 ? 2.2250738585072014e-308 : p[k];
    for (int k = 0; k < n; k++) p[k] /= total;
}
"""

COUPLING = r"""
/* Probabilities of classes from those of their pairs: Wu, Lin and Weng (2004), second method. */
static inline void spkm_couple(const double *shares, double *p)
{
    enum { N = SPKM_N_CLASSES };
    double a[N + 1][N + 2] = {{0}};
    int pair = 0;
    for (int i = 0; i < N; i++) {
        for (int j = i + 1; j < N; j++) {
            double q = shares[pair++];
            q = q < 1e-7 ? 1e-7 : q > 1 - 1e-7 ? 1 - 1e-7 : q;
            a[i][j] = a[j][i] = -q * (1 - q);
            a[i][i] += q * q;
            a[j][j] += (1 - q) * (1 - q);
        }
        a[i][N] = a[N][i] = 1;
    }
    a[N][N + 1] = 1;
    for (int i = 0; i <= N; i++) {
        int best = i;
        for (int r = i + 1; r <= N; r++) if (fabs(a[r][i]) > fabs(a[best][i])) best = r;
        for (int c = 0; c <= N + 1; c++) { double t = a[i][c]; a[i][c] = a[best][c]; a[best][c] = t; }
        for (int r = i + 1; r <= N; r++) {
            double factor = a[r][i] / a[i][i];
            for (int c = i; c <= N + 1; c++) a[r][c] -= factor * a[i][c];
        }
    }
    for (int i = N; i >= 0; i--) {
        for (int c = i + 1; c <= N; c++) a[i][N + 1] -= a[i][c] * a[c][N + 1];
        a[i][N + 1] /= a[i][i];
    }
    for (int i = 0; i < N; i++) p[i] = a[i][N + 1];
    spkm_normalize(p, N);
}

static inline void spkm_shares(const double *f, double *shares)
{
    for (int k = 0; k < SPKM_N_SCORES; k++) shares[k] = spkm_logistic(%s * f[k]);
}
"""

VOTES = """    double shares[SPKM_N_SCORES], p[SPKM_N_CLASSES];
    int pair = 0;
    spkm_shares(f, shares);
    spkm_couple(shares, p);
    for (int k = 0; k < SPKM_N_CLASSES; k++) d[k] = 0;
    for (int i = 0; i < SPKM_N_CLASSES; i++)
        for (int j = i + 1; j < SPKM_N_CLASSES; j++, pair++) {
            d[j] += (p[i] + p[j]) * shares[pair];
            d[i] += (p[i] + p[j]) * (1 - shares[pair]);
        }
"""
#: First lines of functions of a sample.
_SCORES = "    double f[SPKM_N_SCORES];\n    spkm_scores(x, f);\n"
_DECISION = "    double d[SPKM_N_DECISIONS];\n    spkm_decision(x, d);\n"


def content(plain: dict[str, Any]) -> str:
    """Return the header of a plain model."""
    weights, intercept = joint_weights(plain)
    n_classes, n_decisions = len(plain["classes"] or ()), len(plain["constants"] or intercept)
    if plain["combine"] == "pairs":
        n_decisions = n_classes
    n_probabilities = {None: 0, "ordered": n_classes, "logistic": 2}.get(plain["probabilities"], n_decisions)
    sizes = {
        "N_FEATURES": plain["n_features"],
        "N_BASIS": len(weights),
        "N_SCORES": len(intercept),
        "N_DECISIONS": n_decisions,
        "N_CLASSES": n_classes,
        "N_PROBABILITIES": n_probabilities,
        "N_TIMES": len((plain.get("survival") or {"times": ()})["times"]),
    }
    parts = [
        "/* Predictions of a sparse pre-image kernel machine. Functions take a sample of SPKM_N_FEATURES doubles.\n"
        "   Names of features and classes: spkm_feature_names, spkm_class_names. */\n"
        "#ifndef SPKM_MODEL_H\n#define SPKM_MODEL_H\n#include <math.h>\n#include <stddef.h>\n#include <string.h>\n",
        "".join(f"#define SPKM_{name} {size}\n" for name, size in sizes.items()),
        _strings("spkm_feature_names", feature_names(plain)),
        _strings("spkm_class_names", [str(label) for label in plain["classes"] or ()]),
        _encoder(plain),
        ENGINE,
        *[_member(k, member) for k, member in enumerate(plain["members"])],
        _similarities(plain),
        _scores(weights, intercept),
        _decision(plain),
        _probabilities(plain),
        _predict(plain),
        _survival(plain),
        "#endif\n",
    ]
    return "\n".join(parts)


def _encoder(plain: dict[str, Any]) -> str:
    """Return the function from the cells of a table to the numbers of a sample; nothing where there is no encoder."""
    encoder = encoder_of(plain)
    if encoder is None:
        return ""
    lines = []
    for j, plan, first in starts_of(encoder):
        if any("\0" in level for level in plan.get("levels", ())):
            raise ValueError(f"A level of column {plan['column']!r} holds NUL, which ends a text in C: rename it.")
        if "levels" not in plan:
            absent = f"isnan(row[{j}].number)"
            if plan["value"]:
                lines.append(f"    x[{first}] = {absent} ? {number(plan['fill'])} : row[{j}].number;\n")
            if plan["missing"]:
                lines.append(f"    x[{first + plan['value']}] = {absent} ? 1 : 0;\n")
            continue
        lines.append(f"    known = 0;\n    text = row[{j}].text;\n")
        for k, names in enumerate(names_of_levels(plan)):
            same = " || ".join(f"!strcmp(text, {string(name)})" for name in names)
            lines.append(f"    known += x[{first + k}] = text && ({same});\n")
        at = first + len(plan["levels"])
        if plan["other"]:
            lines.append(f"    x[{at}] = text && known == 0;\n")
        if plan["missing"]:
            lines.append(f"    x[{at + plan['other']}] = !text;\n")
    return (
        f"#define SPKM_N_COLUMNS {len(encoder['columns'])}\n"
        + _strings("spkm_column_names", encoder["columns"])
        + """
/* A cell of a table: the text of a category, NULL where it is missing; else a number (1 for true), NAN where it is. */
typedef struct { double number; const char *text; } spkm_cell;

/* The SPKM_N_FEATURES numbers of a row of SPKM_N_COLUMNS cells, which all other functions take. */
static inline void spkm_encode(const spkm_cell *row, double *x)
{
    const char *text = NULL;
    double known = 0;
"""
        + "".join(lines)
        + "    (void)row; (void)text; (void)known;\n}\n"
    )


def number(value: float) -> str:
    """Return a number as C writes it, exact in double precision."""
    if np.isinf(value):
        return "HUGE_VAL" if value > 0 else "-HUGE_VAL"
    return repr(float(value))


def string(text: str) -> str:
    """Return a literal of C for any text: all but letters, digits, spaces and some marks become octal escapes."""
    safe = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;()[]=")
    raw = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(byte) if byte in safe else f"\\{byte:03o}" for byte in raw) + '"'


def _strings(name: str, texts: list[str]) -> str:
    inside = ", ".join(map(string, texts)) or "NULL"
    array = f"static const char *const {name}[] = {{{inside}}};\n"
    return array + f"static inline const char *{name}_at(int k) {{ return {name}[k]; }}\n"


def _array(name: str, values: Any) -> str:
    flat = np.ravel(values)
    inside = ", ".join(number(value) for value in flat) or "0"
    return f"static const double {name}[] = {{{inside}}};\n"


class _C(Language):
    """Expressions of C, each a constant with a name, which ``lines`` define."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def number(self, value: float) -> str:
        return number(value)

    def write(self, operation: str, *parts: str) -> str:
        a, b, c = (*parts, "", "")[:3]
        forms = {"min": f"{a} > {b} ? {b} : {a}", "max": f"{a} < {b} ? {b} : {a}", "where": f"{a} ? {b} : {c}"}
        if operation in forms:
            return forms[operation]
        if not operation.isalpha():
            return f"{a} {operation} {b}"
        function = {"neg": "-", "logistic": "spkm_logistic"}.get(operation, operation)
        return f"{function}({', '.join(parts)})"

    def power(self, base: Value, degree: int) -> Value:
        return self.value(f"spkm_power({base.code}, {degree})")

    def value(self, code: str) -> Value:
        self.lines.append(f"const double t{len(self.lines)} = {code};\n")
        return Value(self, f"t{len(self.lines) - 1}")


def _member(k: int, member: dict[str, Any]) -> str:
    """Return the kernels of a member and the function that gives its similarities."""
    head, body = [], [f"static inline void spkm_member{k}(const double *x, double *out)\n{{\n"]
    features, scaling = np.asarray(member["features"]), member["scaling"]
    body.append(f"    double z[{max(len(features), 1)}], v[{max(len(features), 1)}];\n")
    for j, feature in enumerate(features):
        if scaling is None:
            body.append(f"    z[{j}] = spkm_finite(x[{feature}]);\n")
        else:
            args = ", ".join(number(scaling[part][j]) for part in ("center", "scale", "low", "high"))
            body.append(f"    z[{j}] = spkm_scaled(x[{feature}], {args});\n")
    row = 0
    for t, term in enumerate(member["terms"]):
        count = len(term["weights"])
        body.append(f"    for (int r = 0; r < {count}; r++) out[{row} + r] = 1;\n")
        for i, view in enumerate(term["views"]):
            name, width = f"spkm_{k}_{t}_{i}", len(view["columns"])
            lines, value, metrics = _kernel(view["kernel"], f"{name}_w", width)
            head.append(_array(f"{name}_basis", view["basis"]))
            head += [_array(own, metric) for metric, own in metrics.items()]
            body.append("".join(f"    v[{j}] = z[{c}];\n" for j, c in enumerate(view["columns"])))
            body.append(
                f"    for (int r = 0; r < {count}; r++) {{\n"
                f"        const double *u = {name}_basis + {width} * r;\n"
                f"        {'        '.join(lines)}        out[{row} + r] *= {value};\n    }}\n"
            )
        row += count
    body.append("    (void)x; (void)z; (void)v;\n}\n")
    return "".join(head) + "".join(body)


def _kernel(kernel: dict[str, Any], name: str, width: int) -> tuple[list[str], str, dict[tuple[float, ...], str]]:
    """Return the lines of a kernel at v and u, its value, and the names of the metrics that are arrays."""
    do, metrics = _C(), dict[tuple[float, ...], str]()
    calls = {"squares": "squares(v, u", "sizes": "sizes(v, u", "xu": "dot(v, u", "xx": "dot(v, v", "uu": "dot(u, u"}

    def sums(kind: str, metric: Any) -> Value:
        if np.ndim(metric) == 0:
            return do.value(f"spkm_{calls[kind]}, NULL, {number(metric)}, {width})")
        own = metrics.setdefault(tuple(metric), f"{name}{len(metrics)}")
        return do.value(f"spkm_{calls[kind]}, {own}, 1.0, {width})")

    value = kernel_value(do, kernel, sums)
    return do.lines, value.code, metrics


def _similarities(plain: dict[str, Any]) -> str:
    calls, row = [], 0
    for k, member in enumerate(plain["members"]):
        calls.append(f"    spkm_member{k}(x, k + {row});\n")
        row += sum(len(term["weights"]) for term in member["terms"])
    return (
        "/* Similarities to the SPKM_N_BASIS basis vectors. */\n"
        "static inline void spkm_similarities(const double *x, double *k)\n{\n" + "".join(calls) + "}\n"
    )


def _scores(weights: np.ndarray, intercept: np.ndarray) -> str:
    return (
        _array("spkm_weights", weights)
        + _array("spkm_intercept", intercept)
        + """
/* What each basis vector adds to each score: SPKM_N_BASIS rows of SPKM_N_SCORES. */
static inline void spkm_contributions(const double *x, double *c)
{
    double k[SPKM_N_BASIS];
    spkm_similarities(x, k);
    for (int r = 0; r < SPKM_N_BASIS; r++)
        for (int m = 0; m < SPKM_N_SCORES; m++) c[r * SPKM_N_SCORES + m] = k[r] * spkm_weights[r * SPKM_N_SCORES + m];
}

static inline void spkm_scores(const double *x, double *f)
{
    double k[SPKM_N_BASIS];
    spkm_similarities(x, k);
    for (int m = 0; m < SPKM_N_SCORES; m++) {
        f[m] = 0;
        for (int r = 0; r < SPKM_N_BASIS; r++) f[m] += k[r] * spkm_weights[r * SPKM_N_SCORES + m];
        f[m] += spkm_intercept[m];
    }
}
"""
    )


def _decision(plain: dict[str, Any]) -> str:
    if plain["combine"] == "pairs":
        before, lines = COUPLING % number(plain["steepness"]), VOTES
    else:
        constants = plain["constants"] or [None] * sum(len(m["intercept"]) for m in plain["members"])
        learned = iter(range(len(constants)))
        values = [f"f[{next(learned)}]" if constant is None else number(constant) for constant in constants]
        before, lines = "", "".join(f"    d[{k}] = {value};\n" for k, value in enumerate(values))
    about = "Scores that decide: one for each class, label or output, or a single one for two classes."
    return before + _function(about, "void spkm_decision(const double *x, double *d)", _SCORES + lines)


def _function(about: str, head: str, lines: str) -> str:
    return f"\n/* {about} */\nstatic inline {head}\n{{\n{lines}}}\n"


def _probabilities(plain: dict[str, Any]) -> str:
    kind = plain["probabilities"]
    if kind is None:
        return ""
    each = "    for (int k = 0; k < SPKM_N_PROBABILITIES; k++) p[k] = spkm_logistic(d[k]);\n"
    bodies = {
        "logistic": "    p[0] = spkm_logistic(-d[0]);\n    p[1] = spkm_logistic(d[0]);\n",
        "softmax": "    double top = d[0], total = 0;\n"
        "    for (int k = 1; k < SPKM_N_PROBABILITIES; k++) if (d[k] > top) top = d[k];\n"
        "    for (int k = 0; k < SPKM_N_PROBABILITIES; k++) total += p[k] = exp(d[k] - top);\n"
        "    for (int k = 0; k < SPKM_N_PROBABILITIES; k++) p[k] /= total;\n",
        "each": each,
        "normalized": each + "    spkm_normalize(p, SPKM_N_PROBABILITIES);\n",
        "coupled": "    double shares[SPKM_N_SCORES];\n    spkm_shares(f, shares);\n    spkm_couple(shares, p);\n",
    }
    source = _SCORES if kind == "coupled" else _DECISION
    lines = source + (_ordered(plain) if kind == "ordered" else bodies[kind])
    return _function(
        "The SPKM_N_PROBABILITIES probabilities.", "void spkm_probabilities(const double *x, double *p)", lines
    )


def _ordered(plain: dict[str, Any]) -> str:
    """Return the lines of probabilities of ordered classes."""
    do = _C()
    found = ordered_probabilities(do, plain, Value(do, "d[0]"))
    return "".join(f"    {line}" for line in [*do.lines, *(f"p[{k}] = {p.code};\n" for k, p in enumerate(found))])


def _survival(plain: dict[str, Any]) -> str:
    """Return the function of survival probabilities; nothing where there is no baseline hazard."""
    survival = plain.get("survival")
    if survival is None:
        return ""
    lines = _SCORES + (
        "    for (int k = 0; k < SPKM_N_TIMES; k++) s[k] = exp(-exp(f[0] > 30 ? 30 : f[0]) * spkm_hazard[k]);\n"
    )
    about = "The probability of no event until each of the SPKM_N_TIMES spkm_times."
    return (
        _array("spkm_times", survival["times"])
        + "static inline double spkm_times_at(int k) { return spkm_times[k]; }\n"
        + _array("spkm_hazard", survival["hazard"])
        + _function(about, "void spkm_survival(const double *x, double *s)", lines)
    )


def _predict(plain: dict[str, Any]) -> str:
    if plain["task"] in ("classes", "ordered"):
        best, find = "(d[0] > 0)", ""
        if plain["task"] == "ordered":
            best = " + ".join(f"(d[0] >= {number(cut)})" for cut in plain["cuts"])
        elif plain["two_dimensional"]:
            best = "best"
            find = "    int best = 0;\n    for (int k = 1; k < SPKM_N_DECISIONS; k++) if (d[k] > d[best]) best = k;\n"
        none = "    for (int k = 0; k < SPKM_N_DECISIONS; k++) if (isnan(d[k])) return -1;\n"
        about = "The class, as its place in spkm_class_names; -1 if a number is not finite."
        return _function(about, "int spkm_predict(const double *x)", f"{_DECISION}{none}{find}    return {best};\n")
    value = "exp(d[k] > 30 ? 30 : d[k])" if plain["link"] == "exp" else "d[k]"
    if plain["task"] == "labels":
        value = "isnan(d[k]) ? NAN : d[k] > 0"
    lines = f"{_DECISION}    for (int k = 0; k < SPKM_N_DECISIONS; k++) y[k] = {value};\n"
    about = "SPKM_N_DECISIONS predictions, 1 for a label that is there; NAN if a number is not finite."
    return _function(about, "void spkm_predict(const double *x, double *y)", lines)
