"""Reading a model file. Needs NumPy alone until an estimator is asked for."""

from __future__ import annotations

from typing import Any

from spkm.persistence._container import ModelFileError, need, read_bytes, unpacked
from spkm.persistence._values import Reader

FILE_SCHEMA = 1
RUNTIMES = (None, "numpy")
# What a forged document can make NumPy, scikit-learn and Python say; a file of ours never gets there.
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


def load(path: Any, runtime: str | None = None) -> Any:
    """Return the fitted estimator of a model file, or a light object that predicts.

    No code of the file is run, and files of every version since 0.2 can be read.

    Parameters
    ----------
    path : str or path
        What ``estimator.save(path)`` wrote.
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
    """
    if runtime not in RUNTIMES:
        raise ValueError(f"runtime must be None or 'numpy'; got {runtime!r}.")
    return from_bytes(read_bytes(path), runtime)


def from_bytes(whole: bytes, runtime: str | None = None) -> Any:
    """Return the model of the bytes of a model file, as :func:`load` does."""
    document, arrays = _document(whole)
    try:
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


def describe(path: Any) -> dict[str, Any]:
    """Return what a model file tells of its model, without building it.

    Parameters
    ----------
    path : str or path
        A model file.

    Returns
    -------
    about : dict
        ``schema``, ``library`` (the version that wrote it), ``estimator`` (its class), ``feature_names``, ``fit``
        (figures of the fit), ``metrics`` and ``data`` (shape, dtypes and fingerprint of the samples), where they were
        given.
    """
    document, arrays = _document(read_bytes(path))
    node: Any = document.get("estimator")
    about = document.get("about")
    need(isinstance(node, dict) and isinstance(about, dict), "it tells nothing of its model")
    known = {"schema": document["schema"], "library": document.get("library"), "estimator": node.get("class")}
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


def _light(document: dict[str, Any], arrays: dict[str, Any], size: int) -> Any:
    from spkm.persistence._runtime import NumpyModel

    node: Any = document.get("estimator")
    need(isinstance(node, dict) and node.get("$") == "estimator", "it holds no estimator")
    if node.get("model") is None:
        raise ModelFileError(
            f"runtime='numpy' is for estimators that predict; the file holds {str(node.get('class'))[:40]}. Load it "
            "with runtime=None."
        )
    reader = Reader(arrays, size=size)
    plain = reader.read(node["model"].get("plain"))
    extra = node.get("attributes", {}).get("normalization_")
    return NumpyModel(plain, None if extra is None else reader.read(extra))
