"""From parameters and what users hold to checked parameters and data; labels become signs and weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from spkm._arrays import TableLike, dense
from spkm._checks import generator, n_threads
from spkm._namespaces import on_host
from spkm.core.scaling import check_domain
from spkm.core.targets import Classes, Labels
from spkm.fitting.data import SOME, StreamData, TableData, works_anywhere
from spkm.fitting.monotone import check_monotone, constraints
from spkm.fitting.spec import Spec
from spkm.fitting.views import pair_terms
from spkm.sources import ArraySource, Reader, Summary, summarized
from spkm.tables.pairs import PairInput
from spkm.tables.read import Table, normalized_weight, tell_of_numpy


def class_data(
    params: Mapping[str, Any], X: TableLike, table: Table, groups: np.ndarray | None = None
) -> tuple[Spec, TableData]:
    """Return parameters and data of a classifier; ``table`` was made of the user's X."""
    several = table.y.ndim == 2
    labels, y, weight = known_labels(table.y, table.weight, params.get("class_weight"))
    spec = table_spec(params, X, table, True, several_labels=several, n_classes=len(labels))
    if several and spec.multi_class == "ovo":
        raise ValueError(
            "multi_class='ovo' needs one label for every sample; y is an indicator matrix. Use 'joint' or 'ovr'."
        )
    target = Labels.of(y, weight) if several else Classes.of(labels)
    return spec, TableData.of(spec, table.X, target.encode(y), weight, target, place=table.place, groups=groups)


def number_data(
    params: Mapping[str, Any], X: TableLike, table: Table, groups: np.ndarray | None = None
) -> tuple[Spec, TableData]:
    """Return parameters and data of a regressor; ``table`` was made of the user's X."""
    Y = real_targets(table.y)
    spec = table_spec(params, X, table, False)
    spec.loss.check_target(Y)
    spec.loss.check_whole_target(Y[table.weight > 0])
    shape = {"two_dimensional": table.y.ndim == 2, "place": table.place}
    return spec, TableData.of(spec, table.X, Y, table.weight, groups=groups, **shape)


def table_spec(params: Mapping[str, Any], X: TableLike, table: Table, of_classes: bool, **labels: Any) -> Spec:
    """Return the checked parameters of an estimator of one table, which was made of the user's X."""
    if params.get("monotone") is not None:
        params = {**params, "monotone": constraints(params["monotone"], table)}
    X = X if table.place is None else on_host(X)
    spec = Spec.of(params, X, of_classes, tables=table.attributes["_tables"], **labels)
    if spec.monotone:
        check_monotone(spec)
    if table.place is not None and not works_anywhere(spec):
        tell_of_numpy(table.place, [spec.loss, *(view.kernel for view in spec.views)])
    return spec


def pair_data(
    params: Mapping[str, Any], given: PairInput, left: TableLike | None, right: TableLike | None, of_classes: bool
) -> tuple[Spec, TableData]:
    """Return parameters and data of an estimator of pairs."""
    terms, several = pair_terms(params, given, left, right), given.y.ndim == 2
    spec = Spec.of(params, None, of_classes, several_labels=of_classes and several, terms=terms)
    if of_classes:
        target, Y, weight = encode_classes(given.y, given.weight, params["class_weight"])
        return spec, TableData.of_pairs(spec, given.table, Y, weight, target)
    Y = real_targets(given.y)
    spec.loss.check_target(Y)
    spec.loss.check_whole_target(Y[given.weight > 0])
    return spec, TableData.of_pairs(spec, given.table, Y, given.weight, two_dimensional=several)


def stream_data(params: Mapping[str, Any], reader: Reader, of_classes: bool) -> tuple[Spec, StreamData]:
    """Return parameters and data of a fit whose samples a reader yields in chunks, after one pass over them."""
    spec, summary = stream_summary(params, reader, of_classes)
    if not of_classes:
        return spec, StreamData.of_numbers(spec, reader, summary)
    target = Classes.of(summary.labels)
    factors = class_factors(params["class_weight"], summary.labels, summary.label_weights)
    return spec, StreamData.of_encoded(spec, reader, summary, target, target.encode, factors)


def stream_summary(
    params: Mapping[str, Any], reader: Reader, of_classes: bool, *, with_labels: bool = False
) -> tuple[Spec, Summary]:
    """Return the checked parameters of a fit of chunks, and the summary of one pass over them.

    It has the labels of classes, and ``with_labels`` those of targets that are not classes to the parameters.
    """
    if params["monotone"] is not None:
        raise ValueError(f"monotone needs samples in memory; got {params['monotone']!r}. Fit a sample of them.")
    seed = int(generator(params["random_state"]).integers(2**31))
    scout = ArraySource(np.zeros((1, 1)))
    with scout.threads(n_threads(params["n_jobs"])):
        summary = summarized(reader, seed, of_classes or with_labels, scout)
    if summary.n_rows == 0:
        raise ValueError("sample_weight must be positive for some samples; all are zero.")
    spec = Spec.of(params, summary.kept_X[:SOME], of_classes, n_classes=len(summary.labels))
    _check_streamed(spec, len(summary.labels) > 2)
    check_domain(spec.terms, summary.low[None])
    return spec, summary


def _check_streamed(spec: Spec, many_classes: bool) -> None:
    for asked, name in (
        (spec.selection is not None, "selection='strict'"),
        (spec.has_free_size, "n_basis='auto'"),
        (spec.warm_start, "warm_start=True"),
        (spec.basis == "samples", "basis='samples'"),
        (many_classes and spec.multi_class != "joint", f"multi_class={spec.multi_class!r}"),
    ):
        if asked:
            raise ValueError(
                f"{name} needs samples in memory. Find features or numbers of vectors on a sample of them, then fit "
                "all samples without it."
            )


def real_targets(y: np.ndarray) -> np.ndarray:
    """Return targets as numbers, (n, m)."""
    try:
        if y.dtype.kind in "mM":  # NumPy would count their nanoseconds
            raise TypeError("dates and times are no numbers")
        Y = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y must hold numbers, as a dense array of shape (n_samples,) or (n_samples, n_outputs); "
            f"got {type(y).__name__} of dtype {y.dtype}. For labels use SPKMClassifier."
        ) from error
    if not np.isfinite(Y).all():  # scikit-learn does not look into arrays of objects
        raise ValueError(f"y must hold finite numbers; got {Y[~np.isfinite(Y)][0]}.")
    return Y.reshape(len(Y), -1)


#: Weights of classes by label, "balanced", or None.
ClassWeight = Mapping[Any, float] | str | None


def encode_classes(
    y: np.ndarray | sparse.spmatrix, weight: np.ndarray, class_weight: ClassWeight
) -> tuple[Classes | Labels, np.ndarray, np.ndarray]:
    """Return the meaning of labels, their signs (n, m), and the weights, as :func:`known_labels` does."""
    labels, known, weight = known_labels(y, weight, class_weight)
    target = Labels.of(known, weight) if y.ndim == 2 else Classes.of(labels)
    return target, target.encode(known), weight


def known_labels(
    y: np.ndarray | sparse.spmatrix, weight: np.ndarray, class_weight: ClassWeight
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the labels, y with a label for every sample, or as a dense indicator, and the weights times the classes'.

    Parameters
    ----------
    y : ndarray of shape (n,) or (n, n_labels), or sparse
        One label for each sample, or an indicator matrix.
    weight : ndarray of shape (n,)
        Weights of the samples.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    """
    if y.ndim == 2:
        if class_weight is not None:
            raise ValueError(
                f"class_weight is for one label for every sample; got {class_weight!r} and an indicator matrix as y. "
                "Use sample_weight."
            )
        indicator = dense(y)
        return np.arange(indicator.shape[1]), indicator, weight
    try:
        # A class whose samples all have weight zero is as absent as if the samples were not there.
        classes = np.unique(y[weight > 0])
    except TypeError as error:  # labels that cannot be ordered
        kinds = sorted({type(label).__name__ for label in y})
        raise TypeError(f"y must hold labels of one type, without None; got {', '.join(kinds)}.") from error
    check_classification_targets(y)
    known = np.isin(y, classes)
    weight = np.where(known, weight, 0.0)
    y = np.where(known, y, classes[0])
    code = np.searchsorted(classes, y)
    factors = class_factors(class_weight, classes, np.bincount(code, weight, len(classes)))
    if factors is not None:
        weight = normalized_weight(weight * factors[code], float(weight.sum()))
    return classes, y, weight


def class_factors(class_weight: ClassWeight, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
    """Return the factor on the weights of each class; None if there is none.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes, as the user gives them; labels that a dict does not name have weight one.
    labels : ndarray
        The classes.
    weights : ndarray or None
        Sums of the weights of each class's samples; None if they are not known.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        if weights is None:
            raise ValueError(
                f"class_weight={class_weight!r} needs the shares of all classes; partial_fit takes a dict of numbers."
            )
        return np.asarray(weights.sum() / (len(labels) * weights))
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None; got {class_weight!r}.")
    known = labels.tolist()
    missing, unknown = [v for v in known if v not in class_weight], [v for v in class_weight if v not in known]
    if missing and unknown:
        raise ValueError(f"class_weight must name classes of y, {known}; got {unknown}.")
    factors = np.array([float(class_weight.get(label, 1.0)) for label in known])
    if not np.all(factors > 0):
        raise ValueError(
            f"class_weight must hold positive numbers; got {class_weight!r}. Leave a class out by sample_weight."
        )
    return factors
