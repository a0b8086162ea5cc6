"""Kinds of targets: the estimator of each, simpler models beside it, and the figures of quality."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm.cli._quality import (
    Quality,
    quality_of_classes,
    quality_of_numbers,
    quality_of_order,
    quality_of_times,
)
from spkm.cli._samples import Samples, codes_of
from spkm.estimators import SPKMClassifier, SPKMOrdinalClassifier, SPKMRegressor, SPKMSurvival
from spkm.inspection._censored import judged_times, kaplan_meier
from spkm.losses import Times


class Task(Protocol):
    """Parts of a fit that depend on the kind of targets."""

    #: The measure, less is better, by which a model is compared with simpler ones.
    measure: str
    #: Whether ``fit`` of the estimator has ``groups``, which its own folds keep together.
    has_groups: bool

    def model(self, samples: Samples, parameters: dict[str, Any]) -> Any:
        """Return the estimator that is fitted."""

    def baselines(self, Z: Any, samples: Samples) -> dict[str, Any]:
        """Return a fitted linear model, and one that says the same of every sample."""

    def quality(self, models: dict[str, Any], Z: dict[str, Any], samples: Samples, seed: int) -> Quality:
        """Return the quality of fitted models on samples, each on a matrix of its own."""

    def loss(self, model: Any, Z: Any, samples: Samples) -> float:
        """Return a loss of a fitted model, by which columns are compared."""


class ClassesTask:
    """Classes."""

    measure = "log loss"
    has_groups = True

    def model(self, samples: Samples, parameters: dict[str, Any]) -> Any:
        """Return the classifier."""
        return SPKMClassifier(**parameters)

    def baselines(self, Z: Any, samples: Samples) -> dict[str, Any]:
        """Return logistic regression and the shares of the classes."""
        linear = make_pipeline(_scaler(Z), LogisticRegression(max_iter=500))
        return {"linear": linear.fit(Z, samples.y), "constant": DummyClassifier(strategy="prior").fit(Z, samples.y)}

    def quality(self, models: dict[str, Any], Z: dict[str, Any], samples: Samples, seed: int) -> Quality:
        """Return accuracy, area under the curve and log loss."""
        p = {name: model.predict_proba(Z[name]) for name, model in models.items()}
        return quality_of_classes(samples.y, next(iter(models.values())).classes_, p, samples.groups, seed)

    def loss(self, model: Any, Z: Any, samples: Samples) -> float:
        """Return the log loss."""
        return float(log_loss(samples.y, model.predict_proba(Z), labels=model.classes_))


class NumbersTask:
    """Numbers."""

    measure = "RMSE"
    has_groups = True

    def model(self, samples: Samples, parameters: dict[str, Any]) -> Any:
        """Return the regressor."""
        return SPKMRegressor(**parameters)

    def baselines(self, Z: Any, samples: Samples) -> dict[str, Any]:
        """Return ridge regression and the mean."""
        linear = make_pipeline(_scaler(Z), RidgeCV(np.logspace(-3, 4, 15)))
        return {"linear": linear.fit(Z, samples.y), "constant": DummyRegressor().fit(Z, samples.y)}

    def quality(self, models: dict[str, Any], Z: dict[str, Any], samples: Samples, seed: int) -> Quality:
        """Return R2, mean absolute and root mean squared error."""
        p = {name: model.predict(Z[name]) for name, model in models.items()}
        return quality_of_numbers(samples.y, p, samples.groups, seed)

    def loss(self, model: Any, Z: Any, samples: Samples) -> float:
        """Return the mean squared error."""
        return float(np.mean((model.predict(Z) - samples.y) ** 2))


class OrderedTask:
    """Ordered classes."""

    measure = "log loss"
    has_groups = False

    def model(self, samples: Samples, parameters: dict[str, Any]) -> Any:
        """Return the classifier of ordered classes."""
        assert samples.order is not None
        return SPKMOrdinalClassifier(**parameters, order=samples.order.tolist())

    def baselines(self, Z: Any, samples: Samples) -> dict[str, Any]:
        """Return logistic regression, which ignores the order, and the shares of the classes, both of codes."""
        code = codes_of(samples.y, samples.order)
        linear = make_pipeline(_scaler(Z), LogisticRegression(max_iter=500))
        return {"linear": linear.fit(Z, code), "constant": DummyClassifier(strategy="prior").fit(Z, code)}

    def quality(self, models: dict[str, Any], Z: dict[str, Any], samples: Samples, seed: int) -> Quality:
        """Return mean absolute error in classes, accuracy and log loss."""
        p = {name: model.predict_proba(Z[name]) for name, model in models.items()}
        labels = next(iter(models.values())).classes_
        return quality_of_order(codes_of(samples.y, labels), p, samples.groups, seed)

    def loss(self, model: Any, Z: Any, samples: Samples) -> float:
        """Return the log loss."""
        p = model.predict_proba(Z)[np.arange(len(samples.y)), codes_of(samples.y, model.classes_)]
        return float(-np.log(np.maximum(p, 1e-15)).mean())


class TimesTask:
    """Censored times."""

    measure = "Brier score"
    has_groups = False

    def model(self, samples: Samples, parameters: dict[str, Any]) -> Any:
        """Return the proportional hazards model."""
        return SPKMSurvival(**parameters)

    def baselines(self, Z: Any, samples: Samples) -> dict[str, Any]:
        """Return Cox's model with a linear log hazard, and the curve of Kaplan and Meier."""
        linear = SPKMSurvival(2, kernel="linear", random_state=0)
        return {"linear": linear.fit(Z, samples.y), "constant": _OneCurve().fit(Z, samples.y)}

    def quality(self, models: dict[str, Any], Z: dict[str, Any], samples: Samples, seed: int) -> Quality:
        """Return concordance and Brier score."""
        times = Times(np.asarray(samples.y["time"]), np.asarray(samples.y["event"]))
        at = judged_times(times)
        risk = {name: model.predict(Z[name]) for name, model in models.items()}
        curves = {name: model.predict_survival_function(Z[name], at) for name, model in models.items()}
        return quality_of_times(times, risk, curves, at, samples.groups, seed)

    def loss(self, model: Any, Z: Any, samples: Samples) -> float:
        """Return the share of pairs in the wrong order."""
        return 1.0 - float(model.score(Z, samples.y))


TASKS: dict[str, Task] = {
    "classes": ClassesTask(),
    "numbers": NumbersTask(),
    "ordered": OrderedTask(),
    "times": TimesTask(),
}


class _OneCurve(BaseEstimator):
    """The curve of Kaplan and Meier, the same for every sample."""

    def fit(self, Z: Any, y: np.ndarray) -> Self:
        self.curve_ = kaplan_meier(np.asarray(y["time"]), np.asarray(y["event"]))
        return self

    def predict(self, Z: Any) -> np.ndarray:
        return np.zeros(Z.shape[0])

    def predict_survival_function(self, Z: Any, times: np.ndarray) -> np.ndarray:
        return np.tile(self.curve_.at(times), (Z.shape[0], 1))


def _scaler(Z: object) -> StandardScaler:
    return StandardScaler(with_mean=not sparse.issparse(Z))
