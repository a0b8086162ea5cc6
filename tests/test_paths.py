"""Sparsity paths, stability selection and the selector: results as plain data, and what they promise."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from spkm import (
    SPKMClassifier,
    SPKMClassifierCV,
    SPKMOrdinalClassifier,
    SPKMRegressor,
    SPKMSelector,
    sparsity_path,
    stability_selection,
)
from spkm.penalties import L1

LINE = {"kernel": "linear", "n_basis": 1, "random_state": 0, "n_jobs": 1}
pytestmark = [
    pytest.mark.usefixtures("careful"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),  # few iterations on purpose
    pytest.mark.filterwarnings("ignore:The best .* lies at the edge:UserWarning"),
]


def rows(n=80, d=6):
    X = np.random.default_rng(0).standard_normal((n, d))
    return X, (X[:, 1] + X[:, 4] > 0).astype(int)


def test_a_strict_path_is_nested_and_its_arrays_agree():
    X, y = rows()
    path = sparsity_path(SPKMClassifier(**LINE, selection="strict"), X, y)
    sizes = path.n_features.tolist()
    assert sizes == [len(s) for s in path.supports] and sizes == sorted(sizes, reverse=True) and sizes[-1] == 1
    for larger, smaller in zip(path.supports, path.supports[1:], strict=False):
        assert set(smaller) < set(larger)
    assert {1, 4} == set(path.supports[sizes.index(2)])
    assert path.scores[sizes.index(2)] > path.scores[sizes.index(1)] and np.all(path.strengths >= 0)
    rises = np.diff(path.objectives) / -np.diff(path.n_features)
    np.testing.assert_allclose(path.strengths[:-1], np.maximum(rises, 0))
    assert np.isinf(path.strengths[-1])  # the last feature has no price
    assert len(path.frame()) == len(sizes)


def test_a_path_of_regression_scores_by_r2():
    X, _ = rows()
    path = sparsity_path(SPKMRegressor(**LINE, selection="strict"), X, 2 * X[:, 1] + X[:, 4])
    assert path.scores.max() > 0.99 and path.scores[-1] == pytest.approx(0.8, abs=0.1)


def test_a_path_of_a_penalty_drops_entries_but_not_columns_of_a_distance():
    X, y = rows(60)
    clf = SPKMClassifier(n_basis=2, basis_penalty="l1", max_iter=30, random_state=0, n_jobs=1)
    path = sparsity_path(clf, X, y, strengths=[1e-4, 0.3])
    assert path.n_features.tolist() == [6, 6] and path.n_nonzero[1] < path.n_nonzero[0]
    alone = SPKMClassifier(n_basis=2, basis_penalty=L1(1e-4), max_iter=30, random_state=0, n_jobs=1).fit(X, y)
    assert path.objectives[0] == alone.objective_ and np.all(np.isnan(path.losses))


def test_scores_of_a_path_are_weighted_as_its_fits_are():
    """Samples without weight, and with wrong labels, have no part in the score."""
    X, y = rows(60)
    wrong = np.arange(60) % 3 == 0
    clf = SPKMClassifier(kernel="linear", n_basis=1, basis_penalty="l1", max_iter=30, random_state=0, n_jobs=1)
    labels, weight = np.where(wrong, 1 - y, y), np.where(wrong, 0.0, 1.0)
    path = sparsity_path(clf, X, labels, sample_weight=weight, strengths=[1e-4])
    scores = []
    for train, test in StratifiedKFold(5).split(X, labels):
        fitted = clf.set_params(basis_penalty=L1(1e-4)).fit(X[train], labels[train], weight[train])
        scores += list((fitted.predict(X[test]) == labels[test])[~wrong[test]])
    assert path.scores[0] == pytest.approx(np.mean(scores))


def test_stable_features_are_those_that_matter():
    X, y = rows()
    clf = SPKMClassifier(**LINE, selection="strict", max_features=2)
    result = stability_selection(clf, X, y, n_pairs=3, threshold=0.8, random_state=0)
    assert set(result.selected) == {1, 4} and result.n_halves == 6 and result.n_features == 2
    np.testing.assert_allclose(result.probabilities.sum(), 2.0)  # as many in every half
    assert result.bound == pytest.approx(4 / (0.6 * 6))
    frame = result.frame()
    assert set(frame["feature"][frame["stable"]]) == {"x1", "x4"}
    again = stability_selection(clf, X, y, n_pairs=3, threshold=0.8, random_state=0)
    np.testing.assert_array_equal(result.probabilities, again.probabilities)


def test_the_selector_hands_the_columns_on_with_their_names():
    pandas = pytest.importorskip("pandas")
    X, y = rows()
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    selector = SPKMSelector(SPKMClassifier(**LINE, selection="strict"), max_features=2).fit(frame, y)
    assert selector.get_feature_names_out().tolist() == ["b", "e"]
    np.testing.assert_array_equal(selector.set_output(transform="pandas").transform(frame), X[:, [1, 4]])
    pipeline = make_pipeline(SPKMSelector(SPKMClassifier(**LINE, selection="strict"), max_features=2), SVC())
    assert pipeline.fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: sparsity_path(SPKMClassifier(), X, y), "selection='strict' or a basis_penalty"),
        (lambda X, y: sparsity_path(SPKMClassifierCV(selection=None), X, y), "selection='strict' or a basis_penalty"),
        (lambda X, y: sparsity_path(SPKMClassifier(basis_penalty="l1"), X, y, strengths=[-1.0]), "strengths"),
        (lambda X, y: sparsity_path(SPKMClassifier(selection="strict"), X, y, strengths=[1.0]), "strengths"),
        (lambda X, y: stability_selection(SPKMClassifier(), X, y), "selection='strict'"),
        (lambda X, y: stability_selection(SPKMClassifier(selection="strict"), X, y, threshold=0.4), "threshold"),
        (lambda X, y: stability_selection(SPKMClassifier(selection="strict"), X, y, n_pairs=0), "n_pairs"),
        (lambda X, y: SPKMSelector(LogisticRegression()).fit(X, y), "estimator"),
        (lambda X, y: SPKMSelector(SPKMClassifier()).fit(X, y), "selection='strict'"),
    ],
)
def test_what_cannot_be_is_told(call, message):
    with pytest.raises(ValueError, match=message):
        call(*rows())


@pytest.mark.parametrize("estimator", [LogisticRegression(), SPKMOrdinalClassifier(selection="strict")])
def test_a_path_wants_an_estimator_with_one(estimator):
    with pytest.raises(TypeError, match=f"one of their CV kin; got {type(estimator).__name__}"):
        sparsity_path(estimator, *rows())
    with pytest.raises(ValueError, match=f"CV kin with selection='strict', or None; got {type(estimator).__name__}"):
        stability_selection(estimator, *rows())


@pytest.mark.filterwarnings("ignore:No features* (is|were) selected:UserWarning")  # the checks' classes are noise
@parametrize_with_checks([SPKMSelector(SPKMClassifier(**LINE, selection="strict"))])
def test_scikit_learn(estimator, check):
    check(estimator)
