"""``spkm fit LEFT --with RIGHT``: functions of two tables of the same samples that go together."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from spkm.cli._command import CommandError
from spkm.cli._output import counted, finish, fit_progress, notes, replacing, show, show_written
from spkm.cli._reading import columns_told, data_error, read_frame
from spkm.cli._samples import LEAST_ROWS, split_groups

if TYPE_CHECKING:
    import numpy as np

    from spkm import SPKMCCA

#: Options of a fit that two tables have no use for, with the values that they have if they are not given.
OF_ONE_TABLE: dict[str, Any] = {
    "target": None,
    "time": None,
    "event": None,
    "ordered": None,
    "categorical": [],
    "features": None,
    "vectors": None,
    "monotone": [],
    "scale": "each",
    "task": "auto",
    "drop_missing_target": False,
}


def check(options: argparse.Namespace) -> None:
    """Raise CommandError where an option does not go with two tables."""
    for name, unset in OF_ONE_TABLE.items():
        if getattr(options, name) != unset:
            raise CommandError(f"--{name.replace('_', '-')} does not go with --with FILE, a fit of two tables.")
    if options.components < 1:
        raise CommandError(f"--components must be at least 1; got {options.components}.")
    _kernels(options.kernels)


def run(options: argparse.Namespace) -> int:
    """Fit, judge by held-out samples and write; return the exit code."""
    started = time.perf_counter()
    from spkm import SPKMCCA

    X, Y, groups = _tables(options)
    train, test = _split(len(X), groups, options)
    kernels = _kernels(options.kernels)
    model = SPKMCCA(options.components, kernel_x=kernels[0], kernel_y=kernels[1], random_state=options.seed)
    try:
        with fit_progress("fit"):
            model.fit(X.iloc[train], Y.iloc[train])
        with notes():
            text = model.summary(X.iloc[test], Y.iloc[test], random_state=options.seed)
    except ValueError as error:
        raise data_error(f"{options.data} and {options.second}: {error}") from error
    written = _write(options, model, X.iloc[test], Y.iloc[test])
    result = {
        "command": options.command_line,
        "data": {"x": options.data, "y": options.second, "samples": len(X)},
        "split": {"train": len(train), "test": len(test), "seed": options.seed, "by": options.group},
        "components": components_of(model, X.iloc[test], Y.iloc[test], options.seed),
        "written": written,
        "seconds": time.perf_counter() - started,
    }

    def tell() -> None:
        show(f"Correlations on {counted(test, 'held-out sample')}; X is {options.data}, Y is {options.second}.\n")
        show(str(text))
        show_written(written, options.json)

    finish(options.json, result, tell)
    return 0


def components_of(model: SPKMCCA, X: Any = None, Y: Any = None, seed: int = 0) -> list[dict[str, Any]]:
    """Return the components of a model, with their correlation on samples if there are any, as plain data."""
    from spkm.explain import relations

    found = []
    for one in relations(model, X, Y, random_state=seed):
        judged = {} if one.n is None else {"correlation": one.correlation, "p_value": one.p_value}
        weights = {t: {e.name: e.weight for e in own} for t, own in zip("xy", one.entries, strict=True)}
        found.append(
            {"training_correlation": one.training, "held_out_correlation": one.validation, **judged, **weights}
        )
    return found


def _kernels(text: str) -> list[Any]:
    """Return the kernels of ``--kernels``: one name for both tables, or two."""
    from spkm.kernels import Polynomial

    known: dict[str, Any] = {"linear": "linear", "square": Polynomial(2, coef0=0.0), "polynomial": "polynomial"}
    known["rbf"] = "rbf"
    names = text.split(",") * (1 if "," in text else 2)
    if len(names) != 2 or not set(names) <= set(known):
        raise CommandError(f"--kernels must be one or two of {', '.join(known)}, such as square,linear; got {text!r}.")
    return [known[name] for name in names]


def _tables(options: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Return the columns of both tables, and the groups of the samples, or end with what is wrong with them."""
    frames = [read_frame(path, options.format) for path in (options.data, options.second)]
    left, right = frames
    if len(left) != len(right):
        raise data_error(
            f"{options.data} has {len(left):,} samples and {options.second} {len(right):,}: both must have the same "
            "samples."
        )
    if len(left) < LEAST_ROWS:
        raise data_error(f"at least {LEAST_ROWS} samples are needed; there are {len(left)}.")
    for name in [*options.id, *options.drop, *([options.group] if options.group else [])]:
        if all(name not in frame.columns for frame in frames):
            raise data_error(f"there is no column {name!r}; there are {columns_told([*left.columns, *right.columns])}")
    for name in options.id:
        if all(name in frame.columns for frame in frames):
            other = left[name].astype(str).to_numpy() != right[name].astype(str).to_numpy()
            if other.any():
                raise data_error(
                    f"--id {name}: the tables differ in sample {other.argmax()}. Sort both in the same order of "
                    f"{name!r}."
                )
    own = next((frame[options.group] for frame in frames if options.group in frame.columns), None)
    groups = None if own is None else own.astype(str).to_numpy()
    out = {*options.id, *options.drop, options.group}
    X, Y = (
        _numbers(frame.drop(columns=[name for name in frame.columns if name in out]), path)
        for frame, path in zip(frames, (options.data, options.second), strict=True)
    )
    return X, Y, groups


def _numbers(frame: Any, path: str) -> Any:
    """Return a table that must hold numbers alone, without gaps."""
    for name in frame.columns:
        if frame[name].dtype.kind not in "biuf":
            raise data_error(
                f"{path}: column {name!r} holds no numbers. Two tables must; name identifiers by --id, and leave "
                "others out by --drop."
            )
    gaps = frame.columns[frame.isna().any().to_numpy()]
    if len(gaps):
        raise data_error(f"{path}: column {gaps[0]!r} has missing values. Fill them in, or leave it out by --drop.")
    if frame.shape[1] == 0:
        raise data_error(f"{path} has no column left.")
    return frame.astype(float)


def _split(n: int, groups: Any, options: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples to learn from and those held out, which are whole groups if there are any."""
    import numpy as np
    from sklearn.model_selection import ShuffleSplit

    if groups is not None:
        train, test = split_groups(groups, options.test_size, options.seed)
    else:
        train, test = next(ShuffleSplit(1, test_size=options.test_size, random_state=options.seed).split(np.zeros(n)))
    return np.sort(train), np.sort(test)


def _write(options: argparse.Namespace, model: SPKMCCA, X: Any, Y: Any) -> dict[str, str]:
    """Write the model and the report, and return what was written."""
    from spkm.cli.report import names_of_tables
    from spkm.persistence import save

    written = {}
    if options.output is not None:
        about = {f"held-out correlation {k}": float(c) for k, c in enumerate(model.correlations(X, Y), 1)}
        with replacing(options.output) as temporary, notes():
            save(model, temporary, metrics=about)
        written["model"] = options.output
    if options.report is not None:
        with replacing(options.report) as temporary, notes():
            named = {"title": options.title, "tables": names_of_tables(options), "privacy": options.privacy}
            model.report(temporary, X, Y, **named, random_state=options.seed)
        written["report"] = options.report
    return written
