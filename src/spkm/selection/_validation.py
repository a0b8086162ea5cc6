"""Samples to fit, samples to judge by, and what held-out samples say of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from spkm.losses import Loss
from spkm.sources import ArraySource, Scaling


def mean_and_error(losses: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return the weighted mean of some numbers and its standard error."""
    share = weight / weight.sum()
    mean = float(share @ losses)
    return mean, float(np.sqrt(np.sum(np.square(share * (losses - mean)))))


def record_of(
    kernel: str, stage: str, factor: float, n_features: float, n_basis: float, losses: np.ndarray, weight: np.ndarray
) -> dict[str, Any]:
    """Return the record of a model that was judged by held-out losses."""
    mean, error = mean_and_error(losses, weight)
    return {
        "kernel": kernel,
        "stage": stage,
        "strength_factor": factor,
        "mean_n_features": n_features,
        "n_basis": n_basis,
        "mean_test_loss": mean,
        "error_test_loss": error,
    }


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


# Tried on the scores before they are judged: half octaves from an eighth to 32. Without them the score falls by
# 0.3 ± 0.4 points on half A of the made-up families (`python -m benchmarks search_settings`), by 0.3 ± 0.3 on four
# small tables (32 splits) and by 1.0 ± 0.7 on Leukemia (8 splits).
FACTORS = 2.0 ** np.arange(-3, 5.5, 0.5)


class Predictor(Protocol):
    """Anything with scores for the samples of a source."""

    def predict(self, source: ArraySource) -> np.ndarray:
        """Return the scores (n, m)."""


@dataclass(eq=False)
class Fold:
    """Samples to fit and samples to judge by, both on the scale of the former; ``test`` is None when all are fitted.

    ``test_rows`` are the places of the latter among the samples as they were given, where a user's scorer finds X, y
    and the weights.
    """

    train: ArraySource
    test: ArraySource | None
    rng: np.random.Generator
    scaling: Scaling | None = None
    test_rows: np.ndarray | None = None


class Validation:
    """Held-out losses of models, one of each fold, as one vector over all held-out samples.

    Parameters
    ----------
    folds : list of Fold
        The folds.
    loss : Loss
        The loss.
    scorer : callable, default=None
        ``scorer(model, fold)`` returns a score to be high. With it a model is judged by one number for each fold.
    """

    def __init__(self, folds: list[Fold], loss: Loss, scorer: Callable[[Any, Fold], float] | None = None) -> None:
        self.folds = folds
        self.loss = loss
        self.scorer = scorer
        #: One dictionary for every model that was judged.
        self.records: list[dict[str, Any]] = []
        self._known: dict[Any, np.ndarray] = {}
        tests = [fold.test for fold in folds if fold.test is not None]
        self.row_weight = np.concatenate([test.w[:, 0] * test.total_weight for test in tests])
        self.weight = self.row_weight if scorer is None else np.array([test.total_weight for test in tests])
        #: The weights of each fold.
        self.weights = [t.w[:, 0] * t.total_weight if scorer is None else np.array([t.total_weight]) for t in tests]

    def losses(self, models: list[Any]) -> np.ndarray:
        """Return the figures of the rule: the loss of every held-out sample, or minus the score of every fold."""
        return np.concatenate([self.losses_of_fold(model, i) for i, model in enumerate(models)])

    def losses_of_fold(self, model: Any, i: int) -> np.ndarray:
        """Return the losses of the held-out samples of fold i, or minus its score."""
        if self.scorer is None:
            return self._of_fold(model, self.folds[i])
        return np.array([-self.scorer(model, self.folds[i])])

    def row_losses(self, models: list[Any]) -> np.ndarray:
        """Return the loss of every held-out sample, after the best factor on the scores: shrinkage must not decide."""
        return np.concatenate([self._of_fold(m, f) for m, f in zip(models, self.folds, strict=True)])

    def simplest(self, losses: list[np.ndarray], sizes: np.ndarray, share: float) -> tuple[int, int]:
        """Return the places of the simplest model as good as the best, and of the best."""
        return simplest_as_good(losses, sizes, self.weight, share)

    def _of_fold(self, model: Any, fold: Fold) -> np.ndarray:
        if model not in self._known:
            assert fold.test is not None
            self._known[model] = scaled_losses(model, fold.test, self.loss)
        return self._known[model]


def scaled_losses(model: Predictor, source: ArraySource, loss: Loss) -> np.ndarray:
    """Return the samples' losses after the best of a few factors on the scores.

    For a squared loss absolute errors are taken: a few far samples would make the choice a matter of chance.
    """
    F, Y, w = model.predict(source), source.Y, source.w[:, 0]
    if loss.is_quadratic and not np.all(np.abs(Y) == 1):
        return np.asarray(np.abs(Y - F, dtype=np.float64).sum(axis=1))
    if loss.target == "real":
        return row_losses(loss, Y, F)
    return min((row_losses(loss, Y, a * F) for a in FACTORS), key=lambda rows: float(w @ rows))


def row_losses(loss: Loss, Y: np.ndarray, F: np.ndarray) -> np.ndarray:
    """Return the loss of every sample, (n,); a loss that is no sum over samples is judged by squared errors."""
    if loss.has_pointwise:
        return np.asarray(np.asarray(loss.pointwise(Y, F), dtype=np.float64).sum(axis=1))
    return np.asarray(np.square(Y - F, dtype=np.float64).sum(axis=1))
