"""Competitors: beside their definitions written out, brute force, and scikit-learn's own checks."""

import inspect
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from spkm.competitors import METHODS, MMDCriticClassifier, SCAClassifier, SignClassifier, candidates, tuned
from spkm.competitors._methods import METHODS as DEFINITIONS
from spkm.competitors._mmd import RowsKernel, greedy_criticisms, greedy_prototypes
from spkm.kernels import RBF
from tests.small_data import curve, read_only, three_classes, two_classes

BAD_PARAMETERS = {
    SCAClassifier: {
        "C": [0, -1.0, "one", None, True, float("nan")],
        "gamma": [0, -1.0, "auto", None, True, float("inf")],
        "misclassified": ["drop", None, True],
        "separating_C": [0.0, "large", None],
    },
    MMDCriticClassifier: {
        "n_prototypes": [0, 2.5, True, "ten", None],
        "gamma": [0, -1.0, "auto", None, True, float("inf")],
        "kernel_scope": ["class", None, True],
        "n_criticisms": [-1, 2.5, True, None],
    },
    SignClassifier: {"regressor": ["ridge", 3, KernelRidge]},
}


# Some of the checks have very few rows.
@pytest.mark.filterwarnings("ignore:n_.*=.* is more than the .* rows:UserWarning")
@parametrize_with_checks(
    [
        SCAClassifier(),
        SCAClassifier(C=10.0, gamma="scale", misclassified="remove"),
        MMDCriticClassifier(),
        MMDCriticClassifier(20, gamma="median", kernel_scope="global"),
        MMDCriticClassifier(5, n_criticisms=2),
        SignClassifier(),
        SignClassifier(KernelRidge(kernel="rbf")),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", BAD_PARAMETERS)
def test_every_parameter_is_documented(estimator):
    text = inspect.getdoc(estimator)
    assert all(f"{name} : " in text for name in BAD_PARAMETERS[estimator])


@pytest.mark.parametrize("estimator", BAD_PARAMETERS)
def test_every_parameter_is_checked_by_fit_and_named_in_the_message(estimator):
    assert set(estimator().get_params(deep=False)) == set(BAD_PARAMETERS[estimator])
    for name, values in BAD_PARAMETERS[estimator].items():
        for value in values:
            with pytest.raises(ValueError, match=name) as caught:
                estimator(**{name: value}).fit(*two_classes())
            assert repr(value) in str(caught.value)


@pytest.mark.parametrize("estimator", [SCAClassifier(), SignClassifier()])
def test_one_class_is_too_few(estimator):
    with pytest.raises(ValueError, match="y must hold at least two classes; got one class, 1"):
        estimator.fit([[0.0], [1.0]], [1, 1])


def noisy(n=150, n_classes=2, seed=0):
    """Return overlapping clouds in two columns."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    centres = np.array([[0.0, 0.0], [1.5, 0.5], [0.0, 2.0]])
    return read_only(centres[y] + rng.standard_normal((n, 2)), y)


# The separable case approximation.


@pytest.mark.parametrize("misclassified", ["relabel", "remove"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [1.0, 30.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_sca_separates_the_cleaned_rows_with_fewer_vectors(misclassified, n_classes, C, seed):
    X, y = noisy(n_classes=n_classes, seed=seed)
    model = SCAClassifier(C, misclassified=misclassified).fit(X, y)
    svm = SVC(C=C, gamma=model.gamma_).fit(X, y)
    assert model.reduced_
    assert model.n_support_.sum() < svm.n_support_.sum()
    says = svm.predict(X)
    assert np.any(says != y)
    kept = np.ones(len(y), dtype=bool) if misclassified == "relabel" else says == y
    np.testing.assert_array_equal(model.predict(X[kept]), says[kept])
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert kept[model.support_].all()
    assert model.n_support_.sum() == len(model.support_) == model.dual_coef_.shape[1]


def test_sca_of_two_classes_is_a_sum_over_its_vectors_with_a_hard_margin():
    X, y = noisy()
    model = SCAClassifier().fit(X, y)
    scores = rbf_kernel(X, model.support_vectors_, gamma=model.gamma_) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), scores)
    signs = np.where(model.svm_.predict(X) == 1, 1.0, -1.0)
    margins = signs * scores
    assert margins.min() > 0.99  # hard, up to the tolerance of libsvm
    np.testing.assert_allclose(margins[model.support_], 1.0, atol=5e-3)


def test_sca_of_separable_rows_is_the_hard_margin_machine():
    X, y = two_classes()
    model = SCAClassifier(C=1e6, gamma=1.0).fit(X, y)
    np.testing.assert_array_equal(model.support_, SVC(C=1e6, gamma=1.0).fit(X, y).support_)


@pytest.mark.parametrize("misclassified", ["relabel", "remove"])
def test_sca_keeps_its_svm_where_a_class_vanishes(misclassified):
    X, y = noisy(60)
    y = np.where(np.arange(60) < 6, "rare", "usual")
    model = SCAClassifier(C=1e-3, misclassified=misclassified).fit(X, y)
    assert not model.reduced_ and set(model.predict(X)) == {"usual"}
    np.testing.assert_array_equal(model.support_, model.svm_.support_)
    np.testing.assert_array_equal(model.decision_function(X), model.svm_.decision_function(X))


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_gamma_is_that_of_our_kernels(rule):
    X, y = noisy()
    gamma = RBF(rule).resolved(X, np.ones(len(X))).gamma
    assert SCAClassifier(gamma=rule).fit(X, y).gamma_ == gamma
    assert MMDCriticClassifier(gamma=rule).fit(X, y).gamma_ == gamma


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array])
def test_gamma_scale_is_that_of_scikit_learn(as_rows):
    X, y = noisy()
    assert SCAClassifier(gamma="scale").fit(as_rows(X), y).gamma_ == pytest.approx(SVC().fit(X, y)._gamma)
    assert SCAClassifier(gamma="scale", C=0.1).fit(np.ones((4, 2)), [0, 0, 1, 1]).gamma_ == 1.0


def test_gamma_of_many_rows_is_that_of_some_of_them():
    X = np.random.default_rng(0).standard_normal((2500, 3))
    some = MMDCriticClassifier(1).fit(X, X[:, 0] > 0).gamma_
    assert some == pytest.approx(RBF().resolved(X, np.ones(len(X))).gamma, rel=0.02)


# MMD-critic.


def mmd(X, rows, gamma, groups):
    """Return the maximum mean discrepancy between all rows and some, by loops."""

    def k(i, j):
        return np.exp(-gamma * np.sum((X[i] - X[j]) ** 2)) if groups[i] == groups[j] else 0.0

    everything = range(len(X))
    within = np.mean([k(i, j) for i in everything for j in everything])
    across = np.mean([k(i, j) for i in everything for j in rows])
    among = np.mean([k(i, j) for i in rows for j in rows])
    return np.sqrt(max(within - 2 * across + among, 0.0))


@pytest.mark.parametrize("scope", ["local", "global"])
def test_mmd_is_that_of_the_definition_and_falls_as_the_objective_rises(scope):
    X, y = noisy(40, n_classes=3)
    model = MMDCriticClassifier(6, gamma=1.5, kernel_scope=scope).fit(X, y)
    groups = y if scope == "local" else np.zeros_like(y)
    expected = [mmd(X, model.prototype_indices_[: m + 1], 1.5, groups) for m in range(6)]
    np.testing.assert_allclose(model.mmd_path_, expected, atol=1e-12)
    K = rbf_kernel(X, gamma=1.5) * (groups[:, None] == groups)
    np.testing.assert_allclose(model.objective_path_, K.mean() - np.square(expected), atol=1e-12)


@pytest.mark.parametrize("scope", ["local", "global"])
@pytest.mark.parametrize("seed", range(3))
def test_every_prototype_is_the_best_next_one(scope, seed):
    X, y = noisy(15, n_classes=3, seed=seed)
    groups = y if scope == "local" else np.zeros_like(y)
    model = MMDCriticClassifier(4, kernel_scope=scope).fit(X, y)
    chosen = model.prototype_indices_
    for m in range(4):
        others = [i for i in range(15) if i not in chosen[:m]]
        best = min(mmd(X, [*chosen[:m], i], model.gamma_, groups) for i in others)
        assert model.mmd_path_[m] == pytest.approx(best)


@pytest.mark.parametrize("gamma", [0.05, 0.2, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("seed", range(3))
def test_greedy_choice_is_near_that_of_brute_force(gamma, seed):
    X, _ = noisy(12, seed=seed)
    kernel = RowsKernel(X, gamma, np.zeros(12, dtype=int))
    K = rbf_kernel(X, gamma=gamma)
    # A narrow kernel has negative objectives, of which no share can be asked: it is that of the gain over one bad row.
    zero = 0.0 if gamma < 1 else np.min(2 * K.mean(axis=0) - 1)
    for m in (2, 3, 4):
        best = max(2 * K[:, S].mean() - K[np.ix_(S, S)].mean() for S in map(list, combinations(range(12), m)))
        assert greedy_prototypes(kernel, m).objective[-1] - zero >= (1 - 1 / np.e) * (best - zero) > 0


@pytest.mark.parametrize("scope", ["local", "global"])
def test_the_objective_rises_where_the_kernel_is_narrow(scope):
    X, y = noisy(60)
    model = MMDCriticClassifier(60, gamma=50.0, kernel_scope=scope).fit(X, y)
    assert np.all(np.diff(model.objective_path_) > 0) and np.all(np.diff(model.mmd_path_) < 0)
    assert sorted(model.prototype_indices_) == list(range(60)) and model.mmd_path_[-1] == pytest.approx(0, abs=1e-7)


def test_a_class_is_represented_by_its_own_rows():
    X, y = three_classes()
    model = MMDCriticClassifier(3).fit(X, y)
    assert sorted(model.prototype_labels_) == [0, 1, 2]
    np.testing.assert_array_equal(model.prototypes_, X[model.prototype_indices_])
    np.testing.assert_array_equal(model.prototype_labels_, y[model.prototype_indices_])
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("scope", ["local", "global"])
def test_predictions_are_those_of_the_nearest_neighbour(scope):
    X, y = noisy(90, n_classes=3)
    names = np.array(["one", "two", "three"])[y]
    model = MMDCriticClassifier(7, kernel_scope=scope).fit(X, names)
    neighbour = KNeighborsClassifier(1).fit(X[model.prototype_indices_], names[model.prototype_indices_])
    new = np.random.default_rng(1).standard_normal((50, 2))
    np.testing.assert_array_equal(model.predict(new), neighbour.predict(new))


def test_the_first_prototypes_are_those_of_a_smaller_fit_and_labels_matter_only_locally():
    X, y = noisy()
    many, few = (MMDCriticClassifier(m, kernel_scope="global").fit(X, y) for m in (8, 3))
    np.testing.assert_array_equal(many.prototype_indices_[:3], few.prototype_indices_)
    other = MMDCriticClassifier(8, kernel_scope="global").fit(X, 1 - y)
    np.testing.assert_array_equal(many.prototype_indices_, other.prototype_indices_)


def test_blocks_do_not_matter(monkeypatch):
    X, y = noisy()
    whole = MMDCriticClassifier(5, n_criticisms=3).fit(X, y)
    monkeypatch.setattr("spkm.competitors._mmd.BLOCK", 200)
    blocks = MMDCriticClassifier(5, n_criticisms=3).fit(X, y)
    np.testing.assert_array_equal(whole.prototype_indices_, blocks.prototype_indices_)
    np.testing.assert_allclose(whole.objective_path_, blocks.objective_path_, rtol=1e-12)
    np.testing.assert_array_equal(whole.criticism_indices_, blocks.criticism_indices_)


@pytest.mark.parametrize("scope", ["local", "global"])
def test_every_criticism_is_the_best_next_one(scope):
    X, y = noisy(30)
    groups = y if scope == "local" else np.zeros_like(y)
    kernel = RowsKernel(X, 0.7, groups)
    prototypes = greedy_prototypes(kernel, 4)
    K = rbf_kernel(X, gamma=0.7) * (groups[:, None] == groups)
    witness = np.abs(K.mean(axis=0) - K[prototypes.rows].mean(axis=0))
    chosen = []
    for _ in range(5):
        free = [i for i in range(30) if i not in chosen and i not in prototypes.rows]
        sets = [[*chosen, i] for i in free]
        values = [witness[C].sum() + np.linalg.slogdet(K[np.ix_(C, C)])[1] for C in sets]
        chosen = sets[int(np.argmax(values))]
    np.testing.assert_array_equal(greedy_criticisms(kernel, prototypes, 5), chosen)
    model = MMDCriticClassifier(4, gamma=0.7, kernel_scope=scope, n_criticisms=5).fit(X, y)
    np.testing.assert_array_equal(model.criticism_indices_, chosen)
    np.testing.assert_array_equal(model.criticisms_, X[chosen])


def test_copies_of_a_row_do_no_harm():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
    y = np.repeat([0, 1], 10)
    model = MMDCriticClassifier(15, n_criticisms=5).fit(X, y)
    assert model.score(X, y) == 1.0 and len(set(model.prototype_indices_) | set(model.criticism_indices_)) == 20


def test_more_than_there_are_rows_brings_a_warning():
    X, y = noisy(10)
    with pytest.warns(UserWarning, match="n_prototypes=12 is more than the 10 rows of X: 10 are taken"):
        assert len(MMDCriticClassifier(12).fit(X, y).prototypes_) == 10
    with pytest.warns(UserWarning, match="n_criticisms=4 is more than the 2 rows of X beside the prototypes"):
        assert len(MMDCriticClassifier(8, n_criticisms=4).fit(X, y).criticisms_) == 2


@pytest.mark.parametrize(
    "model", [SCAClassifier(), MMDCriticClassifier(6), SignClassifier(KernelRidge(kernel="rbf"))], ids=type
)
def test_sparse_rows_frames_and_repetition_give_the_same(model):
    X, y = noisy(n_classes=3)
    labels = clone(model).fit(X, y).predict(X)
    np.testing.assert_array_equal(labels, clone(model).fit(X, y).predict(X))
    on_sparse = clone(model).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(labels, on_sparse.predict(sparse.csr_array(X)))
    np.testing.assert_array_equal(labels, on_sparse.predict(X))
    frame = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(labels, clone(model).fit(frame, y).predict(frame))
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


# Regressors of signs.


def test_signs_of_two_and_of_more_classes():
    X, y = three_classes()
    model = SignClassifier(KernelRidge(kernel="rbf", alpha=0.1)).fit(X, y)
    columns = [KernelRidge(kernel="rbf", alpha=0.1).fit(X, np.where(y == c, 1.0, -1.0)).predict(X) for c in range(3)]
    np.testing.assert_allclose(model.decision_function(X), np.transpose(columns))
    np.testing.assert_array_equal(model.predict(X), np.argmax(columns, axis=0))
    X, y = noisy()
    scores = Lasso(alpha=0.1).fit(X, 2.0 * y - 1).predict(X)
    labels = np.where(y == 1, "yes", "no")
    np.testing.assert_array_equal(
        SignClassifier(Lasso(alpha=0.1)).fit(X, labels).predict(X), np.where(scores > 0, "yes", "no")
    )


# Tuning.


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
    np.testing.assert_array_equal(model.predict(X[test]), again.predict(X[test]))
    assert same == params


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
    assert params["gamma"] == pytest.approx(gamma) and 1e-5 <= params["alpha"] <= 1
    centre, spread = y[train].mean(), y[train].std()
    ridge = KernelRidge(alpha=params["alpha"], kernel="rbf", gamma=gamma).fit(Z[train], (y[train] - centre) / spread)
    np.testing.assert_allclose(model.predict(X), centre + spread * ridge.predict(Z))
    changed, _ = tuned("krr_paper", 1000 * X + 5, 1000 * y, train, validation, task="regression")
    np.testing.assert_allclose(changed.predict(1000 * X + 5), 1000 * model.predict(X), rtol=1e-6)


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
