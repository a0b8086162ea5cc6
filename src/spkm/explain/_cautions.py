"""Reasons not to read basis vectors one by one: contributions that cancel, weights against the samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spkm._arrays import TargetLike
from spkm.core.fitted import FittedModel
from spkm.explain._table import basis_labels, output_names

MOST_CANCELLATION = 10.0  # above it single contributions are an order of magnitude larger than what they explain
CLEAR = 3.0  # standard errors that the samples must speak for the other sign
SMALL = 0.05  # share of the scores' deviation below which a vector's contribution is too small to mislead


class Contrary(NamedTuple):
    """A basis vector whose weight has the other sign than the samples that resemble it suggest."""

    row: int  # of basis and weights
    text: str  # a sentence with the figures


def cancellation_text(cancellation: float) -> str:
    """Return the caution on contributions that cancel; empty if they do not."""
    if cancellation <= MOST_CANCELLATION:
        return ""
    return (
        f"Contributions cancel, on half of the samples by a factor of {cancellation:.0f} or more: a single basis "
        "vector cannot be read by itself. Use fewer basis vectors or features, or a stronger penalty."
    )


def contrary_vectors(model: FittedModel, similarities: np.ndarray, y: TargetLike) -> list[Contrary]:
    """Return the basis vectors whose weight contradicts the samples: likeness goes with the class it speaks against.

    Such a vector corrects what others overstate. "Likeness to it lowers the score" is then true with all other
    similarities held fixed, and false for the samples themselves.

    Parameters
    ----------
    model : FittedModel or ModelEnsemble
        The model.
    similarities : ndarray of shape (n, R)
        Contributions at some samples.
    y : array-like of shape (n,) or (n, m)
        Their targets.
    """
    if model.loss.censored:  # times have no side that a score should be on
        return []
    wanted, names = _indicators(model, np.asarray(y))
    if wanted is None or wanted.shape[1] != model.n_outputs or len(similarities) < 10:
        return []
    contributions = similarities[:, :, None] * model.weights
    spread = contributions.std(axis=0)
    of_scores = np.maximum(contributions.sum(axis=1).std(axis=0), 1e-300)
    found, labels = [], basis_labels(model)
    for r in np.flatnonzero(model.vector_rows).tolist():
        o = int(np.argmax(spread[r] / of_scores))
        weight = float(model.weights[r, o])
        if weight == 0 or spread[r, o] < SMALL * of_scores[o]:
            continue
        towards = _standard_errors(similarities[:, r], wanted[:, o])
        if weight * towards < 0 and abs(towards) > CLEAR:
            found.append(Contrary(r, _sentence(labels[r], weight, names[o], similarities[:, r], wanted[:, o])))
    return found


def _indicators(model: FittedModel, y: np.ndarray) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Return for each output what its score should be high for, (n, m), and its name; None if that is not known."""
    names = output_names(model)
    if not model.target.of_classes:
        return y.reshape(len(y), -1).astype(float), names
    if not model.is_joint:
        return None, names
    if model.target.task == "ordered":
        return model.target.encode(y), names
    if model.target.task == "labels" or y.ndim == 2:
        return y.reshape(len(y), -1) == 1, names
    labels = model.target.labels if len(names) > 1 else model.target.labels[1:]
    return y[:, None] == labels, names


def _standard_errors(similarity: np.ndarray, wanted: np.ndarray) -> float:
    """Return how many standard errors the correlation of likeness and target is away from zero."""
    a, b = similarity - similarity.mean(), wanted - wanted.mean()
    size = float(np.sqrt((a * a).sum() * (b * b).sum()))
    if size <= 1e-12:
        return 0.0
    r = float(np.clip((a * b).sum() / size, -0.999999, 0.999999))
    return r * float(np.sqrt((len(a) - 2) / (1 - r * r)))


def _sentence(label: str, weight: float, name: str, similarity: np.ndarray, wanted: np.ndarray) -> str:
    verb = "raises" if weight > 0 else "lowers"
    if wanted.dtype == bool:
        own, others = float(similarity[wanted].mean()), float(similarity[~wanted].mean())
        more = "more" if own > others else "less"
        seen = f"samples of {name} resemble it {more} than others (mean similarity {own:.3g} against {others:.3g})"
        what = f"the score of {name}"
    else:
        seen = f"targets {'rise' if weight < 0 else 'fall'} with likeness to it"
        what = "the prediction"
    return f"{label} {verb} {what} though {seen}: it corrects other vectors, and means nothing by itself."
