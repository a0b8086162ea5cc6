"""The container of a model file: one JSON document and some arrays, in the layout of safetensors, under a checksum.

    8 bytes     length N of the header, little-endian
    N bytes     JSON: {"__metadata__": {"sha256": "", "format": "spkm", "document": ""}, name: {dtype, shape, offsets}}
    the rest    the arrays, one after another, little-endian, rows first

Any reader of safetensors can open it; the document is one string of its metadata. The checksum is that of the whole
file with zeros in the checksum's own place, which is always the same. It guards against damage, not against forgery:
so everything a reader relies on is checked after it, before anything is allocated. Needs NumPy alone.
"""

from __future__ import annotations

import hashlib
import json
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from spkm._atomic import replacing

if TYPE_CHECKING:
    from spkm._arrays import FileName

PREFIX = b'{"__metadata__":{"sha256":"'
DIGEST_AT = 8 + len(PREFIX)
NO_DIGEST = b"0" * 64
MOST_HEADER = 100 * 2**20  # bytes, as in safetensors
MOST_DIMENSIONS = 8  # of an array in a file; models have at most three
DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


class ModelFileError(ValueError):
    """A model file that is damaged, forged, of an unknown version, or no model file at all."""


def need(condition: object, text: str) -> None:
    """Raise ModelFileError with a text unless a condition holds."""
    if not condition:
        raise ModelFileError(f"This is not a valid model file: {text}.")


def packed(document: Any, arrays: dict[str, np.ndarray]) -> bytes:
    """Return the bytes of a model file."""
    entries, parts, at = {}, [], 0
    for name, array in arrays.items():
        raw = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        entries[name] = {
            "dtype": NAMES[array.dtype.newbyteorder("<")],
            "shape": list(array.shape),
            "data_offsets": [at, at + len(raw)],
        }
        parts.append(raw)
        at += len(raw)
    metadata = {"sha256": NO_DIGEST.decode(), "format": "spkm", "document": _dumps(document)}
    header = _dumps({"__metadata__": metadata, **entries}).encode("ascii")
    header += b" " * (-len(header) % 8)  # so that arrays lie where processors like to read them
    whole = b"".join([len(header).to_bytes(8, "little"), header, *parts])
    digest = hashlib.sha256(whole).hexdigest().encode()
    return whole[:DIGEST_AT] + digest + whole[DIGEST_AT + 64 :]


def unpacked(whole: bytes) -> tuple[Any, dict[str, np.ndarray]]:
    """Return the document and the arrays of a model file; the arrays are views of its bytes and cannot be written."""
    need(len(whole) > DIGEST_AT + 64, "it is too short")
    size = int.from_bytes(whole[:8], "little")
    need(size <= min(MOST_HEADER, len(whole) - 8), "the length of its header is wrong")
    need(whole[8:DIGEST_AT] == PREFIX and DIGEST_AT + 64 < 8 + size, "it does not begin as one")
    digest = hashlib.sha256(whole[:DIGEST_AT])
    digest.update(NO_DIGEST)
    digest.update(memoryview(whole)[DIGEST_AT + 64 :])
    if digest.hexdigest().encode() != whole[DIGEST_AT : DIGEST_AT + 64]:
        raise ModelFileError("The model file is damaged: its checksum does not fit. Copy or save it again.")
    header = _loads(whole[8 : 8 + size])
    need(isinstance(header, dict), "its header is no object")
    metadata = header.pop("__metadata__")
    need(isinstance(metadata, dict) and metadata.get("format") == "spkm", "its format is not 'spkm'")
    need(isinstance(metadata.get("document"), str), "it has no document")
    data = memoryview(whole)[8 + size :]
    arrays, at = {}, 0
    for name, entry in header.items():
        arrays[name] = _array(entry, data, at)
        at += arrays[name].nbytes
    need(at == len(data), "it has bytes that belong to no array")
    return _loads(metadata["document"]), arrays


def _array(entry: Any, data: memoryview, at: int) -> np.ndarray:
    need(isinstance(entry, dict) and set(entry) == {"dtype", "shape", "data_offsets"}, "an array is not described")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    need(isinstance(dtype, str) and dtype in DTYPES, "an array has an unknown dtype")
    need(isinstance(shape, list) and len(shape) <= MOST_DIMENSIONS, "an array has no shape")
    need(all(type(n) is int and 0 <= n <= len(data) for n in shape), "an array has a shape that cannot be")
    size = prod(shape) * np.dtype(DTYPES[dtype]).itemsize
    need(offsets == [at, at + size] and all(type(n) is int for n in offsets), "an array is not where it should be")
    need(at + size <= len(data), "an array ends after the file does")
    raw = np.frombuffer(data[at : at + size], dtype=DTYPES[dtype])
    if dtype == "BOOL":
        need(size == 0 or raw.view(np.uint8).max() <= 1, "an array of flags holds other numbers")
    return raw.reshape(shape)


def _dumps(value: object) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _loads(text: Any) -> Any:
    def refuse(name: str) -> Any:
        raise ModelFileError(f"This is not a valid model file: its JSON holds {name}.")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        need(len(found) == len(pairs), "its JSON has a key twice")
        return found

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"This is not a valid model file: its JSON cannot be read ({error}).") from error


def read_bytes(path: FileName) -> bytes:
    """Return the bytes of a file."""
    with open(path, "rb") as file:
        start = file.read(DIGEST_AT)
        need(start[8:] == PREFIX, "it does not begin as one")  # before gigabytes of something else are read
        return start + file.read()


def write_bytes(path: FileName, whole: bytes) -> None:
    """Write a file at once: whoever reads it gets the old one or the new one, whatever happens in between."""
    with replacing(path) as beside:
        beside.write_bytes(whole)
