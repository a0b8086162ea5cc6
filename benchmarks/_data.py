"""What a run was asked for, and the samples that benchmarks work on: from files, or made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spkm_paper.datasets import load_arrays


class MissingData(Exception):
    """A benchmark's data are not there; the text says what to do."""


@dataclass(frozen=True)
class Settings:
    """What was asked for.

    Parameters
    ----------
    data : Path, default=None
        Folder of the data.
    seeds : int, default=None
        Number of seeds; None leaves it to the benchmark.
    quick : bool, default=False
        Whether to run a tiny version.
    half : {"A", "B"}, default=None
        Run one half only, where a benchmark has halves to explore and to confirm on.
    families : tuple of str, default=()
        Run only the problems whose name contains one of these, where a benchmark has named problems.
    results : Path, default=None
        CSV file of outcomes, where a benchmark keeps them; None is its own in ``benchmark_results``.
    minutes : float, default=None
        How long a benchmark without an end of its own runs.
    """

    data: Path | None = None
    seeds: int | None = None
    quick: bool = False
    half: str | None = None
    families: tuple[str, ...] = ()
    results: Path | None = None
    minutes: float | None = None

    def n_seeds(self, usual: int) -> int:
        """Return how many seeds to run."""
        return self.seeds or (1 if self.quick else usual)

    def wants(self, name: str) -> bool:
        """Return whether the problems of this name are to be run."""
        return not self.families or any(text.lower() in name.lower() for text in self.families)

    def size(self, full: int, quick: int) -> int:
        """Return a size for this run."""
        return quick if self.quick else full

    def load(self, *names: str) -> list[dict[str, np.ndarray]]:
        """Return the arrays of the named .npz files, checked."""
        if self.data is None:
            raise MissingData(f"needs {_files(names)}; give the folder with --data or SPKM_DATA.")
        absent = [name for name in names if not (self.data / f"{name}.npz").is_file()]
        if absent:
            raise MissingData(f"no {_files(absent)} in the data folder.")
        return [load_arrays(self.data / f"{name}.npz") for name in names]


def _files(names: Sequence[str]) -> str:
    return ", ".join(f"{name}.npz" for name in names)


def parts(n: int, shares: tuple[float, ...], seed: int) -> list[np.ndarray]:
    """Return row numbers 0..n-1 in random order, cut at the given shares."""
    cuts = np.round(n * np.cumsum(shares)[:-1]).astype(int)
    return np.split(np.random.default_rng(seed).permutation(n), cuts)


def thirds(n: int, seed: int) -> list[np.ndarray]:
    """Return the samples of a training, a validation and a test third."""
    return parts(n, (1 / 3, 1 / 3, 1 / 3), seed)


def smooth_problem(n: int, d: int, seed: int = 0, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Return Gaussian samples and a non-linear function of five directions in them, of unit deviation, plus noise.

    The directions p are orthonormal and the same for all seeds: sin(2 p1) + p2 p3 + p4^2 / 2 + p5.
    """
    directions = np.linalg.qr(np.random.default_rng(12345).standard_normal((d, 5)))[0]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    p = (X @ directions).T
    f = np.sin(2 * p[0]) + p[1] * p[2] + 0.5 * (p[3] ** 2 - 1) + p[4]
    return X, f / f.std() + noise * rng.standard_normal(n)


def smooth_classes(
    n: int, d: int, n_classes: int = 2, seed: int = 0, noise: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples of :func:`smooth_problem` with its noisy function cut into equally frequent classes."""
    X, f = smooth_problem(n, d, seed, noise)
    return X, np.searchsorted(np.quantile(f, np.arange(1, n_classes) / n_classes), f)
