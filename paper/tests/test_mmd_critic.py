"""MMD-critic: beside its definition written out, and brute force."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier

from spkm_paper.competitors import MMDCriticClassifier, SCAClassifier, SignClassifier
from spkm_paper.competitors._mmd import RowsKernel, greedy_criticisms, greedy_prototypes
from tests.small_data import noisy, three_classes


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
    monkeypatch.setattr("spkm_paper.competitors._mmd.BLOCK", 200)
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
