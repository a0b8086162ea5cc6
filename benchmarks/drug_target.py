"""Drugs and targets: new pairs of known ones, new drugs, new targets, and both new.

Davis (affinities): mean squared error and concordance index. The published test fold for new pairs, three folds by
:class:`spkm.PairKFold` for the rest (2 x 2 for both new). Nuclear receptors and GPCR (interactions): area under the
curve over five folds. Beside ours kernel ridge on the product kernel (KronRLS on the pairs there are). Of both the
strength of the penalty is chosen by an inner split of the same kind; of interactions ours has its defaults. It knows an
entity by its similarities to all entities of its side, or by its features (Tanimoto on fingerprints; frequencies of
amino acids and their pairs). ``--seeds N`` takes the first N folds only; ``--families`` takes parts of names, such as
"similarities", "features", "nuclear" and "GPCR".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from benchmarks._data import Settings
from benchmarks._report import Row, progress
from spkm import PairKFold, PairwiseSPKMClassifier, PairwiseSPKMRegressor
from spkm.kernels import RBF, Tanimoto
from spkm.penalties import RKHSNorm

Grams = tuple[np.ndarray, np.ndarray]
COLUMNS = ("kernel ridge", "second figure", "of kernel ridge", "folds")
STRENGTHS = 10.0 ** np.arange(-3, 3)
FACTORS = (0.1, 1.0, 10.0, 100.0)  # on our default strength
SETTINGS = {"pairs": 5, "left": 3, "right": 3, "both": 2}
WORDS = {"pairs": "new pairs", "left": "new drugs", "right": "new targets", "both": "both new"}


def run(settings: Settings) -> Iterator[Row]:
    davis, receptors, gpcr = settings.load("davis_dti", "dti_nuclear_receptor", "dti_gpcr")
    yield from affinities(davis, settings)
    for name, data in (("nuclear receptors", receptors), ("GPCR", gpcr)):
        if settings.wants(name):
            yield from interactions(name, data, settings)


def affinities(data: dict[str, np.ndarray], settings: Settings) -> Iterator[Row]:
    """Yield squared errors, with the concordance index as the second figure."""
    some = slice(None, None, settings.size(1, 20))
    pairs, y = np.column_stack([data["drug_index"], data["target_index"]])[some], data["y"][some]
    fold = data["fold"][some]
    tables = {
        "similarities": ((data["drug_similarity"], cosine(data["target_similarity"])), {}),
        "features": ((data["drug_features"].astype(float), data["target_features"]), {"left_kernel": "tanimoto"}),
    }
    wanted = {what: table for what, table in tables.items() if settings.wants(f"Davis, {what}")}
    for what, ((left, right), kernels) in wanted.items():
        grams = (left, right) if what == "similarities" else (Tanimoto()(left, left), gaussian(right))
        for new in SETTINGS:
            published = [(np.flatnonzero(fold >= 0), np.flatnonzero(fold < 0))]
            splits = published if new == "pairs" else list(PairKFold(new, SETTINGS[new], 0).split(pairs))
            sizes = (20, 100) if new == "pairs" else (30,)
            ridge = []
            ours: dict[int, list] = {R: [] for R in sizes}
            for train, test in splits[: settings.n_seeds(len(splits))]:
                ridge.append(figures(y[test], kernel_ridge(grams, pairs, y, train, test, new)))
                model = PairwiseSPKMRegressor(3 if settings.quick else sizes[0], random_state=0, **kernels)
                strength = best_strength(model, pairs[train], y[train], new, {"left": left, "right": right})
                for R in sizes:
                    model.set_params(n_basis=model.n_basis if settings.quick else R, weight_penalty=strength)
                    model.fit(pairs[train], y[train], left=left, right=right)
                    ours[R].append(figures(y[test], model.predict(pairs[test])))
                progress(f"Davis {what} {new}: ridge {ridge[-1]}, ours {[found[-1] for found in ours.values()]}")
            theirs = np.mean(ridge, axis=0)
            for R, found in ours.items():
                mean = np.mean(found, axis=0)
                more = (f"{theirs[0]:.3f}", f"{mean[1]:.3f}", f"{theirs[1]:.3f}", str(len(found)))
                yield Row(f"Davis, {what}, {WORDS[new]}, {R} vectors: MSE, CI", mean[0], form="{:.3f}", more=more)


def interactions(name: str, data: dict[str, np.ndarray], settings: Settings) -> Iterator[Row]:
    """Yield areas under the curve."""
    pairs, y = np.column_stack([data["drug_index"], data["target_index"]]), data["y"]
    left, right = (definite(data[f"{side}_similarity"]) for side in ("drug", "target"))
    for new in ("pairs", "left", "right"):
        areas = []
        for train, test in list(PairKFold(new, 5, 0).split(pairs))[: settings.n_seeds(5)]:
            ridge = kernel_ridge((left, right), pairs, y.astype(float), train, test, new)
            model = PairwiseSPKMClassifier(3 if settings.quick else 20, random_state=0)
            model.fit(pairs[train], y[train], left=left, right=right)
            areas.append([roc_auc_score(y[test], f) for f in (model.decision_function(pairs[test]), ridge)])
            progress(f"{name} {new}: {areas[-1]}")
        ours, theirs = np.mean(areas, axis=0)
        more = (f"{theirs:.3f}", "", "", str(len(areas)))
        yield Row(f"{name}, {WORDS[new]}, 20 vectors: AUC", ours, form="{:.3f}", more=more)


def best_strength(
    model: PairwiseSPKMRegressor, pairs: np.ndarray, y: np.ndarray, new: str, tables: dict[str, np.ndarray]
) -> RKHSNorm:
    """Return the penalty of the strength that does best on an inner split of the same kind."""
    fit, held_out = next(PairKFold(new, SETTINGS[new], 1).split(pairs))
    penalties = [RKHSNorm(0.2 * factor / len(y)) for factor in FACTORS]
    errors = []
    for penalty in penalties:
        fitted = clone(model).set_params(weight_penalty=penalty).fit(pairs[fit], y[fit], **tables)
        errors.append(np.mean((y[held_out] - fitted.predict(pairs[held_out])) ** 2))
    return penalties[int(np.argmin(errors))]


def kernel_ridge(
    grams: tuple[np.ndarray, np.ndarray],
    pairs: np.ndarray,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    new: str,
) -> np.ndarray:
    """Return the predictions of kernel ridge with the product kernel, its strength chosen by an inner split."""
    inner, held_out = next(PairKFold(new, SETTINGS[new], 1).split(pairs[train]))
    errors = [
        np.mean(
            (y[train][held_out] - _ridge(grams, pairs[train][inner], y[train][inner], s)(pairs[train][held_out])) ** 2
        )
        for s in STRENGTHS
    ]
    return _ridge(grams, pairs[train], y[train], STRENGTHS[int(np.argmin(errors))])(pairs[test])


def _ridge(grams: Grams, pairs: np.ndarray, y: np.ndarray, strength: float) -> Callable[[np.ndarray], np.ndarray]:
    left, right = grams
    rows, columns = pairs.T
    mean = y.mean()

    def spread(a: np.ndarray) -> np.ndarray:
        """Return the matrix of left by right entities of sum_p a_p k(., p): two products, whatever the pairs."""
        A = np.zeros((len(left), len(right)))
        np.add.at(A, (rows, columns), a)
        return left @ A @ right

    operator = LinearOperator((len(y), len(y)), matvec=lambda a: spread(a)[rows, columns] + strength * a)
    a, _ = cg(operator, y - mean, rtol=1e-4, maxiter=500)
    scores = mean + spread(a)
    return lambda asked: scores[asked[:, 0], asked[:, 1]]


def figures(y: np.ndarray, f: np.ndarray) -> tuple[float, float]:
    """Return the mean squared error and the concordance index."""
    return float(np.mean((y - f) ** 2)), concordance(y, f)


def concordance(y: np.ndarray, f: np.ndarray) -> float:
    """Return the share of pairs of different y that f orders alike; equal f count half."""
    right = total = 0.0
    for value in np.unique(y)[1:]:
        higher, lower = f[y == value], np.sort(f[y < value])
        right += 0.5 * (np.searchsorted(lower, higher, "left") + np.searchsorted(lower, higher, "right")).sum()
        total += len(higher) * len(lower)
    return right / total


def cosine(K: np.ndarray) -> np.ndarray:
    """Return similarities with ones on the diagonal."""
    root = np.sqrt(np.diag(K))
    return K / np.outer(root, root)


def gaussian(X: np.ndarray) -> np.ndarray:
    """Return the RBF kernel of standardised columns, of the mean squared distance."""
    Z = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return RBF(0.5 / Z.shape[1])(Z, Z)


def definite(S: np.ndarray) -> np.ndarray:
    """Return a symmetric similarity without negative eigenvalues."""
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    return (vectors * np.maximum(values, 0)) @ vectors.T


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    main(["drug_target", *sys.argv[1:]])
