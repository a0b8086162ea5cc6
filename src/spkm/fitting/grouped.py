"""Real targets of samples in groups: how far predictions for new groups are to be trusted.

Samples of one subject resemble each other, and a model of some subjects may be poor for others. Folds that leave out
whole groups show how much: predictions are moved towards the mean by the share that does best on groups held out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from spkm.core.fitted import FittedModel
from spkm.fitting.data import TableData
from spkm.fitting.outcome import Outcome
from spkm.fitting.progress import Progress
from spkm.fitting.spec import Spec
from spkm.sources import dealt_folds

Fit = Callable[[Spec, Any, Any, Progress], Outcome]


def for_new_groups(fit: Fit) -> Fit:
    """Return a strategy that fits, and then moves predictions towards the mean."""
    return partial(fit_for_new_groups, fit)


def fit_for_new_groups(
    fit: Fit, spec: Spec, data: TableData, previous: FittedModel | None, progress: Progress
) -> Outcome:
    """Return the outcome of a strategy with predictions mean + a (f - mean).

    With F the predictions of folds for groups they did not see, and y the targets, means taken off, a = y'F / F'F,
    between 0 and 1, for each output: the least squares of held-out groups. The deviation of a new target is at least
    that of the held-out residuals.
    """
    outcome = fit(spec, data, previous, progress)
    if outcome.model.interrupted:
        return outcome
    held_out = np.empty_like(data.Y)
    for train, test in dealt_folds(data.n_rows, spec.rng(), groups=data.groups):
        some = data.part(train)
        if some.groups is not None and len(np.unique(some.groups)) < 2:  # nothing is left to hold out
            some = replace(some, groups=None)
        part = fit(spec, some, None, progress)
        held_out[test] = data.target.encode(part.model.scores(data.part(test).X))
        if part.model.interrupted:
            return outcome
    w = data.weight[:, None] / data.weight.sum()
    sizes = np.sum(w * held_out**2, axis=0)
    share = np.clip(np.sum(w * data.Y * held_out, axis=0) / np.where(sizes > 0, sizes, np.inf), 0.0, 1.0)
    residual = np.sum(w * np.square(data.Y - share * held_out), axis=0)
    model = shrunk(outcome.model, share, residual)
    return replace(outcome, model=model, attributes={**outcome.attributes, "group_shrinkage_": share})


def shrunk(model: FittedModel, share: np.ndarray, residual: np.ndarray) -> FittedModel:
    """Return the model mean + share (f - mean) with a noise of at least ``residual``, in standardised units."""
    theta, learned, target = model.theta.copy(), model.target.learned, model.target
    params = model.model.unpack(theta)
    params.weights[:, learned] *= share
    params.intercept[learned] = target.mean + share * (params.intercept[learned] - target.mean)
    posterior = model.posterior
    if posterior is not None:
        noise = np.maximum(posterior.noise_variance, residual)
        total = np.maximum(posterior.total_variance, noise)
        posterior = replace(posterior, noise_variance=noise, total_variance=total)
    return replace(model, theta=theta, posterior=posterior)
