"""Importances and summaries of fitted estimators."""

import warnings
from copy import copy

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from spkm import SPKMClassifier, SPKMRegressor, SPKMSurvival
from spkm.explain import explain, formula, importances, nearest, summary, to_frame
from spkm.kernels import Rescaled


def fitted(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y)


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = 3 * np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=150)
    return fitted(SPKMRegressor(6, kernel="rbf", linear_part=False, max_iter=100, random_state=0), X, y), X, y


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return fitted(SPKMClassifier(3, linear_part=False, max_iter=50, random_state=0), X, y), X, y


def test_a_dropped_feature_has_no_part_in_the_kernel(regression):
    estimator, X, y = regression
    found = importances(estimator, X, y, n_resamples=20)
    model = estimator.model_
    view = model.terms[0].views[0]
    for j in range(4):
        factors = np.ones(4)
        factors[j] = 0.0
        F = model.intercept + Rescaled(view.kernel, factors)(model.scaled(X), view.basis) @ model.weights
        scale = model.target.scale[0]
        increase = (np.mean((F[:, 0] - y) ** 2) - np.mean((model.scores(X)[:, 0] - y) ** 2)) / scale**2
        np.testing.assert_allclose(
            found.dropped[j], increase * model.loss.pointwise(np.ones((1, 1)), np.zeros((1, 1))), rtol=1e-9
        )
    assert set(np.argsort(found.dropped)[2:]) == {0, 1}
    assert set(np.argsort(found.permuted)[2:]) == {0, 1}
    assert set(np.argsort(found.sobol)[2:]) == {0, 1}
    inside = (found.dropped_interval[:, 0] <= found.dropped) & (found.dropped <= found.dropped_interval[:, 1])
    assert inside.sum() >= 3 and (found.dropped_interval[:, 0] <= found.dropped_interval[:, 1]).all()
    frame = found.frame()
    assert frame["dropped"].is_monotonic_decreasing and list(frame.columns)[-1] == "sobol"


def test_a_group_leaves_as_one(regression):
    estimator, X, y = regression
    found = importances(estimator, X, y, groups={"both": [0, 1]}, n_resamples=5)
    assert found.feature_names == ("both", "x2", "x3")
    assert found.dropped[0] > found.dropped[1:].max() and found.sobol[0] > 0.9


@pytest.mark.parametrize("multi_class", ["joint", "ovr", "ovo"])
def test_losses_of_all_kinds_of_classes(multi_class):
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    estimator = fitted(SPKMClassifier(2, multi_class=multi_class, max_iter=30, random_state=0), X, labels)
    found = importances(estimator, X, labels, n_resamples=5, n_repeats=2)
    assert found.loss >= 0 and found.permuted[2:].min() > found.permuted[:2].max() * 0.5
    with pytest.raises(ValueError, match=r"y must hold classes of the model.*got \['d'\]"):
        importances(estimator, X, np.where(labels == "a", "d", labels))


def test_a_loss_that_is_no_sum_over_samples():
    X, y = load_breast_cancer(return_X_y=True)
    estimator = fitted(SPKMClassifier(2, loss="cosine", max_iter=20, random_state=0), X[:, :5], y)
    found = importances(estimator, X[:, :5], y, n_resamples=5, n_repeats=1)
    assert np.isfinite(found.dropped).all() and np.isfinite(found.dropped_interval).all()


def test_losses_of_censored_times_are_those_of_the_hazards():
    rng = np.random.default_rng(0)
    X, event = rng.normal(size=(80, 2)), rng.random(80) < 0.7
    y = np.zeros(80, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = event, rng.exponential(np.exp(-X[:, 0]))
    estimator = SPKMSurvival(2, random_state=0).fit(X, y)
    found = importances(estimator, X, y, n_resamples=2, n_repeats=1)
    F, hazard = estimator.predict(X), estimator.predict_cumulative_hazard_function(X, y["time"])
    np.testing.assert_allclose(found.loss, np.mean(np.diagonal(hazard) - event * F), rtol=1e-6)
    assert found.dropped[0] > abs(found.dropped[1])
    assert "log hazard" in summary(estimator, X, y)
    with pytest.raises(ValueError, match="need the baseline hazard"):
        importances(estimator.model_, X, y)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"y": np.zeros(3)}, "y must have an entry for each of the 150 samples of X; got 3"),
        ({"n_repeats": 0}, "n_repeats must be an integer of at least 1"),
        ({"confidence_level": 2.0}, "confidence_level must be a number above 0 and at most 1"),
    ],
)
def test_bad_arguments_are_named(regression, change, message):
    estimator, X, y = regression
    with pytest.raises(ValueError, match=message):
        importances(estimator, X, **({"y": y} | change))


def test_a_summary_has_a_row_for_each_vector_and_feature(iris):
    estimator, X, y = iris
    text = summary(estimator, X, y)
    lines = text.splitlines()
    assert lines[0] == "3 basis vectors with the kernel RBF on 4 of 4 features; scores for 0, 1, 2."
    assert sum(line.startswith("u") for line in lines) == 3
    assert sum(line.startswith("x") for line in lines) == 4
    assert max(map(len, lines)) <= 120
    assert all(len(line) <= 60 for line in summary(estimator, X, y, width=60).splitlines())
    alone = summary(estimator)
    assert "variance" not in alone and "most telling features" in alone


def test_a_summary_keeps_the_remedy_in_its_caution_on_a_narrow_terminal(regression):
    estimator = copy(regression[0])
    estimator.cancellation_ = 30.0
    said = " ".join(summary(estimator, width=60).split("\n\n")[0].split())
    assert said.startswith("Caution: ") and "Use fewer basis vectors or features, or a stronger penalty." in said


def test_a_summary_names_the_classes_that_activate_a_vector(iris):
    estimator, X, y = iris
    similar = estimator.model_.similarities(X)
    lines = summary(estimator, X, y).splitlines()
    for r in range(3):
        best = int(np.argmax([similar[y == c, r].mean() for c in range(3)]))
        row = next(line for line in lines if line.startswith(f"u{r}"))
        assert str(best) in row.split("x")[0]


def test_shares_of_variance_add_up(iris):
    estimator, X, y = iris
    rows = [line for line in summary(estimator, X, y).splitlines() if line.startswith("u")]
    shares = [int(word.rstrip("%")) for row in rows for word in row.split() if word.endswith("%")]
    assert abs(sum(shares) - 100) <= 2


def test_a_summary_of_many_vectors_and_features_stays_short():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    estimator = fitted(
        SPKMClassifier(25, weight_penalty="rkhs", max_iter=3, random_state=0), X, (X[:, 0] > 0).astype(int)
    )
    lines = summary(estimator, X).splitlines()
    assert "... and 5 more basis vectors" in lines and "... and 20 more features" in lines
    assert "a positive score is 1, else 0" in lines[0]


def test_formula_and_frame(regression, iris):
    estimator, _, _ = regression
    model = estimator.model_
    first, kernel, note = formula(estimator).splitlines()
    assert first.startswith(f"f(x) = {model.intercept[0]:.4g} ") and first.count("k(x, u") == 6
    assert kernel.startswith("k: RBF(gamma=") and "scaling" in note
    frame = to_frame(estimator)
    assert list(frame.columns) == ["weight", "x0", "x1", "x2", "x3"]
    np.testing.assert_allclose(frame.to_numpy()[:, 1:], model.basis_vectors)
    several = to_frame(iris[0])
    assert list(several.columns)[:3] == ["weight 0", "weight 1", "weight 2"]
    assert formula(iris[0]).splitlines()[1].startswith("f1(x) = ")


def test_formulas_of_binary_problems_name_their_own_kernels():
    X, y = load_iris(return_X_y=True)
    estimator = fitted(SPKMClassifier(1, multi_class="ovr", linear_part=False, max_iter=10, random_state=0), X, y)
    lines = formula(estimator).splitlines()
    assert "k3(x, u2)" in lines[2] and lines[5].startswith("k3: RBF")


def test_a_linear_part_is_told_apart_from_basis_vectors():
    X, y = load_iris(return_X_y=True)
    estimator = fitted(SPKMClassifier(2, linear_part=True, max_iter=30, random_state=0), X, y)
    text = summary(estimator, X, y)
    assert text.startswith("2 basis vectors with the kernel RBF and a linear part on 4 of 4 features")
    rows = [line.split()[0] for line in text.splitlines() if line.startswith(("u", "linear"))]
    assert rows == ["u0", "u1", "linear", "linear", "linear"]
    assert list(to_frame(estimator).index) == ["u0", "u1", "linear 0", "linear 1", "linear 2"]
    first = formula(estimator).splitlines()[0]
    assert first.endswith("+ w0·x") and first.count("·x") == 1
    explanation = explain(estimator, X[:3], X[::10])
    assert list(explanation.contribution_frame().columns) == list(to_frame(estimator).index)
    alone = explain(estimator.model_, X[:3], X[::10])
    np.testing.assert_allclose(explanation.contributions, alone.contributions)
    # Neighbours are those of the kernel of the basis vectors.
    view = estimator.model_.terms[0].views[0]
    Z = estimator.model_.scaled(X)
    best = np.argsort(-view.kernel(Z[:3][:, view.columns], Z[:, view.columns]), axis=1, kind="stable")[:, 0]
    np.testing.assert_array_equal(nearest(estimator, X[:3], X, k=1).index[:, 0], best)
