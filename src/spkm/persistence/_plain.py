"""The one intermediate form: a fitted model as numbers, strings, lists and arrays, from which files and exports start.

A plain model is a dict (its fields: see :func:`plain_model`). A kernel is a tree of dicts: leaves are the
formulas of ``LEAVES`` with their numbers and a ``metric``, a number or one for each column, that bandwidths and
relevances are folded into; inner nodes are "affine", "sum" and "product".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from spkm._arrays import Factors
    from spkm.core.fitted import FittedModel
    from spkm.kernels import Kernel
    from spkm.losses import Loss

SCHEMA = 1
#: The formulas at the leaves of a kernel and the numbers they have beside the metric.
LEAVES: dict[str, tuple[str, ...]] = {
    "rbf": (),
    "matern": ("nu",),
    "rational_quadratic": ("alpha",),
    "laplacian": (),
    "linear": (),
    "polynomial": ("degree", "coef0"),
    "normalized_polynomial": ("degree", "coef0"),
    "tanimoto": (),
}
#: Formulas made of other kernels: the kernels and the numbers that each has.
NODES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "affine": (("kernel",), ("scale", "shift")),
    "sum": (("left", "right"), ()),
    "product": (("left", "right"), ()),
}
LARGEST_WHOLE = 2**53 - 1  # of whole numbers that JavaScript keeps apart from their neighbours
STEEPNESS = 6.0  # of the logistic function where a loss has no probabilities, as estimators have it


def plain_model(model: FittedModel, feature_names: Any = None, known_only: bool = True) -> dict[str, Any]:
    """Return a fitted model as plain data.

    Parameters
    ----------
    model : FittedModel or ModelEnsemble
        ``model_`` of an estimator.
    feature_names : sequence of str, default=None
        Names of the columns of the user's table.
    known_only : bool, default=True
        Whether to raise TypeError where a kernel or a loss has a formula without a name; else it is None.

    Returns
    -------
    plain : dict
        - ``schema``: the version of this form;
        - ``task``: "regression", "classes", "labels" or "ordered"; ``outputs``: their names; ``classes``: the labels
          or None;
        - ``n_features``, ``feature_names`` (list or None): of the user's table;
        - ``two_dimensional``: whether predictions have a column for each output;
        - ``link``: "identity" or "exp" (of min(f, 30)), what makes predictions of the scores of a regression;
        - ``probabilities``: how they follow from scores: "logistic" (two classes), "softmax", "each" (labels),
          "normalized" (one against the rest), "coupled" (one against one), "ordered"; None if there are none;
        - ``thresholds`` and ``cuts``, of ordered classes alone: the probability of a class above the k-th is
          1 / (1 + exp(thresholds[k] - f)), and the most likely class is the one after as many cuts as are at most f;
        - ``combine``: "joint", "rest" or "pairs"; ``steepness``: of the logistic function of pairs;
        - ``constants``: with "rest", a number for each output that no member learns, None for the others;
        - ``members``: the models whose scores stand side by side, each with ``features`` (columns of the table),
          ``scaling`` (``center``, ``scale``, ``low``, ``high``, or None), ``intercept`` (m,) and ``terms``; a term has
          ``name``, ``weights`` (R, m) and ``views``, whose kernels are multiplied; a view ``name``, ``columns``
          (places in ``features``), ``basis`` (R, n_columns) and ``kernel``.

    Examples
    --------
    >>> from spkm import SPKMRegressor
    >>> model = SPKMRegressor(n_basis=1, kernel="rbf", random_state=0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> plain = plain_model(model.model_, ["x"])
    >>> plain["task"], plain["link"], plain["members"][0]["terms"][0]["views"][0]["kernel"]["name"]
    ('regression', 'identity', 'rbf')
    """
    several = not model.is_joint
    target: Any = model.target
    loss = model.loss
    task = target.task
    if loss.link is None and known_only and task != "ordered":
        raise TypeError(
            f"The loss {type(loss).__name__} makes predictions of scores by a formula of its own, for which there is "
            "no plain form. Use a loss of spkm.losses, or set its class attribute link to the name of one."
        )
    combine = "joint" if not several else "rest" if model.pairs is None else "pairs"
    constants = None
    if combine == "rest" and not np.all(target.learned):
        constants = [None if np.isnan(value) else float(value) for value in target.constant]
    ordered = {}  # no key for other targets, so that their form stays as it was
    if task == "ordered":
        ordered = {"thresholds": [float(t) for t in loss.thresholds], "cuts": target.cuts[1:-1].tolist()}
    return {
        "schema": SCHEMA,
        "task": task,
        "n_features": int(model.n_features),
        "feature_names": None if feature_names is None else [str(name) for name in feature_names],
        "outputs": list(target.names),
        "classes": [_label(value) for value in target.labels] if task in ("classes", "ordered") else None,
        "two_dimensional": bool(target.two_dimensional),
        "link": loss.link if task == "regression" else "identity",
        "probabilities": _probabilities_of(loss, task, combine, model.n_outputs),
        "combine": combine,
        "steepness": 1.0 if loss.link == "logistic" else STEEPNESS,
        "constants": constants,
        **ordered,
        "members": [_plain_member(member, known_only) for member in (model.members if several else (model,))],
    }


def _probabilities_of(loss: Loss, task: str, combine: str, n_outputs: int) -> str | None:
    if task == "ordered":
        return "ordered"
    if task == "regression" or loss.link != "logistic":
        return None
    if task == "labels":
        return "each"
    if combine != "joint":
        return "normalized" if combine == "rest" else "coupled"
    return "logistic" if n_outputs == 1 else "softmax"


def _plain_member(model: FittedModel, known_only: bool) -> dict[str, Any]:
    kernel = plain_kernel if known_only else kernel_or_none
    scaling = None
    if model.scaling is not None:
        s = model.scaling
        scaling = {"center": s.center, "scale": s.scale, "low": s.middle - s.clip, "high": s.middle + s.clip}
    terms = [
        {
            "name": term.name,
            "weights": term.weights,
            "views": [
                {"name": v.name, "columns": v.columns, "basis": v.basis, "kernel": kernel(v.kernel)} for v in term.views
            ],
        }
        for term in model.terms
    ]
    return {"features": model.features, "scaling": scaling, "intercept": model.intercept, "terms": terms}


def plain_kernel(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel as a tree of formulas, with bandwidths and relevances folded into the metric of its leaves.

    Examples
    --------
    >>> from spkm.kernels import RBF, Affine
    >>> plain_kernel(Affine(RBF(0.5).with_bandwidth(3.0)))["kernel"]
    {'name': 'rbf', 'metric': 1.5}
    """
    try:
        tree = kernel.plain()
    except TypeError as error:
        raise TypeError(
            f"{error} Exports and the numpy runtime have the kernels of spkm.kernels only. A file of it can be "
            "saved after spkm.persistence.register(YourKernel), and loaded where the same is done."
        ) from error
    return _folded(tree, 1.0)


def kernel_or_none(kernel: Kernel) -> dict[str, Any] | None:
    try:
        return plain_kernel(kernel)
    except TypeError:
        return None


def _folded(tree: dict[str, Any], metric: Factors) -> dict[str, Any]:
    name = tree["name"]
    if name == "rescaled":
        factor = tree["factor"]
        return _folded(tree["kernel"], metric * (np.asarray(factor, dtype=float) if np.ndim(factor) else float(factor)))
    if name in NODES:
        kernels, numbers = NODES[name]
        inside = {part: _folded(tree[part], metric) for part in kernels}
        return {"name": name, **inside, **{number: float(tree[number]) for number in numbers}}
    whole = metric * float(tree.get("gamma", 1.0))
    own = {k: int(tree[k]) if k == "degree" else float(tree[k]) for k in LEAVES[name]}
    return {"name": name, "metric": whole if np.ndim(whole) else float(whole), **own}


def _label(value: object) -> Any:
    """Return a class label as a Python object that JSON can hold."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"Class labels must be strings or numbers in files and exports; got {value!r}.")


def class_array(labels: list[Any]) -> np.ndarray:
    """Return class labels as an array that keeps them apart.

    By itself NumPy makes floats of integers on both sides of 2^63, and loses null characters at the end of texts.

    Examples
    --------
    >>> class_array([5, 2**63 + 1])
    array([                  5, 9223372036854775809], dtype=uint64)
    """
    array = np.array(labels)
    if array.tolist() == labels:
        return array
    return np.array(labels, dtype=np.uint64 if isinstance(labels[0], int) else object)


def for_javascript(label: Any) -> Any:
    """Return a label as JavaScript keeps it: a text in place of a whole number that it would merge with others.

    Examples
    --------
    >>> for_javascript(3), for_javascript(2**53 + 1)
    (3, '9007199254740993')
    """
    return str(label) if isinstance(label, int) and abs(label) > LARGEST_WHOLE else label


def with_javascript_classes(plain: dict[str, Any]) -> dict[str, Any]:
    """Return a plain model with ``javascript_classes`` beside its classes, if JavaScript would merge these."""
    classes = plain["classes"] or []
    kept = [for_javascript(label) for label in classes]
    return plain if kept == classes else {**plain, "javascript_classes": kept}


def jsonable(value: object) -> Any:
    """Return plain data with lists in place of arrays and None in place of infinite bounds.

    Examples
    --------
    >>> jsonable({"high": np.array([5.0, np.inf])})
    {'high': [5.0, None]}
    """
    if isinstance(value, dict):
        return {key: jsonable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(part) for part in value]
    if isinstance(value, np.ndarray):
        return jsonable(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
