"""Data that are made up, with a known relation between features and targets."""

from __future__ import annotations

import numpy as np

from spkm._arrays import RandomState
from spkm._checks import check_choice, check_integer, check_real, generator


def make_sparse_relation(
    kind: str = "linear", n_samples: int = 500, n_features: int = 100, *, random_state: RandomState = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make two classes that depend on a tenth of the features.

    With Z the relevant features, f = Z b (linear), (Z b1)^2 - (Z b2)^2 (quadratic) or (Z b1 + 1/2)^5 - 3 (Z b2)^2
    (quintic); the entries of b are normal with variance 1 / (n_features / 10). The class is 1 where f is above its
    median. All features are standard normal, and the relevant ones lie anywhere among the others.

    Parameters
    ----------
    kind : {"linear", "quadratic", "quintic"}, default="linear"
        The relation.
    n_samples : int, default=500
        Number of samples.
    n_features : int, default=100
        Number of features, at least 10.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        Classes 0 and 1.
    relevant : ndarray of shape (n_features // 10,)
        The relevant features, ascending.

    Examples
    --------
    >>> from spkm.datasets import make_sparse_relation
    >>> X, y, relevant = make_sparse_relation("quadratic", 200, random_state=0)
    >>> X.shape, int(y.sum()), relevant.shape
    ((200, 100), 100, (10,))
    """
    check_choice("kind", kind, ("linear", "quadratic", "quintic"))
    n_samples, n_features = check_integer("n_samples", n_samples, 1), check_integer("n_features", n_features, 10)
    rng = generator(random_state)
    X = rng.standard_normal((n_samples, n_features))
    relevant = np.sort(rng.choice(n_features, n_features // 10, replace=False))
    directions = rng.standard_normal((len(relevant), 2)) / np.sqrt(len(relevant))
    p, q = (X[:, relevant] @ directions).T
    f = {"linear": p, "quadratic": p**2 - q**2, "quintic": (p + 0.5) ** 5 - 3 * q**2}[kind]
    return X, (f > np.median(f)).astype(int), relevant


def make_spirals(
    n_samples: int = 200, *, noise: float = 0.05, random_state: RandomState = None
) -> tuple[np.ndarray, np.ndarray]:
    """Make two interleaved spirals in the plane, to draw decision surfaces over.

    A sample at angle t, with t / (3 pi) the root of a uniform number so that the arms are evenly filled, lies at
    t / (3 pi) (cos t, sin t) in class 0, on the opposite side in class 1, plus normal noise.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples, of which every second one is of class 1.
    noise : float, default=0.05
        Deviation of the noise; the arms are 1/3 apart.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Samples.
    y : ndarray of shape (n_samples,)
        Classes 0 and 1.

    Examples
    --------
    >>> from spkm.datasets import make_spirals
    >>> X, y = make_spirals(6, random_state=0)
    >>> X.shape, y
    ((6, 2), array([0, 1, 0, 1, 0, 1]))
    """
    n_samples, noise = check_integer("n_samples", n_samples, 1), check_real("noise", noise)
    rng = generator(random_state)
    y = np.arange(n_samples) % 2
    radius = np.sqrt(rng.uniform(size=n_samples))
    angle = 3 * np.pi * radius
    X = (radius * (1 - 2 * y) * np.array([np.cos(angle), np.sin(angle)])).T
    return X + noise * rng.standard_normal(X.shape), y


def make_waves(
    n_samples: int = 200, n_features: int = 2, *, noise: float = 0.1, random_state: RandomState = None
) -> tuple[np.ndarray, np.ndarray]:
    """Make a wavy curve or surface, y = sin(pi x1) cos(pi x2) ... + noise, to draw regressions over.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples, uniform between -1 and 1 in each feature.
    n_features : int, default=2
        Number of features: 1 makes a sine curve, 2 a surface.
    noise : float, default=0.1
        Deviation of the normal noise.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        Targets.

    Examples
    --------
    >>> from spkm.datasets import make_waves
    >>> X, y = make_waves(50, 1, random_state=0)
    >>> X.shape, y.shape
    ((50, 1), (50,))
    """
    n_samples, n_features = check_integer("n_samples", n_samples, 1), check_integer("n_features", n_features, 1)
    noise = check_real("noise", noise)
    rng = generator(random_state)
    X = rng.uniform(-1, 1, (n_samples, n_features))
    f = np.sin(np.pi * X[:, 0]) * np.cos(np.pi * X[:, 1:]).prod(axis=1)
    return X, f + noise * rng.standard_normal(n_samples)


def make_inverse_dynamics(
    n_samples: int = 1000, *, noise: float = 0.02, random_state: RandomState = None
) -> tuple[np.ndarray, np.ndarray]:
    """Make up the inverse dynamics of an arm of seven joints, like SARCOS, in any number of samples.

    Features are positions q (in units of 1/2), velocities v and accelerations a, all standard normal; the torque is
    2 sin q1 + sum over j of (cos(q1 - qj) aj + sin(q1 - qj) vj^2 / 2) / j, of unit deviation, plus noise.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples.
    noise : float, default=0.02
        Deviation of the normal noise.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    X : ndarray of shape (n_samples, 21)
        Samples.
    y : ndarray of shape (n_samples,)
        The torque at the first joint.

    Examples
    --------
    >>> from spkm.datasets import make_inverse_dynamics
    >>> X, y = make_inverse_dynamics(100, random_state=0)
    >>> X.shape, y.shape
    ((100, 21), (100,))
    """
    n_samples, noise = check_integer("n_samples", n_samples, 2), check_real("noise", noise)
    rng = generator(random_state)
    X = rng.standard_normal((n_samples, 21))
    q, v, a = 0.5 * X[:, :7], X[:, 7:14], X[:, 14:]
    apart = q[:, :1] - q
    f = 2 * np.sin(q[:, 0]) + (np.cos(apart) * a + 0.5 * np.sin(apart) * v**2) @ (1 / np.arange(1, 8))
    return X, f / f.std() + noise * rng.standard_normal(n_samples)
