"""The objective: its gradient for every kernel, loss and penalty; weights as repeats; any cut into blocks."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spkm import kernels, losses, penalties
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.core.profiled import JITTER
from spkm.core.regularization import Regularization, as_list
from spkm.kernels import RBF, Linear, Polynomial
from spkm.losses import Cosine, Log, Squared
from spkm.penalties import L1, ElasticNet, GroupL2, L1Ball, RKHSNorm, RowL2, SquaredL2
from spkm.sources import ArraySource
from tests import cases

each_loss = pytest.mark.parametrize("loss", cases.LOSSES.values(), ids=cases.LOSSES)
SETTINGS = {
    "smooth": {
        "basis_penalty": SquaredL2(0.1),
        "weight_penalty": [RKHSNorm(0.2), SquaredL2(0.05)],
        "metric_prior": 0.3,
    },
    "not smooth": {"basis_penalty": L1(0.1), "weight_penalty": RowL2(0.1)},
    "both": {"basis_penalty": [GroupL2(0.1), SquaredL2(0.1)], "weight_penalty": [ElasticNet(0.1), RKHSNorm(0.2)]},
}


@pytest.mark.parametrize("kernel", cases.KERNELS.values(), ids=cases.KERNELS)
@each_loss
def test_gradient_equals_differences(kernel, loss):
    errors = {}
    # With one output the bandwidth is learned, with three the relevances: both enter every kernel and loss.
    for name, (m, metric) in itertools.product(["smooth", "not smooth"], [(1, "scale"), (3, "relevances")]):
        dense, csr = (
            cases.make_objective(kernel, loss, m=m, metric=metric, storage=storage, **SETTINGS[name])
            for storage in (np.asarray, cases.csr)
        )
        theta = cases.random_theta(dense.model)
        errors[name, m] = cases.gradient_error(dense, theta)
        gradient, of_csr = dense.value_and_gradient(theta)[1], csr.value_and_gradient(theta)[1]
        errors[name, m, "csr"] = np.max(np.abs(gradient - of_csr)) / np.max(np.abs(gradient))
    assert max(errors.values()) < 1e-6, errors


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gradient_of_terms_and_products_equals_differences(m, fit_intercept):
    views = [
        View(RBF(0.3), np.array([0, 2]), "relevances"),
        View(Polynomial(2, 1.0, 0.3), np.array([1, 3, 0]), "scale"),
    ]
    model = PreimageModel([Term(2, tuple(views)), Term(2, (View(Linear(0.4)),))], cases.N_FEATURES, m, fit_intercept)
    for loss in (Squared(), Cosine(), Log()):
        source = ArraySource(cases.rows(12), cases.targets(loss, 12, m))
        objective = Objective(model, loss, source, **SETTINGS["both"])
        assert cases.gradient_error(objective, cases.random_theta(model)) < 1e-6


@each_loss
@pytest.mark.parametrize("name", SETTINGS)
def test_value_is_the_smooth_part_and_the_rest(loss, name):
    objective = cases.make_objective(RBF(0.3), loss, m=3, metric="scale", **SETTINGS[name])
    theta = cases.random_theta(objective.model)
    smooth, gradient = objective.value_and_gradient(theta)
    assert objective.value(theta) == pytest.approx(smooth + objective.penalty(theta), rel=1e-12)
    value, _ = objective.block_loss(objective.source.load((0, 12)), theta)
    assert objective.value(theta) == pytest.approx(
        value + objective.smooth_penalty(theta)[0] + objective.penalty(theta)
    )
    block_only = Objective(objective.model, loss, objective.source)
    np.testing.assert_allclose(
        block_only.block_loss(objective.source.load((0, 12)), theta)[1], block_only.value_and_gradient(theta)[1]
    )
    assert gradient.shape == theta.shape


@each_loss
@pytest.mark.parametrize("m", [1, 3])
def test_row_weights_equal_repeated_rows(loss, m):
    repeats = np.random.default_rng(1).integers(1, 4, size=12)
    weighted = cases.make_objective(RBF(0.3), loss, m=m, weight=repeats.astype(float))
    rows, Y = cases.rows(12), cases.targets(loss, 12, m)
    repeated = weighted.on(ArraySource(np.repeat(rows, repeats, axis=0), np.repeat(Y, repeats, axis=0)))
    theta = cases.random_theta(weighted.model)
    assert weighted.value(theta) == pytest.approx(repeated.value(theta), rel=1e-12)
    for a, b in zip(weighted.value_and_gradient(theta), repeated.value_and_gradient(theta), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-13)


class InBlocks(ArraySource):
    """A source of blocks of a given number of samples."""

    def __init__(self, size, X, Y):
        super().__init__(X, Y)
        self.size = size

    def pieces(self, width):
        return [(i, min(i + self.size, self.n_rows)) for i in range(0, self.n_rows, self.size)]


@pytest.mark.parametrize("loss", [Squared(), Log(), Cosine()], ids=str)
@pytest.mark.parametrize("m", [1, 3])
@given(size=st.integers(1, 60), storage=st.sampled_from([np.asarray, cases.csr]), n_threads=st.sampled_from([1, 2]))
@settings(max_examples=8)
def test_blocks_of_any_size_give_the_same(loss, m, size, storage, n_threads):
    whole = cases.make_objective(RBF(0.3), loss, n=50, m=m, **SETTINGS["smooth"])
    theta = cases.random_theta(whole.model)
    cut = whole.on(InBlocks(size, storage(cases.rows(50)), cases.targets(loss, 50, m)))
    with cut.source.threads(n_threads):
        value, gradient = cut.value_and_gradient(theta)
        assert cut.value(theta) == pytest.approx(value, rel=1e-12)
    expected, expected_gradient = whole.value_and_gradient(theta)
    assert value == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-12)


class Counting(ArraySource):
    """A source that counts the passes over its samples."""

    passes = 0

    def reduce(self, function, *args, width):
        self.passes += 1
        return super().reduce(function, *args, width=width)


@pytest.mark.parametrize(("m", "passes"), [(1, 1), (3, 2)])
def test_cosine_of_one_output_takes_one_pass(m, passes):
    source = Counting(cases.rows(12), cases.targets(Cosine(), 12, m))
    objective = cases.make_objective(RBF(0.3), Cosine(), m=m).on(source)
    objective.value_and_gradient(cases.random_theta(objective.model))
    assert source.passes == passes


def test_cosine_of_several_outputs_is_the_mean_of_each_alone():
    joint = cases.make_objective(RBF(0.3), Cosine(), m=3)
    theta = cases.random_theta(joint.model)
    params = joint.model.unpack(theta)
    values, gradients = [], []
    for k in range(3):
        one = cases.make_objective(RBF(0.3), Cosine(), m=1)
        one = one.on(ArraySource(cases.rows(12), cases.targets(Cosine(), 12, 3)[:, k : k + 1]))
        alone = np.concatenate([params.basis[0].ravel(), params.weights[:, k], params.intercept[k : k + 1]])
        value, gradient = one.value_and_gradient(alone)
        values.append(value)
        gradients.append(one.model.unpack(gradient).basis[0])
    value, gradient = joint.value_and_gradient(theta)
    assert value == pytest.approx(np.mean(values), rel=1e-12)
    np.testing.assert_allclose(
        joint.model.unpack(gradient).basis[0], np.mean(gradients, axis=0), rtol=1e-10, atol=1e-14
    )


def test_rkhs_norm_of_terms_is_the_sum_of_theirs():
    model = PreimageModel([Term(2, (View(RBF(0.3)),)), Term(3, (View(Polynomial(2, 1.0, 0.3)),))], cases.N_FEATURES, 2)
    objective = Objective(model, Squared(), ArraySource(cases.rows(5), np.zeros((5, 2))), None, RKHSNorm(0.6))
    theta = cases.random_theta(model)
    params = model.unpack(theta)
    expected = 0.0
    for kernel, U, cut in zip(
        (RBF(0.3), Polynomial(2, 1.0, 0.3)), params.basis, (slice(0, 2), slice(2, 5)), strict=True
    ):
        C = params.weights[cut]
        expected += 0.3 * np.trace(C.T @ (kernel(U, U) + JITTER * np.eye(len(U))) @ C)
    assert objective.smooth_penalty(theta)[0] == pytest.approx(expected, rel=1e-12)


def test_prox_acts_on_its_part_with_its_step():
    model = PreimageModel(
        [Term(2, (View(RBF(0.3), None, "scale"),)), Term(3, (View(Linear(0.5)),))], cases.N_FEATURES, 2
    )
    objective = Objective(model, Squared(), ArraySource(cases.rows(5), np.zeros((5, 2))), GroupL2(0.4), RowL2(0.3))
    theta = cases.random_theta(model)
    steps, step_parts = model.zeros()
    for k, part in enumerate((*step_parts.basis, step_parts.weights)):
        part[...] = 0.5 + k
    moved, before = model.unpack(objective.prox(theta, steps)), model.unpack(theta)
    for k in range(2):
        np.testing.assert_array_equal(moved.basis[k], GroupL2(0.4).prox(before.basis[k], 0.5 + k))
        np.testing.assert_array_equal(moved.log_metric[k], before.log_metric[k])
    np.testing.assert_array_equal(moved.weights, RowL2(0.3).prox(before.weights, 2.5))
    np.testing.assert_array_equal(moved.intercept, before.intercept)
    np.testing.assert_array_equal(objective.prox(theta, 0.7), objective.prox(theta, np.full(theta.size, 0.7)))
    expected = sum(GroupL2(0.4).value(U) for U in before.basis) + RowL2(0.3).value(before.weights)
    assert objective.penalty(theta) == pytest.approx(expected)
    smooth = Objective(model, Squared(), objective.source, SquaredL2(0.4), RKHSNorm(0.3))
    np.testing.assert_array_equal(smooth.prox(theta, 0.7), theta)


def test_what_an_objective_says_of_itself():
    kinds = {
        (True, False, True): [(SquaredL2(), RKHSNorm(1.0)), (None, None)],
        (False, True, False): [(None, L1()), ([SquaredL2()], [RowL2(), SquaredL2()])],
        (False, False, False): [(L1Ball(), None), (GroupL2(), SquaredL2())],
    }
    for expected, pairs in kinds.items():
        for basis, weights in pairs:
            objective = cases.make_objective(RBF(0.3), Squared(), basis_penalty=basis, weight_penalty=weights)
            offered = "elimination" in objective.offers
            assert (objective.is_smooth, objective.has_weight_prox, offered) == expected
            assert ("gradient" in objective.offers) == objective.is_smooth
    assert as_list(None) == []
    with pytest.raises(ValueError, match="basis_penalty may hold one penalty without a gradient"):
        cases.make_objective(RBF(0.3), Squared(), basis_penalty=[L1(), GroupL2()])
    with pytest.raises(ValueError, match="weight_penalty may hold one penalty without a gradient"):
        cases.make_objective(RBF(0.3), Squared(), weight_penalty=[L1(), RowL2()])


def test_small_relevances_and_single_numbers_are_regularized():
    model = PreimageModel([Term(1, (View(kernels.RBF(1.0), None, "relevances"),))], 1, 1)
    regularization = Regularization(model, [penalties.L1(0.5)], [], relevance_prior=2.0)
    theta, params = model.zeros()
    for log_weight, value, slope in ((0.5, 0.25, 1.0), (0.0, 0.0, 0.0), (-3.0, 0.0, 0.0)):
        params.log_metric[0][...] = log_weight
        found, gradient = regularization.smooth(theta)
        assert found == pytest.approx(value) and model.unpack(gradient).log_metric[0][0] == pytest.approx(slope)
    params.basis[0][...] = 2.0
    assert model.unpack(regularization.prox(theta, 1.0)).basis[0][0, 0] == pytest.approx(1.5)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_gradient_of_a_coupled_loss_with_any_number_of_outputs(m):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((8, 2)), np.sign(rng.standard_normal((8, m)))
    model = PreimageModel([Term(3, (View(kernels.RBF(0.5), None),))], 2, m)
    loss = losses.Cosine()
    objective = Objective(model, loss, ArraySource(X, Y))
    assert loss.coupled
    theta, h = rng.standard_normal(model.n_params), 1e-6
    gradient = objective.value_and_gradient(theta)[1]
    steps = h * np.eye(len(theta))
    quotients = [(objective.value(theta + step) - objective.value(theta - step)) / (2 * h) for step in steps]
    np.testing.assert_allclose(gradient, quotients, atol=1e-8)
