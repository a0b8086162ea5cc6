"""Ordered classes and censored times in files and exports: all say what Python says, on the same samples."""

import json
import runpy
import shutil
import sqlite3
import subprocess
from contextlib import closing

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

from spkm import SPKMOrdinalClassifier, SPKMRegressor, SPKMSurvival, TableEncoder, load, save
from spkm.persistence import compiled, export

pandas = pytest.importorskip("pandas")
GCC, NODE = shutil.which("gcc") or shutil.which("cc"), shutil.which("node")
TIMES = [0.2, 0.5, 1.0]
LEVELS = ["low", "mid", "high"]


def tables(n=150):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"a": rng.standard_normal(n), "b": rng.standard_normal(n), "c": rng.choice(["u", "v"], n)})
    f = frame["a"] + frame["b"] ** 2 + (frame["c"] == "u")
    time = rng.exponential(np.exp(-f))
    y = np.rec.fromarrays([time < 1.5, np.minimum(time, 1.5)], names="event,time")
    return frame, y, np.array(LEVELS)[np.digitize(f + rng.logistic(size=n), [0.5, 2.0])]


@pytest.fixture(scope="module")
def models():
    """Return samples, and pipelines of an encoder and a model of each target."""
    frame, times, grades = tables()
    settings = {"n_basis": 3, "weight_penalty": "rkhs", "random_state": 0}
    survival = make_pipeline(TableEncoder(), SPKMSurvival(**settings)).fit(frame, times)
    ordinal = make_pipeline(TableEncoder(), SPKMOrdinalClassifier(order=LEVELS, **settings)).fit(frame, grades)
    return frame[:20], survival, ordinal


def curves(pipeline, frame):
    encoder, model = pipeline.named_steps.values()
    return model.predict_survival_function(encoder.transform(frame), TIMES)


def rows_of(frame):
    return frame.astype(object).to_numpy().tolist()


def test_python_and_compiled(models, tmp_path):
    frame, survival, ordinal = models
    export(survival, tmp_path / "s.py", times=TIMES)
    export(ordinal, tmp_path / "o.py")
    code, grades = (runpy.run_path(str(tmp_path / name)) for name in ("s.py", "o.py"))
    rows, wanted = rows_of(frame), curves(survival, frame)
    assert code["MODEL"]["survival"]["times"] == TIMES and grades["survival"](rows[0]) is None
    assert_allclose([code["survival"](row) for row in rows], wanted, atol=1e-12)
    assert_allclose([code["predict"](row) for row in rows], survival.predict(frame), atol=1e-12)
    assert_allclose([grades["probabilities"](row) for row in rows], ordinal.predict_proba(frame), atol=1e-12)
    assert [grades["predict"](row) for row in rows] == ordinal.predict(frame).tolist()
    quick = compiled(survival, "predict_survival_function", TIMES)
    assert_allclose([quick(row) for row in rows], wanted, atol=1e-12)
    assert [compiled(ordinal)(row) for row in rows] == ordinal.predict(frame).tolist()
    one = compiled(ordinal, "predict_proba")
    assert_allclose([one(row) for row in rows], ordinal.predict_proba(frame), atol=1e-12)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_javascript(models, tmp_path):
    frame, survival, ordinal = models
    export(survival, tmp_path / "s.js", times=TIMES)
    export(ordinal, tmp_path / "o.js")
    code = """
    const s = require("./s.js"), o = require("./o.js"), rows = JSON.parse(require("fs").readFileSync(0, "utf8"));
    console.log(JSON.stringify([rows.map(s.survival), rows.map(o.probabilities), rows.map(o.predict)]));
    """
    text = json.dumps(rows_of(frame))
    result = subprocess.run([NODE, "-e", code], input=text, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = json.loads(result.stdout)
    assert_allclose(found[0], curves(survival, frame), atol=1e-12)
    assert_allclose(found[1], ordinal.predict_proba(frame), atol=1e-12)
    assert found[2] == ordinal.predict(frame).tolist()


@pytest.mark.skipif(GCC is None, reason="no C compiler is installed")
def test_c(models, tmp_path):
    frame, survival, _ = models
    export(survival, tmp_path / "model.h", times=TIMES)
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "model.h"\nint main(void) {\n'
        "    double a, b, x[SPKM_N_FEATURES], s[SPKM_N_TIMES]; char c[9];\n"
        '    while (scanf("%lf %lf %8s", &a, &b, c) == 3) {\n'
        "        spkm_cell row[] = {{a, NULL}, {b, NULL}, {0, c}};\n"
        "        spkm_encode(row, x); spkm_survival(x, s);\n"
        '        for (int k = 0; k < SPKM_N_TIMES; k++) printf("%.17g ", s[k]);\n'
        '        printf("\\n");\n    }\n    return spkm_times_at(0) > 1e9;\n}\n'
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused-const-variable"]
    subprocess.run([GCC, *flags, "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    text = "\n".join(" ".join(map(str, row)) for row in rows_of(frame))
    found = subprocess.run([tmp_path / "main"], input=text, capture_output=True, text=True, check=True).stdout
    assert_allclose([[float(v) for v in line.split()] for line in found.splitlines()], curves(survival, frame), 1e-9)


def test_sql(models, tmp_path):
    frame, survival, ordinal = models
    export(survival, tmp_path / "s.sql", times=TIMES)
    export(ordinal, tmp_path / "o.sql")
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("exp", 1, lambda x: float(np.exp(x)), deterministic=True)
        frame.to_sql("samples", connection, index=False)
        found = pandas.read_sql((tmp_path / "s.sql").read_text(), connection)
        grades = pandas.read_sql((tmp_path / "o.sql").read_text(), connection)
    assert_allclose(found[[f"spkm_survival_{k}" for k in range(3)]], curves(survival, frame), atol=1e-12)
    assert_allclose(grades[[f"spkm_probability_{k}" for k in range(3)]], ordinal.predict_proba(frame), atol=1e-12)
    assert grades["spkm_prediction"].tolist() == ordinal.predict(frame).tolist()


def test_a_gap_has_no_answer_in_sql(tmp_path):
    frame, times, grades = tables(120)
    X = frame[["a", "b"]]
    settings = {"n_basis": 2, "weight_penalty": "rkhs", "random_state": 0}
    SPKMSurvival(**settings).fit(X, times).export(tmp_path / "s.sql", times=TIMES)
    SPKMOrdinalClassifier(order=LEVELS, **settings).fit(X, grades).export(tmp_path / "o.sql")
    gaps = X[:5].astype(object)
    gaps.iloc[1, 0], gaps.iloc[2, 1], gaps.iloc[3, 0] = np.nan, None, np.inf
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("exp", 1, lambda x: None if x is None else float(np.exp(x)))
        gaps.to_sql("samples", connection, index=False)
        for name in ("s", "o"):
            found = pandas.read_sql((tmp_path / f"{name}.sql").read_text(), connection)
            own = found[[column for column in found if column.startswith("spkm_") and column != "spkm_row"]]
            assert len(own.columns) > 3
            assert own.loc[[1, 2, 3]].isna().all(axis=None) and own.loc[[0, 4]].notna().all(axis=None)


def test_onnx(models, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    frame, survival, ordinal = models
    given = {name: frame[[name]].to_numpy() for name in ("a", "b")} | {"c": frame[["c"]].to_numpy(dtype=object)}
    answers = {}
    for name, model, options in (("s", survival, {"times": TIMES}), ("o", ordinal, {})):
        export(model, tmp_path / f"{name}.onnx", **options)
        session = runtime.InferenceSession(tmp_path / f"{name}.onnx", providers=["CPUExecutionProvider"])
        outputs = [one.name for one in session.get_outputs()]
        answers[name] = dict(zip(outputs, session.run(None, given), strict=True))
    assert_allclose(answers["s"]["survival"], curves(survival, frame), atol=1e-12)
    assert_allclose(answers["s"]["prediction"][:, 0], survival.predict(frame), atol=1e-12)
    assert_allclose(answers["o"]["probability"], ordinal.predict_proba(frame), atol=1e-12)
    assert answers["o"]["label"].tolist() == ordinal.predict(frame).tolist()


def test_light_runtime(models, tmp_path):
    frame, survival, ordinal = models
    save(survival, tmp_path / "s.spkm")
    save(ordinal, tmp_path / "o.spkm")
    light, grades = (load(tmp_path / name, runtime="numpy") for name in ("s.spkm", "o.spkm"))
    encoder, model = survival.named_steps.values()
    assert_array_equal(light.event_times_, model.event_times_)
    wanted = model.predict_survival_function(encoder.transform(frame))
    assert_allclose(light.predict_survival_function(frame), wanted, atol=1e-12)
    assert_allclose(grades.predict_proba(frame), ordinal.predict_proba(frame), atol=1e-12)
    assert grades.predict(frame).tolist() == ordinal.predict(frame).tolist()
    assert load(tmp_path / "o.spkm").predict(frame).tolist() == ordinal.predict(frame).tolist()
    with pytest.raises(AttributeError, match="needs the model of an SPKMSurvival"):
        grades.predict_survival_function(frame)


def test_skl2onnx(models):
    pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    from skl2onnx import to_onnx

    from spkm.persistence import register_skl2onnx

    register_skl2onnx()
    frame, times, grades = tables(120)
    X = frame[["a", "b"]].to_numpy()
    settings = {"n_basis": 2, "weight_penalty": "rkhs", "random_state": 0}
    hazard = SPKMSurvival(**settings).fit(X, times)
    ordinal = SPKMOrdinalClassifier(order=LEVELS, **settings).fit(X, grades)
    session = runtime.InferenceSession(to_onnx(hazard, X[:1]).SerializeToString())
    assert_allclose(session.run(None, {"X": X})[0][:, 0], hazard.predict(X), atol=1e-9)
    session = runtime.InferenceSession(to_onnx(ordinal, X[:1], options={"zipmap": False}).SerializeToString())
    labels, shares = session.run(None, {"X": X})
    assert labels.tolist() == ordinal.predict(X).tolist()
    assert_allclose(shares, ordinal.predict_proba(X), atol=1e-9)


def test_bad_times(models, tmp_path):
    frame, survival, _ = models
    export(survival, tmp_path / "s.json")
    plain = json.loads((tmp_path / "s.json").read_text())
    times = survival[-1].event_times_
    assert_allclose(plain["survival"]["times"], np.quantile(times, np.arange(1, 10) / 10))
    for bad in ([], [np.nan], [[1.0]]):
        with pytest.raises(ValueError, match="times must be a sequence of finite numbers"):
            export(survival, tmp_path / "s.json", times=bad)
    other = SPKMRegressor(2, random_state=0).fit(frame[["a"]], frame["b"])
    with pytest.raises(ValueError, match="times is for SPKMSurvival; got a SPKMRegressor"):
        other.export(tmp_path / "r.py", times=[1.0])
    with pytest.raises(AttributeError, match="has no predict_survival_function"):
        other.compiled("predict_survival_function")
