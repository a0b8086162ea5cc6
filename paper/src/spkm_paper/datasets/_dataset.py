"""A data set as users get it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spkm_paper.datasets._errors import BrokenDatasetError
from spkm_paper.datasets._info import TEST_FOLD, Arrays, DatasetInfo, shape_text


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set: samples, targets, and what to know before using them. Nothing is scaled or centred.

    Attributes
    ----------
    name : str
        The set that was read; of two versions of a set, the one that was at hand.
    X : ndarray of shape (n_samples, n_features)
        Rows. All columns of all views, if there are views; row numbers (drug, target), if the rows are pairs.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Targets; classes are 0, 1, ...
    feature_names : tuple of str or None
        Names of the features.
    target_names : tuple of str or None
        Names of the classes, or of the targets.
    groups : ndarray of shape (n_samples,) or None
        What belongs together in a split: the subject of each sample.
    views : dict of str to ndarray
        Tables with the same samples, where the set has several; estimators take the dict in the place of X.
    tables : dict of str to ndarray
        What is known of the entities, where samples are pairs: features, similarities, names.
    parts : dict of str to ndarray
        Row numbers of the published training part, test part and training folds, where there are such.
    description : str
        What it is.
    terms : str
        Terms of use.
    source : str
        Where it comes from.
    remarks : tuple of str
        What to know before comparing figures.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None
    groups: np.ndarray | None = None
    views: Mapping[str, np.ndarray] = field(default_factory=dict)
    tables: Mapping[str, np.ndarray] = field(default_factory=dict)
    parts: Mapping[str, np.ndarray] = field(default_factory=dict)
    description: str = ""
    terms: str = ""
    source: str = ""
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        more = "".join(
            f", {what}: {', '.join(names)}"
            for what, names in (("views", self.views), ("tables", self.tables), ("parts", self.parts))
            if names
        )
        return f"<{self.name}: X {shape_text(self.X.shape)}, y {shape_text(self.y.shape)}{more}>"


def dataset(info: DatasetInfo, arrays: Arrays) -> Dataset:
    """Return the data set that the arrays of its file make up."""
    content = {"table": _table, "split": _split, "views": _views, "pairs": _pairs}[info.layout](info, arrays)
    rows, targets = len(content["X"]), len(content["y"])
    if rows != targets:
        raise BrokenDatasetError(f"X and y of {info.name} must have one row per sample; got {rows} and {targets}.")
    if content["y"].dtype.kind in "biu":
        content["y"] = content["y"].astype(np.int64)
    if "fold" in info.arrays:
        content["parts"] = _parts(arrays["fold"])
    for names in ("feature_names", "target_names"):
        content[names] = getattr(info, names) or content.get(names)
    content |= {"description": info.title, "terms": info.terms, "source": info.source, "remarks": info.remarks}
    return Dataset(name=info.name, **content)


def _table(info: DatasetInfo, arrays: Arrays) -> dict[str, Any]:
    content: dict[str, Any] = {"X": arrays["X"], "y": arrays["y"], "groups": arrays.get("groups")}
    for names in {"feature_names", "target_names"} & set(arrays):
        content[names] = tuple(arrays[names].tolist())
    return content


def _split(info: DatasetInfo, arrays: Arrays) -> dict[str, Any]:
    n_train, n_test = len(arrays["X_train"]), len(arrays["X_test"])
    return {
        "X": np.concatenate([arrays["X_train"], arrays["X_test"]]),
        "y": np.concatenate([arrays["y_train"], arrays["y_test"]]),
        "parts": {"train": np.arange(n_train), "test": np.arange(n_train, n_train + n_test)},
    }


def _views(info: DatasetInfo, arrays: Arrays) -> dict[str, Any]:
    views = {name: arrays[name] for name, shape in info.arrays.items() if len(shape) == 2}
    return {
        "X": np.hstack(list(views.values())),
        "y": arrays["y"],
        "feature_names": tuple(f"{name}_{column}" for name, X in views.items() for column in range(X.shape[1])),
        "views": views,
    }


def _pairs(info: DatasetInfo, arrays: Arrays) -> dict[str, Any]:
    of_pairs = ("drug_index", "target_index", "y", "fold")
    return {
        "X": np.column_stack([arrays["drug_index"], arrays["target_index"]]),
        "y": arrays["y"],
        "tables": {name: arrays[name] for name in info.arrays if name not in of_pairs},
    }


def _parts(fold: np.ndarray) -> Arrays:
    """Return the samples of the training and of the test part, and of each training fold where there are several."""
    is_test = fold == TEST_FOLD
    folds = np.unique(fold[~is_test])
    of_folds = {f"fold_{number}": np.flatnonzero(fold == number) for number in folds if len(folds) > 1}
    return {"train": np.flatnonzero(~is_test), "test": np.flatnonzero(is_test), **of_folds}
