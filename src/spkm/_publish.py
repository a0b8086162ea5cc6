"""How an estimator gets its fitted attributes: all at once, at the end."""

from __future__ import annotations

from typing import Any

#: Private attributes that a fit leaves beside those that end with an underscore.
PRIVATE = ("_tables", "_pairs", "_n_features_out", "_seen")
#: Attributes that go into no file: where calls of partial_fit are, and the encoder before, a step of its own.
UNSAVED = ("_progression", "_encoding")


def publish(estimator: Any, attributes: dict[str, Any]) -> Any:
    """Give an estimator its fitted attributes, in place of all earlier ones, at once; return the estimator."""
    fitted = (*PRIVATE, *UNSAVED)
    kept = {name: v for name, v in vars(estimator).items() if not name.endswith("_") and name not in fitted}
    estimator.__dict__ = {**kept, **attributes}
    return estimator


def feature_names(estimator: Any) -> Any:
    """Return ``feature_names_in_`` of an estimator; None if it has none, as scikit-learn sets it only with names."""
    return getattr(estimator, "feature_names_in_", None)  # scikit-learn sets it where X has names
