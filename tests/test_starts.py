"""Start points: the right shapes on awkward data, rows of weight zero unused, labels that fit, the same for a seed."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.core.starts import Greedy, KMeans, Random, Rows, Sample, draw_sample, first_theta
from spkm.kernels import RBF, Linear, Tanimoto
from spkm.losses import Cosine, Log, Poisson, Squared
from spkm.sources import ArraySource, kinds_of
from tests import cases

RNG = np.random.default_rng(0)
D = cases.N_FEATURES
each_start = pytest.mark.parametrize("start", cases.STARTS.values(), ids=cases.STARTS)


def sample_of(X, Y, weight=None):
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    X, Y, weight = (cases.frozen(np.array(a, dtype=float)) for a in (X, Y, weight))
    return Sample(X, Y, weight, kinds_of(Y))


def term(n_basis, kernel=None):
    return Term(n_basis, (View(kernel or RBF(0.3)),))


def signs(n, n_classes, seed=0):
    code = np.random.default_rng(seed).integers(n_classes, size=n)
    return 2.0 * np.eye(n_classes)[code] - 1 if n_classes > 2 else np.where(code == 1, 1.0, -1.0)[:, None]


SAMPLES = {
    "real": sample_of(RNG.standard_normal((50, D)), RNG.standard_normal((50, 1))),
    "several real": sample_of(RNG.standard_normal((50, D)), RNG.standard_normal((50, 3))),
    "two classes": sample_of(RNG.standard_normal((50, D)), signs(50, 2)),
    "three classes": sample_of(RNG.standard_normal((50, D)), signs(50, 3), RNG.random(50)),
    "one class": sample_of(RNG.standard_normal((50, D)), np.ones((50, 1))),
    "more classes than vectors": sample_of(RNG.standard_normal((50, D)), signs(50, 9)),
    "fewer rows than vectors": sample_of(RNG.standard_normal((3, D)), RNG.standard_normal((3, 1))),
    "one row": sample_of(RNG.standard_normal((1, D)), [[1.0]]),
    "one distinct row": sample_of(np.ones((40, D)), RNG.standard_normal((40, 1))),
    "two distinct rows": sample_of(np.repeat([[0.0] * D, [1.0] * D], 30, axis=0), RNG.standard_normal((60, 1))),
    "constant target": sample_of(RNG.standard_normal((50, D)), np.zeros((50, 1))),
    "rare class": sample_of(RNG.standard_normal((50, D)), np.where(np.arange(50) == 7, 1.0, -1.0)[:, None]),
    "far from zero": sample_of(1e6 + RNG.standard_normal((50, D)), RNG.standard_normal((50, 1))),
}


@each_start
@pytest.mark.parametrize("n_basis", [1, 5, 8])
@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_points_have_the_right_shape_and_differ(start, sample, n_basis):
    points, labels = start.points(sample, term(n_basis), np.random.default_rng(1))
    assert points.shape == (n_basis, D)
    assert np.all(np.isfinite(points))
    if labels is not None:
        assert labels.shape == (n_basis, sample.Y.shape[1])
        assert np.all(np.isfinite(labels))
    assert len(np.unique(points, axis=0)) == n_basis, "equal vectors would stay equal for ever"
    again, _ = start.points(sample, term(n_basis), np.random.default_rng(1))
    np.testing.assert_array_equal(points, again)


@pytest.mark.parametrize("start", [Rows(), Greedy()], ids=str)
def test_rows_are_rows_with_their_labels(start):
    for name in ("real", "two classes", "three classes"):
        sample = SAMPLES[name]
        points, labels = start.points(sample, term(6), np.random.default_rng(2))
        for point, label in zip(points, labels, strict=True):
            row = np.flatnonzero(np.all(sample.X == point, axis=1)).item()
            np.testing.assert_array_equal(label, sample.Y[row])


@pytest.mark.parametrize("start", [Rows(), KMeans()], ids=str)
@pytest.mark.parametrize(("n_classes", "n_basis"), [(2, 4), (2, 7), (3, 3), (3, 8)])
def test_classes_share_the_points(start, n_classes, n_basis):
    weight = np.random.default_rng(5).random(60)
    sample = sample_of(RNG.standard_normal((60, D)), signs(60, n_classes), weight)
    _, labels = start.points(sample, term(n_basis), np.random.default_rng(3))
    np.testing.assert_allclose(np.abs(labels), 1.0)
    code = labels[:, 0] > 0 if n_classes == 2 else labels.argmax(axis=1)
    counts = np.bincount(code.astype(int), minlength=n_classes)
    assert counts.min() == n_basis // n_classes
    assert counts.max() == -(-n_basis // n_classes)
    totals = [
        weight[(sample.Y[:, 0] > 0 if n_classes == 2 else sample.Y.argmax(axis=1)) == c].sum() for c in range(n_classes)
    ]
    if counts.min() < counts.max():
        assert counts[np.argmax(totals)] == counts.max()


@each_start
def test_rows_of_weight_zero_do_not_count(start):
    sample = SAMPLES["two classes"]
    weight = np.where(np.arange(50) < 20, 1.0, 0.0)
    moved = np.array(sample.X)
    moved[20:] = 1e3
    for n_basis in (4, 25):
        points, _ = start.points(sample_of(moved, sample.Y, weight), term(n_basis), np.random.default_rng(4))
        assert np.median(np.abs(points)) < 10
    if not isinstance(start, Random):
        assert np.all(
            np.abs(start.points(sample_of(moved, sample.Y, weight), term(4), np.random.default_rng(4))[0]) < 100
        )


@pytest.mark.parametrize("start", [Greedy(), Random()], ids=str)
def test_weights_are_repeats(start):
    sample = SAMPLES["real"]
    repeats = np.random.default_rng(6).integers(1, 4, size=50)
    weighted = start.points(sample_of(sample.X, sample.Y, repeats), term(5), np.random.default_rng(7))[0]
    repeated = sample_of(np.repeat(sample.X, repeats, axis=0), np.repeat(sample.Y, repeats, axis=0))
    np.testing.assert_allclose(start.points(repeated, term(5), np.random.default_rng(7))[0], weighted, atol=1e-10)


def test_centres_of_separate_clouds_are_found():
    centres = 10.0 * np.eye(D)
    X = np.repeat(centres, 20, axis=0) + 0.01 * np.random.default_rng(0).standard_normal((80, D))
    points, labels = KMeans().points(
        sample_of(X, np.repeat([1.0, 2.0, 3.0, 4.0], 20)[:, None]), term(4), np.random.default_rng(0)
    )
    np.testing.assert_allclose(points[np.argmax(points, axis=1).argsort()], centres, atol=0.02)
    np.testing.assert_allclose(labels, 2.5)


def test_greedy_takes_the_row_that_explains_most_first():
    X = np.random.default_rng(0).standard_normal((40, D))
    Y = 3 * RBF(0.5)(X, X[11:12]) - 2 * RBF(0.5)(X, X[23:24])
    points, _ = Greedy().points(sample_of(X, Y), term(2, RBF(0.5)), np.random.default_rng(0))
    features = RBF(0.5)(X, X)
    target = Y[:, 0] - Y.mean()
    errors = [np.sum((target - f * (f @ target) / (f @ f)) ** 2) for f in (features - features.mean(axis=0)).T]
    np.testing.assert_array_equal(points[0], X[np.argmin(errors)])
    some, _ = Greedy(n_candidates=6).points(sample_of(X, Y), term(8), np.random.default_rng(0))
    assert some.shape == (8, D)


def test_random_points_have_the_moments_of_the_columns():
    X = np.random.default_rng(0).standard_normal((300, D)) * [1.0, 2.0, 0.1, 0.0] + [0.0, 5.0, -1.0, 2.0]
    points, labels = Random().points(sample_of(X, np.zeros((300, 1))), term(20_000), np.random.default_rng(0))
    assert labels is None
    np.testing.assert_allclose(points.mean(axis=0), X.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(points.std(axis=0), X.std(axis=0), rtol=0.02, atol=1e-12)


def make(loss, Y, terms=None, X=None, weight=None):
    X = SAMPLES["real"].X if X is None else X
    model = PreimageModel(terms or [term(4)], D, Y.shape[1])
    return Objective(model, loss, ArraySource(X, Y, weight))


@each_start
@pytest.mark.parametrize("loss", [Squared(), Log(), Poisson(), Cosine()], ids=str)
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("first_weights", ["ridge", "labels"])
def test_first_theta_of_every_rule(start, loss, m, first_weights):
    objective = make(loss, cases.targets(loss, 50, m))
    theta = first_theta(objective, start, first_weights, np.random.default_rng(0))
    assert theta.shape == (objective.model.n_params,)
    assert np.all(np.isfinite(theta))
    assert np.isfinite(objective.value(theta))
    params = objective.model.unpack(theta)
    if first_weights == "labels":
        np.testing.assert_array_equal(params.intercept, 0.0)
        if loss.target == "signs" and not isinstance(start, KMeans):
            assert np.all(np.abs(params.weights) == 1)
    else:
        constant, parts = objective.model.zeros()
        parts.intercept[...] = loss.working_target(objective.source.Y).mean(axis=0)
        if isinstance(loss, Squared):
            assert objective.value(theta) < objective.value(constant)


def test_first_weights_are_those_of_a_ridge_regression():
    Y = cases.targets(Squared(), 50, 2)
    objective = make(Squared(), Y)
    basis = SAMPLES["real"].X[:4]
    params = objective.model.unpack(first_theta(objective, basis, "ridge", np.random.default_rng(0)))
    np.testing.assert_array_equal(params.basis[0], basis)
    # c'Kc is a plain sum of squares after the features are multiplied by K^(-1/2).
    root = np.linalg.cholesky(RBF(0.3)(basis, basis) + 1e-6 * np.eye(4))
    Z = np.linalg.solve(root, RBF(0.3)(SAMPLES["real"].X, basis).T).T
    reference = Ridge(0.1, tol=1e-12).fit(Z, Y)
    np.testing.assert_allclose(params.weights, np.linalg.solve(root.T, reference.coef_.T), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(params.intercept, reference.intercept_, rtol=1e-6, atol=1e-9)


def test_given_points_go_to_all_views_and_signs_alternate():
    views = (View(RBF(0.3), np.array([0, 2])), View(Tanimoto(), np.array([3])))
    objective = make(Squared(), cases.targets(Squared(), 50, 2), [Term(3, views)])
    basis = np.arange(12.0).reshape(3, 4)
    params = objective.model.unpack(first_theta(objective, basis, "labels", np.random.default_rng(0)))
    np.testing.assert_array_equal(params.basis[0], basis[:, [0, 2]])
    np.testing.assert_array_equal(params.basis[1], basis[:, [3]])
    np.testing.assert_array_equal(params.weights, [[1, -1], [-1, 1], [1, -1]])


@each_start
def test_csr_rows_start_where_dense_ones_do(start):
    X, Y = cases.rows(50), cases.targets(Squared(), 50, 1)
    dense = first_theta(make(Squared(), Y, X=X), start, "ridge", np.random.default_rng(0))
    csr = first_theta(make(Squared(), Y, X=cases.csr(X)), start, "ridge", np.random.default_rng(0))
    np.testing.assert_allclose(csr, dense, rtol=1e-9, atol=1e-12)


def test_large_data_are_sampled():
    X = np.arange(5000.0)[:, None] * np.ones(D)
    source = ArraySource(X, X[:, :1], np.arange(5000.0) + 1)
    sample = draw_sample(source, 300, np.random.default_rng(0))
    assert sample.X.shape == (300, D)
    assert np.all(np.diff(sample.X[:, 0]) > 0)
    np.testing.assert_array_equal(sample.Y, sample.X[:, :1])
    np.testing.assert_allclose(sample.weight, (sample.X[:, 0] + 1) / (sample.X[:, 0] + 1).sum())
    everything = draw_sample(source, 5000, np.random.default_rng(0))
    np.testing.assert_array_equal(everything.X, X)
    objective = make(Squared(), X[:, :1], X=X / 5000)
    assert np.all(np.isfinite(first_theta(objective, KMeans(), "ridge", np.random.default_rng(0))))


def test_greedy_points_are_those_of_forward_regression():
    """Each next sample is the one whose feature leaves the smallest residual, beside those before and a constant."""
    rng = np.random.default_rng(0)
    X, Y, weight = rng.standard_normal((30, D)) + 1.0, rng.standard_normal((30, 2)) + 3.0, rng.random(30) + 0.1
    found, _ = Greedy().points(sample_of(X, Y, weight), term(4), rng)
    K, root = RBF(0.3)(X, X), np.sqrt(weight)[:, None]

    def residual(chosen):
        A = root * np.column_stack([np.ones(30), K[:, chosen]])
        return np.sum((root * Y - A @ np.linalg.lstsq(A, root * Y, rcond=None)[0]) ** 2)

    chosen = []
    for _ in range(4):
        chosen.append(min(set(range(30)) - set(chosen), key=lambda i: residual([*chosen, i])))
    np.testing.assert_array_equal(found, X[chosen])


def test_first_weights_beside_a_linear_part_are_those_of_ridge_regression():
    """Half of the usual strength on weights, and as often the whole as there are features on coefficients."""
    rng = np.random.default_rng(0)
    X, Y, weight = rng.standard_normal((30, D)) + 1.0, rng.standard_normal((30, 1)) + 3.0, rng.random(30) + 0.1
    linear = Term(1, (View(Linear(1.0), None, "fixed"),), is_linear_part=True)
    model = PreimageModel([term(3), linear], D, 1)
    objective = Objective(model, Squared(), ArraySource(X, Y, weight))
    theta = first_theta(objective, Random(), "ridge", rng)
    params = model.unpack(theta)
    A = np.column_stack([RBF(0.3)(X, params.basis[0]), X, np.ones(30)])
    size = np.array([0.1] * 3 + [0.2 * D] * D + [0.0]) / weight.sum()
    root = np.sqrt(weight / weight.sum())[:, None]
    C = np.linalg.lstsq(np.vstack([root * A, np.diag(np.sqrt(size))]), np.append(root * Y, np.zeros(len(size))))[0]
    found = np.concatenate([params.weights[:3, 0], params.basis[1][0], params.intercept])
    np.testing.assert_allclose(found, C, rtol=1e-6, atol=1e-8)
    assert params.weights[3] == 1.0
