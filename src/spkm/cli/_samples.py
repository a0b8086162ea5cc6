"""Meaning of a file of samples: the target, the task, and the samples that are held out."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spkm._frames import kind_of
from spkm.cli._output import say
from spkm.cli._reading import columns_told, data_error

if TYPE_CHECKING:
    from pandas import DataFrame

FEW_VALUES = 10  # a column of at most so many distinct whole numbers is taken for classes
MOST_CLASSES = 100  # more are likely identifiers
LARGEST = 1e150  # of numbers, whose squares must be finite
NUMBER_TEXT = re.compile(r"[+-]?\d+([.,' \u00a0\u202f]\d+)+")  # a number with commas, or with parted thousands
LEAST_ROWS = 10  # samples; fewer leave next to nothing to hold out


@dataclass(frozen=True)
class Samples:
    """Samples with targets.

    Attributes
    ----------
    X : DataFrame
        The features.
    y : ndarray
        The targets: labels as they are, float64, or records of event and time.
    task : {"classes", "numbers", "ordered", "times"}
        Meaning of the targets.
    why : str
        Why they are taken for that.
    groups : ndarray or None
        A label of every sample; samples of one label stay together.
    order : ndarray or None
        The labels of ordered classes, lowest first.
    """

    X: Any
    y: np.ndarray
    task: str
    why: str
    groups: np.ndarray | None
    order: np.ndarray | None = None

    def at(self, rows: np.ndarray) -> Samples:
        """Return some of the samples."""
        groups = None if self.groups is None else self.groups[rows]
        return Samples(self.X.iloc[rows], self.y[rows], self.task, self.why, groups, self.order)


def samples_of(
    frame: DataFrame,
    target: str | tuple[str, str],
    left_out: list[str],
    group: str | None = None,
    task: str = "auto",
    drop_missing_target: bool = False,
    to_learn: bool = True,
    ordered: list[str] | None = None,
) -> Samples:
    """Return the samples of a frame, or end with what is wrong with them; those to learn from must be enough for it.

    ``target`` is a column, or those of times and events; ``ordered`` are the levels of a column, lowest first.
    """
    names = [str(name) for name in frame.columns]
    targets = [target] if isinstance(target, str) else list(target)
    for name in [*targets, *left_out, *([group] if group else [])]:
        if name not in names:
            raise data_error(f"there is no column {name!r}; there are {columns_told(names)}")
    absent = frame[targets].isna().to_numpy().any(axis=1)
    if absent.any() and not drop_missing_target:
        raise data_error(
            f"{int(absent.sum())} of {len(frame)} samples have no value in the target "
            f"{' or '.join(map(repr, targets))}. Fill them in, or leave such samples out "
            f"{'by --drop-missing-target' if to_learn else 'of the file'}."
        )
    frame = frame[~absent]
    least = LEAST_ROWS if to_learn else 1
    if len(frame) < least:
        raise data_error(f"at least {least} samples are needed; there are {len(frame)}.")
    if to_learn:
        _check_learnable(frame[targets[0]], targets[0])
    _check_sizes(frame.drop(columns=[*left_out, *([] if isinstance(target, str) else targets)]), to_learn)
    order = None
    if isinstance(target, str):
        y, task, why = _targets(frame[target], target, _asked(frame[target], target, task, ordered))
        if task == "ordered":
            order = _order(frame[target], y, target, ordered)
            y = order[codes_of(y, order, target)]
    else:
        y, task, why = _times(frame, *target, to_learn), "times", "--time and --event say so"
    if to_learn and task in ("classes", "ordered"):
        _check_classes(y, targets[0])
    X = frame.drop(columns=list(dict.fromkeys([*targets, *left_out, *([group] if group else [])])))
    if X.shape[1] == 0:
        raise data_error("there is no column left to predict the target from.")
    if group is not None and frame[group].isna().any():
        raise data_error(
            f"{int(frame[group].isna().sum())} of {len(frame)} samples have no value in --group {group!r}. Fill them "
            "in: a value of its own for a sample that belongs to no other."
        )
    groups = None if group is None else frame[group].astype(str).to_numpy()
    return Samples(X, y, task, why, groups, order)


def _check_sizes(frame: DataFrame, to_learn: bool) -> None:
    """Raise CommandError where numbers are infinite or, to learn from, so large that their squares are."""
    for name in frame.columns:
        largest = np.nanmax(np.abs(frame[name].to_numpy()), initial=0.0) if frame[name].dtype.kind == "f" else 0.0
        if largest > (LARGEST if to_learn else np.finfo(float).max):
            what = "infinity" if np.isinf(largest) else f"{largest:g}, which is too large"
            raise data_error(
                f"column {name!r} holds {what}. Make such values missing, or leave the column out by --drop."
            )


def _asked(column: Any, target: str, task: str, ordered: list[str] | None) -> str:
    """Return the task that is asked for; that of an ordered category is "ordered" unless another one is."""
    from spkm.tables.levels import levels_of

    if ordered is not None:
        if task not in ("auto", "ordered"):
            raise data_error(f"--ordered goes with --task ordered; got --task {task}.")
        return "ordered"
    if task == "auto" and levels_of(column.dtype) is not None and column.nunique() > 2:
        say(
            f"the target {target!r} is an ordered category, so its classes are ordered (--task classes overrides that)."
        )
        return "ordered"
    return task


def _order(column: Any, y: np.ndarray, target: str, ordered: list[str] | None) -> np.ndarray:
    """Return the labels of ordered classes that there are, lowest first."""
    from spkm.tables.levels import levels_of

    levels = levels_of(column.dtype)
    present = {str(label): label for label in np.unique(y).tolist()}
    if ordered is not None:
        if len(set(ordered)) < max(2, len(ordered)):
            raise data_error(f"--ordered must name at least two levels, each once; got {','.join(ordered)!r}.")
        unknown = [level for level in present if level not in ordered]
        if unknown:
            raise data_error(
                f"--ordered must name all levels of the target {target!r}, lowest first; {unknown[0]!r} is missing."
            )
        return np.array([present[level] for level in ordered if level in present])
    if levels is not None:
        return np.array([present[str(level)] for level in levels if str(level) in present])
    if y.dtype.kind not in "biuf":
        raise data_error(
            f"the target {target!r} holds text, whose order is not known. Name its levels by --ordered, lowest first, "
            f"between commas: {', '.join(map(repr, list(present)[:10]))}."
        )
    return np.unique(y)


def codes_of(y: np.ndarray, order: Any, target: str = "y") -> np.ndarray:
    """Return the places of labels in their order."""
    place = {label: k for k, label in enumerate(np.asarray(order).tolist())}
    unknown = [label for label in y.tolist() if label not in place]
    if unknown:
        raise data_error(f"the target {target!r} holds {unknown[0]!r}, which is none of {list(place)}.")
    return np.array([place[label] for label in y.tolist()], dtype=int)


def _times(frame: DataFrame, time: str, event: str, to_learn: bool) -> np.ndarray:
    """Return records of event and time, or end with what is wrong with them."""
    try:
        times = frame[time].to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise data_error(f"--time {time!r} must be a column of numbers; it holds {frame[time].iloc[0]!r}.") from None
    if not np.isfinite(times).all() or np.any(times < 0):
        bad = float(times[~(np.isfinite(times) & (times >= 0))][0])
        raise data_error(f"--time {time!r} must hold times, finite and not negative; it holds {bad:g}.")
    values = frame[event].unique().tolist()
    wrong = [value for value in values if value not in (0, 1)]
    if wrong:
        raise data_error(
            f"--event {event!r} must hold 1 (or true) for an event and 0 (or false) for a censored time; it holds "
            f"{wrong[0]!r}."
        )
    events = frame[event].to_numpy(dtype=np.float64) == 1
    if to_learn and not events.any():
        raise data_error(f"--event {event!r} is 0 in all samples: without an event there is nothing to learn.")
    found = np.zeros(len(times), dtype=[("event", bool), ("time", np.float64)])
    found["event"], found["time"] = events, times
    return found


def as_labels(y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return targets as the labels of a model: equal to them, or written like them ("1" and 1)."""
    known, written = ({kind(label): label for label in labels.tolist()} for kind in (lambda label: label, str))
    found = [known.get(value, written.get(str(value))) for value in y.tolist()]
    unknown = {str(value) for value, label in zip(y.tolist(), found, strict=True) if label is None}
    if unknown:
        raise data_error(f"the model was fitted without the classes {', '.join(sorted(unknown)[:10])} of the target.")
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


def number_texts(X: Any) -> list[str]:
    """Return a note for every column of texts that are numbers as people write them, with decimal commas say."""
    notes = []
    for name in X.columns:
        cells = X[name].dropna().unique().tolist() if kind_of(X[name]) not in ("i", "u", "f", "b") else []
        if cells and all(isinstance(cell, str) and NUMBER_TEXT.fullmatch(cell.strip()) for cell in cells):
            notes.append(
                f"column {name!r} is taken for categories, though its cells look like numbers, such as {cells[0]!r}: "
                "write these with a decimal point and nothing between thousands."
            )
    return notes


def _check_learnable(column: Any, target: str) -> None:
    values = column.unique().tolist()
    if len(values) < 2:
        raise data_error(f"the target {target!r} is {values[0]!r} in all samples: there is nothing to learn.")


def _check_classes(y: np.ndarray, target: str) -> None:
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) > MOST_CLASSES:
        text = (
            "" if y.dtype.kind in "biuf" else f" It is text, such as {str(classes[0])!r}: numbers must be plain ones."
        )
        raise data_error(
            f"the target {target!r} has {len(classes)} classes; at most {MOST_CLASSES} are possible.{text}"
        )
    if counts.min() < 2:
        alone = ", ".join(map(str, classes[counts < 2][:10]))
        raise data_error(
            f"the target {target!r} has classes with a single sample, which cannot be both learnt and checked: "
            f"{alone}. Leave them out or merge them."
        )


def _targets(column: Any, target: str, task: str) -> tuple[np.ndarray, str, str]:
    """Return the targets, what they are, and why."""
    kind, values = kind_of(column), column.unique()
    numeric = kind in ("i", "u", "f")
    whole = numeric and bool(np.all(np.asarray(values, dtype=float) % 1 == 0))
    if task == "auto":
        task = "classes" if not numeric or (whole and len(values) <= FEW_VALUES) else "numbers"
        what = f"{len(values)} different values" if numeric else f"{len(values)} levels"
        other = "numbers" if task == "classes" else "classes"
        why = f"the target {target!r} has {what}, so it is taken for {task}"
        say(why + (f" (--task {other} overrides that)." if numeric else "."))
    else:
        why = f"--task {task} says so"
    if task == "ordered" and why.startswith("--task"):
        why = "its classes have an order"
    if task == "numbers":
        try:
            return column.to_numpy(dtype=np.float64), task, why
        except (TypeError, ValueError):
            raise data_error(f"a model of numbers needs numbers in the target {target!r}; it holds text.") from None
    if whole:
        return column.to_numpy(dtype=np.int64), task, why
    if kind == "b":
        return column.to_numpy(dtype=bool), task, why
    return column.astype(str).to_numpy(dtype=str) if not numeric else column.to_numpy(), task, why


def split_groups(groups: np.ndarray, test_size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples to learn from and those held out, which are whole groups."""
    from sklearn.model_selection import GroupShuffleSplit

    if len(np.unique(groups)) < 2:
        raise data_error("--groups needs at least two groups, as whole groups are held out; there is one.")
    return next(GroupShuffleSplit(1, test_size=test_size, random_state=seed).split(groups, groups=groups))


def split(samples: Samples, test_size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples to learn from and those held out, which hold the same share of each class, or whole groups."""
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(samples.y))
    classes = samples.task in ("classes", "ordered")
    if samples.groups is not None:
        train, test = split_groups(samples.groups, test_size, seed)
    else:
        labels = samples.y if classes else None
        if samples.task == "times":
            events = samples.y["event"]  # dealt out, unless there are too few of a kind
            labels = events if 1 < events.sum() < len(events) - 1 else None
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
