"""What targets are, where the user's table has them in a column, and where no estimator says what they mean."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_linnerud

from spkm import SPKMClassifier, SPKMNystroem, SPKMRegressor, SPKMRegressorCV, SPKMSelector, stability_selection
from spkm.explain import importances, summary
from spkm.inspection import BasisCardDisplay, DecisionMapDisplay
from spkm.tables.read import holds_labels

COLUMNS = [lambda y: y[:, None], lambda y: pd.DataFrame({"target": y})]
DIABETES = load_diabetes(return_X_y=True)


@pytest.fixture(scope="module", params=["classes", "numbers"])
def fitted(request):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(60)
    of_classes = request.param == "classes"
    y = np.where(y > 0, 2, 1) if of_classes else y
    return (SPKMClassifier if of_classes else SPKMRegressor)(2, random_state=0).fit(X, y), X, y


@pytest.mark.parametrize("column", COLUMNS, ids=["array", "frame"])
def test_a_column_is_read_as_its_values(fitted, column, tmp_path):
    model, X, y = fitted
    facts = []
    for given in (y, column(y)):
        model.report(tmp_path / "r.json", X[30:], given[30:], train=(X[:30], given[:30]), target="target")
        facts.append(json.loads((tmp_path / "r.json").read_text()))
    for part in ("quality", "compared", "rows", "samples", "answer"):
        assert facts[0].get(part) == facts[1].get(part), part
    assert_array_equal(importances(model, X, column(y)).dropped, importances(model, X, y).dropped)
    assert str(summary(model, X, column(y))) == str(summary(model, X, y))


@pytest.mark.parametrize("column", COLUMNS, ids=["array", "frame"])
def test_a_column_is_drawn_as_its_values(fitted, column):
    pytest.importorskip("matplotlib")
    model, X, y = fitted
    cards = [BasisCardDisplay.from_estimator(model, X, given) for given in (y, column(y))]
    assert cards[0].caution == cards[1].caution
    if hasattr(model, "classes_"):
        assert_array_equal(cards[1].groups, y)
        map_ = DecisionMapDisplay.from_estimator(model, X, column(y), features=[0, 1])
        assert_array_equal(np.asarray(map_.codes), y - 1)


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        (["a", "b", "a"], True),
        ([True, False, True], True),
        (np.arange(30) % 10, True),
        (np.arange(30.0) % 10, True),
        (np.arange(260) % 26, True),  # letters of the alphabet, ten of each
        (np.arange(250) % 26, False),
        (np.arange(2600.0) % 26, False),  # numbers that were rounded
        (DIABETES[1], False),
        (np.arange(260)[:, None] % 26, True),
        (np.eye(4, dtype=int)[np.arange(20) % 4], True),
        (load_linnerud().target, False),
        ([0.5, 1.5, 2.0], False),
    ],
)
def test_labels_and_numbers(y, labels):
    assert holds_labels(y) is labels


def test_rounded_targets_are_numbers():
    X, y = DIABETES  # whole numbers, 214 of them different
    found = stability_selection(None, X, y, n_pairs=5, random_state=0)
    exact = stability_selection(None, X, y + 0.001 * np.arange(len(y)) / len(y), n_pairs=5, random_state=0)
    assert_array_equal(found.selected, exact.selected)
    assert set(found.selected) >= {2, 8}  # the body mass index and s5
    assert isinstance(SPKMNystroem(2, random_state=0).fit(X, y).estimator_, SPKMRegressor)
    assert isinstance(SPKMSelector(random_state=0).fit(X[:200, [2, 8]], y[:200]).estimator_, SPKMRegressorCV)


def test_texts_of_a_column_are_classes_for_stability_selection():
    X, y = load_breast_cancer(return_X_y=True)
    y = np.array(["malignant", "benign"])[y]
    one, other = (stability_selection(None, X, given, n_pairs=2, random_state=0) for given in (y, y[:, None]))
    assert_array_equal(one.probabilities, other.probabilities)
