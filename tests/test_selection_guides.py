"""Guides: simpler kernels that find features for a kernel without a sparse path."""

import numpy as np
import pytest

from spkm import SPKMClassifier
from spkm.datasets import make_sparse_relation
from spkm.kernels import RBF, Linear
from spkm.losses import Log
from tests.small_searches import candidate, linear_rows, search_of

pytestmark = pytest.mark.usefixtures("careful")


def guided_search(on_step=None):
    """Return a search for one vector of a distance, a poor model of a line, with a linear guide."""
    rbf, guide = candidate(RBF("mean"), Log(), 1), candidate(Linear(1.0), Log(), 1)
    search, everything = search_of(linear_rows(120), Log(), [rbf], guides=[guide], on_step=on_step)
    return search, everything, rbf, guide


def test_the_kernel_asked_for_gets_the_features_of_the_guide():
    search, everything, rbf, guide = guided_search()
    choice = search.run()
    assert choice.candidate is rbf and choice.guide.candidate is guide
    assert choice.n_units == choice.guide.n_units == 2
    for model, of_guide in zip(choice.models, choice.guide.models, strict=True):
        np.testing.assert_array_equal(model.columns, of_guide.columns)
        assert isinstance(model.model.views[0][1].kernel, RBF)
    model = search.refit(choice, everything)
    assert model.columns.tolist() == [1, 4] and model.model.n_basis == 1
    assert search.columns_by_themselves(choice, everything).tolist() == [1, 4]
    assert "features of linear" in {record["stage"] for record in search.validation.records}


def test_a_path_has_models_of_the_kernel_asked_for():
    search, everything, _, _ = guided_search()
    models = search.sequence(search.run(), everything)
    counts = [len(model.columns) for model in models]
    assert counts == sorted(counts, reverse=True) and counts[-1] == 1
    assert all(isinstance(model.model.views[0][1].kernel, RBF) for model in models)


def test_a_search_that_is_stopped_keeps_the_kernel_asked_for():
    search, everything, rbf, _ = guided_search(on_step=lambda text: True)  # after the guide's elimination
    choice = search.run()
    assert choice.stopped is not None and choice.candidate is rbf
    assert isinstance(search.refit(choice, everything).model.views[0][1].kernel, RBF)


def test_few_vectors_of_a_distance_find_the_features_of_a_line():
    X, y, relevant = make_sparse_relation("linear", 300, 30, random_state=0)
    model = SPKMClassifier(2, selection="strict", random_state=0).fit(X, y)
    assert set(model.selected_features_) <= set(relevant)
    assert isinstance(model.kernel_, RBF) and model.model_.n_basis == 2


def test_vectors_of_a_search_are_fewer_than_half_of_the_samples():
    rng = np.random.default_rng(0)
    labels = np.arange(32) % 8
    X = rng.standard_normal((32, 10))
    X[:, :8] += 3.0 * np.eye(8)[labels]
    model = SPKMClassifier(n_basis="auto", selection="strict", kernel="rbf", random_state=0).fit(X, labels)
    assert model.model_.n_basis <= 16
