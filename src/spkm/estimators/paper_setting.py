"""The setting of the paper under one name: the estimator of its Algorithm 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spkm._checks import check_choice, check_integer, check_real
from spkm.core.starts import Random
from spkm.estimators.classifier import SPKMClassifier
from spkm.estimators.parameters import KernelLike, LossLike, PenaltyLike
from spkm.estimators.regressor import SPKMRegressor
from spkm.kernels import KERNELS, RBF, Affine, Polynomial
from spkm.losses import LOSSES as ALL_LOSSES
from spkm.penalties import L1, L1Ball, SquaredL2
from spkm.solvers import Alternating

ROUNDS = {"classification": 1, "regression": 5}
RIDGE = 1e-3  # of the weights: amid the paper's range of 1e-5 to 1
LOSSES = {"classification": "cosine", "regression": "squared"}
PAPER_KERNELS = {"rbf": Affine(RBF()), "polynomial": Polynomial(3)}


def algorithm1(
    n_basis: int = 2,
    *,
    task: str = "classification",
    kernel: KernelLike = "rbf",
    loss: LossLike = "auto",
    l1_radius: float | None = None,
    l1_strength: float | None = None,
    weight_penalty: PenaltyLike = "auto",
    signs: Sequence[int] | None = None,
    n_restarts: int = 5,
    n_rounds: int | str = "auto",
    basis_steps: int = 200,
    **more: Any,
) -> Any:
    """Return the estimator of the paper's Algorithm 1, with the settings of its experiments.

    For ``n_restarts`` random starts of the basis vectors and weights c of +1 and -1, a round (1) descends on the basis
    vectors at fixed weights by gradient steps, each followed by a projection or a prox, and (2) solves for the weights.
    The start with the lowest objective is kept. There is no intercept, no linear part and no learned bandwidth, basis
    vectors may lie anywhere, and all rounds are done.

    Parameters
    ----------
    n_basis : int, default=2
        Number of basis vectors, R; of each view where there are several.
    task : {"classification", "regression"}, default="classification"
        The paper has cosine loss and one round for classification, squared loss and five rounds for regression.
    kernel : {"rbf", "polynomial"} or Kernel, default="rbf"
        "rbf" is 2k - 1 of an RBF kernel whose bandwidth is the mean distance of training samples, "polynomial" that of
        degree 3. Other names and kernels are taken as they are.
    loss : str or Loss, default="auto"
        The loss, if not that of the task.
    l1_radius : float, default=None
        Radius of an l1 ball that every basis vector is projected to: primal sparsity by projection.
    l1_strength : float, default=None
        Strength of an l1 penalty on the basis vectors, by its prox: primal sparsity by thresholding.
    weight_penalty : str, Penalty or None, default="auto"
        Penalty on the weights in step 2, such as ``SquaredL2(0.1)`` or ``L1(0.01)``; the paper chooses its strength
        between 1e-5 and 1 on validation samples. "auto" is ``SquaredL2(0.001)``, and None for the cosine loss, which
        takes no penalty: it does not depend on the length of the weights, so that a penalty would only shrink them.
    signs : sequence of {1, -1}, default=None
        First weights, one for each basis vector: how many are meant to stand for the positive class, and how many for
        the negative one. None is +1 and -1 in turn.
    n_restarts : int, default=5
        Number of random starts, K.
    n_rounds : int or "auto", default="auto"
        Number of rounds, if not that of the task.
    basis_steps : int, default=200
        Gradient steps on the basis vectors in each round.
    **more
        Further parameters of the estimator, such as ``random_state``, ``views`` and ``scale``.

    Returns
    -------
    estimator : SPKMClassifier or SPKMRegressor
        The estimator, not fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spkm import algorithm1
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = algorithm1(2, random_state=0).fit(X[::2], y[::2])
    >>> len(model.basis_vectors_), bool(model.score(X[1::2], y[1::2]) > 0.9)
    (2, True)
    """
    check_choice("task", task, tuple(ROUNDS))
    rounds = (
        ROUNDS[task] if isinstance(n_rounds, str) and n_rounds == "auto" else check_integer("n_rounds", n_rounds, 1)
    )
    steps = check_integer("basis_steps", basis_steps, 1)
    if l1_radius is not None and l1_strength is not None:
        raise ValueError("l1_radius and l1_strength exclude one another: either a ball or a penalty.")
    basis_penalty = (
        None
        if l1_radius is None and l1_strength is None
        else L1(check_real("l1_strength", l1_strength, strict=True))
        if l1_radius is None
        else L1Ball(check_real("l1_radius", l1_radius, strict=True))
    )
    loss = LOSSES[task] if isinstance(loss, str) and loss == "auto" else loss
    if isinstance(weight_penalty, str) and weight_penalty == "auto":
        weight_penalty = None if ALL_LOSSES.resolve(loss, "loss").scale_free else SquaredL2(RIDGE)
    known = PAPER_KERNELS.get(kernel) if isinstance(kernel, str) else None
    settings = {
        "kernel": KERNELS.resolve(kernel, "kernel") if known is None else known,
        "loss": loss,
        "basis_penalty": basis_penalty,
        "weight_penalty": weight_penalty,
        "solver": Alternating(max_iter=rounds, tol=0.0, basis_steps=steps),
        "start": Random(None if signs is None else tuple(signs)),
        "n_restarts": n_restarts,
        "learn_bandwidth": False,
        "linear_part": False,
        "fit_intercept": False,
        "basis_bounds": None,
    }
    return (SPKMClassifier if task == "classification" else SPKMRegressor)(n_basis, **{**settings, **more})
