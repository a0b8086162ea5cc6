"""The methods by name: what each tries, and how it is made. All of them see standardised features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, l1_min_c

from spkm.estimators import SPKMNystroem
from spkm.kernels import RBF
from spkm_paper.competitors._bandwidth import resolved_gamma
from spkm_paper.competitors._few_vectors import (
    KernelMatchingPursuit,
    RBFNetwork,
    ReducedSetClassifier,
    ReducedSetRegressor,
)
from spkm_paper.competitors._mmd_critic import MMDCriticClassifier
from spkm_paper.competitors._sca import SCAClassifier
from spkm_paper.competitors._signs import SignClassifier, signs

# Every grid begins with the smoothest or the sparsest model: of equally good ones the first is taken.
C_GRID = 2.0 ** np.arange(-3, 10)
SVR_C_GRID = 2.0 ** np.arange(-3, 8, 2)
GAMMA_GRID = 2.0 ** np.arange(-6, 4)  # over the number of features
ALPHA_GRID = 10.0 ** np.arange(1.0, -4.5, -0.5)
FEATURE_ALPHA_GRID = 10.0 ** np.arange(2, -7, -1)  # of a ridge on a few features, which needs less
L1_GRID = np.geomspace(1.1, 1000.0, 20)  # times the weakest fit, or part of the strongest penalty, with any feature
PAPER_GRID = 10.0 ** np.arange(-5, 1)  # C as it is, a penalty from its end: [1e-5, 1]
NYSTROEM_WIDTHS = (0.25, 1.0, 4.0)  # times the gamma of the mean distance
NETWORK_WIDTHS = (2.0, 1.0, 0.5)  # times the distance to the nearest centres
INTERCEPT_SCALING = 10.0  # liblinear penalises the intercept: not by much
LASSO_STEPS = 10_000

CLASSIFICATION, REGRESSION = "classification", "regression"
Grid = Mapping[str, Sequence[Any] | np.ndarray]


class Training(NamedTuple):
    """What grids and models may depend on: standardised training samples, their labels or standardised targets."""

    X: Any
    y: np.ndarray
    task: str
    n_vectors: Any
    random_state: Any


class Method(NamedTuple):
    """The tasks that a method can do, its grid for some training samples, and a model for a point of the grid."""

    tasks: tuple[str, ...]
    grid: Callable[[Training], Grid]
    make: Callable[..., Any]
    needs_n_vectors: bool = False


def _widths(on: Training) -> np.ndarray:
    return GAMMA_GRID / on.X.shape[1]


def _mean_width(on: Training) -> list[float]:
    return [resolved_gamma("mean", on.X)]


def _some_widths(on: Training) -> list[float]:
    return [factor * _mean_width(on)[0] for factor in NYSTROEM_WIDTHS]


def _polynomial(on: Training) -> dict[str, Any]:
    return {"kernel": "poly", "degree": 3, "gamma": 1.0 / on.X.shape[1], "coef0": 1.0}


def _numbers(on: Training) -> np.ndarray:
    """Return the targets as numbers: signs of labels."""
    if on.task == REGRESSION:
        return on.y
    classes, codes = np.unique(on.y, return_inverse=True)
    return signs(codes, len(classes))


def _lasso_alphas(on: Training) -> np.ndarray:
    """Return penalties from just below the one that leaves no feature."""
    targets = _numbers(on)
    strongest = np.max(np.abs(on.X.T @ (targets - targets.mean(axis=0)))) / len(targets)
    return strongest / L1_GRID


def _l1_logistic_cs(on: Training) -> np.ndarray:
    return l1_min_c(on.X, on.y, loss="log", intercept_scaling=INTERCEPT_SCALING) * L1_GRID


def _for_task(on: Training, regressor: Any) -> Any:
    return SignClassifier(regressor) if on.task == CLASSIFICATION else regressor


def _svm(on: Training, C: float, gamma: float) -> Any:
    return SVC(C=C, gamma=gamma)


def _svm_poly(on: Training, C: float) -> Any:
    return SVC(C=C, **_polynomial(on))


def _sca(on: Training, C: float, gamma: float, misclassified: str) -> Any:
    return SCAClassifier(C, gamma=gamma, misclassified=misclassified)


def _krr(on: Training, alpha: float, **kernel: Any) -> Any:
    # Centred targets are the intercept that kernel ridge lacks.
    ridge = KernelRidge(alpha=alpha, **({"kernel": "rbf"} | kernel))
    return _for_task(on, TransformedTargetRegressor(ridge, transformer=StandardScaler(with_std=False)))


def _krr_poly(on: Training, alpha: float) -> Any:
    return _krr(on, alpha, **_polynomial(on))


def _svr(on: Training, C: float, gamma: float, epsilon: float) -> Any:
    return SVR(C=C, gamma=gamma, epsilon=epsilon)


def _lasso(on: Training, alpha: float) -> Any:
    return _for_task(on, Lasso(alpha=alpha, max_iter=LASSO_STEPS))


def _l1_logistic(on: Training, C: float) -> Any:
    model = LogisticRegression(
        C=C, l1_ratio=1, solver="liblinear", intercept_scaling=INTERCEPT_SCALING, random_state=on.random_state
    )
    return model if len(np.unique(on.y)) == 2 else OneVsRestClassifier(model)


def _mmd_critic(on: Training, gamma: float, kernel_scope: str) -> Any:
    return MMDCriticClassifier(on.n_vectors, gamma=gamma, kernel_scope=kernel_scope)


def _landmarks(on: Training, gamma: float) -> SPKMNystroem:
    return SPKMNystroem(on.n_vectors, kernel=RBF(gamma), landmarks="kmeans", scale=False, random_state=on.random_state)


def _nystroem_ridge(on: Training, gamma: float, alpha: float) -> Any:
    return make_pipeline(_landmarks(on, gamma), _for_task(on, Ridge(alpha=alpha)))


def _nystroem_svm(on: Training, gamma: float, C: float) -> Any:
    return make_pipeline(_landmarks(on, gamma), SVC(C=C, kernel="linear"))


def _random_features(on: Training, gamma: float, alpha: float) -> Any:
    features = RBFSampler(gamma=gamma, n_components=on.n_vectors, random_state=on.random_state)
    return make_pipeline(features, _for_task(on, Ridge(alpha=alpha)))


def _matching_pursuit(on: Training, gamma: float, alpha: float) -> Any:
    return _for_task(on, KernelMatchingPursuit(on.n_vectors, gamma, alpha))


def _rbf_network(on: Training, width: float, alpha: float) -> Any:
    return _for_task(on, RBFNetwork(on.n_vectors, width, alpha, on.random_state))


def _reduced_set(on: Training, gamma: float, C: float) -> Any:
    if on.task == CLASSIFICATION:
        return ReducedSetClassifier(on.n_vectors, C, gamma, on.random_state)
    return ReducedSetRegressor(on.n_vectors, C, gamma, random_state=on.random_state)


CLASSES, NUMBERS, BOTH = (CLASSIFICATION,), (REGRESSION,), (CLASSIFICATION, REGRESSION)
PENALTIES = PAPER_GRID[::-1]
TREATMENTS, SCOPES = ("relabel", "remove"), ("local", "global")

METHODS: Mapping[str, Method] = {
    "svm": Method(CLASSES, lambda on: {"C": C_GRID, "gamma": _widths(on)}, _svm),
    "svm_paper": Method(CLASSES, lambda on: {"C": PAPER_GRID, "gamma": _mean_width(on)}, _svm),
    "svm_poly": Method(CLASSES, lambda on: {"C": C_GRID}, _svm_poly),
    "svm_poly_paper": Method(CLASSES, lambda on: {"C": PAPER_GRID}, _svm_poly),
    "sca": Method(CLASSES, lambda on: {"C": C_GRID, "gamma": _widths(on), "misclassified": TREATMENTS}, _sca),
    "sca_paper": Method(
        CLASSES, lambda on: {"C": PAPER_GRID, "gamma": _mean_width(on), "misclassified": TREATMENTS[:1]}, _sca
    ),
    "mmd_critic": Method(CLASSES, lambda on: {"gamma": _widths(on), "kernel_scope": SCOPES}, _mmd_critic, True),
    "mmd_critic_paper": Method(
        CLASSES, lambda on: {"gamma": _mean_width(on), "kernel_scope": SCOPES[:1]}, _mmd_critic, True
    ),
    "l1_logistic": Method(CLASSES, lambda on: {"C": _l1_logistic_cs(on)}, _l1_logistic),
    "svr": Method(NUMBERS, lambda on: {"C": SVR_C_GRID, "gamma": _widths(on)[::2], "epsilon": (0.1, 0.01)}, _svr),
    "svr_paper": Method(NUMBERS, lambda on: {"C": PAPER_GRID, "gamma": _mean_width(on), "epsilon": (0.1,)}, _svr),
    "krr": Method(BOTH, lambda on: {"gamma": _widths(on), "alpha": ALPHA_GRID}, _krr),
    "krr_paper": Method(BOTH, lambda on: {"gamma": _mean_width(on), "alpha": PENALTIES}, _krr),
    "krr_poly": Method(BOTH, lambda on: {"alpha": ALPHA_GRID}, _krr_poly),
    "krr_poly_paper": Method(BOTH, lambda on: {"alpha": PENALTIES}, _krr_poly),
    "lasso": Method(BOTH, lambda on: {"alpha": _lasso_alphas(on)}, _lasso),
    "lasso_paper": Method(BOTH, lambda on: {"alpha": PENALTIES}, _lasso),
    "nystroem_kmeans": Method(
        BOTH, lambda on: {"gamma": _some_widths(on), "alpha": FEATURE_ALPHA_GRID}, _nystroem_ridge, True
    ),
    "nystroem_kmeans_paper": Method(
        BOTH, lambda on: {"gamma": _mean_width(on), "alpha": PENALTIES}, _nystroem_ridge, True
    ),
    "nystroem_kmeans_svm": Method(CLASSES, lambda on: {"gamma": _some_widths(on), "C": C_GRID}, _nystroem_svm, True),
    "nystroem_kmeans_svm_paper": Method(
        CLASSES, lambda on: {"gamma": _mean_width(on), "C": PAPER_GRID}, _nystroem_svm, True
    ),
    "random_fourier": Method(
        BOTH, lambda on: {"gamma": _some_widths(on), "alpha": FEATURE_ALPHA_GRID}, _random_features, True
    ),
    "matching_pursuit": Method(
        BOTH, lambda on: {"gamma": _some_widths(on), "alpha": FEATURE_ALPHA_GRID}, _matching_pursuit, True
    ),
    "rbf_network": Method(BOTH, lambda on: {"width": NETWORK_WIDTHS, "alpha": FEATURE_ALPHA_GRID}, _rbf_network, True),
    "reduced_set": Method(BOTH, lambda on: {"gamma": _some_widths(on), "C": SVR_C_GRID}, _reduced_set, True),
}
