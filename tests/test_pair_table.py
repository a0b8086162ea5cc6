"""A table of pairs is the table that it stands for, and is never made."""

import numpy as np
import pytest
from scipy import sparse

from spkm.core.evidence import EvidenceObjective
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.kernels import RBF, Linear, Tanimoto
from spkm.losses import Log, Squared
from spkm.penalties import L1, Evidence, RKHSNorm, SquaredL2
from spkm.sources import ArraySource, PairSource, PairTable, fit_scaling

N, D_LEFT, D_RIGHT = 60, 4, 3
LEFT, RIGHT = np.arange(D_LEFT), np.arange(D_LEFT, D_LEFT + D_RIGHT)


def table(n_left=7, n_right=9, n=N, csr=False, seed=0):
    rng = np.random.default_rng(seed)
    left, right = rng.random((n_left, D_LEFT)), rng.random((n_right, D_RIGHT))
    pairs = np.column_stack([rng.integers(n_left, size=n), rng.integers(n_right, size=n)])
    return PairTable(sparse.csr_array(left) if csr else left, right, pairs)


def models():
    both = (View(RBF(0.7), LEFT, "scale"), View(Tanimoto(), RIGHT))
    parts = (View(RBF(0.7), LEFT[1:3], "relevances"), View(Linear(1.0), RIGHT[[0, 2]]))
    alone = (View(RBF(0.4), RIGHT, "scale"),)
    return {
        "product": [Term(3, both)],
        "several terms": [Term(2, both), Term(2, parts), Term(1, alone)],
    }


@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("n_left", [7, 200])  # all entities in a block, and few of them
@pytest.mark.parametrize("terms", models().values(), ids=models())
@pytest.mark.parametrize("loss", [Squared(), Log()])
def test_objective_and_gradient_are_those_of_the_materialised_table(terms, loss, n_left, csr):
    X = table(n_left, csr=csr)
    Y = np.sign(np.random.default_rng(1).standard_normal((N, 1)))
    weight = np.random.default_rng(2).random(N)
    model = PreimageModel(terms, D_LEFT + D_RIGHT, 1)
    theta = 0.5 * np.random.default_rng(3).standard_normal(model.n_params)
    sources = PairSource(X, Y, weight), ArraySource(X.toarray(), Y, weight)
    (value, gradient), (expected, wanted) = (
        Objective(model, loss, source, SquaredL2(0.1), RKHSNorm(0.1)).value_and_gradient(theta) for source in sources
    )
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("with_evidence", [False, True])
def test_profiled_objectives_are_those_of_the_materialised_table(with_evidence):
    X = table()
    Y = np.random.default_rng(1).standard_normal((N, 2))
    model = PreimageModel(models()["several terms"], D_LEFT + D_RIGHT, 2)
    theta = 0.5 * np.random.default_rng(3).standard_normal(model.n_params)
    results = []
    for source in (PairSource(X, Y), ArraySource(X.toarray(), Y)):
        if with_evidence:
            profiled = EvidenceObjective(model, Squared(), source, [], Evidence(trace=0.1))
        else:
            profiled = Objective(model, Squared(), source, None, RKHSNorm(0.1)).eliminated()
        results.append(profiled.value_and_gradient(profiled.start(theta)))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-10)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-7, atol=1e-9)


def test_rows_and_columns_are_picked_as_from_the_table():
    X = table()
    whole = X.toarray()
    rows, columns = np.array([5, 3, 3]), np.array([1, 2, 5])
    np.testing.assert_array_equal(X[rows].toarray(), whole[rows])
    np.testing.assert_array_equal(X[2:8].toarray(), whole[2:8])
    np.testing.assert_array_equal(X[:, columns].toarray(), whole[:, columns])
    source = PairSource(X, np.zeros((N, 1)))
    np.testing.assert_array_equal(source.subset(rows).dense(), whole[rows])
    np.testing.assert_array_equal(source.columns(columns).subset(rows).dense(), whole[rows][:, columns])
    assert isinstance(source.subset(rows), PairSource)


def test_entities_that_no_pair_names_can_be_left_out():
    X = table(n_left=200)
    alone = X.named_alone()
    assert len(alone.left) == len(np.unique(X.pairs[:, 0]))
    np.testing.assert_array_equal(alone.toarray(), X.toarray())


def test_the_least_values_are_those_of_the_entities():
    for csr in (False, True):
        X = table(csr=csr)
        left = X.left.toarray() if csr else X.left
        np.testing.assert_array_equal(X.min(axis=0), np.r_[left.min(axis=0), X.right.min(axis=0)])


def test_entities_are_scaled_as_the_table_would_be():
    X = table()
    weight = np.random.default_rng(2).random(N)
    scaling = X.scaling(weight, False)
    expected = fit_scaling(X.toarray(), weight, False)
    np.testing.assert_allclose(scaling.center, expected.center)
    np.testing.assert_allclose(scaling.scale, expected.scale)
    np.testing.assert_allclose(PairSource(X, None, weight, scaling).dense(), expected(X.toarray()))


def test_a_view_across_both_sides_is_refused():
    with pytest.raises(ValueError, match="one side"):
        table().entities(np.array([0, 5]))
    with pytest.raises(ValueError, match="one side"):
        table().entities(None)


def test_blocks_are_large_enough_to_share_the_entities_kernels():
    wide = PairTable(np.zeros((1000, 500)), np.zeros((1000, 500)), np.zeros((80_000, 2), dtype=int))
    source = PairSource(wide)
    (_, first), *_ = source.pieces(20)
    assert first == 2 * 1000 * 500 // 25
    assert source.pieces(20)[-1][1] == 80_000


def test_a_view_may_have_its_own_penalty():
    X = np.random.default_rng(0).standard_normal((20, 3))
    Y = X[:, :1]
    shared, own = SquaredL2(0.3), L1(0.2)
    views = [View(RBF(0.5), np.array([0, 1]), basis_penalty=own), View(RBF(0.5), np.array([2]))]
    model = PreimageModel([Term(2, (view,)) for view in views], 3, 1)
    theta = np.random.default_rng(1).standard_normal(model.n_params)
    objective = Objective(model, Squared(), ArraySource(X, Y), shared)
    bare = Objective(
        PreimageModel([Term(2, (View(v.kernel, v.columns),)) for v in views], 3, 1), Squared(), ArraySource(X, Y)
    )
    params = model.unpack(theta)
    expected = bare.value(theta) + own.value(params.basis[0]) + shared.value(params.basis[1])
    assert objective.value(theta) == pytest.approx(expected)
    assert not objective.is_smooth
    moved = model.unpack(objective.prox(theta, 0.5))
    np.testing.assert_array_equal(moved.basis[0], own.prox(params.basis[0], 0.5))
    np.testing.assert_array_equal(moved.basis[1], params.basis[1])
