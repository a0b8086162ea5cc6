"""The facts of a report: plain data, of which pages and model cards are made."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike, TargetLike
from spkm._checks import check_choice, check_integer
from spkm._frames import labels_of, name_of
from spkm.explain import formula
from spkm.explain._cautions import contrary_vectors
from spkm.explain._summary import _sentence as sentence
from spkm.explain._summary import variance_shares
from spkm.explain._table import basis_labels, fitted_part
from spkm.inspection._reading import Reading
from spkm.inspection._report._answer import answer_facts
from spkm.inspection._report._axis import axis_of
from spkm.inspection._report._basis_facts import basis_facts
from spkm.inspection._report._features import MOST, MOST_OF_PAIRS, told_of_features
from spkm.inspection._report._findings import Evidence, cautions_first, findings
from spkm.inspection._report._groups import by_group, group_values
from spkm.inspection._report._machine import machine_facts, refit_facts
from spkm.inspection._report._pair_facts import pair_facts
from spkm.inspection._report._quality import compared, quality
from spkm.inspection._report._samples import BYTES, Samples, plain_values, rounded
from spkm.inspection._report._selection import measured, selection_facts
from spkm.inspection._report._target_facts import order_facts, survival_facts, survival_quality, times_as_texts

SCHEMA = 2
AXIS_BYTES = 25_000  # of shipped samples on an axis: a page of 401 wavelengths stays below 300 kB
PERMITTED = ("rows", "aggregate")


@dataclass(frozen=True)
class Options:
    """Options of :func:`spkm.inspection.report`, which describes them."""

    train: tuple[Any, Any] | None = None
    title: str | None = None
    target: str | None = None
    units: dict[str, str] | None = None
    stability: Any = None
    categories: dict[str, Any] | None = None
    groups: Any = None
    x: Any = None
    entities: tuple[Any, Any] | None = None
    privacy: str = "rows"
    max_rows: int = 1000
    random_state: int = 0

    @property
    def parts(self) -> tuple[dict[str, Any] | None, Any]:
        """Categories, and groups of samples: a dict of groups is taken for categories, as before version 0.3."""
        if isinstance(self.groups, Mapping) and self.categories is None:
            return dict(self.groups), None
        return self.categories, self.groups


def facts(estimator: BaseEstimator, X: TableLike, y: TargetLike | None, options: Options) -> dict[str, Any]:
    """Return everything that a report shows, as plain data that JSON can hold."""
    check_integer("max_rows", options.max_rows, 1)
    reading, privacy = Reading.of(estimator), options.privacy
    if reading.model.n_outputs == 0:
        raise ValueError(f"estimator must be one that predicts; {type(reading.estimator).__name__} has no target here.")
    _check_privacy(reading, privacy)
    categories, groups = options.parts
    reading = reading if categories is None else reading.grouped_by_hand()
    parts, axis = group_values(X, groups), axis_of(reading, options.x)
    target, outputs = _target_names(reading, y, options.target)
    samples = Samples.of(reading, X, y, options.train, BYTES if axis is None else AXIS_BYTES, options.max_rows)
    whole = len(reading.read) <= (MOST_OF_PAIRS if reading.is_pairs else MOST)  # so that the page can compute
    ship = privacy == "rows" and whole
    is_paired = reading.is_pairs and privacy == "rows"
    paired = pair_facts(samples, options.entities, options.max_rows) if is_paired else None
    stability = measured(reading, options.stability, samples.known, options.random_state)
    seen = _evidence(samples, outputs, stability, options.random_state)
    checks = findings(seen)
    levels = {check["code"]: check["level"] for check in checks}
    took_part = {"look": True, "pass": False}.get(levels["SPKM12"])
    told = told_of_features(samples, axis, categories, options.units or {}, stability, ship)
    page = machine_facts(samples, told.links, told.middle, ship) if whole else None
    beside = seen.beside
    return {
        "schema": SCHEMA,
        "title": options.title or _title(target, samples.source.shape[0]),
        "target": target,
        "answer": answer_facts(seen, told, target, outputs, paired),
        "first": cautions_first(checks),
        "model": _model_facts(samples, outputs),
        "samples": _sample_facts(samples, len(samples.chosen) if ship else 0, privacy),
        "quality": seen.quality,
        "beside": None if beside is None else beside.facts(),
        "by_group": by_group(reading, samples.scores, samples.y, parts) if parts and samples.y is not None else None,
        "order": order_facts(samples, privacy),
        "survival": survival_facts(reading),
        "selection": selection_facts(seen, told, took_part),
        "pairs": paired,
        **told.shown(),
        "basis": basis_facts(seen, told, paired, ship),
        "rows": _row_facts(samples) if ship else None,
        "page": page,
        "refits": refit_facts(reading, page),
        "checks": checks,
        "cautions": _cautions(reading, samples.known, privacy),
        "versions": versions(),
    }


def _check_privacy(reading: Reading, privacy: str) -> None:
    check_choice("privacy", privacy, PERMITTED)
    if privacy == "aggregate" and fitted_part(reading.estimator, "basis") == "samples":
        raise ValueError(
            "privacy='aggregate' cannot keep samples out of a report of basis='samples', whose basis vectors are "
            "training samples. Fit with basis='free'."
        )


def _evidence(samples: Samples, outputs: list[str], stability: Any, seed: int) -> Evidence:
    """Return the model's quality, also beside simple models, and what its checks judge."""
    model, y = samples.reading.model, samples.sampled_y
    return Evidence(
        samples,
        survival_quality(samples, seed) if samples.times is not None else quality(samples, outputs, seed),
        compared(samples, seed),
        variance_shares(model, samples.similarities),
        [] if y is None else contrary_vectors(model, samples.similarities, y),
        max(member.cancellation(samples.sampled) for member in model.members),
        stability,
    )


def versions() -> dict[str, str]:
    """Return the versions of what made a report."""
    return {
        "spkm": sys.modules["spkm"].__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _title(target: str, n: int) -> str:
    """Return a title in the user's words: the target and the samples."""
    return f"{target[0].upper()}{target[1:]}: a model of {n:,} samples" if target else f"A model of {n:,} samples"


def _target_names(reading: Reading, y: object, given: str | None) -> tuple[str, list[str]]:
    """Return the name of the target, empty if it has none, and names of the scores, in the user's words."""
    target, columns = given or name_of(y), labels_of(y)
    outputs = list(reading.outputs)
    if reading.labels is None and len(outputs) == 1:
        outputs = [target or "prediction"]
    elif columns is not None and len(columns) == len(outputs):
        outputs = [str(column) for column in columns]
    return target, outputs


def settings_of(estimator: BaseEstimator) -> dict[str, str]:
    """Return the parameters of an estimator that are not the defaults."""
    defaults = type(estimator)().get_params(deep=False)
    own = estimator.get_params(deep=False)
    return {k: repr(v)[:200] for k, v in own.items() if repr(v) != repr(defaults.get(k))}


def _scales(samples: Samples) -> list[list[float]] | None:
    """Return mean and standard deviation of the predictions of each of several outputs, whose units may differ."""
    if samples.reading.labels is not None or samples.scores.shape[1] == 1:
        return None
    mean, spread = samples.scores.mean(axis=0), samples.scores.std(axis=0)
    found: list[list[float]] = rounded(np.stack([mean, np.where(spread > 0, spread, 1.0)], axis=1))
    return found


def _model_facts(samples: Samples, outputs: list[str]) -> dict[str, Any]:
    reading, model, estimator = samples.reading, samples.reading.model, samples.reading.estimator
    members = model.members
    return {
        "sentence": sentence(model, reading.pipeline.encoding),
        "formula": formula(reading.pipeline.named) if model.n_basis * model.n_outputs <= 60 else None,
        "estimator": type(estimator).__name__,
        "recipe": model.recipe,
        "settings": settings_of(estimator) if isinstance(estimator, BaseEstimator) else {},
        "task": "regression" if reading.labels is None else model.target.task,
        "outputs": outputs,
        "scales": _scales(samples),
        "score_names": [_score_name(reading, o, outputs[o]) for o in range(model.n_outputs)],
        "classes": None if reading.labels is None else [str(label) for label in reading.labels],
        "problems": None if model.is_joint else list(model.names),
        "intercept": rounded(model.intercept),
        "n_basis": int(model.vector_rows.sum()),
        "labels": basis_labels(model),
        "n_features": model.n_features,
        "n_read": len(reading.read),
        "loss": type(model.loss).__name__,
        "scaled": reading.is_scaled,
        "monotone": reading.monotone,
        "views": sorted({v.name for m in members for t in m.terms if not t.is_linear_part for v in t.views if v.name}),
    }


def _score_name(reading: Reading, output: int, name: str) -> str:
    """Return what an axis of a score is called, with the user's name of a number where there is one."""
    text = reading.score_name(output)
    if reading.labels is not None or name in ("prediction", reading.outputs[output]):
        return text
    return text.replace("prediction", f"predicted {name}").replace(f" of output {reading.outputs[output]}", "")


def _sample_facts(samples: Samples, n_shipped: int, privacy: str) -> dict[str, Any]:
    table, y, train, labels = samples.table, samples.y, samples.known, samples.reading.labels
    found: dict[str, Any] = {
        "n": table.shape[0],
        "n_columns": table.shape[1],
        "n_train": None if train is None else train[0].shape[0],
        "n_shipped": n_shipped,
        "privacy": privacy,
        "target": None,
    }
    if samples.times is not None:
        found["target"] = {"events": [int(samples.times.event.sum()), len(samples.times.event)]}
    if y is not None and np.ndim(y) == 1:
        if labels is not None:
            found["target"] = {"classes": [[str(label), int(np.sum(y == label))] for label in labels]}
        else:
            points = np.percentile(np.asarray(y, dtype=float), [0, 25, 50, 75, 100])
            found["target"] = {"quartiles": rounded(points) if privacy == "rows" else rounded(points[1:4])}
    return found


def _row_facts(samples: Samples) -> dict[str, Any]:
    y, times = samples.y, samples.times
    known = None if y is None or np.ndim(y) > 1 else [plain_values(value) for value in y[samples.chosen]]
    known = known if times is None else times_as_texts(times, samples.chosen)
    return {**samples.data, "index": samples.chosen.tolist(), "y": known}


def _cautions(reading: Reading, train: object, privacy: str) -> list[str]:
    found = [
        "A model shows what goes together in its samples, not what causes what: an effect curve is no promise of what "
        "happens when somebody changes a feature.",
        "Shares of variance and what-if values treat features as if they could change independently of one another. "
        "If features go together, combinations may be shown that cannot occur.",
    ]
    if train is None:
        found.append(
            "Ranges are those of the samples given, which may differ from those of the fit. If the model was fitted on "
            "these samples, its quality is overstated."
        )
    if reading.is_survival:
        found.append(
            "Hazards are taken to be proportional: a feature multiplies the hazard by the same factor at all times, so "
            "that no two survival curves cross. Nothing is known of times after the last event."
        )
    if reading.labels is not None and not reading.has_probabilities:
        found.append("The scores are no probabilities: their loss does not give any.")
    if privacy == "aggregate":
        found.append("No sample is in this file; ranges go from the 1st to the 99th percentile.")
    return found
