"""Predictions of a sparse pre-image kernel machine, in plain Python: no package is needed.

Each function takes one sample, a sequence of numbers, one for each feature: ``predict``, ``probabilities``,
``decision``, ``scores``, ``similarities`` (to each basis vector), ``contributions`` (of each to each score) and, for
censored times, ``survival`` (the probability of no event until each of ``MODEL["survival"]["times"]``). If the model
has an encoder, a sample is a row of the table: numbers, texts, None where a value is missing. A sample may be a
dict, or a series with the names of the features, if they have some.
"""

import math

from spkm.persistence._formulas import (
    TINY,
    bounded_exp,
    class_probabilities,
    class_votes,
    kernel_value,
    ordered_probabilities,
)

MODEL: dict = {}


def predict(sample):
    """Return a number, a class, or a list of them."""
    found = decision(sample)
    if MODEL["task"] == "labels":
        return [1 if f > 0 else 0 for f in found]
    if MODEL["task"] == "ordered":
        return MODEL["classes"][sum(found[0] >= cut for cut in MODEL["cuts"])]
    if MODEL["task"] == "classes":
        best = max(range(len(found)), key=lambda k: found[k]) if MODEL["two_dimensional"] else int(found[0] > 0)
        return MODEL["classes"][best]
    numbers = [bounded_exp(_Math, f) for f in found] if MODEL["link"] == "exp" else found
    return numbers if MODEL["two_dimensional"] else numbers[0]


def probabilities(sample):
    """Return the probability of each class or label; None if the model has none."""
    kind, f = MODEL["probabilities"], scores(sample)
    if kind is None:
        return None
    if kind == "logistic":
        return [_logistic(-f[0]), _logistic(f[0])]
    if kind == "softmax":
        shares = [math.exp(v - max(f)) for v in f]
        return [share / math.fsum(shares) for share in shares]
    if kind == "ordered":
        return ordered_probabilities(_Math, MODEL, f[0])
    if kind == "coupled":
        return class_probabilities(_Math, _shares(f), len(MODEL["classes"]))
    found = [_logistic(v) for v in _with_constants(f)]
    return found if kind == "each" else _normalized(found)


def survival(sample):
    """Return the probability of no event until each time of the model's hazard; None if it has none."""
    if MODEL.get("survival") is None:
        return None
    risk = bounded_exp(_Math, scores(sample)[0])
    return [math.exp(-risk * hazard) for hazard in MODEL["survival"]["hazard"]]


def decision(sample):
    """Return what is decided by: a score for each class, label or output, or one for two classes."""
    f = scores(sample)
    if MODEL["combine"] != "pairs":
        return _with_constants(f)
    return class_votes(_shares(f), class_probabilities(_Math, _shares(f), len(MODEL["classes"])))


def scores(sample):
    """Return the scores of the model."""
    found = []
    for member in MODEL["members"]:
        weights, values = _weights(member), _similarities(member, _checked(sample))
        for k, b in enumerate(member["intercept"]):
            found.append(sum(c[k] * value for c, value in zip(weights, values)) + b)
    return found


def similarities(sample):
    """Return the similarity of the sample to each basis vector."""
    return [value for member in MODEL["members"] for value in _similarities(member, _checked(sample))]


def contributions(sample):
    """Return what each basis vector adds to each score, a list for each vector."""
    found, members = [], MODEL["members"]
    for k, member in enumerate(members):
        for c, value in zip(_weights(member), _similarities(member, _checked(sample))):
            own = [weight * value for weight in c]
            if MODEL["combine"] != "joint":
                own = [own[0] if other == k else 0.0 for other in range(len(members))]
            found.append(own)
    return found


def _checked(sample):
    encoder = MODEL.get("encoder")
    sample = _values(sample, MODEL["feature_names"] if encoder is None else encoder["columns"])
    sample = [float(x) for x in sample] if encoder is None else _encoded(encoder, list(sample))
    if len(sample) != MODEL["n_features"]:
        raise ValueError(f"A sample must have {MODEL['n_features']} numbers; got {len(sample)}.")
    if not all(math.isfinite(x) for x in sample):
        raise ValueError("A sample must hold finite numbers.")
    return sample


def _values(sample, columns):
    # Dicts and rows of frames have keys.
    if isinstance(sample, (list, tuple)) or columns is None or not hasattr(sample, "keys"):
        return sample
    names = {str(name): name for name in sample.keys()}
    if not isinstance(sample, dict) and not any(isinstance(n, str) or str(n) in columns for n in names.values()):
        return sample  # a series whose names are places
    absent = [name for name in columns if name not in names]
    if absent:
        raise ValueError(f"A sample must have the columns of the fit; {absent} are missing.")
    return [sample[names[name]] for name in columns]


def _encoded(encoder, row):
    if len(row) != len(encoder["columns"]):
        raise ValueError(f"A sample must have {len(encoder['columns'])} values; got {len(row)}.")
    found = []
    for value, plan in zip(row, encoder["plans"]):
        if plan is None:
            continue
        absent = _is_missing(value)
        if "levels" in plan:
            text = None if absent else _level(value)
            text = plan["twins"].get(text, text)  # the same number in the other precision
            known = text in plan["levels"]
            found += [1.0 if level == text else 0.0 for level in plan["levels"]]
            found += [0.0 if absent or known else 1.0] * plan["other"]
        elif plan["value"]:
            found.append(float(plan["fill"]) if absent else _number(value, plan))
        elif not absent:
            _number(value, plan)
        found += [1.0 if absent else 0.0] * plan["missing"]
    return found


def _is_missing(value):
    # Cells of frames may be numbers of NumPy and marks of pandas, which need not be installed.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (_is_float(value) and value != value)


def _is_float(value):
    return isinstance(value, float) or type(value).__name__ in ("float16", "float32")


def _level(value):
    if isinstance(value, str):
        return value
    return str(int(value)) if _is_float(value) and float(value).is_integer() else str(value)


def _number(value, plan):
    text = value.strip().lower() if isinstance(value, str) else ""
    if plan["boolean"] and text in ("true", "false"):
        return 1.0 if text == "true" else 0.0
    try:
        # Texts of the numbers alone that tables write: not "nan", "inf" or "1_000".
        number = math.nan if set(text) - set("0123456789.e+-") else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if number != number or (plan["boolean"] and number not in (0.0, 1.0)):
        what = "truths" if plan["boolean"] else "numbers"
        raise ValueError(f"Column {plan['column']!r} must hold {what}; got {value!r}.")
    return number


def _weights(member):
    return [c for term in member["terms"] for c in term["weights"]]


def _similarities(member, sample):
    z, scaling = [sample[j] for j in member["features"]], member["scaling"]
    if scaling is not None:
        parts = zip(z, scaling["center"], scaling["scale"], scaling["low"], scaling["high"])
        z = [_clipped((x - center) / scale, low, high) for x, center, scale, low, high in parts]
    found = []
    for term in member["terms"]:
        for r in range(len(term["weights"])):
            value = 1.0
            for view in term["views"]:
                value *= _kernel(view["kernel"], [z[c] for c in view["columns"]], view["basis"][r])
            found.append(value)
    return found


def _clipped(z, low, high):
    if low is not None and z < low:
        return low
    return high if high is not None and z > high else z


def _kernel(kernel, x, u):
    def sums(kind, metric):
        w = metric if isinstance(metric, list) else [metric] * len(x)
        if kind == "squares":
            return sum(c * (a - b) * (a - b) for c, a, b in zip(w, x, u))
        if kind == "sizes":
            return sum(c * abs(a - b) for c, a, b in zip(w, x, u))
        left, right = {"xu": (x, u), "xx": (x, x), "uu": (u, u)}[kind]
        return sum(c * a * b for c, a, b in zip(w, left, right))

    return kernel_value(_Math, kernel, sums)


def _logistic(f):
    small = math.exp(-abs(f))
    return (1.0 if f >= 0 else small) / (1 + small)


class _Math:
    exp, sqrt, minimum, maximum, logistic = math.exp, math.sqrt, min, max, staticmethod(_logistic)

    @staticmethod
    def where(condition, a, b):
        return a if condition else b


def _shares(f):
    return [_logistic(MODEL["steepness"] * v) for v in f]


def _with_constants(f):
    if MODEL["constants"] is None:
        return f
    learned = iter(f)
    return [next(learned) if constant is None else constant for constant in MODEL["constants"]]


def _normalized(p):
    kept = [max(v, TINY) for v in p]
    return [v / math.fsum(kept) for v in kept]
