"""Each side of a canonical correlation analysis as a model of its own: the same scores, in every language."""

import json
import runpy
import shutil
import sqlite3
import subprocess
from contextlib import closing

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from spkm import SPKMCCA, load
from spkm.explain import formula
from spkm.kernels import RBF, Affine, Laplacian, Linear, Matern, NormalizedPolynomial, Polynomial, Sum, Tanimoto
from spkm.persistence import export
from tests.test_cca import QUICK, QUICKER, planted

GCC, NODE = shutil.which("gcc") or shutil.which("cc"), shutil.which("node")
SIDES = ("x", "y")


def pair(kernel_x="rbf", kernel_y="polynomial", n=300, **options):
    options = {"kernel_x": kernel_x, "kernel_y": kernel_y, "random_state": 0, **options}
    return SPKMCCA(2, **options).fit(*planted(n))


@pytest.fixture(scope="module")
def fitted():
    """Return a model of two components, and rows and scores of each side."""
    model, (X, Y) = pair(), planted(20, seed=1)
    X[0] = 5.0  # clipped
    return model, {"x": (X, model.transform(X)), "y": (Y, model.transform_y(Y))}


KERNELS = [
    RBF(0.3),
    Linear(1.0),
    Polynomial(3, 1.0, 0.5),
    Matern(2.5, 0.4),
    Laplacian(0.5),
    NormalizedPolynomial(2, 1.0, 1.0),
    Affine(RBF(0.7)),
    Sum(RBF(0.3), Linear(1.0)),
]


@pytest.mark.parametrize(("kernel", "scale"), [*((k, True) for k in KERNELS), (RBF(0.3), False), (Linear(1.0), False)])
@pytest.mark.filterwarnings("ignore:Component . has a correlation:UserWarning")  # few steps find little
def test_a_side_has_the_scores_of_transform(kernel, scale):
    model = pair(kernel, "linear", 120, scale=scale, **QUICKER)
    X, Y = planted(40, seed=2)
    X[3, 1] = 3.0  # clipped
    left, right = (model.side(side) for side in SIDES)
    assert_allclose(left.predict(X), model.transform(X), rtol=1e-9, atol=1e-9)
    assert_allclose(right.predict(Y), model.transform_y(Y), rtol=1e-9, atol=1e-9)
    assert_array_equal(left.get_support(), model.x_support_.any(axis=0))
    assert_array_equal(~np.isnan(left.basis_vectors_), model.x_support_)
    if kernel.reads_zero_features:
        assert_allclose(left.basis_vectors_, model.x_vectors_, rtol=1e-9)


def test_counts_are_not_scaled():
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (200, 8)).astype(float)
    Y = np.column_stack([X[:, 1] + 0.3 * rng.standard_normal(200), rng.standard_normal(200)])
    model = SPKMCCA(kernel_x="tanimoto", kernel_y="linear", random_state=0).fit(X, Y)
    assert isinstance(model.x_side_.kernel, Tanimoto)
    assert_allclose(model.side("x").predict(X), model.transform(X), atol=1e-9)
    with pytest.raises(ValueError, match="needs non-negative features"):
        model.side("x").predict(-X)


def test_a_side_explains_saves_and_has_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, Y = planted()
    frames = pandas.DataFrame(X).add_prefix("gene "), pandas.DataFrame(Y).add_prefix("protein ")
    model = SPKMCCA(kernel_x="linear", kernel_y="rbf", random_state=0, **QUICK).fit(*frames)
    left, right = (model.side(side) for side in SIDES)
    found = left.explain(frames[0][:5], frames[0])
    assert_allclose(found.values.sum(axis=1) + found.base_values, model.transform(frames[0][:5]), atol=1e-9)
    assert "gene 1" in left.summary() and "protein 7" in right.summary(frames[1])
    assert "Linear" in formula(left) and right.formula().startswith("f(x) = ")
    left.save(tmp_path / "left.spkm")
    for runtime in (None, "numpy"):
        options = {} if runtime is None else {"runtime": runtime}
        assert_allclose(load(tmp_path / "left.spkm", **options).predict(frames[0]), model.transform(frames[0]), 1e-9)
    assert_array_equal(right.feature_names_in_, frames[1].columns)


def test_python_json_and_compiled(fitted, tmp_path):
    model, rows = fitted
    for side in SIDES:
        X, scores = rows[side]
        model.export(tmp_path / "code.py", side)
        model.export(tmp_path / "plain.json", side)
        code = runpy.run_path(str(tmp_path / "code.py"))
        assert_allclose([code["predict"](row) for row in X.tolist()], scores, atol=1e-9)
        plain = json.loads((tmp_path / "plain.json").read_text())
        assert plain["outputs"] == ["0", "1"] and [len(m["terms"]) for m in plain["members"]] == [2]
        quick = model.side(side).compiled()
        assert_allclose([quick(row) for row in X], scores, atol=1e-9)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_javascript(fitted, tmp_path):
    model, rows = fitted
    for side in SIDES:
        model.export(tmp_path / f"{side}.js", side)
        code = f'const m = require("./{side}.js"), X = JSON.parse(require("fs").readFileSync(0, "utf8"));'
        code += "console.log(JSON.stringify(X.map(m.predict)));"
        given = json.dumps(rows[side][0].tolist())
        made = subprocess.run([NODE, "-e", code], input=given, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert_allclose(json.loads(made.stdout), rows[side][1], atol=1e-9)


@pytest.mark.skipif(GCC is None, reason="no C compiler is installed")
def test_c(fitted, tmp_path):
    model, rows = fitted
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused-const-variable"]
    for side in SIDES:
        model.export(tmp_path / "model.h", side)
        (tmp_path / "main.c").write_text(
            '#include <stdio.h>\n#include "model.h"\nint main(void) {\n'
            "    double x[SPKM_N_FEATURES], y[2];\n    for (;;) {\n"
            '        for (int j = 0; j < SPKM_N_FEATURES; j++) if (scanf("%lf", x + j) != 1) return 0;\n'
            '        spkm_predict(x, y); printf("%.17g %.17g\\n", y[0], y[1]);\n    }\n}\n'
        )
        subprocess.run([GCC, *flags, "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
        given = "\n".join(" ".join(map(repr, row)) for row in rows[side][0].tolist())
        made = subprocess.run([tmp_path / "main"], input=given, capture_output=True, text=True, check=True).stdout
        assert_allclose([[float(v) for v in line.split()] for line in made.splitlines()], rows[side][1], atol=1e-9)


def test_sql_with_gaps(fitted, tmp_path):
    pandas = pytest.importorskip("pandas")
    model, rows = fitted
    for side in SIDES:
        X, scores = rows[side]
        model.export(tmp_path / "model.sql", side)
        read = (model.x_support_ if side == "x" else model.y_support_).any(axis=0)
        frame = pandas.DataFrame(X).add_prefix("x")
        frame.loc[2, f"x{np.flatnonzero(read)[0]}"] = np.nan
        frame.loc[3, f"x{np.flatnonzero(~read)[0]}"] = np.nan  # read by no component
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.create_function("exp", 1, lambda x: None if x is None else float(np.exp(x)), deterministic=True)
            frame.to_sql("samples", connection, index=False)
            found = pandas.read_sql((tmp_path / "model.sql").read_text(), connection)
        answers = found[["spkm_prediction_0", "spkm_prediction_1"]].to_numpy(dtype=float)
        assert np.isnan(answers[2, 1]) and np.isfinite(np.delete(answers, 2, axis=0)).all()
        assert_allclose(np.delete(answers, 2, axis=0), np.delete(scores, 2, axis=0), atol=1e-9)


def test_onnx(fitted, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model, rows = fitted
    for side in SIDES:
        model.export(tmp_path / "model.onnx", side)
        session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
        assert_allclose(session.run(["prediction"], {"X": rows[side][0]})[0], rows[side][1], atol=1e-9)


def test_bad_requests(fitted, tmp_path):
    model, _ = fitted
    with pytest.raises(ValueError, match="side must be one of 'x', 'y'; got 'left'"):
        model.export(tmp_path / "model.py", "left")
    with pytest.raises(TypeError, match=r"got SPKMCCA.*side"):
        export(model, tmp_path / "model.py")
    with pytest.raises(ValueError, match="This SPKMCCA instance is not fitted yet"):
        SPKMCCA().side("x")
