"""scikit-learn's own checks without an expected failure: on six settings, with `make test-all` on all."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_inplace_ensure_writeable,
    parametrize_with_checks,
)

from spkm import SPKMClassifier, SPKMClassifierCV, SPKMNystroem, SPKMRegressor, SPKMRegressorCV, Term, View
from spkm.solvers import Alternating
from tests.marks import QUICK_SEARCHES
from tests.small_data import curve, two_classes

# scikit-learn's checks fit labels drawn at random, and its own suite ignores the first warning while they run. The
# others tell the truth: so few vectors are too few, and so few rows make no hundred landmarks.
pytestmark = [
    *QUICK_SEARCHES,
    pytest.mark.filterwarnings("ignore:No feature is selected:UserWarning"),
    pytest.mark.filterwarnings("ignore:n_components=100 is more than the .* distinct samples:UserWarning"),
]

# Few basis vectors and iterations where the variant, not the end of the descent, is what is checked.
# The folds of the default penalty and the stages of the evidence are checked with few vectors and iterations, too.
FEW = {"n_basis": 4, "max_iter": 20}
QUICK = {**FEW, "weight_penalty": "rkhs"}
SEARCH = {"weight_penalty": "rkhs", "max_iter": 15, "n_jobs": 1}

#: One for each path through an estimator: classes, numbers, several models, a selection, a search, landmarks.
ESTIMATORS = [
    SPKMClassifier(**FEW),
    SPKMRegressor(**FEW),
    SPKMClassifier(multi_class="ovo", **QUICK),
    SPKMClassifier(selection="strict", kernel="linear", n_basis=2, **SEARCH),
    SPKMRegressorCV(kernel="linear", cv=2, **SEARCH),
    SPKMNystroem(n_components=4),
]
#: Checks of a dozen formats each. They end at the border, which comes before folds and stages.
FORMATS = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
#: All others.
VARIANTS = [
    SPKMClassifier(),
    SPKMRegressor(),
    SPKMClassifier(solver="proximal", basis_penalty="l1", **QUICK),
    SPKMRegressor(solver="proximal", basis_penalty="l1", **QUICK),
    SPKMClassifier(loss="squared_hinge", **QUICK),
    SPKMClassifier(multi_class="ovr", **QUICK),
    SPKMClassifier(kernel="polynomial", **QUICK),
    SPKMRegressor(kernel="polynomial", **QUICK),
    SPKMClassifier(terms=[Term(2, View("rbf")), Term(1, View("linear"))], max_iter=20),
    SPKMRegressor(terms=[Term(2, View("rbf")), Term(1, View("linear"))], max_iter=20),
    SPKMClassifier(solver=Alternating(max_iter=2, weight_steps=10), n_basis=4),
    SPKMRegressor(solver="alternating", n_basis=4, max_iter=3),
    SPKMClassifier(solver="adam", n_basis=4, max_iter=15, weight_penalty="rkhs"),
    SPKMRegressor(solver="adam", n_basis=4, max_iter=15),
    SPKMRegressor(selection="strict", kernel="linear", n_basis=2, **SEARCH),
    SPKMClassifier(n_basis="auto", max_basis=2, **SEARCH),
    SPKMClassifierCV(kernel="linear", cv=2, **SEARCH),
    SPKMNystroem(),
    SPKMNystroem(landmarks="kmeans", n_components=4, scale="common"),
    SPKMNystroem(landmarks="random", kernel="polynomial"),
    SPKMNystroem(landmarks=SPKMRegressor(**QUICK)),
]

BAD_PARAMETERS = {
    "n_basis": [0, -1, 2.5, True, "ten"],
    "linear_part": ["yes", 3, None],
    "basis_bounds": ["all", True],
    "basis": ["medoids", True, None],
    "kernel": ["rbff", 3, None],
    "views": [[0, 1], {}, "all"],
    "terms": ["all", [], 3],
    "loss": ["logg", 3, None],
    "multi_class": ["one", True, None],
    "basis_penalty": ["l3", 3],
    "weight_penalty": ["l3", 3],
    "selection": ["lenient", True, 1],
    "max_features": [0, 2.5, True, "many"],
    "max_groups": [0, 2.5, True, "many"],
    "max_basis": [0, 2.5, True, "many"],
    "monotone": [[1, 0], 1, "up"],
    "learn_bandwidth": ["yes", 1, None],
    "fit_intercept": ["yes", 1, None],
    "scale": ["yes", 1, None],
    "solver": ["lbgfs", 3, None],
    "start": ["k-means", 3.0, None],
    "n_restarts": [0, 1.5, True, None],
    "max_iter": [0, 2.5, True, "many"],
    "tol": [-1e-3, "small", True, float("nan")],
    "warm_start": ["yes", 1, None],
    "n_jobs": [0, 1.5, True, "all"],
    "random_state": ["seed", 1.5],
    "class_weight": ["balance", 3],
    "cv": [1.5],
    "scoring": ["no such score", 3],
    "refit": ["yes", 1, None],
}
# None, here, leaves the setting to an estimator given as landmarks.
BAD_PARAMETERS_OF_LANDMARKS = {
    "n_components": [0, -1, 2.5, True, "ten"],
    "kernel": ["rbff", 3],
    "landmarks": ["k-means", 3, None, SPKMClassifier, np.zeros((2, 2))],
    "scale": ["yes", 1],
    "n_jobs": BAD_PARAMETERS["n_jobs"],
    "random_state": BAD_PARAMETERS["random_state"],
}


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn(estimator, check):
    estimator = clone(estimator)
    if check.func.__name__ in FORMATS and "weight_penalty" in estimator.get_params():
        estimator.set_params(weight_penalty="rkhs")
    check(estimator)


@pytest.mark.exhaustive
@parametrize_with_checks(VARIANTS)
def test_scikit_learn_on_all_variants(estimator, check):
    check(estimator)


# Defined beside the checks above but not run by them.
@pytest.mark.parametrize("check", [check_dataframe_column_names_consistency, check_inplace_ensure_writeable])
@pytest.mark.parametrize("estimator", [SPKMClassifier(tol=1e-2), SPKMRegressor(tol=1e-2)])
def test_scikit_learn_on_demand(estimator, check):
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize("name", [name for name in BAD_PARAMETERS])
@pytest.mark.parametrize("estimator", [SPKMClassifier, SPKMRegressor, SPKMClassifierCV, SPKMRegressorCV])
def test_every_parameter_is_checked_by_fit_and_named_in_the_message(estimator, name):
    if name not in estimator().get_params():
        return
    X, y = two_classes() if is_classifier(estimator()) else curve()
    for value in BAD_PARAMETERS[name]:
        model = estimator(**{name: value})  # nothing is checked here
        with pytest.raises((TypeError, ValueError), match=name) as caught:
            model.fit(X, y)
        assert repr(value) in str(caught.value)


@pytest.mark.parametrize("estimator", [SPKMClassifier, SPKMRegressor, SPKMClassifierCV, SPKMRegressorCV])
def test_the_table_above_is_complete(estimator):
    # Labels of columns can be anything; how many there must be is a matter of the rows (test_strict_selection_errors).
    assert set(estimator().get_params()) - set(BAD_PARAMETERS) == {"verbose", "feature_groups"}


@pytest.mark.parametrize("rule", ["auto", "random"])
@pytest.mark.parametrize("name", sorted(BAD_PARAMETERS_OF_LANDMARKS))
def test_every_parameter_of_the_landmarks_is_checked_by_fit(name, rule):
    for value in BAD_PARAMETERS_OF_LANDMARKS[name]:
        transformer = SPKMNystroem(**{"landmarks": rule, name: value})
        with pytest.raises((TypeError, ValueError), match=name) as caught:
            transformer.fit(*two_classes())
        assert repr(value) in str(caught.value)
    assert set(SPKMNystroem().get_params()) == set(BAD_PARAMETERS_OF_LANDMARKS)


@pytest.mark.parametrize("flag", [np.bool_(False), np.bool_(True)])
def test_flags_of_numpy_are_flags(flag):
    X, y = two_classes()
    settings = {"n_basis": 3, "tol": 1e-2, "random_state": 0}
    of_numpy = SPKMClassifier(fit_intercept=flag, scale=flag, learn_bandwidth=flag, **settings).fit(X, y)
    flag = bool(flag)
    of_python = SPKMClassifier(fit_intercept=flag, scale=flag, learn_bandwidth=flag, **settings).fit(X, y)
    np.testing.assert_array_equal(of_numpy.decision_function(X), of_python.decision_function(X))
