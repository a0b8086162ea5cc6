"""Accuracy of SPKMClassifier, untuned, against an SVC whose C and gamma were chosen on a validation third.

Thirds of the samples for training, validation and test; both learn from the training third alone. Differences are
paired over the splits, in points, with their standard error.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks._data import Settings, thirds
from benchmarks._neighbours import tuned_svc
from benchmarks._report import Row, at_least, standard_error, with_error
from spkm import SPKMClassifier

COLUMNS = ("SVC", "difference", "vectors of SVC")
SETS = ("breast_cancer_wisconsin", "early_diabetes", "ionosphere", "qsar_biodeg")
SIZES = (10, 5, 1)
REACH = {10: at_least(0.0), 5: at_least(-0.3)}


def run(settings: Settings) -> Iterator[Row]:
    loaded = dict(zip(SETS, settings.load(*SETS), strict=True))
    differences: dict[int, list[np.ndarray]] = {R: [] for R in SIZES}
    for name, data in loaded.items():
        splits = [compare(data["X"], data["y"], seed, settings.quick) for seed in range(settings.n_seeds(20))]
        svc, vectors = np.array([s[:2] for s in splits]).T
        for R in SIZES:
            ours = np.array([s[2][R] for s in splits])
            differences[R].append(ours - svc)
            reach = at_least(84.0) if (name, R) == ("qsar_biodeg", 1) else None
            more = (f"{svc.mean():.2f}", with_error(ours - svc), f"{vectors.mean():.0f}")
            yield Row(f"{name}, {_vectors(R)}, accuracy %", ours.mean(), reach, more=more)
    for R, found in differences.items():
        mean = np.mean([d.mean() for d in found])
        error = np.sqrt(sum(standard_error(d) ** 2 for d in found)) / len(found)
        more = ("", "" if np.isnan(error) else f"± {error:.2f}", "")
        yield Row(f"mean of the four differences, {_vectors(R)}", mean, REACH.get(R), "{:+.2f}", more)


def compare(X: np.ndarray, y: np.ndarray, seed: int, quick: bool) -> tuple[float, int, dict[int, float]]:
    """Return the SVC's test accuracy in percent, its number of vectors, and our accuracy by that of ours."""
    train, validation, test = thirds(len(y), seed)
    svc = tuned_svc(X, y, train, validation, step=4 if quick else 1)
    accuracy = 100 * svc.score(X[test], y[test])
    ours = {
        R: 100 * SPKMClassifier(R, random_state=seed).fit(X[train], y[train]).score(X[test], y[test]) for R in SIZES
    }
    return accuracy, int(svc[-1].n_support_.sum()), ours


def _vectors(R: int) -> str:
    return "1 vector" if R == 1 else f"{R} vectors"


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["binary", *sys.argv[1:]])
