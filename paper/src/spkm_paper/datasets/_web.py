"""The only lines that reach the network."""

from __future__ import annotations

from http.client import HTTPException
from urllib.request import Request, urlopen

import numpy as np

from spkm_paper.datasets._errors import DownloadError

TIMEOUT = 60  # seconds without an answer


class Web:
    """Fetches files and OpenML sets; whatever goes wrong becomes a :class:`DownloadError`."""

    def file(self, url: str) -> bytes:
        """Return the content of a file."""
        try:
            with urlopen(Request(url, headers={"User-Agent": "spkm"}), timeout=TIMEOUT) as answer:
                return answer.read()
        except (OSError, HTTPException) as error:
            raise DownloadError(f"{url}: {error}") from error

    def openml(self, name: str, version: int) -> tuple[np.ndarray, np.ndarray]:
        """Return X and y of a set on OpenML."""
        from sklearn.datasets import fetch_openml  # slow to import

        try:
            # This parser is slower than the other, but needs no pandas.
            found = fetch_openml(name, version=version, as_frame=False, parser="liac-arff", cache=False)
        except (OSError, HTTPException, ValueError) as error:  # OpenML's own errors are ValueErrors
            raise DownloadError(f"OpenML, {name!r} version {version}: {error}") from error
        return found.data, found.target
