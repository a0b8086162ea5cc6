"""Model files as bytes, taken apart and sealed again by a reader of the documented layout; and exports as content."""

import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from spkm import SPKMRegressor, load, save
from spkm.persistence import export

DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
DIGEST = slice(8 + len('{"__metadata__":{"sha256":"'), 8 + len('{"__metadata__":{"sha256":"') + 64)


def to_bytes(estimator):
    """Return the model file of an estimator."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.spkm"
        save(estimator, path)
        return path.read_bytes()


def from_bytes(whole, runtime=None):
    """Return the model of a model file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.spkm"
        path.write_bytes(whole)
        return load(path, runtime)


def unpacked(whole):
    """Return the document and the arrays of a model file: a safetensors file with one string of metadata."""
    size = int.from_bytes(whole[:8], "little")
    header, data = json.loads(whole[8 : 8 + size]), whole[8 + size :]
    document = json.loads(header.pop("__metadata__")["document"])
    arrays = {}
    for name, entry in header.items():
        start, stop = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[start:stop], dtype=DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return document, arrays


def packed(document, arrays):
    """Return a model file of a document and arrays, with the checksum that it must have."""
    entries, at = {}, 0
    for name, array in arrays.items():
        place = [at, at := at + array.nbytes]
        entries[name] = {"dtype": NAMES[array.dtype], "shape": list(array.shape), "data_offsets": place}
    metadata = {"sha256": "0" * 64, "format": "spkm", "document": json.dumps(document)}
    header = json.dumps({"__metadata__": metadata, **entries}, separators=(",", ":")).encode("ascii")
    whole = len(header).to_bytes(8, "little") + header + b"".join(array.tobytes() for array in arrays.values())
    return whole[: DIGEST.start] + hashlib.sha256(whole).hexdigest().encode() + whole[DIGEST.stop :]


def exported(estimator, suffix, **options):
    """Return what an export writes: bytes of ONNX, else text."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        export(estimator, path, **options)
        return path.read_bytes() if suffix == ".onnx" else path.read_bytes().decode("utf-8")


def with_model(model, names=None):
    """Return an estimator with a fitted model that was made without a fit, and with names of its features."""
    estimator = SPKMRegressor()
    estimator.model_ = model
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def plain_of(estimator):
    """Return the plain form of an estimator, as its JSON has it."""
    return json.loads(exported(estimator, ".json"))
