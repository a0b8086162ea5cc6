"""The same model of other features, or with a relevance for each: for selections and for fits that go on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spkm.core.model import Params, PreimageModel, Term


def on_columns(
    model: PreimageModel, theta: np.ndarray, places: np.ndarray, terms: list[Term] | None = None
) -> tuple[PreimageModel, np.ndarray]:
    """Return the model of other features and its theta.

    ``places`` has where each feature stood, -1 for one that is new: it is zero in all basis vectors, and its
    relevance is the geometric mean of the old ones. ``terms`` are those of the new table; None are the same ones,
    of views that read all features.
    """
    other = replace(model, terms=model.terms if terms is None else terms, n_features=len(places))
    result, params, old = copied(model, theta, other)
    for k, ((_, before), (_, after)) in enumerate(zip(model.views, other.views, strict=True)):
        here = places if after.columns is None else places[after.columns]
        if before.columns is not None:
            here = np.where(np.isin(here, before.columns), np.searchsorted(before.columns, here), -1)
        known = here >= 0
        params.basis[k][...] = 0.0
        params.basis[k][:, known] = old.basis[k][:, here[known]]
        if after.metric != "relevances":
            continue
        params.log_metric[k][known] = old.log_metric[k][here[known]]
        if not known.all():
            params.log_metric[k][~known] = old.log_metric[k].mean() if known.any() else 0.0
    return other, result


def with_relevances(model: PreimageModel, theta: np.ndarray) -> tuple[PreimageModel, np.ndarray]:
    """Return the same function with a relevance for each feature of each view, to look at or to take away."""
    other = replace(model, terms=[t.with_views(lambda view: replace(view, metric="relevances")) for t in model.terms])
    return other, carried(model, theta, other)


def carried(model: PreimageModel, theta: np.ndarray, other: PreimageModel) -> np.ndarray:
    """Return the theta of another model of the same terms, whose views may have a factor for each feature.

    It is the same function: the factor of a view becomes that of each of its features.
    """
    result, params, old = copied(model, theta, other)
    for now, before in zip(params.log_metric, old.log_metric, strict=True):
        if now.size and before.size:
            now[...] = before
    return result


def copied(model: PreimageModel, theta: np.ndarray, other: PreimageModel) -> tuple[np.ndarray, Params, Params]:
    """Return a theta of another model, its parts, and those of ``theta``: parts of the same shape are copies."""
    result, params = other.zeros()
    old = model.unpack(theta)
    for now, before in zip(params.arrays, old.arrays, strict=True):
        if now.shape == before.shape:
            now[...] = before
    return result, params, old
