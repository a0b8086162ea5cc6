"""From a user's labels to signs, weights and their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from spkm._arrays import dense
from spkm.core.targets import Classes, Labels
from spkm.tables.read import normalized_weight

#: Weights of classes by label, "balanced", or None.
ClassWeight = Mapping[Any, float] | str | None


def encode_classes(
    y: np.ndarray | sparse.spmatrix, weight: np.ndarray, class_weight: ClassWeight
) -> tuple[Classes | Labels, np.ndarray, np.ndarray]:
    """Return the meaning of labels, their signs (n, m), and the weights with those of the classes.

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
        indicator = dense(y)
        several = Labels.of(indicator, weight)
        return several, several.encode(indicator), weight
    try:
        # A class whose samples all have weight zero is as absent as if the samples were not there.
        classes = np.unique(y[weight > 0])
    except TypeError as error:  # labels that cannot be ordered
        kinds = sorted({type(label).__name__ for label in y})
        raise TypeError(f"y must hold labels of one type, without None; got {', '.join(kinds)}.") from error
    check_classification_targets(y)
    known = np.isin(y, classes)
    weight = np.where(known, weight, 0.0)
    code = np.searchsorted(classes, np.where(known, y, classes[0]))
    factors = class_factors(class_weight, classes, np.bincount(code, weight, len(classes)))
    if factors is not None:
        weight = normalized_weight(weight * factors[code], float(weight.sum()))
    target = class_target(classes)
    return target, target.encode(np.where(known, y, classes[0])), weight


def class_target(labels: np.ndarray) -> Classes:
    """Return the meaning of labels, which must be two or more."""
    if len(labels) < 2:
        raise ValueError(
            f"y must hold at least two classes in samples of positive weight; got one class, {labels.tolist()[0]!r}."
        )
    return Classes.of(labels)


def class_factors(class_weight: ClassWeight, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
    """Return the factor on the weights of each class; None if there is none.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes, as the user gives them; labels that a dict does not name have weight one.
    labels : ndarray
        The classes.
    weights : ndarray or None
        Sums of the weights of each class's samples; None if they are not known.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        if weights is None:
            raise ValueError(
                f"class_weight={class_weight!r} needs the shares of all classes; partial_fit takes a dict of numbers."
            )
        return np.asarray(weights.sum() / (len(labels) * weights))
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None; got {class_weight!r}.")
    known = labels.tolist()
    missing, unknown = [v for v in known if v not in class_weight], [v for v in class_weight if v not in known]
    if missing and unknown:
        raise ValueError(f"class_weight must name classes of y, {known}; got {unknown}.")
    factors = np.array([float(class_weight.get(label, 1.0)) for label in known])
    if not np.all(factors > 0):
        raise ValueError(
            f"class_weight must hold positive numbers; got {class_weight!r}. Leave a class out by sample_weight."
        )
    return factors
