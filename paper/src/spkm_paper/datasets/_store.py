"""Where a data set is looked for: the user's folder, the cache, the web."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spkm_paper.datasets._errors import BrokenDatasetError, DatasetNotFoundError, DownloadError
from spkm_paper.datasets._files import checked, read_npz, write_npz
from spkm_paper.datasets._info import Arrays, DatasetInfo
from spkm_paper.datasets._web import Web


def data_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    """Return the user's folder: the argument, else the environment variable SPKM_DATA, else None."""
    given = os.environ.get("SPKM_DATA") or None if folder is None else folder
    if given is None:
        return None
    path = Path(given).expanduser()
    if not path.is_dir():
        name = "SPKM_DATA" if folder is None else "folder"
        raise NotADirectoryError(f"{name} must be an existing folder; got {str(given)!r}. Make it, or give another.")
    return path


def cache_folder() -> Path:
    """Return the folder of downloaded sets: the environment variable SPKM_CACHE, else spkm in the user's cache."""
    if own := os.environ.get("SPKM_CACHE"):
        return Path(own).expanduser()
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "spkm" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "spkm"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spkm"


class Store:
    """Finds the arrays of data sets.

    Parameters
    ----------
    folder : Path or None
        The user's folder: read, never written.
    cache : Path
        The folder of downloaded sets: made, written and mended as needed.
    web : Web or None
        What fetches; None: nothing is downloaded.
    """

    def __init__(self, folder: Path | None, cache: Path, web: Web | None) -> None:
        self.folder = folder
        self.cache = cache
        self.web = web

    def arrays(self, info: DatasetInfo) -> Arrays:
        """Return the arrays of a set, checked."""
        found = self._from_folder(info) or self._from_cache(info)
        if found:
            return found
        if info.why_no_download:
            raise self._not_found(info, f"it is not downloaded: {info.why_no_download}")
        if self.web is None:
            raise self._not_found(info, "fetching is off (download=False; on the command line --download turns it on)")
        return self._from_web(info, self.web)

    def _from_folder(self, info: DatasetInfo) -> Arrays | None:
        if self.folder is None:
            return None
        try:
            path = self.folder / info.file
            if path.is_file():
                return checked(info, read_npz(path), str(path))
            paths = [found for original in info.originals if (found := original.path_in(self.folder))]
            if not paths or len(paths) < len(info.originals):
                return None
            where = ", ".join(map(str, paths))
            contents = [path.read_bytes() for path in paths]
            return checked(info, _converted(info.name, where, info.convert, contents), where)
        except BrokenDatasetError as error:
            raise BrokenDatasetError(f"{error} It is left as it is: replace or remove it.") from error

    def _from_cache(self, info: DatasetInfo) -> Arrays | None:
        path = self.cache / info.file
        if not path.is_file():
            return None
        try:
            return checked(info, read_npz(path), str(path))
        except BrokenDatasetError as error:
            path.unlink(missing_ok=True)
            warnings.warn(f"A file of the cache is broken and was removed: {error}", stacklevel=4)
            return None

    def _from_web(self, info: DatasetInfo, web: Web) -> Arrays:
        try:
            arrays = checked(info, self._fetched(info, web), info.where_from())
        except DownloadError as error:
            raise self._not_found(info, f"the download failed: {error}") from error
        except BrokenDatasetError as error:
            raise BrokenDatasetError(f"What was downloaded is not kept: {error} {self._what_to_do(info)}") from error
        try:
            write_npz(self.cache / info.file, arrays)
        except OSError as error:
            warnings.warn(f"{info.name} was downloaded but cannot be kept in {self.cache}: {error}", stacklevel=4)
        return arrays

    def _fetched(self, info: DatasetInfo, web: Web) -> Arrays:
        if info.openml:
            return _converted(info.name, info.where_from(), info.convert_openml, *web.openml(*info.openml))
        contents = [web.file(str(original.url)) for original in info.originals]
        return _converted(info.name, info.where_from(), info.convert, contents)

    def _not_found(self, info: DatasetInfo, why: str) -> DatasetNotFoundError:
        cache = f"the cache {self.cache}"
        looked = cache if self.folder is None else f"{self.folder} or {cache}"
        return DatasetNotFoundError(
            f"Data set {info.name!r} is not at hand: no {info.file} in {looked}, and {why}. {self._what_to_do(info)}"
        )

    def _what_to_do(self, info: DatasetInfo) -> str:
        where = "a folder and name it by folder=... or SPKM_DATA" if self.folder is None else str(self.folder)
        absent = [
            original.file for original in info.originals if not self.folder or original.path_in(self.folder) is None
        ]
        files = f", or the original {', '.join(absent)}," if absent else ""
        return f"Put {info.file} with {info.shapes()}{files} into {where}. Source: {info.source}."


def _converted(name: str, where: str, convert: Callable[..., Arrays] | None, *contents: Any) -> Arrays:
    """Return the arrays of original files."""
    assert convert is not None, "an entry that names originals says how to convert them"
    try:
        return convert(*contents)
    except Exception as error:  # whatever a parser says of a page that is no data
        raise BrokenDatasetError(f"{where} cannot be read as {name}: {error}.") from error
