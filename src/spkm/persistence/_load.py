"""Reading a model file. Needs NumPy alone until an estimator is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spkm.persistence._container import ModelFileError, need, read_bytes, unpacked
from spkm.persistence._values import Reader

if TYPE_CHECKING:
    from spkm._arrays import FileName

FILE_SCHEMA = 1
RUNTIMES = (None, "numpy")
WHOLE = ("estimator", "encoder", "pipeline")  # kinds of what a file can hold
# Errors that a forged document can raise in NumPy, scikit-learn and Python; a file of ours never gets there.
FORGED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)


def load(path: FileName, runtime: str | None = None) -> Any:
    """Return the fitted estimator of a model file, or a light object that predicts.

    No code of the file is run, and files of every version since 0.2 can be read.

    Parameters
    ----------
    path : str or path
        File that ``estimator.save(path)`` or ``spkm.save(pipeline, path)`` wrote.
    runtime : {None, "numpy"}, default=None
        None returns the estimator itself, fitted; its predictions are equal to the bit on the same machine. "numpy"
        returns a :class:`spkm.persistence.NumpyModel`, which needs neither scikit-learn nor SciPy.

    Returns
    -------
    model : estimator or NumpyModel
        The fitted model.

    Raises
    ------
    ModelFileError
        If the file is damaged, of an unknown version or none of ours; it is a ValueError.

    Examples
    --------
    >>> import tempfile
    >>> from spkm import SPKMRegressor
    >>> model = SPKMRegressor(n_basis=2, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.spkm")
    ...     again, light = load(f"{folder}/model.spkm"), load(f"{folder}/model.spkm", runtime="numpy")
    >>> bool(again.predict([[1.5]]) == model.predict([[1.5]])), light.task, light.n_features
    (True, 'regression', 1)
    """
    if runtime not in RUNTIMES:
        raise ValueError(f"runtime must be None or 'numpy'; got {runtime!r}.")
    return from_bytes(read_bytes(path), runtime)


def from_bytes(whole: bytes, runtime: str | None = None) -> Any:
    """Return the model of the bytes of a model file, as :func:`load` does."""
    document, arrays = _document(whole)
    try:
        with np.errstate(all="ignore"):  # numbers of a forged file may overflow; what they make is checked
            if runtime == "numpy":
                return _light(document, arrays, len(whole))
            from spkm.persistence._files import from_document

            return from_document(document, arrays, len(whole))
    except ModelFileError:
        raise
    except FORGED as error:
        raise ModelFileError(
            f"This is not a valid model file: its parts do not fit together ({type(error).__name__}: {error})."
        ) from error


def describe(path: FileName) -> dict[str, Any]:
    """Return the facts of the model in a file, without building it.

    Parameters
    ----------
    path : str or path
        A model file.

    Returns
    -------
    about : dict
        ``schema``, ``library`` (the version that wrote it), ``estimator`` (its class; of a pipeline ``steps`` has those
        of its steps), ``feature_names``, ``fit``
        (figures of the fit), ``metrics`` and ``data`` (shape, dtypes and fingerprint of the samples), where they were
        given.
    """
    document, arrays = _document(read_bytes(path))
    node: Any = document.get("estimator")
    about = document.get("about")
    need(isinstance(node, dict) and isinstance(about, dict), "it has no facts of its model")
    known = {"schema": document["schema"], "library": document.get("library"), "estimator": node.get("class")}
    if node.get("$") == "pipeline":
        known["estimator"], known["steps"] = "Pipeline", [_class_of(step) for _, step in node["steps"]]
    return {**known, **Reader(arrays).read(about)}


def _document(whole: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    document, arrays = unpacked(whole)
    need(isinstance(document, dict) and type(document.get("schema")) is int, "it has no version")
    if document["schema"] != FILE_SCHEMA:
        raise ModelFileError(
            f"The model file has schema {document['schema']}, written by spkm {str(document.get('library'))[:40]}; "
            f"this version reads schema {FILE_SCHEMA}. Update spkm to read it."
        )
    return document, arrays


def _class_of(step: object) -> str:
    return str(step.get("class"))[:40] if isinstance(step, dict) else "passthrough"


def _light(document: dict[str, Any], arrays: dict[str, Any], size: int) -> Any:
    from spkm.persistence._encoding import behind_steps
    from spkm.persistence._runtime import NumpyModel

    node: Any = document.get("estimator")
    need(isinstance(node, dict) and node.get("$") in WHOLE, "it holds no estimator")
    before: list[Any] = []
    if node["$"] == "pipeline":
        need(isinstance(node.get("kept"), list) and len(node["kept"]) == len(node["steps"]) - 1, "its steps are others")
        pairs = zip(node["steps"], [*node["kept"], None], strict=True)
        *before, (node, _) = [(step, own) for (_, step), own in pairs if step != "passthrough"]
    if node.get("model") is None:
        raise ModelFileError(
            f"runtime='numpy' is for estimators that predict; the file holds {str(node.get('class'))[:40]}. Load it "
            "with runtime=None."
        )
    reader = Reader(arrays, size=size)
    plain = reader.read(node["model"].get("plain"))
    try:
        plain = behind_steps(plain, [_plain_step(reader, step, own) for step, own in before])
    except TypeError as error:
        raise ModelFileError(f"{error} Load it with runtime=None.") from error
    own = node.get("attributes", {})
    if "baseline_hazard_" in own:
        plain["survival"] = {"times": reader.read(own["event_times_"]), "hazard": reader.read(own["baseline_hazard_"])}
    extra = own.get("normalization_")
    return NumpyModel(plain, None if extra is None else reader.read(extra))


def _plain_step(reader: Reader, step: Any, kept: Any) -> Any:
    """Return a step before the last one as the plain form of a pipeline has it."""
    if kept is not None:
        count = reader.read(step["attributes"]["n_features_in_"])
        return {"kept": reader.read(kept), "n_features": count, "names": None}
    return {**reader.read(step["plain"]), "names": None} if step.get("$") == "encoder" else _class_of(step)
