"""Made-up data sets, beside their definitions."""

import numpy as np
import pytest

from spkm import datasets


@pytest.mark.parametrize("kind", ["linear", "quadratic", "quintic"])
@pytest.mark.parametrize("n_features", [100, 37])
def test_sparse_relations_are_those_of_the_definition(kind, n_features):
    X, y, relevant = datasets.make_sparse_relation(kind, 401, n_features, random_state=3)
    rng = np.random.default_rng(3)
    np.testing.assert_array_equal(X, rng.standard_normal((401, n_features)))
    d = n_features // 10
    np.testing.assert_array_equal(relevant, np.sort(rng.choice(n_features, d, replace=False)))
    b = rng.normal(0, d**-0.5, (d, 2))  # of variance 1 / d
    p, q = X[:, relevant] @ b[:, 0], X[:, relevant] @ b[:, 1]
    f = {"linear": p, "quadratic": p * p - q * q, "quintic": np.power(p + 1 / 2, 5) - 3 * q * q}[kind]
    np.testing.assert_array_equal(y, f > np.median(f))
    assert y.sum() == 200


def test_spirals_are_those_of_the_definition():
    X, y = datasets.make_spirals(301, noise=0, random_state=1)
    radius = np.hypot(*X.T)
    assert radius.max() <= 1 and np.bincount(y).tolist() == [151, 150]
    side = np.where(y == 0, 1, -1)
    np.testing.assert_allclose(X[:, 0], side * radius * np.cos(3 * np.pi * radius), atol=1e-12)
    np.testing.assert_allclose(X[:, 1], side * radius * np.sin(3 * np.pi * radius), atol=1e-12)


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_waves_are_those_of_the_definition(n_features):
    X, y = datasets.make_waves(50, n_features, noise=0, random_state=1)
    assert X.shape == (50, n_features) and np.abs(X).max() <= 1
    expected = [np.sin(np.pi * row[0]) * np.prod([np.cos(np.pi * x) for x in row[1:]]) for row in X]
    np.testing.assert_allclose(y, expected, atol=1e-12)


def test_inverse_dynamics_are_those_of_the_definition():
    X, y = datasets.make_inverse_dynamics(40, noise=0, random_state=1)
    torques = []
    for row in X:
        q, v, a = row[:7] / 2, row[7:14], row[14:]
        moved = [(np.cos(q[0] - q[j]) * a[j] + np.sin(q[0] - q[j]) * v[j] ** 2 / 2) / (j + 1) for j in range(7)]
        torques.append(2 * np.sin(q[0]) + sum(moved))
    np.testing.assert_allclose(y, torques / np.std(torques), atol=1e-12)


MAKERS = [
    lambda seed: datasets.make_sparse_relation("quintic", 20, random_state=seed),
    lambda seed: datasets.make_spirals(20, random_state=seed),
    lambda seed: datasets.make_waves(20, random_state=seed),
    lambda seed: datasets.make_inverse_dynamics(20, random_state=seed),
]


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_seed_makes_the_same_rows(make):
    for first, again, generator in zip(make(0), make(0), make(np.random.default_rng(0)), strict=True):
        np.testing.assert_array_equal(first, again)
        np.testing.assert_array_equal(first, generator)
    assert not np.array_equal(make(0)[0], make(1)[0])
    pairs = zip(make(np.random.RandomState(0)), make(np.random.RandomState(0)), strict=True)
    assert all(np.array_equal(first, again) for first, again in pairs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.make_sparse_relation("cubic"), "kind must be one of 'linear', .*; got 'cubic'"),
        (lambda: datasets.make_sparse_relation(n_features=9), "n_features must be an integer of at least 10; got 9"),
        (lambda: datasets.make_spirals(0), "n_samples must be an integer of at least 1; got 0"),
        (lambda: datasets.make_waves(noise=-1), "noise must be a number of at least 0; got -1"),
        (lambda: datasets.make_inverse_dynamics(1), "n_samples must be an integer of at least 2; got 1"),
    ],
)
def test_what_cannot_be_made_is_told(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_spectra_are_those_of_the_definition():
    X, y, specimen, wavelengths = datasets.make_spectra(30, 2, 50, stray_light=0, noise=0, random_state=1)
    assert X.shape == (60, 50) and y.shape == (60,) and wavelengths[0] == 900 and wavelengths[-1] == 1700
    np.testing.assert_array_equal(specimen, np.repeat(np.arange(30), 2))
    np.testing.assert_array_equal(y[::2], y[1::2])  # a specimen has one reference value
    # Without stray light a spectrum is a sum of three substances, scaled, and a baseline of three terms.
    t = (wavelengths - 1300) / 400
    bands = {"a": [(1205, 22, 1), (1395, 26, 0.6)], "w": [(1190, 45, 0.5), (1440, 50, 1.6)]}
    bands["m"] = [(980, 60, 0.4), (1170, 70, 0.7), (1530, 90, 0.9)]
    pure = [sum(h * np.exp(-(((wavelengths - c) / s) ** 2)) for c, s, h in own) for own in bands.values()]
    parts = np.stack([*pure, np.ones(50), t, t**2])
    amounts, *_ = np.linalg.lstsq(parts.T, X.T, rcond=None)
    np.testing.assert_allclose(amounts.T @ parts, X, atol=1e-10)
    shares = amounts[0] / amounts[2]  # free of the scatter
    np.testing.assert_allclose(shares[::2], shares[1::2], rtol=1e-6)  # replicates differ in scatter and baseline alone
    bent = datasets.make_spectra(30, 2, 50, noise=0, random_state=1).X
    assert np.abs(np.linalg.lstsq(parts.T, bent.T, rcond=None)[1]).min() > 1e-3  # with stray light it is none
