"""A plain model is complete, its sizes fit one another, and its numbers are numbers: else predictions would fail later.

Needs NumPy alone. Arrays may be lists, and infinite bounds None, as in JSON.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.persistence._container import need
from spkm.persistence._encoding import check_encoder, encoder_of
from spkm.persistence._plain import LEAVES, NODES, SCHEMA

MOST_DEGREE = 1000  # of a polynomial, which some languages multiply out
FIELDS = {
    "schema": int,
    "task": str,
    "n_features": int,
    "outputs": list,
    "two_dimensional": bool,
    "combine": str,
    "members": list,
}
OPTIONAL = {"feature_names": list, "classes": list, "constants": list, "link": str, "probabilities": str}
CHOICES: dict[str, tuple[Any, ...]] = {
    "task": ("regression", "classes", "labels", "ordered"),
    "link": ("identity", "exp"),
    "probabilities": (None, "logistic", "softmax", "each", "normalized", "coupled", "ordered"),
    "combine": ("joint", "rest", "pairs"),
}


def check_plain(plain: dict[str, Any], known_only: bool = True) -> None:
    """Raise ModelFileError unless a plain model is one.

    Parameters
    ----------
    plain : object
        Value to check.
    known_only : bool, default=True
        Whether every kernel and link must have a formula with a name; else they may be None.
    """
    need(isinstance(plain, dict) and plain.get("schema") == SCHEMA, "its plain form has an unknown version")
    for name, kind in FIELDS.items():
        need(type(plain.get(name)) is kind, f"its plain form has no {name}")
    for name, kind in OPTIONAL.items():
        need(name in plain and (plain[name] is None or type(plain[name]) is kind), f"its plain form has no {name}")
    for name, choices in CHOICES.items():
        other = name == "link" and not known_only and plain[name] is None
        need(other or plain[name] in choices, f"its plain form has an unknown {name}")
    need(_is_number(plain.get("steepness")) and plain["steepness"] > 0, "its plain form has no steepness")
    need(plain["n_features"] >= 0 and plain["members"], "its plain form has no model")
    names = plain["feature_names"]
    need(names is None or _are_texts(names, plain["n_features"]), "its features have other names")
    need(_are_texts(plain["outputs"], len(plain["outputs"])), "its outputs have no names")
    if encoder_of(plain) is not None:
        check_encoder(encoder_of(plain), plain["n_features"])
    for member in plain["members"]:
        _check_member(member, plain["n_features"], known_only)
    _check_outputs(plain)


def _check_outputs(plain: dict[str, Any]) -> None:
    """Raise ModelFileError unless scores, classes and probabilities fit one another."""
    sizes = [len(member["intercept"]) for member in plain["members"]]
    combine, classes, constants = plain["combine"], plain["classes"], plain["constants"]
    need(len(sizes) == 1 if combine == "joint" else set(sizes) == {1}, "it has another number of models")
    need(constants is None or combine == "rest", "it has constants without binary models")
    for constant in constants or ():
        need(constant is None or _is_number(constant), "a constant is none")
    n_scores = sum(sizes)
    if constants is not None:
        need(sum(constant is None for constant in constants) == n_scores, "it has another number of models")
        n_scores = len(constants)
    _check_survival(plain)
    if plain["task"] == "ordered":
        _check_ordered(plain, n_scores)
        return
    if plain["task"] != "classes":
        need(classes is None and combine != "pairs", "it has classes without a decision between them")
        need(len(plain["outputs"]) == n_scores, "it has another number of outputs")
        need(plain["probabilities"] in (None, "each"), "its probabilities are others")
        return
    _check_labels(classes)
    n = len(classes)
    wanted = n * (n - 1) // 2 if combine == "pairs" else n if plain["two_dimensional"] else 1
    need(n_scores == wanted and (plain["two_dimensional"] or n == 2), "it has other classes")
    fitting = {"pairs": "coupled", "rest": "normalized", "joint": "logistic" if n_scores == 1 else "softmax"}
    need(plain["probabilities"] in (None, fitting[combine]), "its probabilities are others")


def _check_labels(classes: Any) -> None:
    need(isinstance(classes, list) and len(classes) >= 2, "it has no classes")
    need(all(isinstance(label, str | bool | int | float) for label in classes), "a class is none")


def _check_ordered(plain: dict[str, Any], n_scores: int) -> None:
    """Raise ModelFileError unless ordered classes have a score, and rising thresholds between them."""
    classes = plain["classes"]
    _check_labels(classes)
    need(n_scores == 1 and plain["combine"] == "joint" and not plain["two_dimensional"], "it has other classes")
    need(plain["probabilities"] == "ordered", "its probabilities are others")
    for name, strict in (("thresholds", True), ("cuts", False)):
        values = _numbers(plain.get(name), 1, f"it has no {name}")
        steps = np.diff(values)
        need(len(values) == len(classes) - 1, f"it has other {name}")
        need(bool(np.all(steps > 0 if strict else steps >= 0)), f"its {name} do not rise")


def _check_survival(plain: dict[str, Any]) -> None:
    """Raise ModelFileError unless a baseline hazard, if there is one, is one of a single score."""
    survival = plain.get("survival")
    if survival is None:
        return
    need(isinstance(survival, dict) and plain["task"] == "regression", "its baseline hazard is none")
    need(not plain["two_dimensional"] and plain["combine"] == "joint", "its baseline hazard is none")
    times, hazard = (_numbers(survival.get(part), 1, "its baseline hazard is none") for part in ("times", "hazard"))
    need(len(times) == len(hazard), "its baseline hazard is none")
    rises = np.all(np.diff(times) > 0) and np.all(np.diff(hazard, prepend=0.0) >= 0)
    need(bool(rises), "its baseline hazard does not rise")


def check_normalization(values: Any) -> None:
    """Raise ModelFileError unless a matrix that similarities are multiplied by is square and finite."""
    matrix = _numbers(values, 2, "its normalization is none")
    need(matrix.shape[0] == matrix.shape[1], "its normalization is none")


def _check_member(member: Any, n_features: int, known_only: bool) -> None:
    need(isinstance(member, dict) and isinstance(member.get("terms"), list), "a model is none")
    need(member["terms"] and "scaling" in member, "a model has no terms")
    width = _check_places(member.get("features"), n_features, "its features are none")
    intercept = _numbers(member.get("intercept"), 1, "it has no intercept")
    if member["scaling"] is not None:
        _check_scaling(member["scaling"], width)
    for term in member["terms"]:
        need(isinstance(term, dict) and isinstance(term.get("views"), list) and term["views"], "a term has no view")
        need(isinstance(term.get("name"), str), "a term has no name")
        weights = _numbers(term.get("weights"), 2, "its weights are others")
        need(weights.shape[1] == len(intercept), "its weights are others")
        for view in term["views"]:
            need(isinstance(view, dict) and "kernel" in view, "a view is none")
            need(isinstance(view.get("name"), str), "a view has no name")
            columns = _check_places(view.get("columns"), width, "a view reads features that are not there")
            basis = _numbers(view.get("basis"), 2, "its basis vectors are others", width=columns)
            need(basis.shape == (len(weights), columns), "its basis vectors are others")
            if view["kernel"] is None and known_only:
                raise TypeError("The model has a kernel with a formula of its own: load it with runtime=None.")
            if view["kernel"] is not None:
                _check_kernel(view["kernel"], columns)


def _check_scaling(scaling: Any, width: int) -> None:
    need(isinstance(scaling, dict), "its scaling is none")
    for part in ("center", "scale"):
        values = _numbers(scaling.get(part), 1, "its scaling is none")
        need(len(values) == width, "its scaling is one of other features")
    need(np.all(np.asarray(scaling["scale"]) > 0), "its scaling has a scale that is not positive")
    bounds = []
    for part, infinite in (("low", -np.inf), ("high", np.inf)):
        bound = bounds_of(scaling.get(part), infinite)
        need(bound.shape == (width,) and not np.isnan(bound).any(), "its scaling is none")
        bounds.append(bound)
    need(np.all(bounds[0] <= bounds[1]), "its scaling has bounds that cross")


def bounds_of(values: Any, infinite: float) -> np.ndarray:
    """Return bounds as an array, of JSON's with ``infinite`` for None; NaN if they are none."""
    if isinstance(values, list):
        values = [infinite if value is None else value for value in values]
    try:
        return np.asarray(values, dtype=np.float64)  # None is NaN
    except (TypeError, ValueError):
        return np.array(np.nan)


def _check_kernel(kernel: Any, width: int) -> None:
    need(isinstance(kernel, dict) and isinstance(kernel.get("name"), str), "a kernel is none")
    name = kernel["name"]
    need(name in LEAVES or name in NODES, f"it has the unknown kernel {name[:40]!r}")
    parts, numbers = NODES.get(name, ((), LEAVES.get(name, ())))
    need(all(_is_number(kernel.get(number)) for number in numbers), f"a kernel {name} is not complete")
    for part in parts:
        _check_kernel(kernel.get(part), width)
    if name in NODES:
        return
    metric = kernel.get("metric")
    if np.ndim(metric) == 0:
        need(_is_number(metric) and metric >= 0, "a kernel has no metric")
    else:
        values = _numbers(metric, 1, "a kernel has no metric")
        need(len(values) == width and np.all(values >= 0), "a kernel has a metric of other columns")
    need("nu" not in numbers or kernel["nu"] in (1.5, 2.5), "a kernel has an unknown smoothness")
    need("alpha" not in numbers or kernel["alpha"] > 0, "a kernel has an exponent that is not positive")
    if "degree" in numbers:
        need(type(kernel["degree"]) is int and 1 <= kernel["degree"] <= MOST_DEGREE, "a kernel has no degree")


def _check_places(values: object, most: int, text: str) -> int:
    """Return the number of places, after a check that they rise and are below a number."""
    need(isinstance(values, list | np.ndarray), text)
    places = np.asarray(values)
    if places.size == 0:
        need(places.ndim == 1, text)
        return 0
    need(places.ndim == 1 and places.dtype.kind in "iu", text)
    need(places[0] >= 0 and places[-1] < most and bool(np.all(np.diff(places) > 0)), text)
    return len(places)


def _numbers(values: object, ndim: int, text: str, width: int | None = None) -> np.ndarray:
    """Return finite numbers as an array; a matrix of no columns may be a list of empty ones."""
    need(isinstance(values, list | np.ndarray), text)
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        array = np.empty((), dtype=object)
    if array.size == 0 and ndim == 2 and array.ndim == 1 and width is not None:
        array = np.empty((len(array), width))
    is_number = array.dtype.kind in "iuf" or array.size == 0
    need(array.ndim == ndim and is_number and bool(np.all(np.isfinite(array))), text)
    return array


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and bool(np.isfinite(value))


def _are_texts(values: object, count: int) -> bool:
    return isinstance(values, list) and len(values) == count and all(type(value) is str for value in values)
