"""Conditions of a bound: one classifier, whose kernel was fixed before the samples were seen."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from spkm._arrays import TableLike
from spkm._checks import check_integer, check_real
from spkm.core.fitted import FittedModel
from spkm.core.targets import Labels
from spkm.estimators.base import ReadsModel
from spkm.estimators.pairwise import PredictsPairs
from spkm.fitting.continuing import same_settings
from spkm.kernels import KERNELS, Kernel, squared_norms
from spkm.tables.read import read_like
from spkm.theory._sizes import TermBound


def checked_confidence(confidence: float) -> float:
    """Return a probability below one."""
    confidence = check_real("confidence", confidence, strict=True)
    if not confidence < 1:
        raise ValueError(f"confidence must be below 1; got {confidence!r}.")
    return confidence


def fixed_model(estimator: BaseEstimator) -> FittedModel:
    """Return the model of a fitted classifier, or raise with every reason why its kernel was not fixed beforehand."""
    model = _model_of_classifier(estimator)
    reasons = []
    if model.selected:
        reasons.append("features were selected by the samples: use selection=None")
    if model.scaling is not None:
        reasons.append(
            "features were scaled by statistics of the samples: use scale=False, and scale by numbers known beforehand"
        )
    if any(term.is_linear_part for term in model.terms):
        reasons.append("a linear part has no bound of its own here: use linear_part=False, or weight_penalty='rkhs'")
        model = model.without_linear_part()
    fitted = [view for _, view in model.model.views]
    asked = _asked_kernels(model)
    if len(asked) != len(fitted):
        reasons.append("the kernel that it was fitted with is unknown: fit it anew")
        asked = [view.kernel for view in fitted]
    for view, kernel in zip(fitted, asked, strict=True):
        if not same_settings(_with_numbers(kernel, view.width(model.model.n_features)), view.kernel):
            reasons.append(f"parameters of kernel={kernel!r} were set by the samples: give numbers, RBF(gamma=0.5) say")
        if view.learns_metric:
            what = "a bandwidth" if view.metric == "scale" else "a bandwidth for every feature"
            reasons.append(f"{what} was learned from the samples: use learn_bandwidth=False")
    if reasons:
        raise ValueError(
            "No bound holds for this model, as its kernel was not fixed before the samples were seen: "
            + "; ".join(reasons)
            + ". If you choose among a few kernels by the samples, say so by kernels=."
        )
    return model


def _model_of_classifier(estimator: BaseEstimator) -> FittedModel:
    """Return the model of a fitted classifier of one table, with classes and not labels as targets."""
    of_pairs = isinstance(estimator, PredictsPairs)
    if not (of_pairs or isinstance(estimator, ReadsModel)):
        raise TypeError(
            f"estimator must be a fitted SPKMClassifier; got {type(estimator).__name__}. "
            "For a search or a pipeline, give the classifier inside, with samples as it gets them."
        )
    if not is_classifier(estimator):
        raise ValueError(
            f"estimator must be a classifier; got {type(estimator).__name__}. The theorem bounds the share of wrong "
            "labels; errors of real targets have no upper limit, so nothing follows for them."
        )
    if of_pairs:
        raise ValueError(
            "No bound holds for a model of pairs: pairs that share an entity are not drawn independently of each other."
        )
    check_is_fitted(estimator)
    model = estimator.model_
    if len(model.loss.thresholds):
        raise ValueError(
            "No bound of margins is worked out for ordered classes, whose thresholds are learned, too. Use occam_bound "
            "or held_out_bound."
        )
    in_parts = not model.is_joint
    if in_parts or isinstance(model.target, Labels):
        what = "several binary models" if in_parts else "several labels"
        raise ValueError(
            f"estimator must be one model of two or more classes; got one of {what}. "
            "Bound a binary model by itself: one of its estimators_, or one that is fitted to one label."
        )
    return model


def _asked_kernels(model: FittedModel) -> list[Kernel]:
    """Return the kernels that the user gave, one for each view."""
    return [view.kernel for term in model.asked for view in term.views]


def _with_numbers(kernel: Kernel, n_features: int) -> Kernel:
    """Return a kernel with gamma="auto", one over the number of features, as a number: it depends on no sample."""
    names = [
        name
        for name, value in kernel.get_params(deep=True).items()
        if name.split("__")[-1] == "gamma" and isinstance(value, str) and value == "auto"
    ]
    return clone(kernel).set_params(**dict.fromkeys(names, 1.0 / max(n_features, 1)))


def kernels_considered(estimator: BaseEstimator, model: FittedModel, kernels: Any) -> tuple[int, str]:
    """Return the number of kernels in the union and the sentence that says so."""
    raced = vars(estimator).get("n_kernels_", 1)  # more than one of an estimator that chose by cross-validation
    asked = _asked_kernels(model)
    fitted = asked[0] if len(asked) == 1 else asked
    if kernels is None:
        if raced > 1:
            raise ValueError(
                f"The kernel was chosen by the samples, from {raced}: give kernels=, the list that it was chosen from, "
                "with numbers for all parameters."
            )
        return 1, f"On trust: kernel={fitted!r} was fixed before the samples were seen."
    if isinstance(kernels, Integral):
        number = check_integer("kernels", kernels, raced)
    else:
        number = _length_of_list(model, kernels, raced)
    return number, f"On trust: kernel={fitted!r} is one of {number} that were fixed before the samples were seen."


def _length_of_list(model: FittedModel, kernels: object, raced: int) -> int:
    """Return the length of a list of kernels, checked: it must hold that of the model, and all that were compared."""
    if isinstance(kernels, str | Kernel) or not isinstance(kernels, Sequence):
        raise TypeError(f"kernels must be an integer or a list of kernels; got {kernels!r}.")
    views = [view for term in model.terms for view in term.views]
    if len(views) > 1:
        raise ValueError("kernels must be an integer for a model of several kernels: the number of combinations.")
    view = views[0]
    listed = [_with_numbers(KERNELS.resolve(kernel, "kernels"), len(view.columns)) for kernel in kernels]
    if not any(same_settings(kernel, view.kernel) for kernel in listed):
        raise ValueError(f"kernels must hold the kernel of the model, {view.kernel!r}; got {list(kernels)!r}.")
    if len(listed) < raced:
        raise ValueError(f"kernels must hold all {raced} kernels that the model was chosen from; got {len(listed)}.")
    return len(listed)


def check_samples_inside(estimator: BaseEstimator, X: TableLike, radius: float) -> None:
    """Raise ValueError if a sample is longer than the radius."""
    samples = read_like(estimator, X)
    lengths = np.sqrt(squared_norms(samples.astype(np.float64)))
    i = int(np.argmax(lengths))
    if lengths[i] > radius:
        raise ValueError(
            f"radius must bound the length of every sample; sample {i} of X has length {lengths[i]:.6g}, got "
            f"radius={radius:g}. A radius read off the samples would not do: give one that is known beforehand."
        )


def kernel_assumptions(
    model: FittedModel, bounds: list[TermBound], radius: float | None, choice: str | None = None
) -> list[str]:
    """Return what is assumed of the kernel, each with whether it was checked; ``choice`` names its list."""
    fixed = "Checked: nothing of the kernel was learned, features are neither selected nor scaled by the samples."
    sentences = [fixed] if choice is None else [fixed, choice]
    if any(bound.needs_radius for bound in bounds):
        checked = "" if choice is None else " (checked for the given ones)"
        sentences.append(f"On trust: radius={radius:g}, set beforehand, bounds the length of every sample{checked}.")
    parts = [part for kernel in _asked_kernels(model) for part in (kernel, *kernel.get_params(deep=True).values())]
    if any(isinstance(part, Kernel) and not type(part).__module__.startswith("spkm.") for part in parts):
        sentences.append("On trust: the kernel is positive semi-definite, and its largest k(x, x) is as it says.")
    return sentences
