"""From samples to a fitted pipeline, and the models that it is measured against."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from spkm.cli._output import fit_progress, notes, say
from spkm.cli._quality import Quality
from spkm.cli._reading import data_error
from spkm.cli._samples import Samples, split
from spkm.cli._tasks import TASKS
from spkm.tables import TableEncoder

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from spkm._arrays import TableLike

OURS = "spkm"  # the name of the model in tables
INNER_SHARE, PERMUTATIONS = 0.25, 3  # of the samples to learn from that order columns; how often each is permuted


@dataclass(frozen=True)
class Settings:
    """Choices of the user.

    Attributes
    ----------
    seed : int
        Seed of the fit.
    categorical : list of str
        Columns of codes.
    n_features : int or None
        Largest number of columns of the table that the model may read.
    parameters : dict
        Parameters of the estimator; all others have their defaults.
    monotone : dict from a column to 1 or -1
        Columns with which the prediction must rise or fall.
    """

    seed: int
    categorical: list[str] = field(default_factory=list)
    n_features: int | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    monotone: dict[str, int] = field(default_factory=dict)


def fit_pipeline(samples: Samples, settings: Settings) -> tuple[Pipeline, dict[str, Any]]:
    """Return the fitted pipeline of an encoder and a model, and remarks on the way there."""
    given = {**settings.parameters, "random_state": settings.seed, "verbose": 1}
    model: Any = TASKS[samples.task].model(samples, given)
    categorical, n_features = settings.categorical, settings.n_features
    encoder, Z = _encoded(samples.X, categorical)
    model.set_params(monotone=_directions(encoder, settings.monotone, samples) or None)
    told: dict[str, Any] = {"columns_dropped": _dropped(encoder), "encoder_notes": list(encoder.notes_)}
    if n_features is not None and n_features < len(encoder.column_groups()):
        # Columns are chosen without directions, which no selection has; the model of those that are chosen has them.
        chosen = select_columns(samples, encoder, Z, clone(model).set_params(monotone=None), n_features)
        told["columns_selected"] = chosen
        encoder, Z = _encoded(samples.X[chosen], [name for name in categorical if name in chosen])
        told["encoder_notes"] = list(encoder.notes_)
        kept = {name: sign for name, sign in settings.monotone.items() if name in chosen}
        model.set_params(monotone=_directions(encoder, kept, samples) or None)
    try:
        with fit_progress("fit"):
            model.fit(Z, samples.y, **_together(samples))
    except ValueError as error:
        raise data_error(str(error)) from error
    told["interrupted"] = bool(model.model_.interrupted)
    model.set_params(verbose=0)
    return Pipeline([("encoder", encoder), ("model", model)]), told


def _together(samples: Samples) -> dict[str, Any]:
    """Return the groups as a keyword of ``fit``, if its own folds can keep them together: two or more."""
    if samples.groups is None or not TASKS[samples.task].has_groups or len(set(samples.groups.tolist())) < 2:
        return {}
    return {"groups": samples.groups}


def _encoded(X: TableLike, categorical: list[str]) -> tuple[TableEncoder, Any]:
    try:
        encoder = TableEncoder(categorical=categorical or None).fit(X)
        if not encoder.is_sparse_:
            encoder.set_output(transform="pandas")  # the model then has the names of its features
        return encoder, encoder.transform(X)
    except (TypeError, ValueError) as error:
        raise data_error(f"{error} Columns are left out by --drop.") from error


def _directions(encoder: TableEncoder, monotone: dict[str, int], samples: Samples) -> dict[int, int]:
    """Return the places of the features that are monotone, each with its direction."""
    found = {}
    for name, sign in monotone.items():
        if name not in samples.X.columns:
            raise data_error(f"--monotone {name!r}: there is no such column, or it is left out of the features.")
        places = [j for j in encoder.column_groups().get(name, ()) if encoder.feature_origin_[j].kind == "number"]
        if not places:
            raise data_error(f"--monotone {name!r} needs a column of different numbers; this one is none.")
        found[int(places[0])] = sign
    return found


def _dropped(encoder: TableEncoder) -> list[str]:
    kept = encoder.column_groups()
    return [name for name in encoder.columns_ if name not in kept]


def select_columns(
    samples: Samples, encoder: TableEncoder, Z: np.ndarray, model: BaseEstimator, n_features: int
) -> list[str]:
    """Return at most ``n_features`` columns of the table, first by a strict selection, then by held-out samples.

    The budget of a strict selection is in encoded columns: it is what the n widest columns of the table have. If
    more than n are left, half of those too many leave at a time, by how much worse a model does on held-out samples
    when the column is permuted there.
    """
    groups = encoder.column_groups()
    widths = sorted((len(places) for places in groups.values()), reverse=True)
    selection = clone(model).set_params(
        selection="strict", feature_groups=encoder.groups_, max_features=sum(widths[:n_features])
    )
    with fit_progress("selection"):
        try:
            selection.fit(Z, samples.y, **_together(samples))
        except ValueError as error:
            raise data_error(str(error)) from error
        kept = set(encoder.groups_[selection.selected_features_])
        chosen = [name for name, places in groups.items() if encoder.groups_[places[0]] in kept]
        inner, outer = split(samples, INNER_SHARE, seed=0)
        values = Z if sparse.issparse(Z) else np.asarray(Z)
        while len(chosen) > n_features:
            leaving = (len(chosen) - n_features + 1) // 2
            worse = _losses_without(model, values, samples, inner, outer, {name: groups[name] for name in chosen})
            order = sorted(chosen, key=lambda name: worse[name])
            chosen = [name for name in chosen if name not in order[:leaving]]
    if not chosen:
        raise data_error(
            "no column predicts the target better than a constant by more than chance, so --features has none to keep. "
            "Leave --features out, or bring more samples."
        )
    say(f"selected {len(chosen)} of {len(groups)} columns: {', '.join(chosen)}.")
    return chosen


def _losses_without(
    model: BaseEstimator,
    Z: np.ndarray,
    samples: Samples,
    inner: np.ndarray,
    outer: np.ndarray,
    groups: dict[str, np.ndarray],
) -> dict[str, float]:
    """Return the held-out loss of a model of some columns when each of them is permuted among held-out samples."""
    places = np.sort(np.concatenate(list(groups.values())))
    fitted = clone(model).fit(Z[inner][:, places], samples.y[inner], **_together(samples.at(inner)))
    held_out, rng = Z[outer][:, places], np.random.default_rng(0)
    orders = [rng.permutation(len(outer)) for _ in range(PERMUTATIONS)]
    losses = {}
    for name, columns in groups.items():
        where, total = np.searchsorted(places, columns), 0.0
        for order in orders:
            mixed = held_out.tolil(copy=True) if sparse.issparse(held_out) else held_out.copy()
            mixed[:, where] = held_out[order][:, where]
            seen = mixed.tocsr() if sparse.issparse(mixed) else mixed
            total += TASKS[samples.task].loss(fitted, seen, samples.at(outer))
        losses[name] = total / PERMUTATIONS
    return losses


def compared(pipeline: Pipeline, train: Samples, test: Samples, seed: int) -> Quality:
    """Return the quality of the model, of a linear one and of a constant on held-out samples."""
    encoder, model = pipeline.steps[0][1], pipeline.steps[-1][1]
    Z, Z_test = (encoder.transform(part.X[encoder.columns_]) for part in (train, test))
    task = TASKS[train.task]
    with notes():
        models = {OURS: model, **task.baselines(Z, train)}
    return task.quality(models, dict.fromkeys(models, Z_test), test, seed)


def advice(quality: Quality, samples: Samples, settings: Settings) -> list[str]:
    """Return warnings that a model is worse than a simpler one, and possible remedies; mostly there are none.

    A constant is compared by the value of the loss, the linear model by the interval of the difference: a model that
    is as good as a linear one up to chance is no reason to warn.
    """
    measure = TASKS[samples.task].measure
    found = []
    own = {name: values[measure] for name, values in quality.values.items()}
    if not own[OURS] < own["constant"]:
        found.append(f"worse than a constant: {measure} {own[OURS]:.4g}, where the constant has {own['constant']:.4g}")
    _, low, _ = quality.difference(OURS, "linear", measure)
    if low > 0:
        found.append(f"clearly worse than a linear model: {measure} {own[OURS]:.4g}, linear {own['linear']:.4g}")
    if not found:
        return []
    n, d = samples.X.shape
    tries = []
    if own["linear"] < min(own[OURS], own["constant"]):
        tries.append("use the linear model, which is better here")
    given = [f"--{name}" for name, on in (("features", settings.n_features), ("monotone", settings.monotone)) if on]
    given += ["--vectors"] if "n_basis" in settings.parameters else []
    if given:
        tries.append(f"leave out {' and '.join(given)}")
    if d > 20 and "scale" not in settings.parameters:
        tries.append("--scale common, if all columns have one unit, as spectra and pixels do")
    if d > 5 and not settings.n_features:
        tries.append("--features 5, if few columns matter")
    if samples.groups is None:
        tries.append("--groups COLUMN, if several samples come from one subject, batch or specimen")
    tries.append(f"more samples (there are {n:,}), or columns that say more of the target")
    return [*(f"the model is {text}." for text in found), f"To try: {'; '.join(tries)}."]
