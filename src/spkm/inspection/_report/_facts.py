"""The facts of a report: plain data, of which pages and model cards are made."""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from spkm._arrays import TableLike, TargetLike
from spkm._checks import check_choice, check_integer
from spkm.inspection._reading import (
    Reading,
    basis_labels,
    contrary_vectors,
    familiarity,
    fitted_part,
    formula,
    members_of,
    sentence,
)
from spkm.inspection._report._basis_facts import basis_facts, variance_shares
from spkm.inspection._report._columns import column_facts, link_facts, usual_row
from spkm.inspection._report._feature_facts import feature_facts
from spkm.inspection._report._findings import findings
from spkm.inspection._report._quality import quality
from spkm.inspection._report._rows import affordable, dense_rows, packed, rounded, stratified
from spkm.inspection._report._shapes import product_shapes
from spkm.persistence._plain import jsonable, plain_model

SCHEMA = 1
BACKGROUND = 40  # samples that a page compares a row with
SAMPLED = 500  # samples that effects and shares of variance are computed on
ENTRIES = 1e7  # numbers of these samples, where there are many columns
VERIFIED = 50  # rows on which a page compares its predictions with ours
MODEL_BYTES = 400_000  # of a model in a page
MOST_READ = 1000  # features of a model that a page computes with
PERMITTED = ("rows", "aggregate")


@dataclass(frozen=True)
class Samples:
    """The samples of a report: the whole table, and what was chosen of it, in the columns that the model reads."""

    table: Any
    y: np.ndarray | None
    chosen: np.ndarray
    rows: np.ndarray  # as they are; those of shown have the digits that a page holds
    shown: np.ndarray


def facts(
    estimator: BaseEstimator,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    train: tuple[Any, Any] | None = None,
    title: str | None = None,
    units: dict[str, str] | None = None,
    stability: Any = None,
    groups: dict[str, Any] | None = None,
    privacy: str = "rows",
    max_rows: int = 1000,
    random_state: int = 0,
) -> dict[str, Any]:
    """Return everything that a report says, as plain data that JSON can hold.

    Parameters
    ----------
    estimator, X, y, train, title, units, stability, groups, privacy, max_rows, random_state
        As in :func:`spkm.inspection.report`.
    """
    check_choice("privacy", privacy, PERMITTED)
    check_integer("max_rows", max_rows, 1)
    reading = Reading.of(estimator)
    if privacy == "aggregate" and fitted_part(reading.estimator, "basis") == "samples":
        raise ValueError(
            "privacy='aggregate' cannot keep samples out of a report of basis='samples', whose basis vectors are "
            "training samples. Fit with basis='free'."
        )
    table, name = reading.table(X), getattr(y, "name", None)  # of a Series
    y = None if y is None else _checked_y(reading, y, table.shape[0], "y")
    known = None
    if train is not None:
        known_table = reading.table(train[0])
        known = known_table, _checked_y(reading, train[1], known_table.shape[0], "train[1]")
    read = reading.read
    chosen = stratified(y, table.shape[0], affordable(len(read), max_rows), reading.labels is not None)
    rows = dense_rows(table, chosen, read)
    data, shown = packed(rows)
    samples = Samples(table, y, chosen, rows, shown)
    scores = reading.model.scores(table)
    count = int(np.clip(ENTRIES / table.shape[1], 50, SAMPLED))
    some = np.arange(0, table.shape[0], max(1, table.shape[0] // count))
    sampled = dense_rows(table, some, np.arange(len(reading.names)))
    similarities = reading.model.similarities(sampled)
    share = variance_shares(reading.model, similarities)
    own_y = None if y is None else y[some]
    contrary = [] if own_y is None else contrary_vectors(reading.model, similarities, own_y)
    cancellation = max(member.cancellation(sampled) for member in members_of(reading.model))
    how_good = None if y is None else quality(reading, scores, y, random_state)
    ship = privacy == "rows" and len(read) <= MOST_READ
    features = feature_facts(reading, table if known is None else known[0], sampled, units or {}, stability, ship)
    return {
        "schema": SCHEMA,
        "title": title or _title(name, table.shape[0] if known is None else known[0].shape[0]),
        "model": _model_facts(reading, reading.estimator),
        "samples": _sample_facts(reading, table, y, known, len(chosen) if ship else 0, privacy),
        "quality": how_good,
        "features": features,
        "basis": basis_facts(reading, sampled, own_y, similarities, share, contrary, samples, ship),
        "rows": _row_facts(reading, samples, data) if ship else None,
        "page": _page_facts(reading, samples, features, column_facts(reading, groups, rows), ship),
        "checks": findings(
            *(reading, table, scores, similarities, share, y, how_good, known, stability, contrary, cancellation)
        ),
        "cautions": _cautions(reading, known, privacy),
        "versions": _versions(),
    }


def _versions() -> dict[str, str]:
    return {
        "spkm": sys.modules["spkm"].__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _title(target: Any, n: int) -> str:
    """Return a title in the user's words: the target and the samples."""
    return f"{target}: a model of {n:,} samples" if isinstance(target, str) and target else f"A model of {n:,} samples"


def _checked_y(reading: Reading, y: TargetLike, n: int, argument: str) -> np.ndarray:
    y = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
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


def _model_facts(reading: Reading, estimator: BaseEstimator) -> dict[str, Any]:
    model = reading.model
    settings = {}
    if hasattr(estimator, "get_params"):
        defaults = type(estimator)().get_params(deep=False)
        own = estimator.get_params(deep=False)
        settings = {k: repr(v)[:200] for k, v in own.items() if repr(v) != repr(defaults.get(k))}
    members = members_of(model)
    return {
        "sentence": sentence(model),
        "formula": formula(model) if model.n_basis * model.n_outputs <= 60 else None,
        "estimator": type(estimator).__name__,
        "recipe": model.recipe,
        "settings": settings,
        "task": "regression" if reading.labels is None else model.target.task,
        "outputs": list(reading.outputs),
        "score_names": [reading.score_name(o) for o in range(model.n_outputs)],
        "classes": None if reading.labels is None else [str(label) for label in reading.labels],
        "problems": None if model.is_joint else list(model.names),
        "intercept": rounded(model.intercept),
        "n_basis": int(model.vector_rows.sum()),
        "labels": basis_labels(model),
        "n_features": model.n_features,
        "n_read": len(reading.read),
        "loss": type(model.loss).__name__,
        "scaled": reading.is_scaled,
        "views": sorted({v.name for m in members for t in m.terms if not t.is_linear_part for v in t.views if v.name}),
    }


def _sample_facts(
    reading: Reading, table: Any, y: np.ndarray | None, train: Any, n_shipped: int, privacy: str
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "n": table.shape[0],
        "n_columns": table.shape[1],
        "n_train": None if train is None else train[0].shape[0],
        "n_shipped": n_shipped,
        "privacy": privacy,
        "target": None,
    }
    if y is not None and np.ndim(y) == 1:
        if reading.labels is not None:
            found["target"] = {"classes": [[str(label), int(np.sum(y == label))] for label in reading.labels]}
        else:
            points = np.percentile(np.asarray(y, dtype=float), [0, 25, 50, 75, 100])
            found["target"] = {"quartiles": rounded(points) if privacy == "rows" else rounded(points[1:4])}
    return found


def _row_facts(reading: Reading, samples: Samples, data: dict[str, Any]) -> dict[str, Any]:
    y = samples.y
    return {
        **data,
        "index": samples.chosen.tolist(),
        "y": None if y is None or np.ndim(y) > 1 else [_plain(value) for value in y[samples.chosen]],
    }


def _page_facts(
    reading: Reading, samples: Samples, features: dict[str, Any], columns: list[dict[str, Any]], ship: bool
) -> dict[str, Any] | None:
    """Return what a page needs to predict and to explain by itself; None if the model is too large for it."""
    model, read = reading.model, reading.read
    if not 0 < len(read) <= MOST_READ:
        return None
    small = model.restricted(read)
    names = tuple(reading.names[c] for c in read)
    try:
        plain = jsonable(plain_model(small, names))
    except TypeError:  # a kernel or a loss of the user's own, which no page can compute
        return None
    shapes = product_shapes(small, names)
    if len(json.dumps([plain, shapes])) > MODEL_BYTES:
        return None
    shown = samples.shown
    middle = usual_row(np.array([feature["median"] for feature in features["read"]]), columns, shown)
    if not ship:
        shown = middle[None]
    background = np.unique(np.linspace(0, len(shown) - 1, min(BACKGROUND, len(shown))).round().astype(int))
    probes = shown[:VERIFIED]
    if not ship:
        vectors = np.array(small.basis_vectors)
        probes = np.vstack([middle, np.where(np.isnan(vectors), middle, vectors)[: VERIFIED - 1]])
    scores = small.scores(probes)
    stationary = all(v.kernel.stationary for m in members_of(small) for term in m.terms for v in term.views)
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
        # Where every column is a number of its own, the features say all there is to know.
        "columns": columns if any(_is_special(column) for column in columns) else None,
        "links": link_facts(reading, columns, samples.rows, samples.shown, ship),
        "background": background.tolist() if ship else None,
        "middle": middle.tolist(),
        "familiar": points,
        "verify": {
            "rows": len(probes) if ship else probes.tolist(),
            "scores": scores.tolist(),
            "probabilities": None if P is None else P.tolist(),
            "predictions": [_plain(value) for value in reading.decide(scores)],
        },
    }


def _is_special(column: dict[str, Any]) -> bool:
    return len(column["features"]) > 1 or column["options"] is not None or column["linked"]


def _cautions(reading: Reading, train: Any, privacy: str) -> list[str]:
    found = [
        "A model says what goes with what in its samples, not what causes what: an effect curve is no promise of what "
        "happens when somebody changes a feature.",
        "Shares of variance and what-if values treat features as if they could change independently of one another. "
        "Where features go together, combinations may be shown that cannot occur.",
    ]
    if train is None:
        found.append(
            "Ranges are those of the samples given, which may differ from those of the fit. If the model was fitted on "
            "these samples, its quality is overstated."
        )
    if reading.labels is not None and not reading.has_probabilities:
        found.append("The scores are no probabilities: their loss does not give any.")
    if privacy == "aggregate":
        found.append("No sample is in this file; ranges go from the 1st to the 99th percentile.")
    return found


def _plain(value: object) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(part) for part in value]
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | bool | int | float) else str(value)
