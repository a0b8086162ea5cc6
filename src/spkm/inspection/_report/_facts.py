"""The facts of a report: plain data, of which pages and model cards are made."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike, TargetLike, dense
from spkm._checks import check_choice, check_integer
from spkm._frames import labels_of, name_of
from spkm.explain import familiarity, formula
from spkm.explain._cautions import contrary_vectors
from spkm.explain._summary import _sentence as sentence
from spkm.explain._summary import variance_shares
from spkm.explain._table import basis_labels, fitted_part
from spkm.inspection._reading import Reading
from spkm.inspection._report._answer import answer_facts
from spkm.inspection._report._axis import axis_facts, axis_of, in_columns
from spkm.inspection._report._basis_facts import basis_facts
from spkm.inspection._report._columns import column_facts, link_facts, usual_row
from spkm.inspection._report._compared import Comparison, compared
from spkm.inspection._report._edit_facts import edit_facts
from spkm.inspection._report._feature_facts import MOST, MOST_OF_PAIRS, feature_facts, listed_features
from spkm.inspection._report._findings import Evidence, cautions_first, findings
from spkm.inspection._report._groups import by_group, group_values
from spkm.inspection._report._importance_facts import importance_facts
from spkm.inspection._report._pair_facts import pair_facts
from spkm.inspection._report._quality import quality
from spkm.inspection._report._refit_facts import refit_facts
from spkm.inspection._report._rounding import rounding_of_scores
from spkm.inspection._report._rows import BYTES, affordable, dense_rows, packed, plain_values, rounded, stratified
from spkm.inspection._report._selection import measured, selection_facts
from spkm.inspection._report._shapes import product_shapes
from spkm.inspection._report._target_facts import (
    censored_times,
    is_survival,
    order_facts,
    survival_facts,
    survival_of_page,
    survival_quality,
    times_as_texts,
)
from spkm.losses import Times
from spkm.persistence._plain import jsonable, plain_model, with_javascript_classes

SCHEMA = 2
BACKGROUND = 40  # samples that a page compares a row with
SAMPLED = 500  # samples that effects and shares of variance are computed on
ENTRIES = 1e7  # numbers of these samples, where there are many columns
VERIFIED = 50  # rows on which a page compares its predictions with ours
AXIS_BYTES = 25_000  # of shipped samples on an axis: a page of 401 wavelengths stays below 300 kB
MODEL_BYTES = 400_000  # of a model in a page
PERMITTED = ("rows", "aggregate")


@dataclass(frozen=True)
class Samples:
    """The samples of a report.

    Attributes
    ----------
    table, y : table and targets or None
        All of them.
    times : Times or None
        Their censored times, in place of targets.
    known : (table, targets) or None
        Samples and targets of the fit.
    chosen, rows, shown, data : ndarray, ndarray, ndarray and dict
        Samples that a file ships, in the columns that the model reads as they are and with the digits that a page
        holds, and packed.
    some, sampled : ndarray
        Samples that effects and shares are computed on, and these in all columns.
    scores, similarities : ndarray
        Scores of all, similarities of those sampled.
    """

    table: Any
    y: np.ndarray | None
    times: Times | None
    known: Any
    chosen: np.ndarray
    rows: np.ndarray
    shown: np.ndarray
    data: dict[str, Any]
    some: np.ndarray
    sampled: np.ndarray
    scores: np.ndarray
    similarities: np.ndarray

    @property
    def source(self) -> Any:
        """The table that ranges come from: that of the fit where it is known."""
        return self.table if self.known is None else self.known[0]

    @property
    def sampled_y(self) -> np.ndarray | None:
        """Targets of those sampled."""
        return None if self.y is None else self.y[self.some]


def _samples(reading: Reading, X: Any, y: Any, train: Any, room: int, max_rows: int) -> Samples:
    """Return the samples of a report, read and checked."""
    table = reading.table(X)
    y, times = _checked_targets(reading, y, table.shape[0], "y")
    known = None
    if train is not None:
        known_table = reading.table(train[0])
        known = known_table, _checked_targets(reading, train[1], known_table.shape[0], "train[1]")[0]
    read = reading.read
    by = y if times is None else times.time
    chosen = stratified(by, table.shape[0], affordable(len(read), max_rows, room), reading.labels is not None)
    rows = dense_rows(table, chosen, read)
    data, shown = packed(rows)
    count = int(np.clip(ENTRIES / table.shape[1], 50, SAMPLED))
    some = np.arange(0, table.shape[0], max(1, table.shape[0] // count))
    sampled = dense_rows(table, some, np.arange(len(reading.names)))
    model = reading.model
    found = model.scores(table), model.similarities(sampled)
    return Samples(table, y, times, known, chosen, rows, shown, data, some, sampled, *found)


def facts(
    estimator: BaseEstimator,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    train: tuple[Any, Any] | None = None,
    title: str | None = None,
    target: str | None = None,
    units: dict[str, str] | None = None,
    stability: Any = None,
    categories: dict[str, Any] | None = None,
    groups: Any = None,
    x: Any = None,
    entities: Any = None,
    privacy: str = "rows",
    max_rows: int = 1000,
    random_state: int = 0,
) -> dict[str, Any]:
    """Return everything that a report says, as plain data that JSON can hold.

    Parameters
    ----------
    estimator, X, y, train, title, target, units, stability
        As in :func:`spkm.inspection.report`.
    categories, groups, x, entities, privacy, max_rows, random_state
        As in :func:`spkm.inspection.report`.
    """
    check_integer("max_rows", max_rows, 1)
    reading = Reading.of(estimator)
    _check_privacy(reading, privacy)
    if isinstance(groups, Mapping) and categories is None:
        groups, categories = None, dict(groups)
    reading = reading if categories is None else reading.grouped_by_hand()
    parts, axis = group_values(X, groups), axis_of(reading, x)
    target, outputs = _target_names(reading, y, target)
    samples = _samples(reading, X, y, train, BYTES if axis is None else AXIS_BYTES, max_rows)
    whole = len(reading.read) <= (MOST_OF_PAIRS if reading.is_pairs else MOST)  # so that the page can compute
    ship = privacy == "rows" and whole
    paired = pair_facts(reading, samples, entities, max_rows) if reading.is_pairs and privacy == "rows" else None
    stability = measured(reading, stability, samples.known, random_state)
    judged = _judged(reading, samples, parts, stability, random_state)
    told = _told_of_features(reading, samples, axis, categories, units or {}, stability, ship)
    columns, curves = told["columns"], told["axis"]
    page = _page_facts(reading, samples, told, ship) if whole else None
    return {
        "schema": SCHEMA,
        "title": title or _title(target, samples.source.shape[0]),
        "target": target,
        "answer": answer_facts(reading, target, columns, curves, judged.quality, judged.beside, paired),
        "first": cautions_first(judged.checks),
        "model": _model_facts(reading, reading.estimator, outputs),
        "samples": _sample_facts(reading, samples, len(samples.chosen) if ship else 0, privacy),
        "quality": judged.quality,
        "beside": None if judged.beside is None else judged.beside.facts(),
        "by_group": judged.by_group,
        **_target_facts(reading, samples, privacy),
        "selection": selection_facts(reading, columns, told["listed"], stability, samples.source, judged.seen),
        "pairs": paired,
        **_shown_features(told),
        "basis": basis_facts(
            reading, told["listed"], columns, axis is not None, samples, judged.share, judged.contrary, paired, ship
        ),
        "rows": _row_facts(samples) if ship else None,
        "page": page,
        "refits": _refits(reading, page),
        "checks": judged.checks,
        "cautions": _cautions(reading, samples.known, privacy),
        "versions": versions(),
    }


def _target_facts(reading: Reading, samples: Samples, privacy: str) -> dict[str, Any]:
    """Return the facts of ordered classes and of censored times alone."""
    return {
        "order": order_facts(reading, samples.scores, samples.y, privacy),
        "survival": survival_facts(reading),
    }


def _check_privacy(reading: Reading, privacy: str) -> None:
    check_choice("privacy", privacy, PERMITTED)
    if privacy == "aggregate" and fitted_part(reading.estimator, "basis") == "samples":
        raise ValueError(
            "privacy='aggregate' cannot keep samples out of a report of basis='samples', whose basis vectors are "
            "training samples. Fit with basis='free'."
        )


@dataclass(frozen=True)
class Judged:
    """How good the model is, and what its checks found."""

    quality: dict[str, Any] | None
    beside: Comparison | None
    by_group: list[Any] | None
    share: np.ndarray
    contrary: list[Any]
    checks: list[dict[str, str]]

    @property
    def seen(self) -> bool | None:
        """Whether samples of the report were in the fit; None if that is not known."""
        (level,) = (check["level"] for check in self.checks if check["code"] == "SPKM12")
        return {"look": True, "pass": False}.get(level)


def _judged(reading: Reading, samples: Samples, parts: Any, stability: Any, seed: int) -> Judged:
    """Return the model's quality, also by group and beside simple models, and its checks."""
    table, y, scores = samples.table, samples.y, samples.scores
    share = variance_shares(reading.model, samples.similarities)
    some_y = samples.sampled_y
    contrary = [] if some_y is None else contrary_vectors(reading.model, samples.similarities, some_y)
    cancellation = max(member.cancellation(samples.sampled) for member in reading.model.members)
    how_good = None if y is None else quality(reading, scores, y, seed)
    if samples.times is not None:
        how_good = survival_quality(reading, scores, samples.times, seed)
    beside = compared(reading, table, scores, y, samples.known, seed)
    checks = findings(
        Evidence(
            *(reading, table, y, scores, samples.similarities, share, how_good, beside, samples.known),
            *(stability, contrary, cancellation),
        )
    )
    by = None if not parts or y is None else by_group(reading, scores, y, parts)
    return Judged(how_good, beside, by, share, contrary, checks)


def _told_of_features(
    reading: Reading, samples: Samples, axis: Any, categories: Any, units: dict[str, str], stability: Any, ship: bool
) -> dict[str, Any]:
    """Return facts of features, columns and axis, and the usual row."""
    listed = listed_features(reading, samples.sampled)
    shown, rows = (part[:, np.searchsorted(reading.read, listed)] for part in (samples.shown, samples.rows))
    features: dict[str, Any] = feature_facts(reading, listed, samples.source, units, ship)
    columns = column_facts(reading, listed, categories, rows, units)
    links = link_facts(reading, listed, columns, rows, shown, ship)
    middle = usual_row(np.array([feature["median"] for feature in features["read"]]), columns, shown)
    features |= importance_facts(reading, columns, features["read"], middle, samples.sampled, stability, axis is None)
    curves = None if axis is None else axis_facts(reading, axis, columns, samples.source, samples.sampled)
    return {
        "features": features,
        "columns": columns,
        "axis": curves,
        "middle": middle,
        "listed": listed,
        "links": links,
    }


def _shown_features(told: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of features, columns and axis that go into the file.

    On an axis there are no facts of single features: short forms of what the page computes with are enough.
    """
    features, columns = told["features"], told["columns"]
    if told["axis"] is not None:
        features, columns = features | {"read": in_columns(features["read"])}, None
    return {"features": features, "columns": columns, "axis": told["axis"]}


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


def _checked_targets(reading: Reading, y: Any, n: int, argument: str) -> tuple[Any, Times | None]:
    """Return targets of n samples, checked, or else their censored times."""
    times = censored_times(reading, y, n, argument)
    return (None if y is None or times is not None else _checked_y(reading, y, n, argument)), times


def _checked_y(reading: Reading, y: TargetLike, n: int, argument: str) -> np.ndarray:
    y = dense(y)
    if len(y) != n:
        raise ValueError(f"{argument} must have an entry for each of the {n} samples; got {len(y)}.")
    labels = reading.labels
    if labels is None and not np.isfinite(y.astype(np.float64)).all():
        raise ValueError(f"{argument} must hold finite numbers; it holds NaN or infinity. Leave such samples out.")
    if labels is not None and y.ndim == 1:
        unknown = np.setdiff1d(y, labels)
        if len(unknown):
            raise ValueError(f"{argument} must hold classes of the fit, {labels.tolist()}; got {unknown.tolist()[:5]}.")
    return y


def settings_of(estimator: BaseEstimator) -> dict[str, str]:
    """Return the parameters of an estimator that are not the defaults."""
    defaults = type(estimator)().get_params(deep=False)
    own = estimator.get_params(deep=False)
    return {k: repr(v)[:200] for k, v in own.items() if repr(v) != repr(defaults.get(k))}


def _model_facts(reading: Reading, estimator: BaseEstimator, outputs: list[str]) -> dict[str, Any]:
    model = reading.model
    members = model.members
    return {
        "sentence": sentence(model, reading.pipeline.encoding),
        "formula": formula(reading.pipeline.named) if model.n_basis * model.n_outputs <= 60 else None,
        "estimator": type(estimator).__name__,
        "recipe": model.recipe,
        "settings": settings_of(estimator) if isinstance(estimator, BaseEstimator) else {},
        "task": "regression" if reading.labels is None else model.target.task,
        "outputs": outputs,
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


def _sample_facts(reading: Reading, samples: Samples, n_shipped: int, privacy: str) -> dict[str, Any]:
    table, y, train = samples.table, samples.y, samples.known
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
        if reading.labels is not None:
            found["target"] = {"classes": [[str(label), int(np.sum(y == label))] for label in reading.labels]}
        else:
            points = np.percentile(np.asarray(y, dtype=float), [0, 25, 50, 75, 100])
            found["target"] = {"quartiles": rounded(points) if privacy == "rows" else rounded(points[1:4])}
    return found


def _row_facts(samples: Samples) -> dict[str, Any]:
    y, times = samples.y, samples.times
    known = None if y is None or np.ndim(y) > 1 else [plain_values(value) for value in y[samples.chosen]]
    known = known if times is None else times_as_texts(times, samples.chosen)
    return {**samples.data, "index": samples.chosen.tolist(), "y": known}


def _page_facts(reading: Reading, samples: Samples, told: dict[str, Any], ship: bool) -> dict[str, Any] | None:
    """Return what a page needs to predict and to explain by itself; None if the model is too large for it."""
    model, read = reading.model, reading.read
    if len(read) == 0:
        return None
    small = model.restricted(read)
    names = tuple(reading.names[c] for c in read)
    try:
        plain = jsonable(with_javascript_classes(plain_model(small, names)) | survival_of_page(reading))
    except TypeError:  # a kernel or a loss of the user's own, which no page can compute
        return None
    shapes = product_shapes(small, names)
    if len(json.dumps([plain, shapes])) > MODEL_BYTES:
        return None
    shown, middle = samples.shown, told["middle"]
    if not ship:
        shown = middle[None]
    background = np.unique(np.linspace(0, len(shown) - 1, min(BACKGROUND, len(shown))).round().astype(int))
    probes = shown[:VERIFIED]
    if not ship:
        vectors = np.array(small.basis_vectors)
        probes = np.vstack([middle, np.where(np.isnan(vectors), middle, vectors)[: VERIFIED - 1]])
    scores = small.scores(probes)
    stationary = all(v.kernel.stationary for m in small.members for term in m.terms for v in term.views)
    points = None
    if stationary:
        whole = dense_rows(
            samples.table, np.arange(0, samples.table.shape[0], max(1, samples.table.shape[0] // 2000)), read
        )
        points = rounded(np.percentile(familiarity(small, whole, whole)[0], np.arange(0, 101)), 6)
    P = reading.probabilities(scores)
    return {
        "plain": plain,
        "shapes": shapes,
        "links": told["links"],
        "edit": edit_facts(reading, samples.source),
        "background": background.tolist() if ship else None,
        "middle": middle.tolist(),
        "familiar": points,
        "verify": {
            "rows": len(probes) if ship else probes.tolist(),
            "scores": scores.tolist(),
            "rounding": rounded(rounding_of_scores(plain, probes), 3),
            "probabilities": None if P is None else P.tolist(),
            "predictions": [plain_values(value) for value in reading.decide(scores)],
        },
    }


def _refits(reading: Reading, page: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the refits of the page's model; None if there are none."""
    names = tuple(reading.names[c] for c in reading.read)
    return refit_facts(reading.model.restricted(reading.read), names, page) if reading.model.refits else None


def _cautions(reading: Reading, train: object, privacy: str) -> list[str]:
    found = [
        "A model says what goes with what in its samples, not what causes what: an effect curve is no promise of what "
        "happens when somebody changes a feature.",
        "Shares of variance and what-if values treat features as if they could change independently of one another. "
        "If features go together, combinations may be shown that cannot occur.",
    ]
    if train is None:
        found.append(
            "Ranges are those of the samples given, which may differ from those of the fit. If the model was fitted on "
            "these samples, its quality is overstated."
        )
    if is_survival(reading):
        found.append(
            "Hazards are taken to be proportional: a feature multiplies the hazard by the same factor at all times, so "
            "that no two survival curves cross. Times after the last event say nothing."
        )
    if reading.labels is not None and not reading.has_probabilities:
        found.append("The scores are no probabilities: their loss does not give any.")
    if privacy == "aggregate":
        found.append("No sample is in this file; ranges go from the 1st to the 99th percentile.")
    return found
