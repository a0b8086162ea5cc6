"""Exports say what Python says: every format, kernel and task that it can express, on 1,000 samples of mixed sizes."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from spkm import SPKMNystroem, losses
from spkm.persistence import export
from tests.fitted_cases import fitted, samples
from tests.plain_cases import all_models, assert_agrees, ensemble, expected, mixed_rows, near
from tests.saving import exported, with_model
from tests.small_data import two_classes

MODELS = all_models()
ROWS = mixed_rows()
GCC = shutil.which("gcc") or shutil.which("cc")


def content(name, suffix, names=None, **options):
    return exported(with_model(MODELS[name], names), suffix, **options)


# Python


def run_python(path, rows, methods):
    """Return what an exported module says, in a Python without any package."""
    code = """
import json, runpy, sys
given = json.load(sys.stdin)
module = runpy.run_path(given["path"])
json.dump({name: [module[name](row) for row in given["rows"]] for name in given["methods"]}, sys.stdout)
"""
    given = json.dumps({"path": str(path), "rows": rows.tolist(), "methods": methods})
    command = [sys.executable, "-I", "-S", "-c", code]
    result = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_python_agrees(name, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(content(name, ".py"), encoding="utf-8")
    found = run_python(path, ROWS, ["similarities", "contributions", "scores", "probabilities", "predict"])
    if found["probabilities"][0] is None:
        del found["probabilities"]
    assert_agrees(MODELS[name], ROWS, found, 1e-12)


# C

MAIN = """
#include <stdio.h>
#include "model.h"
static void put(const char *name, const double *values, int n)
{
    printf("%s", name);
    for (int i = 0; i < n; i++) printf(" %.17g", values[i]);
    printf("\\n");
}
int main(void)
{
    double x[SPKM_N_FEATURES], f[SPKM_N_SCORES], k[SPKM_N_BASIS], c[SPKM_N_BASIS * SPKM_N_SCORES];
    for (;;) {
        for (int j = 0; j < SPKM_N_FEATURES; j++) if (scanf("%lf", x + j) != 1) return 0;
        spkm_scores(x, f);
        put("scores", f, SPKM_N_SCORES);
        spkm_similarities(x, k);
        put("similarities", k, SPKM_N_BASIS);
        spkm_contributions(x, c);
        put("contributions", c, SPKM_N_BASIS * SPKM_N_SCORES);
#if SPKM_N_PROBABILITIES
        double p[SPKM_N_PROBABILITIES];
        spkm_probabilities(x, p);
        put("probabilities", p, SPKM_N_PROBABILITIES);
#endif
#if SPKM_N_CLASSES
        double y[1];
        y[0] = spkm_predict(x);
        put("predict", y, 1);
#else
        double y[SPKM_N_DECISIONS];
        spkm_predict(x, y);
        put("predict", y, SPKM_N_DECISIONS);
#endif
    }
}
"""


def compiled(folder, text, main=MAIN):
    (folder / "model.h").write_text(text, encoding="utf-8")
    (folder / "main.c").write_text(main)
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused-const-variable"]
    result = subprocess.run(
        [GCC, *flags, "main.c", "-o", "main", "-lm"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return folder / "main"


@pytest.mark.skipif(GCC is None, reason="no C compiler is installed")
@pytest.mark.parametrize("name", sorted(MODELS))
def test_c_agrees(name, tmp_path):
    program = compiled(tmp_path, content(name, ".c"))
    text = "\n".join(" ".join(map(repr, row)) for row in ROWS.tolist())
    result = subprocess.run([program], input=text, capture_output=True, text=True, check=True, timeout=60)
    found = {}
    for line in result.stdout.splitlines():
        method, *values = line.split()
        found.setdefault(method, []).append([float(value) for value in values])
    if MODELS[name].target.task in ("classes", "ordered"):
        codes = np.array(found["predict"], dtype=int)[:, 0]
        found["predict"] = MODELS[name].target.labels[codes]
    assert_agrees(MODELS[name], ROWS, found, 1e-12)


# SQL


def columns_of(cursor, rows):
    names = [column[0] for column in cursor.description]
    return {name: [row[k] for row in rows] for k, name in enumerate(names) if name.startswith("spkm_")}


def answers_of(columns, name):
    model = MODELS[name]
    count = len(model.target.constant)
    both = max(2, len(model.target.labels)) if not model.target.two_dimensional else count

    def stacked(prefix, n):
        return np.array([columns[f"{prefix}_{k}"] for k in range(n)]).T

    found = {"scores": stacked("spkm_score", count)}
    if "spkm_pair_score_0" in columns:
        found["scores"] = stacked("spkm_pair_score", len(model.members))
    elif not model.is_joint:  # a label that is constant has a score, too
        found["scores"] = found["scores"][:, model.target.learned]
    keys = [key for key in columns if key.startswith("spkm_similarity")]
    found["similarities"] = np.array([columns[key] for key in keys]).T
    if "spkm_probability_0" in columns:
        found["probabilities"] = stacked("spkm_probability", both)
    found["predict"] = columns["spkm_prediction"] if "spkm_prediction" in columns else stacked("spkm_prediction", count)
    return found


def sqlite_of(names, rows):
    """Return a connection, to be closed, to a table of samples."""
    connection = sqlite3.connect(":memory:")
    connection.create_function("exp", 1, lambda x: float(np.exp(x)), deterministic=True)  # some builds have none
    connection.create_function("sqrt", 1, lambda x: float(np.sqrt(x)), deterministic=True)
    connection.create_function("pow", 2, lambda a, b: float(a**b), deterministic=True)
    quoted = ", ".join('"' + name.replace('"', '""') + '" REAL' for name in names)
    connection.execute(f"CREATE TABLE samples (id INTEGER, {quoted})")
    marks = ", ".join("?" * (len(names) + 1))
    connection.executemany(f"INSERT INTO samples VALUES ({marks})", [(i, *row) for i, row in enumerate(rows.tolist())])
    return connection


NAMES = ["a", "b c", 'd"e', "f'g", "h;i", "j"]


@pytest.mark.parametrize("name", sorted(MODELS))
def test_sql_agrees_in_sqlite(name):
    with closing(sqlite_of(NAMES, ROWS)) as connection:
        cursor = connection.execute(content(name, ".sql", NAMES, details=True))
        columns = columns_of(cursor, cursor.fetchall())
    assert_agrees(MODELS[name], ROWS, answers_of(columns, name), 1e-12)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_sql_agrees_in_duckdb(name):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    connection = duckdb.connect()
    connection.register("given", pd.DataFrame(ROWS, columns=NAMES))
    connection.execute("CREATE TABLE samples AS SELECT * FROM given")
    cursor = connection.execute(content(name, ".sql", NAMES, details=True))
    columns = columns_of(cursor, cursor.fetchall())
    assert_agrees(MODELS[name], ROWS, answers_of(columns, name), 1e-12)


# ONNX


@pytest.mark.parametrize("name", sorted(MODELS))
def test_onnx_agrees(name):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(content(name, ".onnx"), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"X": ROWS}), strict=True))
    model = MODELS[name]
    answers = {"similarities": found["similarities"], "contributions": found["contributions"]}
    answers["scores"] = found["score"][:, model.target.learned] if not model.is_joint else found["score"]
    if "pair_score" in found:
        answers["scores"] = found["pair_score"]
        near(found["score"], expected(model, ROWS)["decision"], 1e-9)
    if "probability" in found:
        answers["probabilities"] = found["probability"]
    answers["predict"] = found["prediction"] if "prediction" in found else found["label"]
    assert_agrees(model, ROWS, answers, 1e-12)


# All of them


def test_models_too_large_for_a_database_are_refused():
    many = ensemble(list(range(14)), losses.Log(), True)
    with pytest.raises(ValueError, match="too large for SQL"):
        exported(with_model(many), ".sql")


def test_onnx_says_what_to_install(absent):
    absent("onnx")
    with pytest.raises(ImportError, match=r"spkm\[onnx\]"):
        content("regression", ".onnx")


def test_estimators_export_by_suffix(tmp_path):
    estimator = fitted("two words, frame")
    for suffix in (".json", ".js", ".py", ".c", ".sql"):
        estimator.export(tmp_path / f"model{suffix}")
        assert (tmp_path / f"model{suffix}").stat().st_size > 500
    plain = json.loads((tmp_path / "model.json").read_text())
    assert plain["feature_names"] == ["column 0", "column 1"] and plain["classes"] == ["no", "yes"]
    with pytest.raises(ValueError, match=r"path must end with one of .*model\.exe"):
        estimator.export(tmp_path / "model.exe")
    with pytest.raises(TypeError, match="SPKMNystroem"):
        export(SPKMNystroem(3, random_state=0).fit(*two_classes()), tmp_path / "model.py")


def test_pairs_are_exported_as_samples_of_both_sides(tmp_path):
    estimator = fitted("pairs")
    estimator.export(tmp_path / "model.py")
    left, right = estimator._pairs.tables
    pairs = samples("pairs")[:20]
    rows = np.hstack([left[pairs[:, 0]], right[pairs[:, 1]]])
    found = run_python(tmp_path / "model.py", rows, ["predict"])["predict"]
    np.testing.assert_allclose(found, estimator.predict(pairs), rtol=1e-9, atol=1e-9)


EVIL = [
    "*/ int main(void){return 7;} /*",
    '"); DROP TABLE samples; --',
    "'; DROP TABLE samples; --",
    "</script><script>alert(1)</script>",
    "\\\"'`${process.exit(9)}",
    "\n#error\nimport os; os._exit(9)\u2028\u2029 é \U0001f600 ??/",
]


@pytest.mark.skipif(GCC is None, reason="no C compiler is installed")
def test_names_are_no_code_in_c(tmp_path):
    main = """#include <stdio.h>
#include "model.h"
int main(void) { return fwrite(spkm_feature_names_at(0), 1, 3, stdout) != 3; }
"""
    program = compiled(tmp_path, content("three classes", ".c", EVIL), main)
    result = subprocess.run([program], capture_output=True, check=False)
    assert result.returncode == 0 and result.stdout.startswith(b"*/ ")


def test_names_are_no_code_in_sql():
    with closing(sqlite_of(EVIL, ROWS[:20])) as connection:
        cursor = connection.execute(content("three classes", ".sql", EVIL, details=True))
        found = answers_of(columns_of(cursor, cursor.fetchall()), "three classes")
        assert connection.execute("SELECT count(*) FROM samples").fetchone() == (20,)
    assert_agrees(MODELS["three classes"], ROWS[:20], found, 1e-12)
    for name in ("a\0b", "SPKM_score_0", "\ud800"):
        with pytest.raises(ValueError, match="cannot be called"):
            content("regression", ".sql", [name, "b", "c", "d", "e", "f"])


def test_names_are_no_code_in_python(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(content("three classes", ".py", EVIL), encoding="utf-8")
    found = run_python(path, ROWS[:20], ["predict"])
    assert found["predict"] == expected(MODELS["three classes"], ROWS[:20])["predict"].tolist()


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_names_are_no_code_in_javascript(tmp_path):
    text = content("three classes", ".js", EVIL)
    assert "</script" not in text and "<!--" not in text
    (tmp_path / "model.js").write_text(text, encoding="utf-8")
    code = """const m = require(process.argv[1]);
    console.log(JSON.stringify([m.plain.feature_names, m.predict([1, 2, 3, 4, 5, 6])]))"""
    result = subprocess.run(
        ["node", "-e", code, "--", str(tmp_path / "model.js")], capture_output=True, text=True, check=True
    )
    names, label = json.loads(result.stdout)
    assert names == EVIL
    assert label == expected(MODELS["three classes"], np.arange(1.0, 7.0)[None])["predict"][0]


def test_names_survive_json():
    assert json.loads(content("regression", ".json", EVIL))["feature_names"] == EVIL


# What is no number


def test_onnx_gives_no_text_or_fraction_to_nan():
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    rows = np.where(np.arange(6)[None] == 0, [[0.5], [np.nan], [np.inf], [-np.inf]], 0.5)
    for name, none in (("three classes", ""), ("one against the rest", ""), ("ordered", ""), ("regression", np.nan)):
        session = runtime.InferenceSession(content(name, ".onnx"), providers=["CPUExecutionProvider"])
        output = "prediction" if name == "regression" else "label"
        found = session.run([output], {"X": rows})[0].ravel().tolist()
        assert found[0] != none and all(one == none or np.isnan(one) for one in found[1:])


@pytest.mark.skipif(GCC is None, reason="no C compiler is installed")
@pytest.mark.parametrize("name", ["two classes", "three classes", "one against one", "labels", "counts", "ordered"])
def test_c_has_no_answer_for_what_is_not_finite(name, tmp_path):
    program = compiled(tmp_path, content(name, ".c"))
    rows = "".join(f"{value} 1 1 1 1 1\n" for value in ("nan", "inf", "-inf"))
    result = subprocess.run([program], input=rows, capture_output=True, text=True, check=True, timeout=60)
    found = [line.split()[1:] for line in result.stdout.splitlines() if line.startswith("predict")]
    assert len(found) == 3
    for values in np.array(found, dtype=float):
        assert (values == -1).all() if MODELS[name].target.task in ("classes", "ordered") else np.isnan(values).all()
