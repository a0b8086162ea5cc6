"""Samples and labels as the competitors take them: dense or CSR, labels as codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data


def labelled_rows(estimator: Any, X: Any, y: Any, fewest_classes: int = 2) -> tuple[Any, np.ndarray]:
    """Return samples to fit and the codes of their labels; the labels become the estimator's ``classes_``."""
    X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=np.float64)
    check_classification_targets(y)
    estimator.classes_, codes = np.unique(y, return_inverse=True)
    if len(estimator.classes_) < fewest_classes:
        raise ValueError(f"y must hold at least two classes; got one class, {estimator.classes_[0]}.")
    return X, codes


def rows_like_fitted(estimator: Any, X: Any) -> Any:
    """Return samples to predict, with the features that the estimator was fitted to."""
    check_is_fitted(estimator)
    return validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, reset=False)
