"""Competitors with parameters chosen on validation rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from spkm.kernels import RBF
from spkm_paper.competitors import METHODS, candidates, tuned
from spkm_paper.competitors._methods import METHODS as DEFINITIONS
from tests.small_data import curve, noisy, three_classes


def split(n):
    return np.array_split(np.random.default_rng(0).permutation(n), 3)


CASES = [(name, task) for name in METHODS for task in DEFINITIONS[name].tasks]


@pytest.mark.parametrize(("name", "task"), CASES)
def test_the_first_of_the_best_on_validation_rows_is_chosen(name, task):
    X, y = noisy() if task == "classification" else curve()
    train, validation, test = split(len(y))
    options = {"task": task, "n_vectors": 4, "step": 5}
    model, params = tuned(name, X, y, train, validation, **options)
    tried = [
        (point, estimator.fit(X[train], y[train]).score(X[validation], y[validation]))
        for point, estimator in candidates(name, X[train], y[train], **options)
    ]
    scores = [score for _, score in tried]
    assert params == tried[int(np.argmax(scores))][0]
    assert model.score(X[validation], y[validation]) == max(scores)
    again, same = tuned(name, X, y, train, validation, **options)
    assert same == params
    if task == "classification":
        np.testing.assert_array_equal(model.predict(X[test]), again.predict(X[test]))
    else:
        np.testing.assert_allclose(model.predict(X[test]), again.predict(X[test]), atol=1e-6)


@pytest.mark.parametrize("name", [name for name in METHODS if "classification" in DEFINITIONS[name].tasks])
def test_more_than_two_classes(name):
    X, y = three_classes()
    train, validation, test = split(len(y))
    labels = np.array(["one", "two", "three"])[y]
    model, _ = tuned(name, X, labels, train, validation, task="classification", n_vectors=6, step=5)
    assert model.score(X[test], labels[test]) > 0.85


def test_columns_and_targets_are_standardised_by_the_training_rows():
    X, y = curve()
    train, validation, _ = split(len(y))
    model, params = tuned("krr_paper", X, y, train, validation, task="regression")
    Z = StandardScaler().fit(X[train]).transform(X)
    gamma = RBF().resolved(Z[train], np.ones(len(train))).gamma
    assert params["gamma"] == pytest.approx(gamma) and 0.99e-5 <= params["alpha"] <= 1.01
    centre, spread = y[train].mean(), y[train].std()
    ridge = KernelRidge(alpha=params["alpha"], kernel="rbf", gamma=gamma).fit(Z[train], (y[train] - centre) / spread)
    rounding = spread * error_of_ridge(ridge, Z[train], Z)
    assert rounding < 1e-6 * spread  # small enough to tell a wrong scale
    np.testing.assert_allclose(model.predict(X), centre + spread * ridge.predict(Z), rtol=0, atol=rounding)
    # Other units, at the same point of the grid: which point is best may hang on the last digit.
    points = list(candidates("krr_paper", X[train], y[train], task="regression"))
    chosen = [point for point, _ in points].index(params)
    in_other_units = list(candidates("krr_paper", 1000 * X[train] + 5, 1000 * y[train], task="regression"))
    changed = in_other_units[chosen][1].fit(1000 * X[train] + 5, 1000 * y[train])
    np.testing.assert_allclose(changed.predict(1000 * X + 5) / 1000, model.predict(X), rtol=0, atol=rounding)


def error_of_ridge(ridge, X, rows):
    """Return how far apart two ways to compute the predictions k'a of a kernel ridge may be, (K + alpha) a = y.

    An error E of K, with its rounding and that of the solver, changes a by -(K + alpha)^-1 E a, and so a prediction by
    at most |(K + alpha)^-1 k| |E| |a|; errors e of k add |e| |a|. All are at most a hundred units in the last place.
    """
    K, k = rbf_kernel(X, gamma=ridge.gamma), rbf_kernel(rows, X, gamma=ridge.gamma)
    shifted = K + ridge.alpha * np.eye(len(X))
    sensitivity = np.linalg.norm(np.linalg.solve(shifted, k.T), axis=0).max()
    unit = 100 * np.finfo(float).eps
    return unit * (sensitivity * np.linalg.norm(shifted) + np.sqrt(len(X))) * np.linalg.norm(ridge.dual_coef_)


def test_rows_outside_the_split_and_masks():
    X, y = noisy()
    train, validation, test = split(len(y))
    model, params = tuned("svm_paper", X, y, train, validation)
    other = X.copy()
    other[test] = 1e6
    train_mask, validation_mask = (np.isin(np.arange(len(y)), rows) for rows in (train, validation))
    masked, same = tuned("svm_paper", other, y, train_mask, validation_mask)
    assert same["C"] == params["C"] and params["C"] <= 1
    np.testing.assert_array_equal(masked.predict(X[test]), model.predict(X[test]))


def test_sparse_rows_are_scaled_but_not_centred():
    X, y = noisy()
    train, validation, _ = split(len(y))
    rows = sparse.csr_array(np.where(np.abs(X) < 0.5, 0.0, X))
    for name in ("svm_paper", "mmd_critic_paper", "lasso"):
        model, _ = tuned(name, rows, y, train, validation, task="classification", n_vectors=4, step=5)
        assert model.score(rows[train], y[train]) > 0.6


def test_fewer_steps_are_a_part_of_the_grid():
    X, y = noisy()
    everything, some = (list(candidates("sca", X, y, step=step)) for step in (1, 4))
    assert [p for p, _ in some] == [
        p
        for p, _ in everything
        if p["C"] in {2.0**k for k in (-3, 1, 5, 9)} and p["gamma"] in {2.0**k / 2 for k in (-6, -2, 2)}
    ]
    assert {p["misclassified"] for p, _ in some} == {"relabel", "remove"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "svc"}, "method must be one of 'svm', .*; got 'svc'"),
        ({"method": "krr"}, "task of method='krr' must be 'classification' or 'regression'; got None"),
        ({"task": "regression"}, "task of method='svm' must be 'classification'; got 'regression'"),
        ({"method": "mmd_critic"}, "n_vectors of 'mmd_critic' must be an integer of at least 1; got None"),
        ({"step": 0}, "step must be an integer of at least 1; got 0"),
    ],
)
def test_clear_errors(changes, message):
    X, y = noisy()
    arguments = {"method": "svm", "X": X, "y": y, "train": np.arange(50), "validation": np.arange(50, 100)} | changes
    with pytest.raises(ValueError, match=message):
        tuned(**arguments)
