"""Pipelines of our own steps: as parts of a model file, and as one plain model."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from spkm._publish import feature_names
from spkm.persistence._container import need
from spkm.persistence._encoding import behind_steps, check_encoder
from spkm.persistence._values import Reader, Unsavable, Writer
from spkm.tables import TableEncoder
from spkm.tables.pipelines import LoadedPipeline, encoding_of, selects, steps_of

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

OUTPUTS = ("default", "pandas", "polars")  # of set_output
OUTPUT_CONFIG = "_sklearn_output_config"


def plain_encoder(encoder: TableEncoder) -> dict[str, Any]:
    """Return the encoder of a plain model."""
    known = encoder.to_plain()
    return {"columns": known["columns"], "plans": known["plans"]}


def composed(estimator: BaseEstimator, plain: dict[str, Any]) -> dict[str, Any]:
    """Return the plain form of a whole pipeline from that of its last step."""
    return behind_steps(plain, [_plain_step(step) for step in steps_of(estimator)[:-1]])


def _plain_step(step: Any) -> Any:
    if isinstance(step, TableEncoder):
        return {**plain_encoder(step), "names": list(map(str, step.get_feature_names_out()))}
    if not selects(step):
        return type(step).__name__
    names = None if feature_names(step) is None else list(map(str, feature_names(step)))
    return {"kept": step.get_support(indices=True), "n_features": int(step.n_features_in_), "names": names}


# In model files


def write_pipeline(writer: Writer, pipeline: Pipeline) -> dict[str, Any]:
    """Return the JSON of a fitted pipeline."""
    if pipeline.memory is not None:
        raise Unsavable("a pipeline with memory, which is a place on a disk: set memory=None first")
    steps = [[str(name), _write_step(writer, name, step)] for name, step in pipeline.steps]
    kept = [writer.write(step.get_support(indices=True)) if selects(step) else None for _, step in pipeline.steps[:-1]]
    return {"$": "pipeline", "steps": steps, "kept": kept, "verbose": bool(pipeline.verbose)}


def _write_step(writer: Writer, name: str, step: object) -> Any:
    try:
        return writer.write("passthrough" if step is None else step)
    except Unsavable as error:
        raise Unsavable(
            f"step {name!r} of the pipeline, {type(step).__name__}, is not of this library. Such pipelines are for "
            "skops, with spkm.persistence.TRUSTED_TYPES and what skops.io.get_untrusted_types names besides"
        ) from error


def read_pipeline(reader: Reader, node: Any) -> LoadedPipeline:
    """Return the pipeline of its JSON; each step must read what the one before it makes."""
    steps, kept = node.get("steps"), node.get("kept")
    need(isinstance(steps, list) and steps and isinstance(kept, list), "its pipeline has no steps")
    need(len(kept) == len(steps) - 1, "its pipeline has other steps")
    found = []
    for pair in steps:
        need(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str), "a step of its pipeline is none")
        is_step = pair[1] == "passthrough" or (
            isinstance(pair[1], dict) and pair[1].get("$") in ("estimator", "encoder")
        )
        need(is_step, "a step of its pipeline is none")
        found.append((pair[0], reader.read(pair[1])))
    for (_, step), known in zip(found[:-1], kept, strict=True):
        own = step.get_support(indices=True) if selects(step) else None
        again = None if known is None else reader.read(known)
        agree = again is None if own is None else isinstance(again, np.ndarray) and np.array_equal(own, again)
        need(agree, "a step of its pipeline keeps other columns")
    need(len({name for name, _ in found}) == len(found), "two steps of its pipeline have one name")
    need(isinstance(node.get("verbose"), bool), "its pipeline is none")
    _check_widths([step for _, step in found if step != "passthrough"])
    return with_encoding(LoadedPipeline(found, verbose=node["verbose"]))


def with_encoding(pipeline: LoadedPipeline) -> LoadedPipeline:
    """Return a pipeline whose last step has the names of the table, as after a fit, if an encoder is before it."""
    steps = steps_of(pipeline)
    if len(steps) > 1 and isinstance(steps[-2], TableEncoder) and feature_names(steps[-1]) is None:
        for one in (steps[-1], *vars(steps[-1]).get("estimators_", ())):
            vars(one)["_encoding"] = encoding_of(steps[:-1])
    return pipeline


def _check_widths(steps: list[Any]) -> None:
    need(steps, "its pipeline has no steps")
    for step, after in itertools.pairwise(steps):  # any of our estimators may stand in a file
        need(hasattr(step, "transform"), "a step before the last of its pipeline predicts")
        width = step.get_support().sum() if selects(step) else len(step.get_feature_names_out())
        need(width == after.n_features_in_, "a step of its pipeline reads other columns than the one before makes")


def write_encoder(writer: Writer, encoder: TableEncoder) -> dict[str, Any]:
    """Return the JSON of a fitted encoder."""
    return {"$": "encoder", "class": "TableEncoder", "plain": writer.write(encoder.to_plain()), **output_of(encoder)}


def read_encoder(reader: Reader, node: Any) -> TableEncoder:
    """Return the fitted encoder of its JSON."""
    plain = reader.read(node.get("plain"))
    need(isinstance(plain, dict) and isinstance(plain.get("params"), dict), "its encoder is none")
    need(set(plain["params"]) <= set(TableEncoder._get_param_names()), "its encoder has unknown parameters")
    for key, kind in (("named", bool), ("float32", bool), ("notes", list), ("columns", list), ("plans", list)):
        need(type(plain.get(key)) is kind, "its encoder is none")
    need(all(type(note) is str for note in plain["notes"]), "its encoder is none")
    for key in ("links", "whole"):
        need(type(plain.get(key, [])) is list, "its encoder is none")
    need(all(name in plain["columns"] for name in plain.get("whole", [])), "its encoder is none")
    need(
        all(_is_link(link, plain["columns"]) for link in plain.get("links", [])), "its encoder has links that are none"
    )
    encoder = TableEncoder.from_plain(plain)
    check_encoder(plain_encoder(encoder), len(encoder.feature_origin_))
    return set_output(encoder, node)


def _is_link(link: object, columns: list[str]) -> bool:
    """Whether a part of a file is a link of columns: combinations of values, or slopes."""
    if not isinstance(link, dict) or set(link) != {"columns", "rows", "slopes"}:
        return False
    named, rows, slopes = link["columns"], link["rows"], link["slopes"]
    if not all(type(part) is list for part in (named, rows, slopes, *rows)) or len(named) < 2:
        return False
    cells = [cell for row in rows for cell in row]
    return (
        all(type(name) is str and name in columns for name in named)
        and all(len(row) == len(named) for row in rows)
        and all(type(cell) in (str, bool, int, float) for cell in cells)
        and all(type(number) in (int, float) and np.isfinite(number) for number in slopes)
        and len(slopes) in (0, len(named))
    )


def output_of(estimator: BaseEstimator) -> dict[str, str]:
    """Return what ``set_output`` made of an estimator, as part of its JSON."""
    kind = vars(estimator).get(OUTPUT_CONFIG, {}).get("transform")
    return {} if kind is None else {"output": kind}


def set_output(estimator: BaseEstimator, node: Any) -> Any:
    """Do what ``set_output`` had done, without its imports."""
    kind = node.get("output")
    need(kind is None or kind in OUTPUTS, "a step returns tables of an unknown kind")
    if kind is not None:
        setattr(estimator, OUTPUT_CONFIG, {"transform": kind})
    return estimator
