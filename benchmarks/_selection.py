"""What the benchmarks of strict selection share: made-up rows, two ways to spend validation rows, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import PredefinedSplit

from benchmarks._report import Reach, standard_error
from spkm import SPKMClassifierCV
from spkm.datasets import make_sparse_relation

RELATIONS = {"linear": "linear", "degree 2": "quadratic", "degree 5": "quintic"}


def hidden_relation(relation: str, n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, classes and relevant columns of a relation, by its name in the tables."""
    return make_sparse_relation(RELATIONS[relation], n, d, random_state=seed)


def chosen_on_validation(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray, **params: Any
) -> SPKMClassifierCV:
    """Return ours fitted on the training rows alone; the validation rows choose."""
    rows = np.concatenate([train, validation])
    split = PredefinedSplit(np.repeat([-1, 0], [len(train), len(validation)]))
    return SPKMClassifierCV(cv=split, refit=False, **params).fit(X[rows], y[rows])


def chosen_in_folds(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, validation: np.ndarray, **params: Any
) -> SPKMClassifierCV:
    """Return ours with its defaults, five folds, on training and validation rows together."""
    rows = np.concatenate([train, validation])
    return SPKMClassifierCV(**params).fit(X[rows], y[rows])


OURS = {"ours, fit on train, choose on val": chosen_on_validation, "ours, 5 folds of train + val": chosen_in_folds}


@dataclass(frozen=True)
class Outcome:
    """Test accuracy in percent, the columns that the model reads, and the seconds that it took to find it."""

    accuracy: float
    columns: np.ndarray
    seconds: float

    @classmethod
    def of(cls, model: Any, X: np.ndarray, y: np.ndarray, seconds: float) -> Outcome:
        """Return the outcome of a fitted model by the given test rows."""
        return cls(100 * float(model.score(X, y)), columns_read(model), seconds)

    def precision(self, relevant: np.ndarray) -> float:
        return float(np.isin(self.columns, relevant).mean()) if len(self.columns) else np.nan

    def recall(self, relevant: np.ndarray) -> float:
        return float(np.isin(relevant, self.columns).mean())

    def __str__(self) -> str:
        return f"{self.accuracy:.2f} %, {len(self.columns)} columns, {self.seconds:.1f} s"


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and its seconds."""
    start = perf_counter()
    result = call()
    return result, perf_counter() - start


def columns_read(model: Any) -> np.ndarray:
    """Return the columns that a model reads: selected, with a coefficient, or given to it."""
    if hasattr(model, "selected_features_"):
        return model.selected_features_
    if hasattr(model[-1], "coef_"):
        return np.flatnonzero(model[-1].coef_[0])
    return np.asarray(model[0].transformers_[0][2])  # of tuned_svc


def mean_of(values: Sequence[float]) -> float:
    """Return the mean without the rounding by which 0.93 could miss 0.93."""
    return float(np.round(np.mean(values), 9))


def summary(values: Sequence[float], form: str = "{:.2f}", reach: Reach | None = None) -> str:
    """Return mean and standard error, and the figure to reach with a star where it is not reached."""
    mean, error = mean_of(values), standard_error(np.asarray(values))
    text = form.format(mean) + ("" if np.isnan(error) else f" ± {form.format(error)}")
    if reach is None:
        return text
    return f"{text} ({reach.relation} {form.format(reach.limit)}){'' if reach.met_by(mean) else ' *'}"
