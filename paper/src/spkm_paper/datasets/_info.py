"""What is known of a data set before it is read: arrays, checksum, terms, and the original files it can be made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Arrays = dict[str, np.ndarray]
UCI_TERMS = "CC BY 4.0 (UCI)"
UCI_PAGE = "UCI Machine Learning Repository, https://archive.ics.uci.edu/dataset"
UCI_FILES = "https://archive.ics.uci.edu/ml/machine-learning-databases"
GITHUB = "https://raw.githubusercontent.com"
NO_CHECKSUM = "no copy has been at hand, so there is no checksum to confirm a download"
TEST_FOLD = -1  # in an array "fold"; training samples have folds 0, 1, ...


@dataclass(frozen=True)
class Original:
    """A file of the original publication, under its original name."""

    file: str
    url: str | None = None
    suffixes: tuple[str, ...] = ("",)
    subfolder: str = ""

    def path_in(self, folder: Path) -> Path | None:
        """Return where in a folder the file lies, if it does."""
        return next((path for path in self._candidates(folder) if path.is_file()), None)

    def _candidates(self, folder: Path) -> Iterator[Path]:
        for parent in (folder, folder / self.subfolder):
            for suffix in self.suffixes:
                yield parent / f"{self.file}{suffix}"


@dataclass(frozen=True)
class DatasetInfo:
    """An entry of the catalogue.

    ``arrays`` are the names and shapes of what the .npz file holds; None stands for any length. ``checksum`` is None
    where no copy has been at hand to compute it. ``layout`` says how the arrays become a data set: a ``table``, a
    ``split`` into training and test part, ``views``, or ``pairs``. Arrays are made by ``convert`` of the contents of
    the ``originals``, in their order, or by ``convert_openml`` of X and y of the OpenML set of that name and version.
    Only what a checksum can confirm is downloaded; for the others ``why_no_download`` gives the reason. ``instead``
    names the set to take if this one is not at hand.
    """

    name: str
    title: str
    arrays: Mapping[str, tuple[int | None, ...]]
    terms: str
    source: str
    checksum: str | None = None
    remarks: tuple[str, ...] = ()
    layout: str = "table"
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None
    originals: tuple[Original, ...] = ()
    convert: Callable[[Sequence[bytes]], Arrays] | None = None
    openml: tuple[str, int] | None = None
    convert_openml: Callable[[np.ndarray, np.ndarray], Arrays] | None = None
    why_no_download: str = ""
    instead: str | None = None

    @property
    def file(self) -> str:
        """Name of the file that holds the arrays."""
        return f"{self.name}.npz"

    def shapes(self) -> str:
        """Return the names and shapes of the arrays, for people."""
        return ", ".join(f"{name} {shape_text(shape)}" for name, shape in self.arrays.items())

    def where_from(self) -> str:
        """Return what is downloaded, or why nothing is."""
        if self.openml:
            return f"OpenML, {self.openml[0]!r} version {self.openml[1]}"
        if self.why_no_download:
            return f"not downloaded: {self.why_no_download}"
        return ", ".join(str(original.url) for original in self.originals)


def shape_text(shape: Sequence[int | None]) -> str:
    """Return a shape for people.

    >>> shape_text((351, 34)), shape_text((None, 3))
    ('351 x 34', 'any x 3')
    """
    return " x ".join("any" if length is None else str(length) for length in shape)


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a text, where a comma and a space part them.

    >>> split_names("Age, sudden weight loss")
    ('Age', 'sudden weight loss')
    """
    return tuple(text.split(", "))
