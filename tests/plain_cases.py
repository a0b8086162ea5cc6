"""Fitted models of every kernel and task, made without a fit, and what Python says of them: what exports must say."""

from __future__ import annotations

import numpy as np

from spkm import kernels, losses
from spkm.core.decisions import decision, probabilities
from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.core.model import PreimageModel, Term, View
from spkm.core.targets import Classes, Labels, Ordered, Real
from spkm.sources import Scaling
from tests.cases import KERNELS

N_FEATURES = 6
N_ROWS = 1000


def mixed_rows(n: int = N_ROWS, d: int = N_FEATURES, seed: int = 0) -> np.ndarray:
    """Return samples of sizes from 1e-3 to 1e3, a fifth of the entries zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3, (n, d))
    X[rng.random((n, d)) < 0.2] = 0.0
    return X


def real(m: int = 1, two_dimensional: bool = False) -> Real:
    return Real(np.full(m, np.nan), np.zeros(m), np.ones(m), two_dimensional)


def scaling(d: int, seed: int) -> Scaling:
    rng = np.random.default_rng(seed)
    clip = np.full(d, 5.0)
    clip[-1] = np.inf
    return Scaling(rng.standard_normal(d), 10.0 ** rng.uniform(-1, 1, d), clip, np.where(np.arange(d) == 1, 0.3, 0.0))


def made(terms, target, loss, *, m=1, d=4, scaled=True, seed=0, features=None, intercept=True) -> FittedModel:
    """Return a model with random parameters."""
    rng = np.random.default_rng(seed)
    model = PreimageModel(list(terms), d, m)
    theta = 0.5 * rng.standard_normal(model.n_params)
    if not intercept:
        model.unpack(theta).intercept[...] = 0.0
    features = np.array([0, 2, 3, 5])[:d] if features is None else features
    parts = (scaling(d, seed) if scaled else None, features, N_FEATURES, model, theta, loss)
    return FittedModel(target, *parts, tuple(terms), selected=True)


def one_term(kernel, n_basis=3, metric="fixed"):
    return [Term(n_basis, (View(kernel, None, metric),))]


def of_kernel(kernel, scaled=True) -> FittedModel:
    return made(one_term(kernel), real(), losses.Squared(), scaled=scaled)


def several_views(target, loss, m=1) -> FittedModel:
    """Return a model of a term of two views and a term of one, with learned bandwidth and relevances."""
    terms = [
        Term(
            2,
            (
                View(kernels.RBF(0.3), np.array([0, 2]), "scale", None, "a"),
                View(kernels.Linear(0.5), np.array([1]), name="b"),
            ),
        ),
        Term(3, (View(kernels.Matern(2.5, 0.2), np.array([1, 2, 3]), "relevances", None, "c"),)),
    ]
    return made(terms, target, loss, m=m)


def ensemble(labels, loss, pairs: bool) -> ModelEnsemble:
    target = Classes.of(np.asarray(labels))
    k = len(labels)
    couples = np.array([(a, b) for a in range(k) for b in range(a + 1, k)])
    count = len(couples) if pairs else k
    both = Classes.of(np.array([False, True]))
    members = tuple(
        made(one_term(kernels.RBF(0.1 + 0.1 * i)), both, loss, seed=i, features=np.array([0, 1 + i % 3, 4, 5]))
        for i in range(count)
    )
    names = tuple(f"problem {i}" for i in range(count))
    return ModelEnsemble(members, names, target, couples if pairs else None)


def labels_of_rest() -> ModelEnsemble:
    target = Labels(np.array([np.nan, 3.0, np.nan]), np.zeros(2), np.ones(2), True)
    both = Classes.of(np.array([False, True]))
    members = tuple(made(one_term(kernels.RBF(0.2)), both, losses.Log(), seed=i) for i in range(2))
    return ModelEnsemble(members, ("label 0", "label 2"), target)


def ordered(labels, thresholds) -> FittedModel:
    loss = losses.Ordinal(thresholds)
    return made(one_term(kernels.RBF(0.2)), Ordered.of(np.array(labels), loss), loss)


def tasks() -> dict[str, object]:
    """Return a model of each kind of target, link and combination."""
    rbf, three = one_term(kernels.RBF(0.2)), Classes.of(np.array(["a", "b'", 'c"']))
    two = Classes.of(np.array([-1, 7]))
    every_label = Labels(np.full(3, np.nan), np.zeros(3), np.ones(3), True)
    return {
        "regression": several_views(real(), losses.Squared()),
        "several outputs": several_views(real(2, True), losses.Huber(), m=2),
        "counts": made(rbf, real(), losses.Poisson()),
        "two classes": several_views(two, losses.Log()),
        "two classes, hinge": made(rbf, two, losses.SquaredHinge()),
        "three classes": several_views(three, losses.Log(), m=3),
        "three classes, hinge": made(rbf, three, losses.SquaredHinge(), m=3),
        "labels": made(rbf, every_label, losses.Log("labels"), m=3),
        "one against the rest": ensemble(["a", "b", "c"], losses.Log(), False),
        "one against the rest, hinge": ensemble(["a", "b", "c"], losses.SquaredHinge(), False),
        "one against one": ensemble([0, 1, 2, 3], losses.Log(), True),
        "one against one, hinge": ensemble([0, 1, 2], losses.SquaredHinge(), True),
        "labels against the rest": labels_of_rest(),
        "ordered": ordered(["low", "mid'", 'high"'], (-0.7, 0.4)),
        "ordered numbers": ordered([1, 2, 4, 8], (-1.0, -0.999, 0.5)),  # the second is nowhere the most likely
        "hazard": made(rbf, real(), losses.Hazard()),
    }


def kernel_models() -> dict[str, FittedModel]:
    """Return a regression model of each kernel."""
    return {f"kernel {name}": of_kernel(kernel) for name, kernel in KERNELS.items()} | {
        "no scaling": of_kernel(kernels.RBF(0.3), scaled=False),
    }


def all_models() -> dict[str, object]:
    return tasks() | kernel_models()


def expected(model, X: np.ndarray) -> dict[str, object]:
    """Return what Python says of samples."""
    F = model.scores(X)
    target, is_real = model.target, model.target.task == "regression"
    decided = F if is_real else decision(model, F)
    return {
        "similarities": model.similarities(X),
        "contributions": model.contributions(X),
        "scores": F,
        "decision": decided,
        "probabilities": probabilities(model, F) if model.loss.has_probabilities and not is_real else None,
        "predict": target.decode(model.loss.predict(F) if is_real else decided),
    }


def assert_agrees(model, X, found: dict[str, object], tolerance: float) -> None:
    """Compare what another language says of samples with what Python says.

    Sums are compared by the size of what is added up, and all that follows from scores by the error of these.
    """
    want = expected(model, X)
    size = np.abs(want["contributions"]).sum(axis=1) + np.abs(model.intercept)
    near(found["scores"], want["scores"], tolerance * size)
    for name in ("similarities", "contributions"):
        if name in found:
            largest = np.abs(want[name]).max(axis=1, keepdims=True)
            near(found[name], want[name], tolerance * np.maximum(largest, 1.0))
    error = tolerance * max(1.0, float(size.max()))  # of a logarithm of odds, or of a logarithm of a count
    if want["probabilities"] is not None and "probabilities" in found:
        near(found["probabilities"], want["probabilities"], error)
    if "predict" not in found:
        return
    if model.target.task == "regression":
        near(found["predict"], want["predict"], error * np.maximum(1.0, np.abs(want["predict"])))
        return
    # Where a decision is as good as even, rounding may decide.
    decided = want["decision"]
    gap = np.abs(decided).min(axis=1)
    if model.target.task == "ordered":
        gap = np.abs(decided - model.target.cuts[1:-1]).min(axis=1)
    if model.target.task == "classes" and model.target.two_dimensional:
        gap = np.diff(np.sort(decided, axis=1)[:, -2:], axis=1)[:, 0]
    clear = gap > 100 * error
    assert clear.mean() > 0.9
    got = np.asarray(found["predict"]).reshape(want["predict"].shape)
    np.testing.assert_array_equal(got[clear], want["predict"][clear])


def near(found, want: np.ndarray, bound) -> None:
    """Assert that numbers are no further apart than a bound that broadcasts to them."""
    gap = np.abs(np.asarray(found, dtype=float).reshape(want.shape) - want)
    worst = np.max(gap / np.broadcast_to(np.maximum(bound, 1e-300), gap.shape), initial=0.0)
    assert worst <= 1, f"{worst:.3g} times the bound"
