"""Fitted estimators as model files, and back."""

from __future__ import annotations

import hashlib
import re
import sys
import warnings
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from spkm import estimators
from spkm._arrays import with_shape
from spkm._frames import has_types
from spkm._publish import PRIVATE, feature_names, publish
from spkm.fitting.outcome import model_attributes
from spkm.persistence._check_plain import check_normalization
from spkm.persistence._container import ModelFileError, need, packed, write_bytes
from spkm.persistence._load import FILE_SCHEMA, WHOLE, from_bytes
from spkm.persistence._monitor import summarize
from spkm.persistence._objects import READERS, growth, read_model, same, write_model, write_object
from spkm.persistence._pipelines import (
    output_of,
    read_encoder,
    read_pipeline,
    set_output,
    write_encoder,
    write_pipeline,
)
from spkm.persistence._plain import plain_model
from spkm.persistence._values import Reader, Unsavable, Writer
from spkm.tables import TableEncoder
from spkm.tables.pairs import Entities
from spkm.tables.pipelines import is_pipeline, last_of, with_last

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from spkm._arrays import FileName, TableLike

#: The version; not imported, as the package above all others imports this one.
LIBRARY: str = sys.modules["spkm"].__version__
ESTIMATORS: dict[str, Any] = {
    name: getattr(estimators, name)
    for name in (
        "PairwiseSPKMClassifier PairwiseSPKMRegressor SPKMCCA SPKMClassifier SPKMClassifierCV SPKMNystroem "
        "SPKMOrdinalClassifier SPKMRegressor SPKMRegressorCV SPKMSelector SPKMSurvival"
    ).split()
}
ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]*_")
RENAMED = {"selection_frequency_": "fold_frequency_"}  # attributes of files of version 0.2
PAIRS = ("tables", "layouts", "pair_names", "terms", "entity_names")


def save(estimator: BaseEstimator, path: FileName, *, data: TableLike | None = None, metrics: Any = None) -> None:
    """Write a fitted estimator to a model file, at once and without pickle.

    Parameters
    ----------
    estimator : fitted estimator or Pipeline
        Any of this library, or a pipeline of scikit-learn whose steps are of this library.
    path : str or path
        File to write; by custom its name ends with ".spkm".
    data : array, DataFrame or sparse matrix, default=None
        The samples of the fit: a fingerprint of them, the dtypes of their columns and a summary for ``monitor`` go into
        the file, not they.
    metrics : dict of str to numbers or strings, default=None
        Further facts for the file, such as scores on held-out samples. :func:`describe` reads it.

    Examples
    --------
    >>> import tempfile
    >>> from spkm import SPKMClassifier, load
    >>> model = SPKMClassifier(n_basis=2, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.spkm")
    ...     load(f"{folder}/model.spkm").predict([[0.0], [3.0]])
    array([0, 1])
    """
    write_bytes(path, to_bytes(estimator, data=data, metrics=metrics))


def to_bytes(estimator: BaseEstimator, *, data: TableLike | None = None, metrics: Any = None) -> bytes:
    """Return what :func:`save` writes."""
    check_is_fitted(estimator)
    writer = Writer(_special)
    last = last_of(estimator)
    if data is not None and hasattr(last, "monitor"):  # the last step of a pipeline may be a transformer
        last = copy(last)
        last.training_summary_ = summarize(estimator, data)
        estimator = with_last(estimator, last)
    names = feature_names(estimator)
    found = {name: vars(last)[name] for name in ("n_iter_", "objective_") if name in vars(last)}
    try:
        document = {
            "schema": FILE_SCHEMA,
            "library": LIBRARY,
            "estimator": write_pipeline(writer, estimator) if is_pipeline(estimator) else _write(writer, estimator),
            "about": {
                "feature_names": None if names is None else [str(name) for name in names],
                "fit": writer.write({key.rstrip("_"): float(value) for key, value in found.items()}),
                "metrics": writer.write(_checked_metrics(metrics)),
                "data": None if data is None else fingerprint(data),
            },
        }
    except Unsavable as error:
        raise TypeError(f"The estimator cannot be saved: {error}.") from error
    whole = packed(document, writer.arrays)
    if "model_" in vars(last):
        size = growth(plain_model(last.model_, known_only=False))
        if size > len(whole):
            raise ValueError(
                f"The model reads few of {last.model_.n_features} features, more than a model file may claim. "
                "Save estimator.restricted() instead."
            )
        _check_reads(whole)
    return whole


def _check_reads(whole: bytes) -> None:
    """Raise ValueError if a model file could not be loaded again."""
    try:
        from_bytes(whole)
    except ModelFileError as error:
        raise ValueError(
            f"The model cannot be saved, because its file could not be loaded: {error} Bandwidths that are zero or "
            "infinite come from columns of very different sizes: fit with scale=True."
        ) from error


def from_document(document: Any, arrays: dict[str, np.ndarray], size: int) -> Any:
    """Return the fitted estimator of a document of the known schema."""
    own = {
        "estimator": _read_estimator,
        "encoder": read_encoder,
        "pipeline": read_pipeline,
        "frozen": _read_frozen,
        "pairs": _read_pairs,
    }
    node = document.get("estimator")
    need(isinstance(node, dict) and node.get("$") in WHOLE, "it holds no estimator")
    return Reader(arrays, {**READERS, **own}, size).read(node)


def fingerprint(data: Any) -> dict[str, Any]:
    """Return shape, dtypes and a SHA-256 of samples: the same for the same numbers in the same order."""
    digest = hashlib.sha256()
    shape = [int(n) for n in with_shape(data).shape]
    if has_types(data):
        kinds = {str(name): str(kind) for name, kind in zip(data.columns, data.dtypes, strict=True)}
        digest.update("\n".join(kinds).encode())
        for name in data.columns:
            values = np.ascontiguousarray(np.asarray(data[name]))
            # The bytes of an array of objects are their places in memory.
            digest.update(values.astype("U").tobytes() if values.dtype.kind == "O" else values.tobytes())
        return {"sha256": digest.hexdigest(), "shape": shape, "dtypes": kinds}
    if sparse.issparse(data):
        data = sparse.csr_array(data)
        for part in (data.indptr, data.indices, data.data):
            digest.update(np.ascontiguousarray(part).tobytes())
    else:
        data = np.asarray(data)
        digest.update(np.ascontiguousarray(data).tobytes())
    return {"sha256": digest.hexdigest(), "shape": shape, "dtypes": str(data.dtype)}


def _checked_metrics(metrics: Any) -> dict[str, Any]:
    metrics = {} if metrics is None else dict(metrics)
    plain = {str(key): value.item() if isinstance(value, np.generic) else value for key, value in metrics.items()}
    for key, value in plain.items():
        if not isinstance(value, str | bool | int | float):
            raise TypeError(f"metrics must be a dict of numbers and strings; got {value!r} for {key!r}.")
    return plain


# Estimators


def _write(writer: Writer, estimator: BaseEstimator) -> dict[str, Any]:
    return write_encoder(writer, estimator) if type(estimator) is TableEncoder else _write_estimator(writer, estimator)


def _special(writer: Writer, value: Any) -> dict[str, Any] | None:
    if type(value) is TableEncoder or ESTIMATORS.get(type(value).__name__) is type(value):
        return _write(writer, value)
    if type(value) is FrozenEstimator:
        return {"$": "frozen", "estimator": writer.write(value.estimator)}
    if type(value) is Entities:
        return {"$": "pairs", **{name: writer.write(getattr(value, name)) for name in PAIRS}}
    return write_object(writer, value)


def _write_estimator(writer: Writer, estimator: BaseEstimator) -> dict[str, Any]:
    name = type(estimator).__name__
    if ESTIMATORS.get(name) is not type(estimator):
        raise TypeError(
            f"estimator must be one of {', '.join(ESTIMATORS)}, TableEncoder, or a Pipeline of these; got "
            f"{type(estimator).__module__}.{name}. Others are for skops with spkm.persistence.TRUSTED_TYPES."
        )
    params, left_out = {}, []
    for key, value in estimator.get_params(deep=False).items():
        try:
            params[key] = writer.write(value)
        except Unsavable:
            left_out.append(f"{key}={value!r}")
    if left_out:
        warnings.warn(
            f"A model file cannot hold {', '.join(left_out)}: the loaded {name} has the default in its place, which "
            "changes no prediction but a new fit.",
            UserWarning,
            stacklevel=4,
        )
    attributes = {k: v for k, v in vars(estimator).items() if (k.endswith("_") or k in PRIVATE) and k != "model_"}
    model = vars(estimator).get("model_")
    node: dict[str, Any] = {"$": "estimator", "class": name, "params": params, "model": None, "dtype": None}
    if model is not None:
        dtype = np.asarray(estimator.intercept_).dtype if "intercept_" in vars(estimator) else np.dtype(float)
        for key, value in model_attributes(model, dtype).items():
            if key == "kernel_" or same(attributes.get(key), value):
                attributes.pop(key, None)
        node["dtype"] = dtype.name
        names = feature_names(estimator)
        if names is not None and len(names) != model.n_features:
            names = None  # of pairs in a frame: the names of its two columns, and not of the features of both sides
        node["model"] = write_model(writer, model, names)
    node["attributes"] = {key: writer.write(value) for key, value in attributes.items()}
    node["names"] = sorted(k for k in vars(estimator) if k.endswith("_"))
    return {**node, **output_of(estimator)}


def _read_estimator(reader: Reader, node: Any) -> Any:
    name = node.get("class")
    need(isinstance(name, str) and name in ESTIMATORS, f"it holds an unknown estimator {str(name)[:80]!r}")
    cls = ESTIMATORS[name]
    params, attributes = reader.read(node.get("params")), reader.read(node.get("attributes"))
    need(isinstance(params, dict) and set(params) <= set(cls._get_param_names()), f"{name} has unknown parameters")
    need(isinstance(attributes, dict), f"{name} has no attributes")
    attributes = {RENAMED.get(key, key): value for key, value in attributes.items()}
    for key in attributes:
        need(key in PRIVATE or (ATTRIBUTE.fullmatch(key) and key != "model_"), f"{name} has an attribute {key[:80]!r}")
        # A name of the file may be any text.
        need(key in PRIVATE or not callable(getattr(cls, key, None)), f"{name} has an attribute {key[:80]!r}")
    known: dict[str, Any] = {}
    if node.get("model") is not None:
        need(node.get("dtype") in ("float32", "float64"), f"{name} has an unknown dtype")
        model = read_model(reader, node["model"])
        derived = model_attributes(model, np.dtype(node["dtype"]))
        wanted = node.get("names")
        need(isinstance(wanted, list), f"{name} has no attributes")
        known = {"model_": model, **{key: value for key, value in derived.items() if key in wanted}}
        if "n_features_left_" not in attributes:
            need(attributes.get("n_features_in_") == model.n_features, f"{name} has another number of features")
        names, count = attributes.get("feature_names_in_"), attributes.get("n_features_in_")
        is_named = isinstance(names, np.ndarray) and names.shape == (count,)
        need(names is None or is_named, "its features have other names")
        BESIDE_MODELS.get(name, lambda attributes: None)(attributes)
    return set_output(publish(cls(**params), {**attributes, **known}), node)


def _check_baseline(attributes: dict[str, Any]) -> None:
    """Raise ModelFileError unless times rise, hazards do not fall, and a Weibull baseline has two positive numbers."""
    text = "its baseline hazard is none"
    times, hazard = attributes["event_times_"], attributes["baseline_hazard_"]
    weibull = attributes.get("weibull_", np.ones(2))
    for values in (times, hazard, weibull):
        need(isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "f", text)
        need(np.isfinite(values).all(), text)
    need(len(times) == len(hazard) > 0 and len(weibull) == 2 and np.all(weibull > 0), text)
    need(np.all(np.diff(times) > 0) and np.all(np.diff(hazard, prepend=0.0) >= 0), text)


#: Checks of the attributes that predictions read beside the model.
BESIDE_MODELS: dict[str, Callable[[dict[str, Any]], None]] = {
    "SPKMSurvival": _check_baseline,
    "SPKMNystroem": lambda attributes: check_normalization(attributes["normalization_"]),
}


def _read_frozen(reader: Reader, node: Any) -> Any:
    estimator = reader.read(node.get("estimator"))
    need(type(estimator).__name__ in ESTIMATORS, "it holds an unknown estimator")
    return FrozenEstimator(estimator)


def _read_pairs(reader: Reader, node: Any) -> Entities:
    tables, layouts, names, terms, rows = (reader.read(node.get(name)) for name in PAIRS)
    need(
        isinstance(tables, tuple) and isinstance(layouts, tuple) and len(tables) == len(layouts) == 2,
        "it has no tables",
    )
    for table, layout in zip(tables, layouts, strict=True):
        need(np.ndim(table) == 2 and table.dtype.kind == "f", "a table of entities is none")
        need(table.shape[1] == layout.width, "a table of entities has other columns")
        numbers = table.data if sparse.issparse(table) else table
        need(np.isfinite(numbers).all(), "a table of entities has numbers that are none")
    rows = (None, None) if rows is None else rows  # files of version 0.2 have none
    need(isinstance(rows, tuple) and len(rows) == 2, "names of its entities are none")
    for table, own in zip(tables, rows, strict=True):
        need(own is None or np.shape(own) == table.shape[:1], "its entities have other names")
    return Entities(tables, layouts, names, terms, rows)
