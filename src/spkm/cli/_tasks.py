"""Kinds of targets: the estimator of each, simpler models beside it, and the figures of quality."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm.cli._quality import (
    Measure,
    Quality,
    measures_of_classes,
    measures_of_numbers,
    measures_of_order,
    measures_of_times,
    quality_of,
)
from spkm.cli._samples import Samples, codes_of
from spkm.estimators import SPKMClassifier, SPKMOrdinalClassifier, SPKMRegressor, SPKMSurvival
from spkm.inspection._censored import judged_times, kaplan_meier
from spkm.losses import Times


class NumbersTask:
    """Parts of a fit that depend on the kind of targets, for numbers."""

    #: The measure, less is better, by which a model is compared with simpler ones.
    measure = "RMSE"
    #: Whether ``fit`` of the estimator has ``groups``, which its own folds keep together.
    has_groups = True

    def model(self, samples: Samples, parameters: dict[str, Any]) -> Any:
        """Return the estimator that is fitted."""
        return SPKMRegressor(**parameters)

    def baselines(self, Z: Any, samples: Samples) -> dict[str, Any]:
        """Return a fitted linear model, and one that says the same of every sample."""
        linear = make_pipeline(_scaler(Z), RidgeCV(np.logspace(-3, 4, 15)))
        return {"linear": linear.fit(Z, samples.y), "constant": DummyRegressor().fit(Z, samples.y)}

    def truth(self, model: Any, samples: Samples) -> Any:
        """Return the targets of samples, in the terms of a model of ours."""
        return samples.y

    def measures(self, model: Any, Z: Any, truth: Any) -> dict[str, Measure]:
        """Return the measures of a fitted model on samples."""
        return measures_of_numbers(truth, model.predict(Z))

    def loss(self, model: Any, Z: Any, samples: Samples) -> float:
        """Return a loss of a fitted model of ours, by which columns are compared."""
        return float(np.mean((model.predict(Z) - samples.y) ** 2))

    def quality(self, models: dict[str, Any], Z: dict[str, Any], samples: Samples, seed: int) -> Quality:
        """Return the quality of fitted models, the first one of ours, on samples, each on a matrix of its own."""
        truth = self.truth(next(iter(models.values())), samples)
        found = {name: self.measures(model, Z[name], truth) for name, model in models.items()}
        return quality_of(found, len(samples.y), samples.groups, seed)


class ClassesTask(NumbersTask):
    """The same for classes; the targets of simpler models are the places of classes in their order."""

    measure = "log loss"

    def model(self, samples: Samples, parameters: dict[str, Any]) -> Any:
        return SPKMClassifier(**parameters)

    def baselines(self, Z: Any, samples: Samples) -> dict[str, Any]:
        code = codes_of(samples.y, np.unique(samples.y) if samples.order is None else samples.order)
        linear = make_pipeline(_scaler(Z), LogisticRegression(max_iter=500))
        return {"linear": linear.fit(Z, code), "constant": DummyClassifier(strategy="prior").fit(Z, code)}

    def truth(self, model: Any, samples: Samples) -> Any:
        return codes_of(samples.y, model.classes_)

    def measures(self, model: Any, Z: Any, truth: Any) -> dict[str, Measure]:
        return measures_of_classes(truth, model.predict_proba(Z))

    def loss(self, model: Any, Z: Any, samples: Samples) -> float:
        rows = np.arange(len(samples.y))
        return self.measures(model, Z, self.truth(model, samples))[self.measure].on(rows)


class OrderedTask(ClassesTask):
    """The same for ordered classes; the linear model ignores their order."""

    has_groups = False

    def model(self, samples: Samples, parameters: dict[str, Any]) -> Any:
        assert samples.order is not None
        return SPKMOrdinalClassifier(**parameters, order=samples.order.tolist())

    def measures(self, model: Any, Z: Any, truth: Any) -> dict[str, Measure]:
        return measures_of_order(truth, model.predict_proba(Z))


class TimesTask(NumbersTask):
    """The same for censored times, beside Cox's model with a linear log hazard and the curve of Kaplan and Meier."""

    measure = "Brier score"
    has_groups = False

    def model(self, samples: Samples, parameters: dict[str, Any]) -> Any:
        return SPKMSurvival(**parameters)

    def baselines(self, Z: Any, samples: Samples) -> dict[str, Any]:
        linear = SPKMSurvival(2, kernel="linear", random_state=0)
        return {"linear": linear.fit(Z, samples.y), "constant": _OneCurve().fit(Z, samples.y)}

    def truth(self, model: Any, samples: Samples) -> Any:
        return Times(np.asarray(samples.y["time"]), np.asarray(samples.y["event"]))

    def measures(self, model: Any, Z: Any, truth: Any) -> dict[str, Measure]:
        at = judged_times(truth)
        return measures_of_times(truth, model.predict(Z), model.predict_survival_function(Z, at), at)

    def loss(self, model: Any, Z: Any, samples: Samples) -> float:
        return 1.0 - float(model.score(Z, samples.y))


TASKS: dict[str, NumbersTask] = {
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
