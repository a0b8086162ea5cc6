"""A fitted model with rounded numbers, and the length of all that a receiver needs to predict as it does."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from math import log2
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from spkm._checks import check_integer
from spkm._publish import publish
from spkm.core.fitted import FittedModel
from spkm.core.model import Params, PreimageModel, Term
from spkm.core.targets import Ordered
from spkm.estimators.base import ReadsModel
from spkm.fitting.outcome import model_attributes
from spkm.kernels import KERNELS, Kernel
from spkm.losses import Loss
from spkm.sources import Scaling
from spkm.theory._code import bits_of_choice, bits_of_integer, rounded, rounded_number

MOST_BITS = 32
METRICS = 4  # ways in which a view's metric may be learned: not, fixed, one factor, one for each feature


@dataclass(frozen=True)
class Quantized:
    """A model with rounded numbers.

    Attributes
    ----------
    model : FittedModel
        The model, which predicts by the rounded numbers alone.
    lengths : dict from str to float
        How many bits each of its parts takes.
    """

    model: FittedModel
    lengths: dict[str, float]


def quantized(estimator: BaseEstimator, bits: int) -> Any:
    """Return a copy of a fitted estimator whose numbers are rounded to a few bits each.

    Basis vectors, log relevances, weights, intercept, coefficients of a linear part, centres and scales of the
    features, and thresholds between ordered classes are rounded; each of these is a block of numbers with a power of
    two as a step. The copy predicts by the rounded numbers, and can be saved and exported like any other.

    Parameters
    ----------
    estimator : SPKM estimator
        A fitted classifier or regressor of one table, with one model.
    bits : int
        Bits of a number, 1 to 32.

    Returns
    -------
    small : estimator
        The copy. It has no standard deviations (``return_std``). The baseline of :class:`spkm.SPKMSurvival` stays as it
        is.

    Examples
    --------
    >>> import numpy as np
    >>> from spkm import SPKMClassifier, theory
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = (X**2).sum(axis=1) > 1.4
    >>> model = SPKMClassifier(3, random_state=0).fit(X, y)
    >>> small = theory.quantized(model, bits=6)
    >>> len(np.unique(small.basis_vectors_)) <= 2**6, bool((small.predict(X) == model.predict(X)).mean() > 0.95)
    (True, True)
    """
    return deployed(estimator, quantized_model(model_of(estimator), check_bits(bits)))


def check_bits(bits: Any) -> int:
    """Return a number of bits, 1 to 32."""
    if check_integer("bits", bits, 1) > MOST_BITS:
        raise ValueError(f"bits must be an integer of at most {MOST_BITS}; got {bits!r}.")
    return int(bits)


def model_of(estimator: BaseEstimator) -> FittedModel:
    """Return the only model of a fitted estimator of one table."""
    if not isinstance(estimator, ReadsModel):
        raise TypeError(
            f"estimator must be a fitted SPKMClassifier or SPKMRegressor; got {type(estimator).__name__}. For a "
            "search or a pipeline, give the estimator inside, with samples as it gets them."
        )
    check_is_fitted(estimator)
    if not estimator.model_.is_joint:
        raise ValueError("estimator must be one model; got several binary ones. Give one of its estimators_.")
    return estimator.model_


def deployed(estimator: BaseEstimator, small: Quantized) -> Any:
    """Return a copy of the estimator that predicts by a model of rounded numbers."""
    known = {name: value for name, value in vars(estimator).items() if name.endswith("_") or name.startswith("_")}
    derived = model_attributes(small.model, estimator.basis_vectors_.dtype)
    derived["thresholds_"] = np.array(small.model.loss.thresholds)  # of ordered classes
    known.update({name: value for name, value in derived.items() if name in known})
    return publish(copy(estimator), {**known, "model_": small.model})


def quantized_model(model: FittedModel, bits: int) -> Quantized:
    """Return the model with numbers of ``bits`` bits, and the length of each of its parts.

    The receiver has the number of features, the classes, the columns of views that were given, and the library.
    """
    theta, params = model.model.zeros()
    kept, d = len(model.features), model.n_features
    lengths = {
        "features": 1.0 if kept == d else 1 + bits_of_choice(d, kept),
        **_quantize(model.model, model.theta, params, bits),
    }
    terms, lengths["structure"] = _with_rounded_kernels(model.model.terms)
    scaling, lengths["scaling"] = _rounded_scaling(model.scaling, bits)
    small = replace(
        model, model=replace(model.model, terms=terms), theta=theta, scaling=scaling, posterior=None, samples=None
    )
    if len(model.loss.thresholds):
        loss, lengths["thresholds"] = _with_rounded_thresholds(model.loss, bits)
        small = replace(small, loss=loss, target=Ordered.of(small.target.labels, loss))
    return Quantized(small, lengths)


def _with_rounded_thresholds(loss: Loss, bits: int) -> tuple[Loss, float]:
    """Return the loss of ordered classes with thresholds of the fewest bits that keep them apart, and their length."""
    values = np.asarray(loss.thresholds, dtype=np.float64)
    width = bits
    near, length = rounded(values, width)
    while not np.all(np.diff(near) > 0):
        width += 1
        near, length = rounded(values, width)
    return clone(loss).set_params(thresholds=tuple(near.tolist())), length + bits_of_integer(width - bits)


def _quantize(model: PreimageModel, theta: np.ndarray, result: Params, bits: int) -> dict[str, float]:
    """Write rounded parameters into ``result``; return the length of each part."""
    params = model.unpack(theta)
    lengths = dict.fromkeys(("basis", "relevances", "weights", "intercept", "linear part"), 0.0)
    k = row = 0
    for term in model.terms:
        rows = slice(row, row + term.n_basis)
        part = "linear part" if term.is_linear_part else "basis"
        for _ in term.views:
            result.basis[k][...], length = rounded(params.basis[k], bits)
            lengths[part] += length
            result.log_metric[k][...], length = rounded(params.log_metric[k], bits)
            lengths["relevances"] += length
            k += 1
        if term.is_linear_part:  # its weights are the identity
            result.weights[rows] = params.weights[rows]
        else:
            result.weights[rows], length = rounded(params.weights[rows], bits)
            lengths["weights"] += length
        row = rows.stop
    result.intercept[...], lengths["intercept"] = rounded(params.intercept, bits)
    return lengths


def _with_rounded_kernels(terms: list[Term]) -> tuple[list[Term], float]:
    """Return terms whose kernels have numbers of 8 bits, and the length of the terms: counts, names and numbers."""
    result, length = [], float(bits_of_integer(len(terms)))
    for term in terms:
        views = []
        for view in term.views:
            kernel, of_kernel = rounded_kernel(view.kernel)
            views.append(replace(view, kernel=kernel))
            length += of_kernel + log2(METRICS)
        length += 1 + bits_of_integer(term.n_basis)
        result.append(replace(term, views=tuple(views)))
    return result, length


def rounded_kernel(kernel: Kernel) -> tuple[Kernel, float]:
    """Return a kernel with numbers of 8 bits, and its length: its name, those of kernels inside it, and numbers."""
    numbers: dict[str, Any] = {}
    length = log2(len(KERNELS))
    for name, value in kernel.get_params(deep=True).items():
        if isinstance(value, Kernel):
            length += log2(len(KERNELS))
        elif isinstance(value, float | np.floating):
            numbers[name], more = rounded_number(float(value))
            length += more
        elif isinstance(value, int | np.integer):
            length += bits_of_integer(int(value))
        elif isinstance(value, np.ndarray):
            numbers[name], more = rounded(np.asarray(value, dtype=float), MOST_BITS)
            length += more
    return clone(kernel).set_params(**numbers), length


def _rounded_scaling(scaling: Scaling | None, bits: int) -> tuple[Scaling | None, float]:
    """Return a scaling of rounded logarithms of the scales, and of centres that are multiples of a part of a scale."""
    if scaling is None:
        return None, 1.0
    logs, length = rounded(np.log2(scaling.scale), bits)
    scale = 2.0**logs
    step = 2.0 ** -max(2, bits - 2) * scale
    steps = np.rint(scaling.center / step)
    length += 1 + sum(bits_of_integer(int(k)) for k in steps)
    usual = Scaling(scaling.center, scaling.scale)
    limits = []
    for values, default in ((scaling.clip, usual.clip), (scaling.middle, usual.middle)):
        kept, more = (values, 0.0) if np.array_equal(values, default) else rounded(values, bits)
        limits.append(kept)
        length += 1 + more
    return Scaling(step * steps, scale, *limits), length
