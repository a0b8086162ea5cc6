"""A model in words and in tables: summary, formula, frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._checks import check_integer
from spkm.core.fitted import FittedModel, FittedView, ModelEnsemble
from spkm.explain._bars import LEVEL, half_width, over_refits, vector_stability
from spkm.explain._cautions import cancellation_text, contrary_vectors
from spkm.explain._effects import partial_dependence
from spkm.explain._sheet import Sheet
from spkm.explain._sobol import shares_of_variance, sobol_indices
from spkm.explain._structure import players_of
from spkm.explain._table import (
    Named,
    Pipeline,
    basis_labels,
    entry_text,
    fitted_part,
    frames,
    names_apart,
    output_names,
    vector_terms,
)
from spkm.kernels import DotForm, Kernel
from spkm.tables.encoded import Encoding
from spkm.tables.read import target_array

TELLING = 3  # features named for each basis vector
MOST_ROWS = 20  # basis vectors and features listed
BACKGROUND = 500  # samples that effects and indices are computed on


def _directions(estimator: BaseEstimator) -> list[str]:
    """Return a sentence on the constraints of direction that a model was fitted with."""
    found = fitted_part(estimator, "monotone_", {})
    words = [f"{'rises' if sign > 0 else 'falls'} with {feature}" for feature, sign in found.items()]
    return [f"By construction the score {', '.join(words)}, whatever the other features are."] if words else []


def summary(estimator: BaseEstimator, X: Any = None, y: Any = None, *, width: int = 120) -> Sheet:
    """Return a description of a fitted model that fits a terminal, and that notebooks show with its tables.

    Words of caution first, if contributions cancel or a weight contradicts the samples; a sentence on the model; a row
    for each basis vector with its weights, the row of the nearest training sample with its distance
    (``nearest_samples_``) and the features that set the vector apart most, in the user's units; with samples also its
    share of the variance of the scores, how many samples it is the most like, the classes that activate it, and a row
    for each feature with its part in the variance and the direction of its effect.

    Parameters
    ----------
    estimator : estimator, pipeline or FittedModel
        A fitted estimator, a pipeline that ends with one, or its ``model_``.
    X, y : table of shape (n, d) and targets, default=None
        Samples, for what cannot be read off the model alone; of a pipeline what its first step takes.
    width : int, default=120
        Sentences are wrapped at it, rows of tables are cut off.

    Returns
    -------
    sheet : Sheet
        A string, with the tables in it as rows of cells.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.explain import summary
    >>> X, y = load_iris(return_X_y=True)
    >>> print(summary(SPKMClassifier(n_basis=3, random_state=0).fit(X, y)).splitlines()[0])
    3 basis vectors with the kernel RBF ... 4 of 4 features; scores for 0, 1, 2.
    """
    pipeline = Pipeline.of(estimator)
    last, model, names = pipeline.estimator, pipeline.model, pipeline.names
    X = None if X is None else pipeline.rows(X)
    y = None if y is None else target_array(y)
    check_integer("width", width, 20)
    similarities = None if X is None else model.similarities(X)
    said = [*_cautions(last, model, similarities, y), _sentence(model, pipeline.encoding), *_directions(last)]
    said += [f"Fitted by the recipe {model.recipe!r}."] if model.recipe else []
    said += [*_chosen(last, model, names), *_how_sure(model)]
    parts = [*said, *_basis_table(pipeline, similarities, y)]
    if X is not None:
        parts += _feature_table(pipeline, X)
    return Sheet.of(parts, width)


def _how_sure(model: FittedModel | ModelEnsemble) -> list[str]:
    """Return how stable the basis vectors are over refits, and the meaning of error bars; nothing without refits."""
    if not model.refits or not model.vector_rows.any():
        return []
    found = vector_stability(model)
    least = int(np.argmin(found.similarity))
    steady = int(np.sum(np.all(found.same_sign[:, found.weight_std.max(axis=0) > 0] == 1.0, axis=1)))
    return [
        f"{len(model.refits)} refits with random weights of the samples: a basis vector stays at a similarity of "
        f"{np.median(found.similarity):.2f} in the median ({found.names[least]} at {found.similarity[least]:.2f}), and "
        f"{steady} of {len(found.names)} keep the sign of their weights. Explanations have error bars: variation over "
        "other samples, without the bias that all refits share."
    ]


def _chosen(estimator: BaseEstimator, model: FittedModel | ModelEnsemble, names: tuple[str, ...]) -> list[str]:
    """Return how often halves of the samples, or folds of the search, chose the features that the model reads."""
    halves, folds = (fitted_part(estimator, name) for name in ("half_frequency_", "fold_frequency_"))
    read = model.features_read()
    shares = folds if halves is None else halves
    if shares is None or len(read) == 0:
        return []
    listed = ", ".join(f"{names[j]} {shares[j]:.0%}" for j in read[:MOST_ROWS])
    more = f" and {len(read) - MOST_ROWS} more" if len(read) > MOST_ROWS else ""
    if halves is not None:
        return [
            f"Chosen again on random halves of the samples: {listed}{more}. A feature that few halves choose is one of "
            "several that would do. spkm.stability_selection draws more halves, and bounds the false ones."
        ]
    return [
        f"Chosen by the folds of the search: {listed}{more}. Folds share most of their samples: new samples would "
        "choose a feature less often. See spkm.stability_selection, which draws halves."
    ]


def formula(estimator: BaseEstimator, digits: int = 4) -> Sheet:
    """Return the model as a formula, a line for each output, with its kernels and its linear part below.

    Parameters
    ----------
    estimator : estimator, pipeline or FittedModel
        A fitted estimator, a pipeline that ends with one, or its ``model_``.
    digits : int, default=4
        Significant digits.

    Returns
    -------
    sheet : Sheet
        A string, in lines.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from spkm import SPKMRegressor
    >>> from spkm.explain import formula
    >>> X, y = load_diabetes(return_X_y=True)
    >>> print(formula(SPKMRegressor(n_basis=2, random_state=0).fit(X, y), digits=1).splitlines()[0][:6])
    f(x) =
    """
    pipeline = Pipeline.of(estimator)
    model, names = pipeline.model, pipeline.names
    members = model.members
    several = sum(not term.is_linear_part for member in members for term in member.terms) > 1
    lines: list[str] = []
    kernels: list[str] = []
    slopes: list[str] = []
    labels = iter(basis_labels(model))
    for member in members:
        parts: list[tuple[int, str]] = []
        for term in member.terms:
            kernel = f"k{len(kernels) + 1}" if several else "k"
            if not term.is_linear_part:
                kernels.append(f"{kernel}: {' × '.join(_kernel_text(view, digits) for view in term.views)}")
            for r in range(term.rows.start, term.rows.stop):
                label = next(labels)
                linear = "w·x" if model.n_outputs == 1 else f"w{len(lines) + r - term.rows.start}·x"
                text = linear if term.is_linear_part else f"{kernel}(x, {label})"
                if term.is_linear_part:
                    slopes.append(f"{linear} = {_slopes(member, r, names, digits)}")
                parts.append((r, text))
        for o in range(member.n_outputs):
            name = "f" if model.n_outputs == 1 else f"f{len(lines)}"
            weights = member.weights[:, o]
            terms = [
                f"+ {text}" if text.startswith("w") else f"{weights[r]:+.{digits}g} {text}"
                for r, text in parts
                if weights[r] != 0
            ]
            lines.append(f"{name}(x) = {member.intercept[o]:.{digits}g} {' '.join(terms)}")
    scaled = any(member.scaling is not None for member in members)
    note = ["features are centred, scaled and clipped first (model_.scaling)"] if scaled else []
    return Sheet("\n".join([*lines, *kernels, *slopes, *note]))


def _slopes(member: FittedModel, row: int, names: tuple[str, ...], digits: int) -> str:
    """Return the linear part of one output in the user's units: a constant and a slope for each feature."""
    vector = np.nan_to_num(np.asarray(member.basis_vectors[row], dtype=float))
    scaling, places = member.scaling, member.features
    centre, size = np.zeros(len(vector)), np.ones(len(vector))
    if scaling is not None:
        centre[places], size[places] = scaling.center, scaling.scale
    order = [c for c in np.argsort(-np.abs(vector * size), kind="stable") if vector[c] != 0]
    shown = [f"[{name}]" if " " in name else name for name in names]
    terms = [f"{vector[c]:+.{digits}g} {shown[c]}" for c in order[:MOST_ROWS]]
    more = [f"+ {len(order) - MOST_ROWS} more"] if len(order) > MOST_ROWS else []
    constant = -float(vector @ centre)
    constant = constant if abs(constant) > 1e-12 * np.abs(vector * size).sum() else 0.0  # rounding of centred features
    return " ".join([f"{constant:.{digits}g}", *terms, *more])


def to_frame(estimator: BaseEstimator) -> Any:
    """Return the basis vectors as a pandas frame: weights, then the features that the model reads, in user's units.

    A feature of the name of a column of weights stands as ``feature weight``.

    Parameters
    ----------
    estimator : estimator, pipeline or FittedModel
        A fitted estimator, a pipeline that ends with one, or its ``model_``.

    Returns
    -------
    frame : pandas.DataFrame
        A row for each basis vector and linear part.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.explain import to_frame
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SPKMClassifier(n_basis=3, random_state=0).fit(X, y)
    >>> list(to_frame(model).columns)
    ['weight 0', 'weight 1', 'weight 2', 'x0', 'x1', 'x2', 'x3']
    """
    pipeline = Pipeline.of(estimator)
    model, names = pipeline.model, pipeline.names
    read = model.features_read()
    outputs = output_names(model)
    weights = {
        "weight" if len(outputs) == 1 else f"weight {name}": model.weights[:, o] for o, name in enumerate(outputs)
    }
    titles = names_apart([names[c] for c in read], weights, "feature")
    features = {title: model.basis_vectors[:, c] for title, c in zip(titles, read, strict=True)}
    return frames().DataFrame(weights | features, index=basis_labels(model))


def telling_features(model: FittedModel | ModelEnsemble) -> list[np.ndarray]:
    """Return for each basis vector the user's columns, those first that set it apart most.

    For stationary kernels by the weighted squared distance from the centre of the samples, for others by the size of
    the entry.
    """
    found = []
    for member in model.members:
        for term in member.terms:
            size = np.zeros((term.rows.stop - term.rows.start, model.n_features))
            for view in term.views:
                scaling = member.scaling if view.kernel.stationary else None
                centre = 0.0 if scaling is None else scaling.middle[view.columns]
                own = (view.basis - centre) ** 2 * _metric(view)
                size[:, member.features[view.columns]] += own / max(own.max(initial=0.0), 1e-300)
            for row in size:
                order = np.argsort(-row, kind="stable")
                found.append(order[row[order] > 0])
    return found


def _metric(view: FittedView) -> np.ndarray:
    """Return the weight of each column in the kernel's metric, up to a factor."""
    forms = view.kernel.rkhs().forms()
    width = np.ones(len(view.columns))
    if forms is None:
        return width
    (form, *_) = forms
    if isinstance(form, DotForm):
        return width * form.rates
    return width * (np.abs(form.amounts) @ (form.squared + form.absolute))


def _sentence(model: FittedModel, encoding: Encoding | None = None) -> str:
    """Return what a model is made of; after an encoder with the columns of its table."""
    members = model.members
    views = [view for member in members for term in vector_terms(member) for view in term.views]
    kernels = list(dict.fromkeys(kernel_name(view.kernel) for view in views))
    outputs, read = output_names(model), f"{len(model.features_read())} of {model.n_features} features"
    if encoding is not None:
        groups, used = encoding.column_groups(), set(model.features_read().tolist())
        read = f"{sum(bool(used & set(own.tolist())) for own in groups.values())} of {len(groups)} columns"
    is_vector = model.vector_rows
    count = int(is_vector.sum())
    vectors = f"{count} basis vector{'s' * (count != 1)}"
    linear = " and a linear part" if count < len(is_vector) else ""
    problems = f" in {len(members)} binary problems" if len(members) > 1 else ""
    kernel = f"the kernel {kernels[0]}" if len(kernels) == 1 else f"the kernels {', '.join(kernels)}"
    listed = ", ".join(outputs[:6]) + (f" and {len(outputs) - 6} more" if len(outputs) > 6 else "")
    if not model.target.of_classes:
        what = model.loss.prediction if len(outputs) == 1 else f"{len(outputs)} numbers"
        scores = f"predicts {what}" + (" by the exponential of the score" if model.loss.link == "exp" else "")
    elif model.target.task == "ordered":
        scores = f"one score for ordered classes, {' < '.join(map(str, model.target.labels))}"
    elif len(outputs) == 1:
        scores = f"a positive score is {model.target.labels[1]}, else {model.target.labels[0]}"
    else:
        scores = f"scores for {listed}"
    return f"{vectors}{problems} with {kernel}{linear} on {read}; {scores}."


def _cautions(estimator: BaseEstimator, model: FittedModel, similarities: Any, y: Any) -> list[str]:
    """Return why basis vectors cannot be read one by one, if there is a reason."""
    found = [cancellation_text(fitted_part(estimator, "cancellation_", 1.0))]
    if similarities is not None and y is not None:
        found += [one.text for one in contrary_vectors(model, similarities, y)]
    return [f"Caution: {text}" for text in found if text]


def _basis_table(pipeline: Pipeline, similarities: np.ndarray | None, y: Any) -> list[Any]:
    """Return a table with a row for each basis vector and linear part, and notes on those that it leaves out."""
    model, is_vector = pipeline.model, pipeline.model.vector_rows
    largest = np.argmax(np.abs(model.weights), axis=1)
    outputs = [f" ({name})" if model.n_outputs > 1 else "" for name in output_names(model)]
    weights = [f"{own[o]:.3g}{outputs[o]}" for own, o in zip(model.weights, largest, strict=True)]
    columns = {"": basis_labels(model), "weight": _of_vectors(weights, is_vector)}
    nearest = _nearest(pipeline.estimator, is_vector)
    if nearest is not None:
        columns["nearest sample"] = nearest
    if similarities is not None:
        columns |= _activity(model, similarities, y)
    columns["most telling features"] = _telling_texts(pipeline)
    alive = is_vector & np.any(model.weights != 0, axis=1)
    shown = [*np.flatnonzero(alive)[:MOST_ROWS], *np.flatnonzero(~is_vector)[:MOST_ROWS]]
    left, dead = int(alive.sum()) - MOST_ROWS, int((is_vector & ~alive).sum())
    more = [f"... and {left} more basis vectors"] if left > 0 else []
    more += [f"... and {dead} basis vector{'s' * (dead > 1)} of weight 0, which no score reads"] if dead else []
    return [[list(columns), *([column[r] for column in columns.values()] for r in shown)], *more]


def _of_vectors(cells: Iterable[str], is_vector: np.ndarray) -> list[str]:
    """Return the cells of a column without those of linear parts."""
    return [cell if vector else "" for cell, vector in zip(cells, is_vector, strict=True)]


def _telling_texts(pipeline: Pipeline) -> list[str]:
    """Return the features that set each basis vector apart most, and the largest slopes of a linear part."""
    model, names, found = pipeline.model, pipeline.names, []
    for telling, vector, is_vector in zip(telling_features(model), model.basis_vectors, model.vector_rows, strict=True):
        chosen = _by_column(telling, vector, pipeline.encoding) if is_vector else telling
        own = [(names[c], vector[c]) for c in chosen[:TELLING]]
        found.append(", ".join(entry_text(c, f"{v:.4g}") if is_vector else f"{c} {v:+.3g} a unit" for c, v in own))
    return found


def _by_column(telling: np.ndarray, vector: np.ndarray, encoding: Encoding | None) -> list[int]:
    """Return telling features, of a category its level with the largest entry, of indicators of gaps those near 1."""
    if encoding is None:
        return [int(c) for c in telling]
    groups, origins = encoding.column_groups(), encoding.origins
    found: dict[str, int] = {}
    for c in telling:
        origin = origins[c]
        if encoding.kind(origin.column) == "category":
            columns = groups[origin.column]
            found.setdefault(origin.column, int(columns[np.nanargmax(vector[columns])]))
        elif origin.kind != "missing" or vector[c] >= 0.5:
            found.setdefault(f"{origin.column} {origin.kind}", int(c))
    return list(found.values())


def _nearest(estimator: BaseEstimator, is_vector: np.ndarray) -> list[str] | None:
    """Return the nearest training sample of each basis vector and its distance; None if they are not known."""
    rows, distances = (fitted_part(estimator, name) for name in ("nearest_samples_", "nearest_distances_"))
    if rows is None or distances is None or len(rows) != is_vector.sum():
        return None
    told = iter(f"{row} ({distance:.2g})" for row, distance in zip(rows, distances, strict=True))
    return [next(told) if vector else "" for vector in is_vector]


def variance_shares(model: FittedModel | ModelEnsemble, similarities: np.ndarray) -> np.ndarray:
    """Return each basis vector's share of the variance of the scores; they sum to one."""
    contributions = similarities[:, :, None] * model.weights
    contributions = contributions - contributions.mean(axis=0)
    scores = contributions.sum(axis=1)
    variance = float(np.square(scores).sum())
    return np.einsum("nrm,nm->r", contributions, scores) / variance if variance > 0 else np.zeros(model.n_basis)


def _activity(model: FittedModel | ModelEnsemble, similarities: np.ndarray, y: Any) -> dict[str, list[str]]:
    """Return columns: each basis vector's share of the scores' variance, its samples, and its classes."""
    spread = similarities.std(axis=0)
    relative = (similarities - similarities.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    is_stationary = all(v.kernel.stationary for m in model.members for term in vector_terms(m) for v in term.views)
    likeness = np.where(model.vector_rows, similarities if is_stationary else relative, -np.inf)
    count = np.bincount(np.argmax(likeness, axis=1), minlength=model.n_basis)
    columns = {"variance": [f"{share:.0%}" for share in variance_shares(model, similarities)]}
    columns["samples"] = _of_vectors(map(str, count), model.vector_rows)
    if y is not None and model.target.of_classes and np.ndim(y) == 1:
        present = [label for label in model.target.labels if np.any(y == label)]
        means = np.array([similarities[y == label].mean(axis=0) for label in present])
        active = means > 0.5 * (means.max(axis=0) + means.min(axis=0))
        classes = [", ".join(str(present[k]) for k in np.flatnonzero(column)) for column in active.T]
        columns["classes"] = _of_vectors(classes, model.vector_rows)
    return columns


def _feature_table(pipeline: Pipeline, X: Any) -> list[Any]:
    """Return a table with a row for each feature, after an encoder for each column of its table, and a note."""
    estimator, model, names = Named(pipeline.model, pipeline.names), pipeline.model, pipeline.names
    rows = X[:: max(1, X.shape[0] // BACKGROUND)]
    titles, members = players_of(names, pipeline.groups(None))
    groups = {title: own for title, own in zip(titles, members, strict=True) if len(own) > 1}
    indices = sobol_indices(estimator, rows, groups=groups)
    share = shares_of_variance(indices)
    order = [c for c in np.argsort(-share, kind="stable") if share[c] > 0][:MOST_ROWS]
    alone = indices.first @ indices.variance / max(indices.variance.sum(), 1e-300)
    bars = over_refits(model, lambda refit: shares_of_variance(sobol_indices(refit, rows, groups=groups)))
    place = {name: j for j, name in enumerate(names)}  # a number that may be missing has a column of its name
    curves = [place[titles[c]] for c in order if titles[c] in place]
    effects = partial_dependence(estimator, rows, curves, n_points=30)
    shapes = {
        effect.feature_names[0]: " ".join(map(direction, effect.values.T[: min(model.n_outputs, 10)]))
        for effect in effects
    }
    table = [["feature", "variance", "alone", "effect"]]
    for c in order:
        bar = "" if bars is None else f" ± {half_width(len(model.refits), LEVEL) * bars[c]:.0%}"
        table.append([titles[c], f"{share[c]:.0%}{bar}", f"{alone[c]:.0%}", shapes.get(titles[c], "by level")])
    note = "variance: share with a part of the feature, and by it alone, if features were independent"
    note += "" if indices.exact else " (estimated)"
    note += "" if bars is None else f"; ± {LEVEL:.0%} error bars"
    read = set(model.features_read().tolist())
    left = sum(any(int(j) in read for j in own) for own in members) - len(order)
    return [table, *([f"... and {left} more features"] if left > 0 else []), note]


def direction(values: np.ndarray) -> str:
    """Return the shape of an effect: rises, falls, peak, valley, mixed or none."""
    spread = values.max() - values.min()
    if spread <= 1e-9 * np.abs(values).max():
        return "none"
    steps = np.diff(values)
    steps = np.sign(steps[np.abs(steps) > 0.01 * spread])
    runs = [int(s) for k, s in enumerate(steps) if k == 0 or s != steps[k - 1]]
    return {(1,): "rises", (-1,): "falls", (1, -1): "peak", (-1, 1): "valley"}.get(tuple(runs), "mixed")


def kernel_name(kernel: Kernel) -> str:
    return type(kernel.inner).__name__  # learned relevances or 2k - 1 are around it


def _kernel_text(view: FittedView, digits: int) -> str:
    kernel, inner = view.kernel, view.kernel.inner
    values = {k: v for k, v in inner.get_params(deep=False).items() if isinstance(v, int | float)}
    text = f"{type(inner).__name__}({', '.join(f'{k}={v:.{digits}g}' for k, v in values.items())})"
    if kernel.is_per_feature:
        text += " with a relevance for each feature"
    if kernel.shifted:
        text = f"2 {text} - 1"
    return f"{text} on {view.name}" if view.name else text
