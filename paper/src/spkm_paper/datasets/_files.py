"""The .npz files of the catalogue: read and checked, or written in one go."""

from __future__ import annotations

import math
import os
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format

from spkm_paper.datasets._checksum import checksum
from spkm_paper.datasets._errors import BrokenDatasetError
from spkm_paper.datasets._info import Arrays, DatasetInfo, shape_text

#: What zip files and headers of arrays raise that are not what they should be; RuntimeError: encrypted.
_UNSOUND = (BadZipFile, EOFError, KeyError, OverflowError, RuntimeError, TypeError, ValueError, zlib.error)
_READ_HEADER = {(1, 0): format.read_array_header_1_0, (2, 0): format.read_array_header_2_0}
# Deflate packs at most 1032 bytes into one, so that a small file cannot promise more than this.
MOST_PACKED, SLACK = 1032, 1024


def read_npz(path: Path) -> Arrays:
    """Return the arrays of a file.

    No array is made before its promised size has been compared with the bytes that are there: a damaged or malicious
    header cannot claim all memory.
    """
    try:
        with open(path, "rb") as file, ZipFile(file) as archive:
            size = os.fstat(file.fileno()).st_size
            members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
            return {member.filename.removesuffix(".npy"): _array(archive, member, size) for member in members}
    except _UNSOUND as error:
        raise BrokenDatasetError(f"{path} is no sound .npz file ({error}).") from error


def _array(archive: ZipFile, member: ZipInfo, size: int) -> np.ndarray:
    """Return an array of an archive of so many bytes."""
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise ValueError(f"{member.filename} is compressed in a way that NumPy does not write")
    with archive.open(member) as file:
        version = format.read_magic(file)
        if version not in _READ_HEADER:
            raise ValueError(f"{member.filename} has the unknown version {version}")
        shape, _, dtype = _READ_HEADER[version](file)
        promised = math.prod(shape) * dtype.itemsize
        packing = MOST_PACKED if member.compress_type == ZIP_DEFLATED else 1
        there = min(member.file_size, packing * min(member.compress_size, size) + SLACK)
    if min(shape, default=0) < 0 or (promised > there and not dtype.hasobject):  # objects are refused below
        raise ValueError(f"{member.filename} must hold {promised:,} bytes by its header; there are at most {there:,}")
    with archive.open(member) as file:
        return format.read_array(file, allow_pickle=False)


def checked(info: DatasetInfo, arrays: Mapping[str, np.ndarray], where: str) -> Arrays:
    """Return the arrays if they are those of the catalogue; ``where`` names their origin in the error."""
    for name, shape in info.arrays.items():
        if name not in arrays:
            raise BrokenDatasetError(f"{where} has no array {name!r}; {info.name} needs {info.shapes()}.")
        found = arrays[name].shape
        if len(found) != len(shape) or any(b not in (a, None) for a, b in zip(found, shape, strict=True)):
            came = shape_text(found) or "one number"
            raise BrokenDatasetError(
                f"{where}: array {name!r} must be {shape_text(shape)} for {info.name}; got {came}."
            )
    if info.checksum is not None:
        found_sum = checksum({name: arrays[name] for name in info.arrays})
        if found_sum != info.checksum:
            raise BrokenDatasetError(
                f"{where} has the shapes of {info.name}, but other values: checksum {found_sum[:12]}..., expected "
                f"{info.checksum[:12]}..."
            )
    return dict(arrays)


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the arrays to a file: it is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.stem}-", suffix=".part")
    try:
        with open(handle, "wb") as file:
            np.savez_compressed(file, **dict(arrays))  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:  # an interrupt, too, must leave nothing behind
        Path(name).unlink(missing_ok=True)
        raise
