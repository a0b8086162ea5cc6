"""Pipelines with our estimators convert by skl2onnx, and say in onnxruntime what they say in Python."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spkm import SPKMClassifier, SPKMNystroem, SPKMRegressor, SPKMSelector, TableEncoder
from spkm.persistence import register_skl2onnx
from tests.fitted_cases import fitted as estimators
from tests.fitted_cases import samples
from tests.pipeline_cases import fitted, mixed
from tests.small_data import curve, three_classes, two_classes

skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
types = pytest.importorskip("skl2onnx.common.data_types")

QUICK = {"n_basis": 3, "weight_penalty": "rkhs", "tol": 1e-2, "random_state": 0}
NEAR = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(autouse=True)
def registered():
    register_skl2onnx()


def outputs(model, feeds, initial, options=None):
    graph = skl2onnx.convert_sklearn(model, initial_types=initial, options=options, target_opset=18)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def of_doubles(model, X, options=None):
    X = np.asarray(X, dtype=float)
    return outputs(model, {"X": X}, [("X", types.DoubleTensorType([None, X.shape[1]]))], options)


@pytest.mark.parametrize("name", ["two classes", "two words, frame", "three classes", "one against the rest", "views"])
def test_estimators_convert(name):
    estimator, X = estimators(name), samples(name)
    plain = np.asarray(X, dtype=float)
    if not hasattr(estimator, "classes_"):
        np.testing.assert_allclose(of_doubles(estimator, plain)[0][:, 0], estimator.predict(X), **NEAR)
        return
    label, probability = of_doubles(estimator, plain, {id(estimator): {"zipmap": False}})
    assert label.tolist() == estimator.predict(X).tolist()
    np.testing.assert_allclose(probability, estimator.predict_proba(X), **NEAR)


def test_pipelines_with_steps_of_others_convert():
    X, y = three_classes()
    strict = SPKMClassifier(kernel="linear", selection="strict", **QUICK)
    first = make_pipeline(StandardScaler(), SPKMSelector(strict), SPKMClassifier(**QUICK)).fit(X, y)
    second = make_pipeline(SPKMNystroem(4, random_state=0), LogisticRegression()).fit(X, y)
    for pipeline in (first, second):
        label, probability = of_doubles(pipeline, X, {"zipmap": False})
        assert label.tolist() == pipeline.predict(X).tolist()
        np.testing.assert_allclose(probability, pipeline.predict_proba(X), rtol=1e-6, atol=1e-6)
    line = curve()
    model = make_pipeline(StandardScaler(), SPKMRegressor(**QUICK)).fit(*line)
    np.testing.assert_allclose(of_doubles(model, line[0])[0][:, 0], model.predict(line[0]), **NEAR)


def test_floats_and_scores_and_dicts_of_probabilities():
    X, y = two_classes()
    hinge = SPKMClassifier(loss="squared_hinge", **QUICK).fit(X, y)
    score = of_doubles(hinge, X, {id(hinge): {"zipmap": False}})[1]
    np.testing.assert_allclose(score[:, 0], hinge.decision_function(X), **NEAR)
    model = SPKMClassifier(**QUICK).fit(X, y)
    floats = [("X", types.FloatTensorType([None, 2]))]
    found = outputs(model, {"X": X.astype(np.float32)}, floats)[1]
    want = model.predict_proba(X)
    np.testing.assert_allclose([[row[0], row[1]] for row in found], want, rtol=1e-4, atol=1e-5)
    score = of_doubles(model, X, {id(model): {"zipmap": False, "raw_scores": True}})[1]
    np.testing.assert_allclose(score[:, 0], model.decision_function(X), **NEAR)


@pytest.mark.parametrize("name", ["three classes", "numbers"])
def test_encoders_convert(name):
    pipeline, frame = fitted(name), mixed()
    initial, feeds = [], {}
    for column, plan in zip(frame.columns, pipeline[0].plans_, strict=True):
        if plan is None or plan.kind == "category":
            kind = types.Int64TensorType if column == "region" else types.StringTensorType
            cells = (
                frame[[column]].to_numpy()
                if column == "region"
                else np.array([["" if pd.isna(cell) else cell] for cell in frame[column]], dtype=object)
            )
        else:
            kind, cells = types.DoubleTensorType, frame[[column]].astype(float).to_numpy()
        initial.append((column.replace("; ", "_"), kind([None, 1])))
        feeds[initial[-1][0]] = cells
    options = {"zipmap": False} if name != "numbers" else None
    graph = skl2onnx.convert_sklearn(pipeline, initial_types=initial, options=options, target_opset=18)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    read = {one.name for one in session.get_inputs()}
    found = session.run(None, {key: value for key, value in feeds.items() if key in read})
    if name == "numbers":
        np.testing.assert_allclose(found[0][:, 0], pipeline.predict(frame), **NEAR)
    else:
        assert found[0].tolist() == pipeline.predict(frame).tolist()
        np.testing.assert_allclose(found[1], pipeline.predict_proba(frame), **NEAR)


def test_inputs_of_an_encoder_are_found_by_name():
    frame = mixed()[["hours", "age"]].astype(float)
    pipeline = make_pipeline(TableEncoder(), SPKMRegressor(2, tol=1e-2, random_state=0)).fit(frame, frame["hours"])
    for order in (["hours", "age"], ["age", "hours"]):
        initial = [(name, types.DoubleTensorType([None, 1])) for name in order]
        graph = skl2onnx.convert_sklearn(pipeline, initial_types=initial, target_opset=18)
        session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        found = session.run(None, {name: frame[[name]].to_numpy() for name in order})[0][:, 0]
        np.testing.assert_allclose(found, pipeline.predict(frame), **NEAR)
    initial = [(name, types.DoubleTensorType([None, 1])) for name in ("age", "other")]
    with pytest.raises(ValueError, match="in this order or with these names"):
        skl2onnx.convert_sklearn(pipeline, initial_types=initial, target_opset=18)


def test_what_cannot_be_converted_is_refused(absent):
    labels = estimators("labels")
    with pytest.raises(ValueError, match="labels of a sample"):
        of_doubles(labels, samples("labels"), {"zipmap": False})
    with pytest.raises(ValueError, match="an input for each of its 6 columns"):
        of_doubles(fitted("numbers"), np.zeros((2, 6)))
    absent("skl2onnx")
    with pytest.raises(ImportError, match=r"spkm\[onnx\]"):
        register_skl2onnx()


@pytest.mark.parametrize("far", [20.0, 80.0, 600.0])
def test_classes_that_all_are_unlikely_keep_their_shares(far, tmp_path):
    # One against the rest: the logistic function of onnxruntime is inexact from -20 on, and zero below -37.
    X, y = three_classes()
    model = SPKMClassifier(multi_class="ovr", **QUICK).fit(X, y)
    members = tuple(replace(one, theta=np.r_[one.theta[:-1], one.theta[-1] - far]) for one in model.model_.members)
    model.model_ = replace(model.model_, members=members)
    want = model.predict_proba(X)
    model.export(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    found = session.run(["probability"], {"X": np.asarray(X, dtype=float)})[0]
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(of_doubles(model, X, {id(model): {"zipmap": False}})[1], want, rtol=1e-9, atol=1e-12)
