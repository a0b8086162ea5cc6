"""Models in coordinates of the span of the samples, and the same models of all features.

A kernel of the Euclidean distance has the same values in coordinates of the span as in all features, for vectors that
lie in the span. For the Gaussian kernel nothing is lost by leaving out the rest of a vector: it is the factor
exp(-gamma |rest|^2) on its weight, and without it the RKHS norm does not grow (docs/how.md has the proof).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spkm.core.columns import copied
from spkm.core.model import PreimageModel
from spkm.sources import Span


def outward(span: Span, model: PreimageModel, theta: np.ndarray) -> np.ndarray:
    """Return the theta of all features that a model in coordinates amounts to; views read all features.

    The coefficients of a linear part rotate back, and their product with the center leaves the intercept.
    """
    result, params, old = copied(model, theta, replace(model, n_features=len(span.center)))
    for term, rows, (k,) in model.layout:
        if term.is_linear_part:
            params.basis[k][...] = old.basis[k] @ span.axes
            params.intercept[...] -= (params.basis[k] @ span.center) @ params.weights[rows]
        else:
            params.basis[k][...] = span.points(old.basis[k])
    return result


def inward(span: Span, model: PreimageModel, theta: np.ndarray) -> np.ndarray:
    """Return the theta in coordinates of a model of all features, whose vectors lose their rests off the span.

    Weights are multiplied by k(rest, 0): for a Gaussian kernel the scores of all samples stay the same.
    """
    result, params, old = copied(model, theta, replace(model, n_features=len(span.axes)))
    for term, rows, (k,) in model.layout:
        if term.is_linear_part:
            params.basis[k][...] = old.basis[k] @ span.axes.T
            params.intercept[...] += (old.basis[k] @ span.center) @ old.weights[rows]
            continue
        view = term.views[0]
        params.basis[k][...], rests = span.coordinates(old.basis[k])
        params.weights[rows] *= view.kernel(rests, np.zeros((1, len(span.center))), view.factors(old.log_metric[k]))
    return result
