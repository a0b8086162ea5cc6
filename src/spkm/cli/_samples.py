"""Meaning of a file of samples: the target, the task, and the samples that are held out."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spkm.cli._output import say
from spkm.cli._reading import data_error

if TYPE_CHECKING:
    from pandas import DataFrame

FEW_VALUES = 10  # a column of at most so many distinct whole numbers is taken for classes
MOST_CLASSES = 100  # more are likely identifiers
LEAST_ROWS = 10  # samples; fewer leave next to nothing to hold out


@dataclass(frozen=True)
class Samples:
    """Samples with targets.

    Attributes
    ----------
    X : DataFrame
        The features.
    y : ndarray
        The targets: labels as they are, or float64.
    task : {"classes", "numbers"}
        Meaning of the targets.
    why : str
        Why they are taken for that.
    groups : ndarray or None
        A label of every sample; samples of one label stay together.
    """

    X: Any
    y: np.ndarray
    task: str
    why: str
    groups: np.ndarray | None

    def at(self, rows: np.ndarray) -> Samples:
        """Return some of the samples."""
        groups = None if self.groups is None else self.groups[rows]
        return Samples(self.X.iloc[rows], self.y[rows], self.task, self.why, groups)


def samples_of(
    frame: DataFrame,
    target: str,
    left_out: list[str],
    group: str | None = None,
    task: str = "auto",
    drop_missing_target: bool = False,
    to_learn: bool = True,
) -> Samples:
    """Return the samples of a frame, or end with what is wrong with them; those to learn from must be enough for it."""
    names = [str(name) for name in frame.columns]
    for name in [target, *left_out, *([group] if group else [])]:
        if name not in names:
            raise data_error(f"there is no column {name!r}; there are {', '.join(map(repr, names[:30]))}.")
    absent = frame[target].isna().to_numpy()
    if absent.any() and not drop_missing_target:
        raise data_error(
            f"{int(absent.sum())} of {len(frame)} samples have no value in the target {target!r}. Fill them in, or "
            "leave such samples out by --drop-missing-target."
        )
    frame = frame[~absent]
    least = LEAST_ROWS if to_learn else 1
    if len(frame) < least:
        raise data_error(f"at least {least} samples are needed; there are {len(frame)}.")
    if to_learn:
        _check_learnable(frame[target], target)
    y, task, why = _targets(frame[target], target, task)
    if to_learn and task == "classes":
        _check_classes(y, target)
    X = frame.drop(columns=list(dict.fromkeys([target, *left_out, *([group] if group else [])])))
    if X.shape[1] == 0:
        raise data_error("there is no column left to predict the target from.")
    endless = [name for name in X.columns if X[name].dtype.kind == "f" and np.isinf(X[name].to_numpy()).any()]
    if endless:
        raise data_error(
            f"column {endless[0]!r} holds infinity. Make such values missing, or leave the column out by --drop."
        )
    if group is not None and frame[group].isna().any():
        raise data_error(
            f"{int(frame[group].isna().sum())} of {len(frame)} samples have no value in --group {group!r}. Fill them "
            "in: a value of its own for a sample that belongs to no other."
        )
    groups = None if group is None else frame[group].astype(str).to_numpy()
    return Samples(X, y, task, why, groups)


def as_labels(y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return targets as the labels that a model knows: equal to them, or written like them ("1" and 1)."""
    known, written = ({kind(label): label for label in labels.tolist()} for kind in (lambda label: label, str))
    found = [known.get(value, written.get(str(value))) for value in y.tolist()]
    unknown = {str(value) for value, label in zip(y.tolist(), found, strict=True) if label is None}
    if unknown:
        raise data_error(f"the model does not know the classes {', '.join(sorted(unknown)[:10])} of the target.")
    return np.array(found, dtype=labels.dtype)


def counters(X: Any) -> list[str]:
    """Return a note for every column that counts the samples, as identifiers do, which no new sample shares."""
    numbered = [
        str(name)
        for name in X.columns
        if X[name].dtype.kind in "iu" and len(X) > 1 and np.all(np.diff(X[name].to_numpy().astype(np.int64)) == 1)
    ]
    return [
        f"column {name!r} counts the samples. If it identifies them, leave it out by --id {shlex.quote(name)}."
        for name in numbered
    ]


def _check_learnable(column: Any, target: str) -> None:
    values = column.unique()
    if len(values) < 2:
        raise data_error(f"the target {target!r} is {values[0]!r} in all samples: there is nothing to learn.")


def _check_classes(y: np.ndarray, target: str) -> None:
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) > MOST_CLASSES:
        raise data_error(f"the target {target!r} has {len(classes)} classes; at most {MOST_CLASSES} are possible.")
    if counts.min() < 2:
        alone = ", ".join(map(str, classes[counts < 2][:10]))
        raise data_error(
            f"the target {target!r} has classes with a single sample, which cannot be both learnt and checked: "
            f"{alone}. Leave them out or merge them."
        )


def _targets(column: Any, target: str, task: str) -> tuple[np.ndarray, str, str]:
    """Return the targets, what they are, and why."""
    kind = getattr(column.dtype, "kind", "O")
    values = column.unique()
    numeric = kind in "iuf"
    whole = numeric and bool(np.all(np.asarray(values, dtype=float) % 1 == 0))
    if task == "auto":
        task = "classes" if not numeric or (whole and len(values) <= FEW_VALUES) else "numbers"
        what = f"{len(values)} different values" if numeric else f"{len(values)} levels"
        other = "numbers" if task == "classes" else "classes"
        why = f"the target {target!r} has {what}, so it is taken for {task}"
        say(why + (f" (--task {other} overrides that)." if numeric else "."))
    else:
        why = f"--task {task} says so"
    if task == "numbers":
        try:
            return column.to_numpy(dtype=np.float64), task, why
        except (TypeError, ValueError):
            raise data_error(f"--task numbers needs numbers in the target {target!r}; it holds text.") from None
    if whole:
        return column.to_numpy(dtype=np.int64), task, why
    if kind == "b":
        return column.to_numpy(dtype=bool), task, why
    return column.astype(str).to_numpy(dtype=str) if not numeric else column.to_numpy(), task, why


def split(samples: Samples, test_size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples to learn from and those held out, which hold the same share of each class, or whole groups."""
    from sklearn.model_selection import GroupShuffleSplit, train_test_split

    rows = np.arange(len(samples.y))
    classes = samples.task == "classes"
    if samples.groups is not None:
        if len(np.unique(samples.groups)) < 2:
            raise data_error("--group needs at least two groups, as whole groups are held out; there is one.")
        cut = GroupShuffleSplit(1, test_size=test_size, random_state=seed)
        train, test = next(cut.split(rows, groups=samples.groups))
    else:
        labels = samples.y if classes else None
        n_classes = len(np.unique(samples.y)) if classes else 1
        size = max(n_classes, 2, round(test_size * len(rows)))
        if len(rows) - size < n_classes:
            raise data_error(f"{len(rows)} samples are too few to hold some of each of {n_classes} classes out.")
        train, test = train_test_split(rows, test_size=size, random_state=seed, stratify=labels)
        for label in np.setdiff1d(samples.y, samples.y[test]) if classes else ():  # each class is there on both sides
            moved = train[samples.y[train] == label][0]  # of the two or more that there are; train is in random order
            train, test = train[train != moved], np.append(test, moved)
    if classes and set(np.unique(samples.y[test])) - set(np.unique(samples.y[train])):
        raise data_error("some classes are in held-out groups alone. Try another --seed, or a smaller --test-size.")
    if classes and len(np.unique(samples.y[train])) < 2:
        raise data_error("the samples to learn from are of one class. Try another --seed, or a smaller --test-size.")
    return np.sort(train), np.sort(test)
