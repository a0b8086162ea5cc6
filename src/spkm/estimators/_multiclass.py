"""More than two classes by binary classifiers: one against the rest, or one against one."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.multiclass import is_multilabel

from spkm.estimators._resolve import generator
from spkm.losses import Loss
from spkm.model import Term

if TYPE_CHECKING:
    from spkm.estimators._classifier import SPKMClassifier

MULTI_CLASS = ("joint", "ovr", "ovo")
OF_ONE_MODEL = ("_fitted", "kernel_", "relevances_", "view_usage_", "objective_", "objective_path_", "cv_results_")
OF_PARTS = ("estimators_", "class_pairs_", "basis_problem_", "_problems")
SMALLEST_SHARE = 1e-7  # of a pair; with shares of 0 and 1 the equations of the coupling may have no one solution
STEEPNESS = 6.0  # of the logistic function that stands for probabilities; measured, 4 to 12 do as well
ENTRIES = 2**22  # of the matrices of a coupling that are solved at once


class Problem(NamedTuple):
    """A binary problem: its name, its rows (None is all of them) and the label of each of them."""

    name: str
    rows: np.ndarray | None
    labels: np.ndarray


def check_joint(name: str, estimator: Any) -> None:
    """Raise ValueError if an estimator, the argument ``name``, is to fit several models in place of one."""
    kind = getattr(estimator, "multi_class", "joint")
    if kind != "joint":
        raise ValueError(
            f"{name} must have multi_class='joint'; got {kind!r}, which makes a model for each binary problem. "
            "Use 'joint', or give the rows of one problem."
        )


def fit_in_parts(
    whole: SPKMClassifier, X: Any, y: Any, sample_weight: Any, terms: tuple[Term, ...], context: Any
) -> bool:
    """Fit one classifier for each binary problem, if ``multi_class`` and the targets ask for it; whether they do.

    If they do not, or something goes wrong, ``whole`` is left as it was.
    """
    if whole.multi_class == "joint":
        _check_continues(whole, None)
        return False
    if whole.multi_class == "ovo" and is_multilabel(y):
        raise ValueError(
            "multi_class='ovo' needs one label for every row; y is an indicator matrix. Use 'joint' or 'ovr'."
        )
    before, done = dict(whole.__dict__), False
    try:
        X, Y, weight, y = whole._checked_table(X, y, sample_weight, whole._loss(y), terms, None)
        two_classes = whole._label_scores is None and len(whole.classes_) == 2
        problems = [] if two_classes else _binary_problems(whole, Y)
        names = [problem.name for problem in problems] or None
        _check_continues(whole, names)
        if names is not None:
            context.call_on_fit_task_begin(estimator=whole, X=X, y=y)
            parts = _fitted_parts(whole, problems, X, weight, terms, context)
            _report(whole, parts, names)
            context.call_on_fit_task_end(estimator=whole, X=X, y=y)
            done = True
        return done
    finally:
        if not done:
            whole.__dict__.clear()
            whole.__dict__.update(before)


def _check_continues(whole: SPKMClassifier, names: list[str] | None) -> None:
    """Raise ValueError if a warm start has other problems than the last fit; None is one model of all classes."""
    fitted = hasattr(whole, "_fitted") or hasattr(whole, "_problems")
    if whole.warm_start and fitted and names != getattr(whole, "_problems", None):
        raise ValueError(
            f"warm_start=True needs the classes and the multi_class of the last fit; got multi_class="
            f"{whole.multi_class!r} and classes that make other binary problems. Set warm_start=False to fit anew."
        )


def _binary_problems(whole: SPKMClassifier, Y: np.ndarray) -> list[Problem]:
    """Return the binary problems of signs Y, (n, n_classes), or (n, labels that are to be learned)."""
    classes = whole.classes_
    if whole._label_scores is not None:
        learned = np.flatnonzero(np.isnan(whole._label_scores))
        return [Problem(f"label {label}", None, Y[:, k] > 0) for k, label in enumerate(learned)]
    if whole.multi_class == "ovr":
        return [Problem(f"{label} against the rest", None, Y[:, k] > 0) for k, label in enumerate(classes)]
    code = np.argmax(Y, axis=1)
    problems = []
    for a, b in _pairs(len(classes)).T:
        rows = np.flatnonzero((code == a) | (code == b))
        problems.append(Problem(f"{classes[a]} against {classes[b]}", rows, classes[code[rows]]))
    return problems


def _pairs(n_classes: int) -> np.ndarray:
    """Return the first and the second of every pair of classes, (2, n_pairs)."""
    return np.array(list(combinations(range(n_classes), 2))).T


def _fitted_parts(
    whole: SPKMClassifier,
    problems: list[Problem],
    X: Any,
    weight: np.ndarray,
    terms: tuple[Term, ...],
    context: Any,
) -> list[SPKMClassifier]:
    seeds = generator(whole.random_state).integers(2**31, size=len(problems))
    parts: list[SPKMClassifier] = []
    told: dict[type[Warning], list[str]] = {}
    for k, (name, rows, labels) in enumerate(problems):
        part = _part(whole, k, int(seeds[k]), terms)
        if whole.verbose:
            print(f"{type(whole).__name__} {name}")
        task = context.subcontext(task_name=name)
        with warnings.catch_warnings(record=True) as caught, task.propagate_callback_context(part):
            warnings.simplefilter("always")
            task.call_on_fit_task_begin(estimator=whole)
            if rows is None:
                part.fit(X, labels, sample_weight=weight)
            else:
                part.fit(X[rows], labels, sample_weight=weight[rows])
        parts.append(part)
        for warning in caught:
            told.setdefault(warning.category, []).append(f"{name}: {warning.message}")
        stopped = task.call_on_fit_task_end(estimator=whole) or part._fitted.interrupted
        if stopped and len(parts) < len(problems):
            raise KeyboardInterrupt  # without the other problems there is no model
    for category, texts in told.items():
        more = f" (and {len(texts) - 1} more from {len(problems)} binary problems)" if len(texts) > 1 else ""
        warnings.warn(texts[0] + more, category, stacklevel=6)
    return parts


def _part(whole: SPKMClassifier, k: int, seed: int, terms: tuple[Term, ...]) -> SPKMClassifier:
    """Return a binary classifier with the settings of ``whole``; with a warm start, after the last fit."""
    part = clone(whole).set_params(multi_class="joint", class_weight=None, random_state=seed)
    if any(view.name for term in terms for view in term.views):
        part.set_params(views=None, terms=list(terms))  # names of columns, or of tables, are known to ``whole`` alone
    part.set_callbacks()  # those of ``whole`` are handed down by its context
    if whole.warm_start and hasattr(whole, "estimators_"):
        last = whole.estimators_[k]
        part._fitted, part.classes_ = last._fitted, last.classes_
    return part


def _report(whole: SPKMClassifier, parts: list[SPKMClassifier], names: list[str]) -> None:
    for name in (*OF_ONE_MODEL, *OF_PARTS, "feature_importances_"):  # of an earlier fit
        whole.__dict__.pop(name, None)
    whole._problems = names
    whole.estimators_ = parts
    if whole.multi_class == "ovo":
        whole.class_pairs_ = whole.classes_[_pairs(len(whole.classes_)).T]
    whole.basis_vectors_ = np.concatenate([part.basis_vectors_ for part in parts])
    whole.basis_problem_ = np.repeat(np.arange(len(parts)), [len(part.basis_vectors_) for part in parts])
    whole.dual_coef_ = np.concatenate([part.dual_coef_ for part in parts])
    whole.intercept_ = np.array([part.intercept_ for part in parts])
    whole.selected_features_ = np.unique(np.concatenate([part.selected_features_ for part in parts]))
    whole.n_iter_ = max(part.n_iter_ for part in parts)
    for part in parts:
        part._table_names = whole._table_names
        if hasattr(whole, "feature_names_in_"):
            part.feature_names_in_ = whole.feature_names_in_
    if hasattr(parts[0], "feature_importances_"):
        whole.feature_importances_ = np.mean([part.feature_importances_ for part in parts], axis=0)


def part_for(whole: SPKMClassifier, labels: list[Any]) -> SPKMClassifier:
    """Return the binary classifier of one class or of a pair."""
    one_each = hasattr(whole, "estimators_") and not hasattr(whole, "class_pairs_")
    codes = sorted({k for k, label in enumerate(whole.classes_.tolist()) if label in labels})
    if len(codes) != len(labels) or len(labels) != (1 if one_each else 2):
        what = "one label" if one_each else "two different labels"
        raise ValueError(f"estimator_for needs {what} of classes_, {whole.classes_.tolist()}; got {labels}.")
    if hasattr(whole, "class_pairs_"):
        is_pair = np.all(whole.class_pairs_ == whole.classes_[codes], axis=1)
        return whole.estimators_[int(np.flatnonzero(is_pair)[0])]
    if not one_each:
        if len(whole.classes_) > 2:
            raise ValueError("estimator_for needs a fit with multi_class='ovo' or 'ovr'; this one is joint.")
        return whole
    if whole._label_scores is None:
        return whole.estimators_[codes[0]]
    if not np.isnan(whole._label_scores[codes[0]]):
        raise ValueError(f"Label {codes[0]} was the same in all rows of the fit, so it has no estimator.")
    return whole.estimators_[int(np.sum(np.isnan(whole._label_scores[: codes[0]])))]


def binary_probabilities(loss: Loss, F: np.ndarray) -> np.ndarray:
    """Return the probability of the positive class in every column of scores of a binary problem, (n, n_problems).

    The scores of a loss without probabilities aim at -1 and 1; their logistic function 1 / (1 + exp(-6 f)) takes the
    place of probabilities.
    """
    if not hasattr(loss, "probabilities"):
        return expit(STEEPNESS * F)
    return np.column_stack([loss.probabilities(F[:, [k]])[:, 1] for k in range(F.shape[1])])


def weighted_votes(P: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the votes for every class, (n, n_classes): sum_j (p_i + p_j) r_ij.

    The vote of a pair is shared among its two classes by their probabilities r_ij in it, and counts as much as it is
    probable, p_i + p_j, that the row belongs to one of them: the others know nothing of it. ``P`` (n, n_pairs) holds r
    of the second class of every pair (0, 1), (0, 2), ..., (1, 2), ...; p are :func:`coupled_probabilities`.
    """
    first, second = _pairs(n_classes)
    p = coupled_probabilities(P, n_classes)
    of_pair = p[:, first] + p[:, second]
    classes = np.eye(n_classes, dtype=P.dtype)
    return (of_pair * P) @ classes[second] + (of_pair * (1 - P)) @ classes[first]


def coupled_probabilities(P: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the probabilities of classes that agree best with those of their pairs, (n, n_classes).

    The second method of Wu, Lin and Weng (2004): with r_ij the probability of i in the pair of i and j, minimise
    sum_ij (r_ji p_i - r_ij p_j)^2 over p that sum to one. The minimum is the solution of a linear system.

    ``P`` is as for :func:`weighted_votes`.
    """
    block = max(1, ENTRIES // (n_classes + 1) ** 2)
    parts = [_coupled_block(P[i : i + block], n_classes) for i in range(0, len(P), block)]
    return np.concatenate(parts).astype(P.dtype)


def _coupled_block(P: np.ndarray, n_classes: int) -> np.ndarray:
    first, second = _pairs(n_classes)
    P = np.clip(P.astype(np.float64), SMALLEST_SHARE, 1 - SMALLEST_SHARE)
    R = np.zeros((len(P), n_classes, n_classes))
    R[:, second, first], R[:, first, second] = P, 1 - P
    system = np.zeros((len(P), n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = -R * R.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = np.sum(R**2, axis=1)
    system[:, :-1, -1] = system[:, -1, :-1] = 1.0
    right = np.zeros((n_classes + 1, 1))
    right[-1] = 1.0
    p = np.linalg.solve(system, np.broadcast_to(right, (len(P), *right.shape)))[:, :-1, 0]
    return normalized(p)


def normalized(P: np.ndarray) -> np.ndarray:
    """Return rows that sum to one, with no entry of zero."""
    P = np.maximum(P, np.finfo(P.dtype).tiny)
    return P / P.sum(axis=1, keepdims=True)
