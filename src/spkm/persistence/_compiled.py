"""A fitted model as one function of one sample, for services: nothing is checked, nothing is kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from spkm.persistence._encoding import columns_of, encode, encoder_of, n_columns, values_of
from spkm.persistence._runtime import NumpyModel, kernel_values, member_weights

METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "predict_survival_function",
    "similarities",
    "contributions",
)


class CompiledModel:
    """A function of one sample; immutable, so that threads may share it.

    Parameters
    ----------
    plain : dict
        The model as plain data, :func:`spkm.persistence.plain_model`.
    method : {"predict", "predict_proba", "decision_function", "predict_survival_function", "similarities", \
            "contributions"}, default="predict"
        Return value of the function for one sample: a number, a label, or an array.

    Examples
    --------
    >>> from spkm import SPKMClassifier
    >>> model = SPKMClassifier(n_basis=2, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.compiled()([3.0])
    'b'
    >>> model.compiled("predict_proba")([3.0]).shape
    (2,)
    """

    __slots__ = ("_function", "classes", "method", "n_features")

    _function: Callable[[Any], Any]
    classes: tuple[Any, ...] | None
    method: str
    n_features: int

    def __init__(self, plain: dict[str, Any], method: str = "predict") -> None:
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}.")
        classes = None if plain["classes"] is None else tuple(plain["classes"])
        for name, value in {
            "_function": _behind_encoder(plain, _function(NumpyModel(plain), method)),
            "classes": classes,
            "method": method,
            "n_features": n_columns(plain),
        }.items():
            object.__setattr__(self, name, value)

    def __call__(self, sample: Any) -> Any:
        """Return the answer for one sample, a sequence of ``n_features`` finite numbers.

        That they are finite is not checked. Behind an encoder it is a sequence of numbers and texts, None where a value
        is missing. It may be a dict or a row of a frame if columns have names.
        """
        return self._function(sample)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A compiled model cannot be changed; tried to set {name!r}.")

    def __repr__(self) -> str:
        return f"CompiledModel(n_features={self.n_features}, method={self.method!r})"

    def __reduce__(self) -> Any:
        raise TypeError("A compiled model is not saved: save the estimator, and compile it where it is loaded.")


def _behind_encoder(plain: dict[str, Any], function: Callable[[np.ndarray], Any]) -> Callable[[Any], Any]:
    """Return a function of a sample of the user's."""
    encoder, width, columns = encoder_of(plain), plain["n_features"], columns_of(plain)
    shape = (n_columns(plain),)

    def check(found: tuple[int, ...]) -> None:
        if found != shape:
            raise ValueError(
                f"A compiled model takes one sample, {shape[0]} {'numbers' if encoder is None else 'values'}; got an "
                f"array of the shape {found}. For several samples call it for each, or use the methods of the "
                "estimator."
            )

    def of_numbers(sample: Any) -> Any:
        x = np.asarray(values_of(sample, columns), dtype=np.float64)
        check(x.shape)
        return function(x)

    def of_cells(sample: Any) -> Any:
        if not isinstance(sample, list | tuple | dict):
            check(np.shape(sample))
        return function(encode(plan, [values_of(sample, columns)], width)[0])

    plan: Any = encoder
    return of_numbers if encoder is None else of_cells


def _function(model: NumpyModel, method: str) -> Callable[[np.ndarray], Any]:
    """Return the answer for the numbers of one sample."""
    plain = model.plain
    missing = {
        "predict_survival_function": model.event_times_ is None,
        "predict_proba": plain["probabilities"] is None,
        "decision_function": plain["task"] == "regression",
    }
    if missing.get(method, False):
        raise AttributeError(f"The model has no {method}.")
    if method in ("similarities", "contributions"):
        parts = model.similarities_of if method == "similarities" else model.contributions_of
        return lambda x: parts(x[None])[0]
    scores = _scores([_member(member) for member in model.members])
    answer = {
        "predict": model.predict_from,
        "predict_proba": model.probabilities_from,
        "decision_function": model.decisions_from,
        "predict_survival_function": model.survival_from,
    }[method]

    def one(x: np.ndarray) -> Any:
        found = answer(scores(x)[None])
        return found.item() if found.ndim == 1 else found[0]

    return one


def _member(member: dict[str, Any]) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray, np.ndarray]:
    """Return the function of similarities of a member, its weights and its intercept."""
    features, scaling = member["features"], member["scaling"]
    kernels = [[_kernel(view, len(features)) for view in term["views"]] for term in member["terms"]]
    alone = kernels[0][0] if len(kernels) == 1 and len(kernels[0]) == 1 else None
    if scaling is not None:
        center, scale, low, high = (scaling[part] for part in ("center", "scale", "low", "high"))

    def similarities(x: np.ndarray) -> np.ndarray:
        z = x[features]
        if scaling is not None:
            z -= center
            z /= scale
            np.maximum(z, low, out=z)
            np.minimum(z, high, out=z)
        if alone is not None:
            return alone(z)
        return np.concatenate([math.prod((kernel(z) for kernel in term[1:]), start=term[0](z)) for term in kernels])

    return similarities, member_weights(member), member["intercept"]


def _kernel(view: Any, n_features: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return the values k(z, u_r), (R,), as a function of z: quick ways for the commonest kernels."""
    kernel, U, columns = view["kernel"], view["basis"], view["columns"]
    if len(columns) < n_features:
        inner = _kernel({**view, "columns": np.arange(len(columns))}, len(columns))
        return lambda z: inner(z[columns])
    w = kernel.get("metric")
    if kernel["name"] in ("linear", "polynomial"):
        V, q, degree = U * w, kernel.get("coef0", 0.0), kernel.get("degree", 1)
        return lambda z: math.prod([V @ z + q] * degree)
    if kernel["name"] not in ("rbf", "matern"):
        return lambda z: kernel_values(kernel, z[None], U)[0]

    def squares(z: np.ndarray) -> np.ndarray:
        gap = U - z
        gap *= gap
        return gap @ w

    if kernel["name"] == "rbf":
        return lambda z: np.exp(-squares(z))
    factor, is_rougher = 4 * kernel["nu"], kernel["nu"] == 1.5

    def matern(z: np.ndarray) -> np.ndarray:
        q = factor * squares(z)
        root = np.sqrt(q)
        return (1 + root if is_rougher else 1 + root + q / 3) * np.exp(-root)

    return matern


def _scores(members: list[Any]) -> Callable[[np.ndarray], np.ndarray]:
    if len(members) > 1:
        return lambda x: np.concatenate([similarities(x) @ C + b for similarities, C, b in members])
    similarities, weights, intercept = members[0]
    return lambda x: similarities(x) @ weights + intercept
