"""Every exact explanation beside brute force, on random models: kernels, views, terms, outputs, groups, flat columns.

The default run has a few settings, ``make test-all`` a thousand.
"""

from dataclasses import replace

import numpy as np
import pytest

from spkm import PairwiseSPKMClassifier, PairwiseSPKMRegressor
from spkm.explain import explain, gradient, h_statistics, partial_dependence, sobol_indices
from spkm.kernels import RBF, Affine, Laplacian, Linear, Matern, Polynomial, RationalQuadratic, Rescaled, Sum
from tests.enumeration import enumerated_interactions, enumerated_shapley
from tests.made_models import make_model, make_rows

SETTINGS = [
    pytest.param(range(25), id="few"),
    pytest.param(range(25, 1000), id="thousand", marks=pytest.mark.exhaustive),
]


def random_kernel(rng, width):
    """Return a kernel with closed forms."""
    gamma = float(10 ** rng.uniform(-2, 0.5))
    kernel = [
        RBF(gamma),
        Laplacian(gamma),
        Matern(rng.choice([1.5, 2.5]), gamma=gamma),
        RationalQuadratic(alpha=float(rng.uniform(0.5, 3)), gamma=gamma),
        Linear(gamma),
        Polynomial(degree=int(rng.integers(1, 4)), coef0=float(rng.uniform(0, 1)), gamma=gamma),
        Affine(RBF(gamma)),
        Sum(RBF(gamma), Polynomial(degree=2, gamma=gamma)),
    ][rng.integers(8)]
    if rng.random() < 0.3 and not isinstance(kernel, Sum | Affine):
        kernel = Rescaled(kernel, np.where(rng.random(width) < 0.2, 0.0, rng.uniform(0.2, 2, width)))
    return kernel


def random_model(seed, most=3):
    """Return a random model of up to ``most`` features that it holds, and samples, some of them alike or flat."""
    rng = np.random.default_rng([7, seed])
    d = int(rng.integers(1, most + 1))
    terms = []
    for _ in range(rng.integers(1, 3)):
        cut = int(rng.integers(1, d + 1))
        views = [np.arange(d)] if cut == d or rng.random() < 0.5 else [np.arange(cut), np.arange(cut, d)]
        terms.append((int(rng.integers(1, 4)), [(random_kernel(rng, len(v)), v) for v in views]))
    extra = int(rng.integers(0, 2))
    features = np.sort(rng.choice(d + extra, d, replace=False))
    outputs = int(rng.integers(1, 3))
    model = make_model(terms, d + extra, outputs, seed, scaling=bool(rng.random() < 0.7), features=features)
    if rng.random() < 0.2:
        theta = model.theta.copy()
        model.model.unpack(theta).weights[0] = 0.0
        model = replace(model, theta=theta)
    X = make_rows(model, int(rng.integers(1, 5)), seed)
    if rng.random() < 0.2:
        X[:, rng.integers(X.shape[1])] = 1.0
    if rng.random() < 0.2:
        X = np.vstack([X, X[:1]])
    return model, X, rng


def closeness(model, X):
    """Return how far two ways of summing the same numbers may be apart."""
    size = np.abs(model.similarities(X)).max() * np.abs(model.weights).sum() + np.abs(model.intercept).max()
    return 1e-11 * (1 + float(size))


def exact_indices(model, X):
    """Return the variance and what features explain of it alone and in part, over all combinations of values."""
    d, n = X.shape[1], len(X)
    every = np.stack(np.meshgrid(*X.T, indexing="ij"), axis=-1).reshape(-1, d)
    F = model.scores(every).reshape(*[n] * d, -1)
    others = [tuple(k for k in range(d) if k != j) for j in range(d)]
    first = np.array([F.mean(axis=axes).var(axis=0) for axes in others])
    total = np.array([F.var(axis=j).mean(axis=tuple(range(d - 1))) for j in range(d)])
    return first, total, F.var(axis=tuple(range(d)))


@pytest.mark.parametrize("seeds", SETTINGS)
def test_sobol_indices(seeds):
    for seed in seeds:
        model, X, _ = random_model(seed)
        found = sobol_indices(model, X)
        first, total, variance = exact_indices(model, X)
        near = closeness(model, X) * (1 + float(np.sqrt(variance.max())))
        if found.exact:
            np.testing.assert_allclose(found.variance, variance, atol=near, rtol=1e-8, err_msg=str(seed))
            np.testing.assert_allclose(found.first * found.variance, first, atol=near, rtol=1e-7, err_msg=str(seed))
            np.testing.assert_allclose(found.total * found.variance, total, atol=near, rtol=1e-7, err_msg=str(seed))


@pytest.mark.parametrize("seeds", SETTINGS)
def test_effects_and_h_statistics(seeds):
    for seed in seeds:
        model, X, _ = random_model(seed, most=4)
        d, near = X.shape[1], closeness(model, X)

        def held(columns, points, model=model, X=X):
            rows = np.repeat(X[None], len(points), axis=0)
            rows[:, :, list(columns)] = points[:, None]
            return model.scores(rows.reshape(-1, X.shape[1])).reshape(len(points), len(X), -1).mean(axis=1)

        for effect in partial_dependence(model, X, list(range(d)), n_points=3):
            column = int(effect.feature_names[0][1:])
            truth = held([column], effect.grid[0][:, None])
            np.testing.assert_allclose(effect.values, truth, atol=near, err_msg=str(seed))
        names, H = h_statistics(model, X)
        centred = [held([int(n[1:])], X[:, [int(n[1:])]]) for n in names]
        centred = [part - part.mean(axis=0) for part in centred]
        for a in range(len(names)):
            for b in range(a):
                pair = [int(names[a][1:]), int(names[b][1:])]
                joint = held(pair, X[:, pair])
                joint = joint - joint.mean(axis=0)
                left = np.square(joint - centred[a] - centred[b]).sum(axis=0)
                size = np.square(joint).sum(axis=0)
                np.testing.assert_allclose(H[a, b], H[b, a])
                # The numerators are sums of squares of rounding where there is no interaction.
                np.testing.assert_allclose(H[a, b] ** 2 * size, left, atol=near * (1 + size.max()), err_msg=str(seed))


@pytest.mark.parametrize("seeds", SETTINGS)
def test_shapley_values_interactions_and_slopes(seeds):
    for seed in seeds:
        model, X, rng = random_model(seed, most=4)
        near, d = 10 * closeness(model, X), X.shape[1]
        groups, players = None, [[j] for j in range(d)]
        if d > 2 and rng.random() < 0.4:
            groups, players = {"both": [0, 2]}, [[0, 2], *([j] for j in range(d) if j not in (0, 2))]
        x = make_rows(model, 1, seed + 5000)
        found = explain(model, x, X, groups=groups)
        truth = enumerated_shapley(model.scores, x[0], X, players)
        np.testing.assert_allclose(found.values[0], truth, atol=near, err_msg=str(seed))
        off = ~np.eye(len(players), dtype=bool)
        pairs = enumerated_interactions(model.scores, x[0], X, players)
        np.testing.assert_allclose(2 * found.interactions()[0][off], pairs[off], atol=near, err_msg=str(seed))
        np.testing.assert_allclose(found.base_values + found.values[0].sum(axis=0), found.scores[0], atol=near)
        if groups is None and all(len(term.views) == 1 for term in model.terms):  # others may have no closed form
            every = np.stack(np.meshgrid(*X.T, indexing="ij"), axis=-1).reshape(-1, d)
            truth = enumerated_shapley(model.scores, x[0], every, players)
            alone = explain(model, x, X, independent=True).values[0]
            np.testing.assert_allclose(alone, truth, atol=near, err_msg=str(seed))


@pytest.mark.filterwarnings("ignore:.*stopped after:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "seeds", [pytest.param(range(4), id="few"), pytest.param(range(4, 60), id="many", marks=pytest.mark.slow)]
)
def test_explanations_of_pairs(seeds):
    for seed in seeds:
        rng = np.random.default_rng([11, seed])
        left, right = rng.normal(size=(8, int(rng.integers(1, 4)))), rng.normal(size=(7, int(rng.integers(1, 3))))
        pairs = np.array([(i, j) for i in range(8) for j in range(7)])
        y = left[pairs[:, 0], 0] * right[pairs[:, 1], -1] + 0.1 * rng.normal(size=len(pairs))
        classes = bool(rng.random() < 0.5)
        kind = PairwiseSPKMClassifier if classes else PairwiseSPKMRegressor
        model = kind(n_basis=int(rng.integers(1, 4)), max_iter=5, random_state=seed, verbose=0)
        model.fit(pairs, y > 0 if classes else y, left=left, right=right)
        joined = np.hstack([left[pairs[:, 0]], right[pairs[:, 1]]])
        some, background = pairs[rng.choice(len(pairs), 3)], pairs[rng.choice(len(pairs), 6)]
        found = explain(model, some, background)
        place = {tuple(pair): k for k, pair in enumerate(pairs.tolist())}
        rows, others = (joined[[place[tuple(p)] for p in part.tolist()]] for part in (some, background))
        scores = model.model_.scores
        np.testing.assert_allclose(found.scores, scores(rows), atol=1e-10)
        for i, row in enumerate(rows):
            truth = enumerated_shapley(scores, row, others, [[j] for j in range(joined.shape[1])])
            np.testing.assert_allclose(found.values[i], truth, atol=1e-9, err_msg=str(seed))
        step = 1e-5
        units = step * np.eye(joined.shape[1])
        moved = np.stack([(scores(rows + e) - scores(rows - e)) / (2 * step) for e in units], axis=1)
        known = model.model_.scaling
        apart = np.abs(model.model_.scaled(rows) - known.middle) if known is not None else np.zeros_like(rows)
        inside = apart < (np.inf if known is None else known.clip - 1e-3)
        np.testing.assert_allclose(gradient(model, some)[inside], moved[inside], atol=1e-5 * (1 + np.abs(moved).max()))
