"""Several fitted models of binary problems with the methods of a single one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spkm._namespaces import Place
from spkm.core.fitted import FittedModel
from spkm.core.targets import Target
from spkm.losses import Loss


@dataclass(frozen=True)
class ModelEnsemble:
    """Models of several binary problems, one against one or one against the rest, with the methods of a single one.

    Its scores are those of the members, side by side; its basis vectors those of the members, one after another.

    Attributes
    ----------
    members : tuple of FittedModel
        The models, each of one score.
    names : tuple of str
        What reports call their problems.
    target : Target
        What all of them together tell.
    pairs : ndarray of shape (n_members, 2) or None
        With one against one: the places of the two classes of each problem.
    """

    members: tuple[FittedModel, ...]
    names: tuple[str, ...]
    target: Target
    pairs: np.ndarray | None = None
    is_joint = False

    @property
    def loss(self) -> Loss:
        """The loss, which all members share."""
        return self.members[0].loss

    @property
    def n_features(self) -> int:
        """Number of features of X."""
        return self.members[0].n_features

    @property
    def features(self) -> np.ndarray:
        """The features of X that any member holds."""
        return np.unique(np.concatenate([member.features for member in self.members]))

    @property
    def n_basis(self) -> int:
        """Number of basis vectors of all members."""
        return sum(member.n_basis for member in self.members)

    @property
    def n_outputs(self) -> int:
        """Number of members, each of which has one score."""
        return len(self.members)

    @property
    def interrupted(self) -> bool:
        """Whether the fit of any member was stopped before its end."""
        return any(member.interrupted for member in self.members)

    @property
    def weights(self) -> np.ndarray:
        """The weights of all basis vectors, (n_basis, n_outputs): zero outside the vector's own problem."""
        weights = np.zeros((self.n_basis, self.n_outputs))
        row = 0
        for k, member in enumerate(self.members):
            weights[row : row + member.n_basis, k] = member.weights[:, 0]
            row += member.n_basis
        return weights

    @property
    def intercept(self) -> np.ndarray:
        """The intercepts of the members, (n_outputs,)."""
        return np.concatenate([member.intercept for member in self.members])

    @property
    def basis_vectors(self) -> np.ndarray:
        """The basis vectors of all members, (n_basis, n_features)."""
        return np.concatenate([member.basis_vectors for member in self.members])

    @property
    def vector_rows(self) -> np.ndarray:
        """Which rows of basis and weights are basis vectors, and not coefficients of a linear part."""
        return np.concatenate([member.vector_rows for member in self.members])

    def features_read(self) -> np.ndarray:
        """Return the features of X that can change a score."""
        return np.unique(np.concatenate([member.features_read() for member in self.members]))

    def scores(self, X: Any, n_threads: int = 1, place: Place | None = None) -> np.ndarray:
        """Return the score of every member for every sample, (n, n_outputs); ``place`` as for a single model."""
        return np.hstack([member.scores(X, n_threads, place) for member in self.members])

    def similarities(self, X: Any, n_threads: int = 1) -> np.ndarray:
        """Return the values k(x, u_r), (n, n_basis)."""
        return np.hstack([member.similarities(X, n_threads) for member in self.members])

    def contributions(self, X: Any, n_threads: int = 1) -> np.ndarray:
        """Return what each basis vector adds to the scores, (n, n_basis, n_outputs)."""
        return self.similarities(X, n_threads)[:, :, None] * self.weights

    def restricted(self, features: np.ndarray) -> ModelEnsemble:
        """Return the models for samples of ``features`` alone."""
        return replace(self, members=tuple(member.restricted(features) for member in self.members))
