"""Functions of one sample for services: what Python says, for every kernel and task."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from spkm import SPKMClassifier
from spkm.persistence import CompiledModel, plain_model
from tests.fitted_cases import fitted, samples
from tests.plain_cases import all_models, assert_agrees, mixed_rows
from tests.small_data import two_classes

MODELS = all_models()
ROWS = mixed_rows(60)
NAMES = {"similarities": "similarities", "contributions": "contributions", "predict": "predict"}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_functions_of_one_sample_agree(name):
    plain = plain_model(MODELS[name])
    found = {key: np.array([CompiledModel(plain, method)(row) for row in ROWS]) for key, method in NAMES.items()}
    found["scores"] = found["contributions"].sum(axis=1) + MODELS[name].intercept
    if plain["probabilities"] is not None:
        found["probabilities"] = np.array([CompiledModel(plain, "predict_proba")(row) for row in ROWS])
    assert_agrees(MODELS[name], ROWS, found, 1e-12)
    if plain["combine"] == "joint" and plain["task"] != "regression":
        decided = np.array([CompiledModel(plain, "decision_function")(row) for row in ROWS])
        np.testing.assert_allclose(decided.reshape(found["scores"].shape), found["scores"], rtol=1e-9, atol=1e-9)


def test_threads_may_share_a_function():
    estimator, X = fitted("three classes"), samples("three classes")
    function = estimator.compiled()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(function, [*X] * 5))
    assert found == [*estimator.predict(X)] * 5


def test_a_function_cannot_be_changed_nor_pickled():
    function = fitted("regression").compiled()
    assert repr(function) == "CompiledModel(n_features=2, method='predict')"
    with pytest.raises(AttributeError, match="cannot be changed"):
        function.method = "other"
    with pytest.raises(TypeError, match="save the estimator"):
        pickle.dumps(function)


def test_what_a_model_does_not_have_is_refused():
    with pytest.raises(ValueError, match="method must be one of"):
        fitted("regression").compiled("transform")
    for method in ("predict_proba", "decision_function"):
        with pytest.raises(AttributeError, match=f"no {method}"):
            fitted("regression").compiled(method)
    with pytest.raises(AttributeError, match="no predict_proba"):
        fitted("one against one").compiled("predict_proba")


def test_functions_of_pairs_take_both_sides():
    estimator = fitted("pairs")
    left, right = estimator._pairs.tables
    found = estimator.compiled()(np.concatenate([left[2], right[3]]))
    np.testing.assert_allclose(found, estimator.predict([[2, 3]])[0], rtol=1e-9)


def test_one_sample_is_asked_for():
    X, y = two_classes()
    function = SPKMClassifier(2, tol=1e-2, random_state=0).fit(X, y).compiled()
    for wrong in (X[:1], X[:3], X[0, :1], 3.0, X[0][:, None]):
        with pytest.raises(ValueError, match=r"takes one sample, 2 numbers; got an array of the shape"):
            function(wrong)
    assert function(X[0].tolist()) == function(X[0])
