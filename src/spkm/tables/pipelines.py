"""Fitted pipelines taken apart: the steps before the last, and the input of the last. An estimator is its only step."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from spkm._methods import Exports, Monitors
from spkm._publish import feature_names
from spkm.tables.encoded import Encoding
from spkm.tables.encoder import TableEncoder


class LoadedPipeline(Exports, Monitors, Pipeline):
    """A pipeline of scikit-learn that was read from a model file, with the methods of fitted estimators."""


def is_pipeline(estimator: BaseEstimator) -> bool:
    """Whether it is a pipeline of scikit-learn; those of other packages may do more than transform."""
    return type(estimator) in (Pipeline, LoadedPipeline)


def steps_of(estimator: BaseEstimator) -> list[Any]:
    """Return the steps of a pipeline that do something; an estimator is the only step of its own."""
    if not is_pipeline(estimator):
        return [estimator]
    return [step for _, step in estimator.steps if step is not None and step != "passthrough"]


def last_of(estimator: BaseEstimator) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    return steps_of(estimator)[-1]


def encoder_of(estimator: BaseEstimator) -> TableEncoder | None:
    """Return the encoder that a pipeline begins with, if it does."""
    first = steps_of(estimator)[0]
    return first if isinstance(first, TableEncoder) else None


def before_last(estimator: BaseEstimator, X: Any) -> Any:
    """Return samples as the last step of a pipeline gets them."""
    for step in steps_of(estimator)[:-1]:
        X = step.transform(X)
    return X


def names_before_last(estimator: BaseEstimator) -> Any:
    """Return the names of the columns that the last step of a pipeline gets; None if it has names of its own."""
    if feature_names(last_of(estimator)) is not None or len(steps_of(estimator)) == 1:
        return None
    names = None
    for step in steps_of(estimator)[:-1]:
        names = step.get_feature_names_out(names)
    return names


def selects(step: object) -> bool:
    """Whether a step leaves some of its columns as they are, and takes no others."""
    return hasattr(step, "get_support")  # selectors of scikit-learn, and those of others


def encoding_of(before: Sequence[Any]) -> Encoding | None:
    """Return the encoder among the steps before a model, if all after it keep some columns as they are; else None."""
    for place in range(len(before) - 1, -1, -1):
        step = before[place]
        if isinstance(step, TableEncoder):
            kept = np.arange(len(step.feature_origin_))
            for selector in before[place + 1 :]:
                kept = kept[selector.get_support(indices=True)]
            return Encoding(step, kept, tuple(before[:place]))
        if not selects(step):
            return None
    return None


def columns_read(estimator: BaseEstimator) -> list[str] | None:
    """Return the columns of the table that the last step reads anything of; None if there is no way back to them."""
    encoding = encoding_of(steps_of(estimator)[:-1])
    if encoding is None or encoding.before:
        return None
    encoder = encoding.encoder
    read = np.unique(encoder.groups_[encoding.kept[last_of(estimator).selected_features_]])
    return [encoder.columns_[j] for j in read]


def with_last(estimator: BaseEstimator, last: Any) -> Any:
    """Return a pipeline with another last step, or that step."""
    if not is_pipeline(estimator):
        return last
    whole, former = copy(estimator), last_of(estimator)
    whole.steps = [(name, last if step is former else step) for name, step in estimator.steps]
    return whole
