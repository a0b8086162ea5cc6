"""The paper's Algorithm 1 against thirty lines of NumPy that share nothing with the library."""

import numpy as np
import pytest

from spkm.losses import Cosine, Squared
from spkm.penalties import L1, L1Ball, SquaredL2
from spkm.solvers import Alternating
from tests.solver_problems import REAL, SIGNS, X, make, run

GAMMA, STRENGTH, RADIUS, RIDGE, STEPS = 0.3, 0.01, 1.2, 0.02, 8


def soft(V, t):
    return np.sign(V) * np.maximum(np.abs(V) - t, 0)


def onto_ball(v):
    if np.abs(v).sum() <= RADIUS:
        return v
    low, high = 0.0, np.abs(v).max()
    for _ in range(200):  # bisection
        t = (low + high) / 2
        low, high = (t, high) if np.abs(soft(v, t)).sum() > RADIUS else (low, t)
    return soft(v, high)


def kernel(U):
    return np.exp(-GAMMA * ((X[:, None] - U) ** 2).sum(-1))


def value_and_gradient(U, c, y, loss):
    K = kernel(U)
    f, n = K @ c, len(y)
    if loss == "squared":
        value, df = np.mean((f - y) ** 2), 2 * (f - y) / n
    else:
        length = np.linalg.norm(f) * np.linalg.norm(y)
        value, df = 1 - f @ y / length, f * (f @ y) / (length * (f @ f)) - y / length
    S = df[:, None] * K * c
    return value, 2 * GAMMA * (S.T @ X - S.sum(0)[:, None] * U)


def algorithm(U, c, y, loss, ball, rounds):
    prox = (lambda V, s: np.array([onto_ball(v) for v in V])) if ball else lambda V, s: soft(V, s * STRENGTH)
    penalty = (lambda V: 0.0) if ball else lambda V: STRENGTH * np.abs(V).sum()
    U = prox(U, 0.0)
    for _ in range(rounds):
        value, G = value_and_gradient(U, c, y, loss)
        step = 0.1 * np.sqrt((np.sum(U**2) + 1e-2) / np.sum(G**2))
        for k in range(STEPS):
            while True:
                V = prox(U - step * G, step)
                s = V - U
                new, H = value_and_gradient(V, c, y, loss)
                if new + penalty(V) <= value + penalty(U) - 1e-4 * np.sum(s * s) / step:
                    break
                step *= 0.4
            if not s.any():  # the vectors stay
                break
            ss, sy, yy = np.sum(s * s), np.sum(s * (H - G)), np.sum((H - G) ** 2)
            step = np.sqrt(ss / yy) if sy <= 1e-12 * ss else ss / sy if k % 2 else sy / yy
            U, value, G = V, new, H
        K, n = kernel(U), len(y)
        c = np.linalg.solve(K.T @ K / n + (RIDGE / 2 if loss == "squared" else 0) * np.eye(len(c)), K.T @ y / n)
    return U, c


@pytest.mark.parametrize("n_basis", [1, 3])
@pytest.mark.parametrize("ball", [False, True], ids=["prox", "ball"])
@pytest.mark.parametrize("loss", ["squared", "cosine"])
def test_fits_are_those_of_plain_numpy(loss, ball, n_basis):
    squared = loss == "squared"
    rounds = 3 if squared else 1  # as the paper has it: the cosine loss leaves the length of the weights open
    objective, theta = make(
        Squared() if squared else Cosine(),
        n_basis=n_basis,
        fit_intercept=False,
        basis_penalty=L1Ball(RADIUS) if ball else L1(STRENGTH),
        weight_penalty=SquaredL2(RIDGE) if squared else None,
    )
    assert objective.box is None
    first = objective.model.unpack(theta)
    y = (REAL if squared else SIGNS)[:, 0]
    U, c = algorithm(first.basis[0], first.weights[:, 0], y, loss, ball, rounds)
    found = objective.model.unpack(run(Alternating(rounds, 0.0, STEPS, 500), objective, theta).theta)
    np.testing.assert_allclose(found.basis[0], U, atol=1e-8)
    w = found.weights[:, 0]
    scale = 1.0 if squared else np.linalg.norm(c) / np.linalg.norm(w)
    np.testing.assert_allclose(scale * w, c, atol=1e-8 if squared else 1e-5)
