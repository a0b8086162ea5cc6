"""Steps before a model in a pipeline, as plain data: an encoder of tables, and columns that were kept.

The ``encoder`` of a plain model has the ``columns`` of the user's table and a plan for each: None for a column that is
not read, ``{"column", "fill", "value", "missing", "boolean"}`` for numbers and truths, ``{"column", "levels", "other",
"missing"}`` for categories, as :class:`spkm.TableEncoder` has them. Needs NumPy alone.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from spkm._cells import cell_list, cell_number, is_missing, level_places, level_text
from spkm._frames import labels_of, library_of
from spkm.persistence._container import need

if TYPE_CHECKING:
    from spkm._arrays import TableLike

FIELDS = {
    "fill": float,
    "value": bool,
    "missing": bool,
    "boolean": bool,
    "levels": list,
    "other": bool,
    "column": str,
    "twins": dict,  # for engines of other languages alone
}


def encoder_of(plain: dict[str, Any]) -> dict[str, Any] | None:
    """Return the encoder of a plain model; files before there were encoders have no such key."""
    return plain.get("encoder")


def columns_of(plain: dict[str, Any]) -> list[str] | None:
    """Return the names of the columns of the user's table: of the encoder where there is one, else of the features."""
    encoder = encoder_of(plain)
    return plain["feature_names"] if encoder is None else encoder["columns"]


def n_columns(plain: dict[str, Any]) -> int:
    """Return the number of values of a sample."""
    encoder = encoder_of(plain)
    return plain["n_features"] if encoder is None else len(encoder["columns"])


def behind_steps(plain: dict[str, Any], steps: list[Any]) -> dict[str, Any]:
    """Return the plain form of a model behind steps of a pipeline.

    Parameters
    ----------
    plain : dict
        The plain form of the model.
    steps : list
        The steps before it, in their order: an encoder of a plain model with ``names`` of the columns that it makes;
        for a step that keeps columns a dict of ``kept``, ``n_features`` and ``names``; and the name of any other step.
    """
    for place, step in reversed(list(enumerate(steps))):
        if isinstance(step, str) or ("kept" not in step and place > 0):
            other = step if isinstance(step, str) else "TableEncoder"
            raise TypeError(
                "Exports and the numpy runtime are for pipelines of a TableEncoder, selectors and a model, in this "
                f"order; got {other} as step {place + 1}."
            )
        if "kept" in step:
            kept = step["kept"]
            need(len(kept) == plain["n_features"], "a step keeps another number of columns than the next one reads")
            members = [{**one, "features": kept[np.asarray(one["features"], dtype=int)]} for one in plain["members"]]
            plain = {**plain, "members": members, "n_features": step["n_features"]}
        else:
            plain = {**plain, "encoder": {key: step[key] for key in ("columns", "plans")}}
        plain["feature_names"] = step["names"]
    return plain


def check_encoder(encoder: Any, n_features: int) -> None:
    """Raise ModelFileError unless an encoder is one, and makes as many columns as the model reads."""
    need(isinstance(encoder, dict) and isinstance(encoder.get("plans"), list), "its encoder is none")
    columns, plans = encoder.get("columns"), encoder["plans"]
    need(isinstance(columns, list) and all(type(name) is str for name in columns), "its encoder has no columns")
    need(len(columns) == len(plans), "its encoder has other columns")
    for plan in plans:
        need(plan is None or isinstance(plan, dict), "its encoder is none")
        if plan is None:
            continue
        own = {"levels", "other"} if "levels" in plan else {"fill", "value", "boolean"}
        need(set(plan) - {"twins"} == own | {"column", "missing"}, "its encoder is none")
        for key, value in plan.items():
            is_number = key == "fill" and type(value) in (int, float) and np.isfinite(value)
            need(is_number or (key != "fill" and type(value) is FIELDS[key]), "its encoder is none")
        levels = plan.get("levels", ())
        need(all(type(level) is str for level in levels), "its encoder is none")
        need(len(set(levels)) == len(levels), "its encoder has a level twice")
    need(sum(map(width_of, plans)) == n_features, "its encoder makes another number of columns")


def width_of(plan: Any) -> int:
    """Return the number of columns that a plan makes."""
    if plan is None:
        return 0
    own = len(plan["levels"]) + plan["other"] if "levels" in plan else int(plan["value"])
    return own + plan["missing"]


def starts_of(encoder: dict[str, Any]) -> Iterator[tuple[int, Any, int]]:
    """Yield the place of each column that is read, its plan, and the first of the columns that it makes."""
    first = 0
    for j, plan in enumerate(encoder["plans"]):
        if plan is not None:
            yield j, plan, first
            first += width_of(plan)


def names_of_levels(plan: Any) -> list[list[str]]:
    """Return all names of each level of a category: its own, and that of the same number in the other precision."""
    names: list[list[str]] = [[] for _ in plan["levels"]]
    for name, place in level_places(plan["levels"]).items():
        names[place].append(name)
    return names


def with_twins(plain: dict[str, Any]) -> dict[str, Any]:
    """Return a plain model whose categories have ``twins``, the level of each other name, for code that has none."""
    encoder = encoder_of(plain)
    if encoder is None:
        return plain
    plans = []
    for plan in encoder["plans"]:
        if plan is not None and "levels" in plan:
            levels = zip(plan["levels"], names_of_levels(plan), strict=True)
            plan = {**plan, "twins": {name: level for level, names in levels for name in names[1:]}}
        plans.append(plan)
    return {**plain, "encoder": {**encoder, "plans": plans}}


def encode(encoder: dict[str, Any], X: TableLike, n_features: int) -> np.ndarray:
    """Return the numbers of samples of mixed cells, (n, n_features), as :class:`spkm.TableEncoder` makes them."""
    cells = X if isinstance(X, np.ndarray) else _cells(X, encoder["columns"])
    count = len(encoder["columns"])
    if cells.ndim != 2 or cells.shape[1] != count:
        raise ValueError(f"X must have the shape (n_samples, {count}), the columns of the table; got {cells.shape}.")
    out = np.zeros((len(cells), n_features))
    for j, plan, first in starts_of(encoder):
        column = cell_list(cells[:, j])
        if "levels" in plan:
            for i, code in enumerate(_codes(plan, column)):
                if code >= 0:
                    out[i, first + code] = 1.0
            continue
        numbers = np.array([_number(value, plan) for value in column], dtype=float)
        absent = np.isnan(numbers)
        if plan["value"]:
            out[:, first] = np.where(absent, plan["fill"], numbers)
        if plan["missing"]:
            out[:, first + plan["value"]] = absent
    return out


def in_order(frame: Any, columns: list[str]) -> Any:
    """Return the given columns of a frame, in their order; those of a table of Arrow as an array of objects."""
    of_arrow = library_of(frame) == "pyarrow"
    names = {str(name): name for name in (frame.schema.names if of_arrow else frame.columns)}
    check_present(columns, names)
    if not of_arrow:
        return frame[[names[name] for name in columns]]
    cells = np.empty((frame.num_rows, len(columns)), dtype=object)
    for j, name in enumerate(columns):
        cells[:, j] = frame.column(name).to_pylist()
    return cells


def check_present(columns: list[str], names: Container[str]) -> None:
    """Raise ValueError if columns of the fit are not among names."""
    absent = [name for name in columns if name not in names]
    if absent:
        raise ValueError(f"X must have the columns of the fit; {', '.join(map(repr, absent))} are missing.")


def values_of(sample: Any, columns: list[str] | None) -> Any:
    """Return one sample as a sequence of its values: those of a dict or of a row of a frame are found by their names.

    A series whose names are numbers, those of places, is a sequence already.
    """
    # Dicts and rows of frames have keys.
    if isinstance(sample, list | tuple | np.ndarray) or columns is None or not hasattr(sample, "keys"):
        return sample
    names = {str(name): name for name in sample.keys()}
    has_names = isinstance(sample, dict) or any(isinstance(names[text], str) or text in columns for text in names)
    if not has_names:
        return sample
    check_present(columns, names)
    return [sample[names[name]] for name in columns]


def _cells(X: Any, columns: list[str]) -> np.ndarray:
    """Return a frame, or rows of cells, as an array of objects; the columns of a frame are found by their names."""
    if labels_of(X) is not None:
        return np.asarray(in_order(X, columns), dtype=object)
    if isinstance(X, dict):
        raise TypeError("X must be a frame, an array or a list of rows; got a dict. Make a frame of its columns.")
    rows = [list(values_of(row, columns)) for row in X]
    for i, row in enumerate(rows):
        if len(row) != len(columns):
            raise ValueError(f"A sample must have {len(columns)} values; sample {i} has {len(row)}.")
    cells = np.empty((len(rows), len(columns)), dtype=object)
    for i, row in enumerate(rows):
        cells[i] = row
    return cells


def _codes(plan: Any, column: list[Any]) -> Iterator[int]:
    """Yield which of the columns of a category is one, -1 for none."""
    places, n_levels = level_places(plan["levels"]), len(plan["levels"])
    for_other = n_levels if plan["other"] else -1
    for_missing = n_levels + plan["other"] if plan["missing"] else -1
    for value in column:
        yield for_missing if is_missing(value) else places.get(level_text(value), for_other)


def _number(value: object, plan: Any) -> float:
    number = cell_number(value, plan["column"], plan["boolean"])
    if np.isinf(number):
        raise ValueError(f"Column {plan['column']!r} must hold finite numbers; got {value!r}.")
    return number
