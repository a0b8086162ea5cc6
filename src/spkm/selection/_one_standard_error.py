"""Choice among models that are judged on the same samples: the simplest that is as good as the best."""

from __future__ import annotations

import numpy as np


def mean_and_error(losses: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return the weighted mean of some numbers and its standard error."""
    share = weight / weight.sum()
    mean = float(share @ losses)
    return mean, float(np.sqrt(np.sum(np.square(share * (losses - mean)))))


def simplest_as_good(losses: list[np.ndarray], sizes: np.ndarray, weight: np.ndarray, share: float) -> tuple[int, int]:
    """Return the place of the model to take and of the one with the lowest loss.

    A smaller model is as good if it is worse by no more than one standard error of the samples' differences to the
    best, and by no more than a share of the best loss: where samples are few a standard error alone would let anything
    go.

    Parameters
    ----------
    losses : list of ndarray of shape (n,)
        Held-out losses of the models, sample by sample.
    sizes : ndarray
        Losses of each model; small is good.
    weight : ndarray of shape (n,)
        Weights of the samples.
    share : float
        The share of the best loss.
    """
    means = np.array([mean_and_error(row, weight)[0] for row in losses])
    best = int(np.lexsort((sizes, means))[0])
    most = share * abs(means[best])
    chosen = best
    for i, row in enumerate(losses):
        worse, error = mean_and_error(row - losses[best], weight)
        if worse <= min(error, most) and sizes[i] < sizes[chosen]:
            chosen = i
    return chosen, best
