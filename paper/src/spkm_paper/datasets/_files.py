"""The .npz files of the catalogue: read and checked, or written in one go."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from spkm_paper.datasets._checksum import checksum
from spkm_paper.datasets._errors import BrokenDatasetError
from spkm_paper.datasets._info import Arrays, DatasetInfo, shape_text


def read_npz(path: Path) -> Arrays:
    """Return the arrays of a file."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            return dict(archive)
    except (BadZipFile, EOFError, KeyError, TypeError, ValueError, zlib.error) as error:
        raise BrokenDatasetError(f"{path} is no sound .npz file ({error}).") from error


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
