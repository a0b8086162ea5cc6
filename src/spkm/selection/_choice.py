"""Candidates of a search, and its choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from spkm.core.model import Term
from spkm.core.problem import Problem
from spkm.kernels import Kernel
from spkm.selection._elimination import Submodel
from spkm.sources import ArraySource

#: From samples of some features, these features (None: all), and terms to their problem. The caller of a search defines
#: it: selection holds no settings of fits.
ProblemOf = Callable[[ArraySource, np.ndarray | None, tuple[Term, ...]], Problem]


@dataclass(frozen=True)
class Candidate:
    """A kernel in the race.

    Parameters
    ----------
    name : str
        For reports.
    terms : tuple of Term
        As asked for, with their numbers of vectors; a kernel with a path has a number for its gamma.
    problem_of : callable
        From samples, features and terms to a problem.
    tries_strengths : bool
        Whether other strengths of the penalty are tried at the end.
    sizes : tuple of int
        Numbers of basis vectors, in each term, that are tried at the end.
    """

    name: str
    terms: tuple[Term, ...]
    problem_of: ProblemOf
    tries_strengths: bool = False
    sizes: tuple[int, ...] = ()

    def problem(
        self, source: ArraySource, columns: np.ndarray | None = None, n_basis: int | None = None, factor: float = 1.0
    ) -> Problem:
        """Return the problem for a source of the given features.

        Parameters
        ----------
        source : ArraySource
            Samples of these features.
        columns : ndarray of int, default=None
            The features; if None, all.
        n_basis : int, default=None
            Number of basis vectors in each term; if None, that of the candidate.
        factor : float, default=1.0
            Factor on the strength of the penalty.
        """
        terms = self.terms if n_basis is None else tuple(replace(term, n_basis=n_basis) for term in self.terms)
        return self.problem_of(source, columns, terms).with_factor(factor)

    @property
    def kernel(self) -> Kernel | None:
        """The kernel that reads all features by itself; None if there are several, or views."""
        return only_kernel(self.terms)

    @property
    def n_basis(self) -> int:
        """Number of basis vectors."""
        return sum(term.n_basis for term in self.terms)


def only_kernel(terms: tuple[Term, ...]) -> Kernel | None:
    """Return the kernel that reads all features by itself; None if there are several, or views."""
    views = [view for term in terms for view in term.views]
    return views[0].kernel if len(views) == 1 and views[0].columns is None else None


class StopSearch(Exception):
    """A callback stops the search, and there is a choice to keep."""


@dataclass(frozen=True)
class Choice:
    """Choice of a search: a kernel, a number of feature groups, a strength and a number of basis vectors."""

    candidate: Candidate
    factor: float
    n_units: int  # number of feature groups
    models: list[Submodel]  # one of each fold
    losses: np.ndarray  # of the held-out samples
    left_at: list[np.ndarray] = field(default_factory=list)  # of each fold, the smallest size that has each group
    wider: list[Submodel] = field(default_factory=list)  # of each fold, the model of twice as many groups
    n_basis: int = 0  # 0: that of the candidate
    at_edge: tuple[str, ...] = ()  # what was best at an end of its grid
    stopped: BaseException | None = None  # what ended the search before its time
    is_empty: bool = False  # whether it is the model without features
    guide: Choice | None = None  # the choice of another kernel whose features these are

    def told_of_most(self) -> Choice:
        """Return the choice, with a word on it if it has the largest number of vectors that was tried."""
        n_basis = self.n_basis or self.candidate.terms[0].n_basis
        at_edge = ("number of basis vectors",) if n_basis == max(self.candidate.sizes) else ()
        return replace(self, at_edge=at_edge)
