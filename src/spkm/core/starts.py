"""First basis vectors, from some of the samples, and the first theta they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans as SklearnKMeans

from spkm._parts import COUNT, Part, Registry
from spkm.core.evidence import AnyObjective
from spkm.core.model import PreimageModel, Term
from spkm.core.objective import Objective
from spkm.losses import Squared
from spkm.penalties import RKHSNorm
from spkm.sources import Scaling, Source, kinds_of

MOST_ROWS = 10_000  # in a sample that start points are taken from: k-means on more takes longer than a small fit


MOST_COEFFICIENTS = 1000  # of a linear part that a first guess solves for; more begin at zero


class Sample(NamedTuple):
    """Some samples, dense and scaled, with targets (n, m), weights (n,), and the class of each if they have classes."""

    X: np.ndarray
    Y: np.ndarray
    weight: np.ndarray
    kinds: np.ndarray | None = None


class Start(Part):
    """Base of all start rules: ``points(sample, term, rng)`` returns (R, d) points and their labels (R, m), or None.

    The sample holds the features of the term alone, and the term numbers them so.
    """

    def points(self, sample: Sample, term: Term, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
        """Return first basis vectors of a term, over its features, with the targets they stand for."""
        raise NotImplementedError(f"{type(self).__name__} must define points(sample, term, rng).")


class Rows(Start):
    """Samples of the data, drawn with their weights; classes in turn."""

    def points(self, sample: Sample, term: Term, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
        picked = np.concatenate(
            [_draw(rows, sample.weight, count, rng) for rows, count in _by_class(sample, term.n_basis)]
        )
        return _spread(sample.X[picked], sample, rng), sample.Y[picked]


class KMeans(Start):
    """Centres of k-means, class by class where targets are classes, shared among classes by their weight."""

    def points(self, sample: Sample, term: Term, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
        points, labels = [], []
        for rows, count in _by_class(sample, term.n_basis):
            points.append(centres_of(sample.X[rows], sample.weight[rows], count, rng))
            weight = sample.weight[rows] / sample.weight[rows].sum()
            labels.append(np.repeat(weight @ sample.Y[rows], count).reshape(sample.Y.shape[1], count).T)
        return _spread(np.concatenate(points), sample, rng), np.concatenate(labels)


class Greedy(Start):
    """Samples picked greedily, each the one whose kernel values best explain the current residual.

    Parameters
    ----------
    n_candidates : int, default=300
        Samples that may be picked.
    """

    numbers = {"n_candidates": COUNT}

    def __init__(self, n_candidates: int = 300) -> None:
        self.n_candidates = n_candidates

    def points(self, sample: Sample, term: Term, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
        rows = np.flatnonzero(sample.weight > 0)
        candidates = np.sort(rng.permutation(rows)[: max(self.n_candidates, term.n_basis)])
        root = np.sqrt(sample.weight / sample.weight.sum())[:, None]
        Phi = np.ones((len(sample.X), len(candidates)))
        for view in term.views:
            X = sample.X if view.columns is None else sample.X[:, view.columns]
            Phi *= view.kernel(X, X[candidates])
        centre = np.sum(root**2 * Phi, axis=0)
        Phi = root * (Phi - centre)
        residual = root * (sample.Y - np.sum(root**2 * sample.Y, axis=0))
        picked: list[int] = []
        for _ in range(min(term.n_basis, len(candidates))):
            norms = np.einsum("ir,ir->r", Phi, Phi)
            usable = norms > 1e-10 * max(norms.max(initial=0.0), 1e-300)
            gain = np.where(usable, np.sum((Phi.T @ residual) ** 2, axis=1) / np.where(usable, norms, 1), -1.0)
            gain[picked] = -2.0
            best = int(np.argmax(gain))
            picked.append(best)
            if gain[best] > 0:
                direction = Phi[:, best : best + 1] / np.sqrt(norms[best])
                residual = residual - direction @ (direction.T @ residual)
                Phi = Phi - direction @ (direction.T @ Phi)
        picked += rng.integers(len(candidates), size=term.n_basis - len(picked)).tolist()
        chosen = candidates[picked]
        return _spread(sample.X[chosen], sample, rng), sample.Y[chosen]


class Random(Start):
    """Gaussian points with the mean and the deviation of the features.

    Parameters
    ----------
    signs : sequence of {1, -1}, default=None
        First weights for a solver that takes them from labels, one for each vector; None is +1 and -1 in turn.
    """

    def __init__(self, signs: Sequence[int] | None = None) -> None:
        self.signs = signs

    def points(self, sample: Sample, term: Term, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
        weight = sample.weight / sample.weight.sum()
        mean = weight @ sample.X
        deviation = np.sqrt(weight @ np.square(sample.X - mean))
        points = mean + deviation * rng.standard_normal((term.n_basis, sample.X.shape[1]))
        return _spread(points, sample, rng), self._labels(term.n_basis, sample.Y.shape[1])

    def _labels(self, n_basis: int, n_outputs: int) -> np.ndarray | None:
        if self.signs is None:
            return None
        signs = np.asarray(self.signs, dtype=np.float64)
        if signs.shape != (n_basis,) or not np.all(np.abs(signs) == 1):
            raise ValueError(f"signs must hold 1 or -1 for each of the {n_basis} basis vectors; got {self.signs!r}.")
        if n_outputs > 1:
            raise ValueError(f"signs must be None for {n_outputs} outputs: one sign for each vector is for one output.")
        return signs[:, None]


#: The user's choice: a rule by name or as an object, or the vectors themselves.
FirstVectors = ArrayLike | Start
STARTS = Registry("start", Start)
STARTS.update(rows=Rows, kmeans=KMeans, greedy=Greedy, random=Random)


def _resolved(start: FirstVectors, model: PreimageModel, scaling: Scaling | None) -> Start | np.ndarray:
    """Return the start rule, or points on the scale of the model where the user gives them."""
    if isinstance(start, str) and start == "auto":
        return KMeans()
    if isinstance(start, str | Start | type):
        return STARTS.part(start, "start")
    try:
        basis = np.array(start, dtype=np.float64)
    except (TypeError, ValueError):
        basis = np.zeros(())
    model = model.kernel_part or model
    wanted = (model.n_basis, model.n_features)
    if basis.shape == wanted:
        for term, rows, _ in model.layout:  # features of no view may be NaN
            basis[rows, np.setdiff1d(np.arange(model.n_features), term.columns(model.n_features))] = 0.0
    if basis.shape != wanted or not np.all(np.isfinite(basis)):
        got = f"one of shape {basis.shape}" if basis.ndim else repr(start)
        got = "one with NaN or infinity" if basis.shape == wanted else got
        raise ValueError(
            f"start must be 'auto', {', '.join(map(repr, sorted(STARTS)))}, a Start object or an array of finite "
            f"numbers of shape (n_basis, n_features) = {wanted}; got {got}."
        )
    return basis if scaling is None else scaling.forward_points(basis)


def first_theta(
    objective: AnyObjective,
    start: FirstVectors,
    first_weights: str,
    rng: np.random.Generator,
    scaling: Scaling | None = None,
) -> np.ndarray:
    """Return a first theta: basis vectors by ``start``, weights by "ridge" regression on features, or from "labels".

    Weights are those of labels, too, if a solver needs none.

    An array holds the basis vectors themselves, (n_basis, d), term after term, in the units that ``scaling`` takes.
    """
    source, model = objective.source, objective.model
    start = _resolved(start, model, scaling)
    n_sample = int(np.clip(50 * model.n_basis, 2000, MOST_ROWS))
    sample = draw_sample(source, n_sample, rng)
    theta, params = model.zeros()
    layout, read = model.layout, [term.columns(model.n_features) for term in model.terms]
    alone = [term.on(columns) for term, columns in zip(model.terms, read, strict=True)]
    for (term, rows, places), columns, renumbered in zip(layout, read, alone, strict=True):
        label: Any = None
        if term.is_linear_part:
            points, label = np.zeros((term.n_basis, len(columns))), np.eye(term.n_basis)
        elif isinstance(start, Start):
            seen = sample._replace(X=sample.X if len(columns) == model.n_features else sample.X[:, columns])
            points, label = start.points(seen, renumbered, rng)
        else:
            points = start[rows, columns]
        for view, k in zip(term.views, places, strict=True):
            params.basis[k][...] = points if view.columns is None else points[:, np.isin(columns, view.columns)]
        params.weights[rows] = _alternating_signs(term.n_basis, model.n_outputs) if label is None else label
    if first_weights == "ridge":
        return _with_ridge_weights(objective, theta, n_sample, rng)
    if first_weights == "none":
        source.sample(n_sample, rng)  # as for a regression: draws that follow are the same for all solvers
    return np.asarray(theta)


def draw_sample(source: Source, n_rows: int, rng: np.random.Generator) -> Sample:
    """Return at most ``n_rows`` samples, all of them in order if there are no more; their weights sum to one."""
    some = source.sample(n_rows, rng)
    weight = some.w[:, 0].astype(np.float64)
    Y = some.Y.astype(np.float64)
    return Sample(some.dense().astype(np.float64), Y, weight / weight.sum(), kinds_of(Y))


def _with_ridge_weights(
    objective: AnyObjective, theta: np.ndarray, n_rows: int, rng: np.random.Generator
) -> np.ndarray:
    model = objective.model
    if model.kernel_part is not None:
        return _with_linear_part(objective, model.kernel_part, theta, n_rows, rng)
    source = objective.source.sample(n_rows, rng).encoded(objective.loss.working_target)
    ridge = Objective(model, Squared(), source, None, RKHSNorm(Squared.rkhs_strength[0] / source.total_weight))
    return ridge.eliminated().complete(theta[model.basis_part])


def _with_linear_part(
    objective: AnyObjective, kernels: PreimageModel, theta: np.ndarray, n_rows: int, rng: np.random.Generator
) -> np.ndarray:
    """Return first weights of kernels and coefficients of a linear part together, by ridge regression."""
    model, theta, R = objective.model, theta.copy(), kernels.n_basis
    source = objective.source.sample(n_rows, rng)
    block, X = source.load((0, source.n_rows)), source.dense().astype(np.float64)
    Y, strength = objective.loss.working_target(source.Y), Squared.rkhs_strength[0] / source.total_weight
    params = model.unpack(theta)
    params.weights[R:] = np.eye(model.n_outputs)
    Phi, w = kernels.features(block, theta)[0], source.w[:, 0].astype(np.float64)
    A = np.hstack([Phi, X]) if X.shape[1] <= MOST_COEFFICIENTS else Phi
    mean, mean_y = w @ A, w @ Y
    A = A - mean
    gram = (A * w[:, None]).T @ A
    size = np.where(np.arange(A.shape[1]) < R, 0.5 * strength, strength * X.shape[1])
    gram[range(len(gram)), range(len(gram))] += size + 1e-10 * np.trace(gram) / len(gram)
    C = np.linalg.solve(gram, (A * w[:, None]).T @ (Y - mean_y))
    params.weights[:R] = C[:R]
    if A.shape[1] > R:
        params.basis[-1][...] = C[R:].T
    params.intercept[...] = mean_y - mean @ C if model.fit_intercept else 0.0
    return theta


def _alternating_signs(n_basis: int, n_outputs: int) -> np.ndarray:
    return np.where((np.arange(n_basis)[:, None] + np.arange(n_outputs)) % 2 == 0, 1.0, -1.0)


def _by_class(sample: Sample, n_basis: int) -> list[tuple[np.ndarray, int]]:
    """Return (samples, points) of each class or set of labels; of all samples if there are none, or too many."""
    code = np.zeros(len(sample.Y), dtype=int) if sample.kinds is None else sample.kinds
    classes = np.unique(code)
    if n_basis < len(classes):
        return [(np.arange(len(code)), n_basis)]
    counts = np.full(len(classes), n_basis // len(classes))
    heaviest = np.argsort([-sample.weight[code == c].sum() for c in classes], kind="stable")
    counts[heaviest[: n_basis % len(classes)]] += 1
    return [(np.flatnonzero(code == c), int(count)) for c, count in zip(classes, counts, strict=True)]


def _draw(rows: np.ndarray, weight: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    probability = weight[rows] / weight[rows].sum()
    return rng.choice(rows, size=count, replace=bool(count > np.count_nonzero(probability)), p=probability)


def centres_of(X: np.ndarray, weight: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return centres of k-means, (count, d); the samples themselves, repeated, if no more than ``count`` differ."""
    seen: dict[bytes, np.ndarray] = {}
    for x in X + 0.0:  # -0.0 becomes 0.0
        seen.setdefault(x.tobytes(), x)
        if len(seen) > count:
            break
    else:  # k-means would have empty clusters
        return np.resize(list(seen.values()), (count, X.shape[1]))
    seed = int(rng.integers(2**31))
    means = SklearnKMeans(count, n_init=1, max_iter=30, random_state=seed).fit(X, sample_weight=weight)
    return np.asarray(means.cluster_centers_)


def _spread(points: np.ndarray, sample: Sample, rng: np.random.Generator) -> np.ndarray:
    """Move equal points apart a little: their gradients would stay equal for ever."""
    _, first = np.unique(points, axis=0, return_index=True)
    copies = np.setdiff1d(np.arange(len(points)), first)
    if len(copies) == 0:
        return points
    points = points.copy()
    size = 0.1 * sample.X.std(axis=0) + 1e-3
    points[copies] += size * rng.standard_normal((len(copies), points.shape[1]))
    return points
