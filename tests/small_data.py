"""Small data for tests of estimators: seeded, and read-only so that a fit that writes to them fails."""

import numpy as np


def read_only(*arrays):
    """Return the arrays, protected against writing."""
    for array in arrays:
        array.setflags(write=False)
    return arrays


def two_classes(n=80, seed=0):
    """Return an inner and an outer cloud in two columns with 0 and 1 as labels, of which a line parts few rows."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    y = np.arange(n) % 2
    radius = 0.6 + 1.6 * y + 0.15 * rng.standard_normal(n)
    return read_only(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y)


def three_classes(n=90, seed=1):
    """Return three round clouds in three columns, with 0, 1 and 2 as labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    centres = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 1.0], [0.0, 3.0, -1.0]])
    return read_only(centres[y] + 0.7 * rng.standard_normal((n, 3)), y)


def curve(n=80, seed=2):
    """Return two columns and a smooth function of them with a little noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return read_only(X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.05 * rng.standard_normal(n))


def noisy(n=150, n_classes=2, seed=0):
    """Return overlapping clouds in two columns."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    centres = np.array([[0.0, 0.0], [1.5, 0.5], [0.0, 2.0]])
    return read_only(centres[y] + rng.standard_normal((n, 2)), y)


def counts(n=120, seed=3):
    """Return two columns and counts whose logarithm is smooth in them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return read_only(X, rng.poisson(np.exp(1.0 + np.sin(X[:, 0]))).astype(float))


def fingerprints(n=80, d=12, seed=4):
    """Return rows of zeros and ones, two thirds of them zeros, and labels that depend on shared bits."""
    rng = np.random.default_rng(seed)
    X = (rng.uniform(size=(n, d)) < 1 / 3).astype(float)
    return read_only(X, (X[:, :4].sum(axis=1) > X[:, 4:8].sum(axis=1)).astype(int))


def scaled(rows, training_rows, clip=5.0):
    """Return rows as a model with ``scale=True`` sees them after a fit on ``training_rows``."""
    deviations = (rows - training_rows.mean(axis=0)) / training_rows.std(axis=0)
    return np.clip(deviations, -clip, clip)


def scores(model, X):
    """Return f(x) of a fitted classifier or regressor."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def assert_same_fit(a, b, X):
    """Compare two fitted estimators bit by bit."""
    for name in ("basis_vectors_", "dual_coef_", "intercept_", "objective_path_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_array_equal(scores(a, X), scores(b, X))
