"""From a user's labels to signs, weights and what they mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from spkm._namespaces import on_host
from spkm.core.targets import Classes, Labels
from spkm.fitting.recipes.monotone import constraints
from spkm.fitting.spec import Request
from spkm.tables.read import Table, normalized_weight


def class_samples(params: dict[str, Any], X: Any, table: Table) -> tuple[Request, Any, np.ndarray, np.ndarray]:
    """Return the request of a classifier of a table made of X, what its labels mean, their signs, and the weights."""
    several = table.y.ndim == 2
    target, Y, weight = encode_classes(table.y, table.weight, params.get("class_weight"))
    if params.get("monotone") is not None:
        params = {**params, "monotone": constraints(params["monotone"], table)}
    request = Request.of(
        {**params, "place": table.place},
        X if table.place is None else on_host(X),
        "classification",
        several_labels=several,
        n_classes=len(target.labels),
        tables=table.attributes["_tables"],
    )
    if several and request.multi_class == "ovo":
        raise ValueError(
            "multi_class='ovo' needs one label for every sample; y is an indicator matrix. Use 'joint' or 'ovr'."
        )
    return request, target, Y, weight


def encode_classes(y: Any, weight: np.ndarray, class_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return what labels mean, their signs (n, m), and the weights with those of the classes.

    Parameters
    ----------
    y : ndarray of shape (n,) or (n, n_labels), or sparse
        One label for each sample, or an indicator matrix.
    weight : ndarray of shape (n,)
        Weights of the samples.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    """
    if y.ndim == 2:
        if class_weight is not None:
            raise ValueError(
                f"class_weight is for one label for every sample; got {class_weight!r} and an indicator matrix as y. "
                "Use sample_weight."
            )
        indicator = y.toarray() if sparse.issparse(y) else y
        several = Labels.of(indicator, weight)
        return several, several.encode(indicator), weight
    try:
        # A class whose samples all have weight zero is as absent as if the samples were not there.
        classes = np.unique(y[weight > 0])
    except TypeError as error:  # labels that cannot be ordered
        kinds = sorted({type(label).__name__ for label in y})
        raise TypeError(f"y must hold labels of one type, without None; got {', '.join(kinds)}.") from error
    check_classification_targets(y)
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least two classes in samples of positive weight; got one class, {classes.tolist()[0]!r}."
        )
    known = np.isin(y, classes)
    weight = np.where(known, weight, 0.0)
    if class_weight is not None:
        by_class = _weights_of_classes(class_weight, classes, y, weight)
        if not np.all(by_class > 0):
            raise ValueError(
                f"class_weight must hold positive numbers; got {class_weight!r}. Leave a class out by sample_weight."
            )
        code = np.searchsorted(classes, np.where(known, y, classes[0]))
        weight = normalized_weight(weight * by_class[code], float(weight.sum()))
    target = Classes.of(classes)
    return target, target.encode(np.where(known, y, classes[0])), weight


def _weights_of_classes(class_weight: Any, classes: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    if isinstance(class_weight, str) and class_weight == "balanced":
        # scikit-learn before 1.7 does not count weights here.
        total = np.array([weight[y == label].sum() for label in classes])
        return weight.sum() / (len(classes) * total)
    return compute_class_weight(class_weight, classes=classes, y=y)
