"""Damaged and forged model files: bytes that are changed, and documents that are changed and sealed anew."""

from __future__ import annotations

import json

import numpy as np

from tests.saving import packed, unpacked

ODD = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    10**18,
    1e308,
    0.5,
    "",
    "a0",
    "$",
    "nan",
    "os.system",
    [],
    {},
    [[]],
    {"$": "tuple", "items": []},
]


def damaged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes with a few of them changed, cut out, repeated or put in."""
    data = bytearray(whole)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(data)))
        length = int(rng.integers(1, 9))
        kind = rng.integers(5)
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = bytes(rng.integers(0, 256, length, dtype=np.uint8))
        elif kind == 3:
            data = data[:at]
        else:
            data[at : at + length] = data[-length:]
        if not data:
            break
    return bytes(data)


def forged(whole: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with a true checksum whose document, or one of whose arrays, was changed somewhere."""
    document, arrays = unpacked(whole)
    arrays = {name: array.copy() for name, array in arrays.items()}
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.75:
            document = _changed(document, rng)
        else:
            name = sorted(arrays)[int(rng.integers(len(arrays)))]
            arrays[name] = _changed_array(arrays[name], rng)
    return packed(document, arrays)


def _changed(document, rng):
    """Return a document in which one value became another, went away, was repeated or moved."""
    document = json.loads(json.dumps(document))
    places = list(_places(document))
    parent, key = places[int(rng.integers(len(places)))]
    kind = rng.integers(4)
    if kind == 0:
        parent[key] = ODD[int(rng.integers(len(ODD)))]
    elif kind == 1:
        del parent[key]
    elif kind == 2:
        other, at = places[int(rng.integers(len(places)))]
        parent[key] = json.loads(json.dumps(other[at]))
    elif isinstance(parent, list):
        parent.insert(key, json.loads(json.dumps(parent[key])))
    else:
        parent[f"{key}_"] = parent.pop(key)
    return document


def _places(value):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield value, key
        yield from _places(part)


def _changed_array(array, rng):
    kind = rng.integers(4)
    if array.size == 0 or kind == 0:
        return np.concatenate([array.ravel(), np.ones(1, dtype=array.dtype)])
    if kind == 1:
        return array.ravel()[:-1]
    if kind == 2:
        return array.astype(np.float32 if array.dtype == np.float64 else np.float64)
    changed = array.copy()
    changed.flat[int(rng.integers(array.size))] = [0, 1, 10**9, -5][int(rng.integers(4))]
    return changed
