"""Write the model files of a release into ``tests/model_files``; those that are there are left alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from spkm.persistence import load, save
from tests.fitted_cases import MAKERS, fitted, samples
from tests.pipeline_cases import MAKERS as PIPELINES
from tests.pipeline_cases import fitted as pipeline_of
from tests.pipeline_cases import mixed

FOLDER = Path(__file__).with_name("model_files")
SELECTED = "selector"


def in_rows(name):
    """Return samples as one array: of tables and pairs the columns side by side."""
    X = samples(name)
    if isinstance(X, dict):
        return np.hstack([np.asarray(X[key]) for key in X])
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


def answer(estimator, rows):
    """Return what an estimator says of samples in a form that every version has."""
    if hasattr(estimator, "_tables") and estimator._tables:
        cuts = np.cumsum([layout.width for layout in estimator._tables.values()])[:-1]
        parts = np.split(rows, cuts, axis=1)
        rows = dict(zip(estimator._tables, parts, strict=True))
    for method in ("decision_function", "predict", "transform"):
        if hasattr(estimator, method):
            return np.asarray(getattr(estimator, method)(rows), dtype=float).tolist()
    raise TypeError(f"{type(estimator).__name__} says nothing")


def table_of(known):
    """Return the samples of a file of answers: an array, or a frame where columns have names."""
    if "columns" not in known:
        return np.asarray(known["rows"])
    frame = pd.DataFrame(known["rows"], columns=known["columns"])
    return frame.assign(age=frame["age"].astype(float), member=frame["member"].astype(bool))


def main(version: str) -> None:
    folder = FOLDER / version
    folder.mkdir(exist_ok=True)
    for name in sorted(MAKERS):
        path = folder / f"{name.replace(', ', '-').replace(' ', '_')}.spkm"
        if path.exists():
            continue
        fitted(name).save(path)
        rows = in_rows(name)[:10]
        known = {"rows": rows.tolist(), "answer": answer(load(path), rows)}
        path.with_suffix(".json").write_text(json.dumps(known) + "\n")
    frame = mixed(10, seed=3)
    for name in sorted(PIPELINES):
        path = folder / f"pipeline-{name.replace(', ', '-').replace(' ', '_')}.spkm"
        if not path.exists():
            save(pipeline_of(name), path)
            known = {"columns": list(frame.columns), "rows": json.loads(frame.to_json(orient="values"))}
            known["answer"] = answer(load(path), table_of(known))
            path.with_suffix(".json").write_text(json.dumps(known) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
