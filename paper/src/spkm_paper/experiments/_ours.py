"""Our machines as experiments use them: by the paper's algorithm, by default, and chosen on validation samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifier, SPKMRegressor, algorithm1
from spkm.losses import Log
from spkm.penalties import RKHSNorm, SquaredL2

#: The paper's range of parameters, the strongest penalty first.
PAPER_GRID = 10.0 ** np.arange(0, -6, -1)
WIDE_C = 2.0 ** np.arange(-3, 10)  # of an SVM, the smoothest first
RESTARTS = 5
BASIS_STEPS = 200  # of gradient descent
ROUNDS = 5  # of regression and of many classes
TUNED_SIZES = (1, 2, 5, 10)
TUNED_FACTORS = (10.0, 1.0, 0.1)  # on the strength that the library takes by itself
PAPER_ALGORITHM = (
    "“Paper's algorithm” is Algorithm 1, spkm.algorithm1(R): five random starts, 200 gradient steps on the basis, then "
    "the weights; 2k - 1 of an RBF kernel whose bandwidth is the mean distance of training samples, no intercept. How "
    "many vectors begin with a positive weight is chosen on the validation third."
)


def paper_classifiers(n_basis: int, kernel: str, seed: int) -> Iterable[Any]:
    """Yield the paper's classifiers, cosine loss and one round, for every number of vectors of the positive class.

    The paper leaves the first weights to "the user's initial guess", how many vectors stand for each class; here it is
    chosen on the validation samples, of which the cosine loss has no other use: its penalty on c has no effect.
    """
    for positive in range(n_basis, -1, -1):
        signs = (1,) * positive + (-1,) * (n_basis - positive)
        yield algorithm1(n_basis, kernel=kernel, signs=signs, n_jobs=1, random_state=seed)


def paper_regressors(n_basis: int, seed: int, step: int = 1, restarts: int = RESTARTS) -> Iterable[Any]:
    """Return the paper's regressors, squared loss and five rounds, one for each strength of the penalty on c.

    Targets are standardised, as they are for the competitors: the paper's model has no intercept.
    """
    for strength in PAPER_GRID[::step]:
        penalty = SquaredL2(strength)
        model = algorithm1(
            n_basis, task="regression", weight_penalty=penalty, n_restarts=restarts, n_jobs=1, random_state=seed
        )
        yield TransformedTargetRegressor(model, transformer=StandardScaler())


def candidate_classifiers(kernel: str, n_rows: int, seed: int, step: int = 1) -> Iterable[SPKMClassifier]:
    """Return classifiers of at most ten vectors to choose from, the smallest and smoothest first."""
    automatic = Log.rkhs_strength[0] / n_rows
    for R, factor in product(TUNED_SIZES[::step], TUNED_FACTORS[::step]):
        yield SPKMClassifier(R, kernel=kernel, weight_penalty=RKHSNorm(factor * automatic), n_jobs=1, random_state=seed)


def candidate_regressors(sizes: Sequence[int], seed: int) -> Iterable[SPKMRegressor]:
    """Return regressors to choose from, the smallest first."""
    for R, kernel in product(sizes, ("matern", "rbf")):
        yield SPKMRegressor(R, kernel=kernel, n_jobs=1, random_state=seed)


def best_on(models: Iterable[Any], X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray) -> Any:
    """Return the first of the models that score best on the validation samples, all fitted on the training samples."""
    fits = (model.fit(X[train], y[train]) for model in models)
    return max(fits, key=lambda model: model.score(X[validation], y[validation]))
