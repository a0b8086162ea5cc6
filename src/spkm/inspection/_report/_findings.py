"""Checks of a model, each with a code and a remedy: passed, worth a look, or not run for want of something."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from spkm.explain import familiarity
from spkm.explain._cautions import cancellation_text
from spkm.explain._table import basis_labels, fitted_part
from spkm.inspection._intervals import FEWEST, LEVEL_TEXT, share_interval
from spkm.inspection._reading import Reading
from spkm.inspection._report._compared import Comparison
from spkm.inspection._report._quality import main_score
from spkm.inspection._report._rows import dense_rows

NEARLY_EQUAL = 0.99  # cosine of two basis vectors in the kernel's feature space
INACTIVE = 0.05  # similarity that no sample exceeds
UNUSED = 1e-3  # share of the scores' variance
FEW_SEEN = 0.2  # share of samples that may equal training samples, if these equal one another as often
FEW = 5  # samples of a class
WIDE = 0.2  # length of the interval of accuracy or R² above which the samples are few


def _check(code: str, title: str, level: str, detail: str, remedy: str = "") -> dict[str, str]:
    return {"code": code, "title": title, "level": level, "detail": detail, "remedy": remedy}


#: Headings of the checks that stand first where they found something; others stand in the table of checks alone.
CAUTIONS = {
    "SPKM06": "It may be no better than a constant",
    "SPKM07": "It is worse than a linear model",
    "SPKM08": "It is worse on these samples than on those of the fit",
    "SPKM16": "Few samples to judge it by",
    "SPKM10": "Few samples of a class",
    "SPKM11": "Some samples are unlike anything the fit has seen",
    "SPKM12": "Some samples were in the fit",
    "SPKM09": "Its probabilities are off",
    "SPKM14": "Contributions cancel",
    "SPKM15": "Some vectors correct others",
    "SPKM13": "Features would be chosen differently on other samples",
    "SPKM05": "The fit was stopped early",
}


@dataclass(frozen=True)
class Evidence:
    """Facts that the checks of a report judge.

    Attributes
    ----------
    reading : Reading
        The estimator.
    table, y, scores : table, targets or None, and ndarray of shape (n, m)
        Samples and their scores.
    similarities, share : ndarray
        Similarities of some samples to every basis vector, and each vector's share of the variance.
    quality : dict or None
        Facts of quality.
    compared : Comparison or None
        The model beside simple ones.
    train : (table, targets) or None
        The training samples.
    stability : StabilitySelection or None
        Shares of halves that chose a feature.
    contrary : list of Contrary
        Vectors that speak against the samples.
    cancellation : float
        How much contributions cancel.
    """

    reading: Reading
    table: Any
    y: np.ndarray | None
    scores: np.ndarray
    similarities: np.ndarray
    share: np.ndarray
    quality: dict[str, Any] | None
    compared: Comparison | None
    train: tuple[Any, np.ndarray] | None
    stability: Any
    contrary: list[Any]
    cancellation: float


def findings(seen: Evidence) -> list[dict[str, str]]:
    """Return all checks of a report, first those on whether basis vectors can be read one by one."""
    reading, table, y, train = seen.reading, seen.table, seen.y, seen.train
    return [
        _cancelling(seen.cancellation),
        _contrary(reading, y, seen.contrary),
        _equal_vectors(reading),
        _inactive_vectors(reading, seen.similarities),
        _unused_vectors(reading, seen.share),
        _edge_of_search(reading),
        _interrupted(reading),
        _against_constant(seen.compared),
        _against_linear(seen.compared),
        _overfit(reading, seen.scores, y, train),
        _calibrated(seen.quality),
        _few_samples(reading, y),
        _outside(reading, table, train),
        _seen_before(table, train),
        _stable(reading, seen.stability),
        _enough(seen.quality),
    ]


def cautions_first(checks: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return what a reader must read before all else, the gravest first: a heading, a sentence, what to do."""
    found = {check["code"]: check for check in checks if check["level"] == "look"}
    return [
        {"title": title, "detail": found[code]["detail"], "remedy": found[code]["remedy"]}
        for code, title in CAUTIONS.items()
        if code in found
    ]


def _cancelling(cancellation: float) -> dict[str, str]:
    title = "Contributions can be read one by one"
    text, _, remedy = cancellation_text(cancellation).partition(" Use ")
    if not text:
        detail = f"They cancel by a factor of {cancellation:.1f}, the median over samples; 1 is not at all."
        return _check("SPKM14", title, "pass", detail)
    return _check("SPKM14", title, "look", text, f"Use {remedy}")


def _contrary(reading: Reading, y: np.ndarray | None, contrary: list[Any]) -> dict[str, str]:
    title = "Weights agree with the samples"
    if y is None:
        return _check("SPKM15", title, "none", "There are no targets to compare with.", "Pass y.")
    if not contrary:
        return _check("SPKM15", title, "pass", "No vector speaks against the samples that resemble it most.")
    more = f" {len(contrary) - 3} more do the same." if len(contrary) > 3 else ""
    detail = " ".join(one.text for one in contrary[:3]) + more
    return _check("SPKM15", title, "look", detail, "Read these vectors together with the others, or fit fewer.")


def _equal_vectors(reading: Reading) -> dict[str, str]:
    title, close, place, labels = "Basis vectors differ", [], 0, basis_labels(reading.model)
    for member in reading.model.members:
        for term in (term for term in member.terms if not term.is_linear_part):
            count = term.rows.stop - term.rows.start
            cosine = np.ones((count, count))
            for view in term.views:
                kernel = view.kernel.rkhs()
                norms = np.sqrt(np.maximum(kernel.diagonal(view.basis), 1e-300))
                cosine *= kernel(view.basis, view.basis) / np.outer(norms, norms)
            rows, columns = np.nonzero(np.triu(cosine > NEARLY_EQUAL, 1))
            start = place + term.rows.start
            close += [f"{labels[start + a]} and {labels[start + b]}" for a, b in zip(rows, columns, strict=True)]
        place += member.n_basis
    if not close:
        return _check("SPKM01", title, "pass", "No two of them are nearly the same.")
    more = f" and {len(close) - 4} more pairs" if len(close) > 4 else ""
    detail = f"Nearly the same: {', '.join(close[:4])}{more}. Their weights can only be read together."
    return _check("SPKM01", title, "look", detail, "Fit with a smaller n_basis, or with n_basis='auto'.")


def _inactive_vectors(reading: Reading, similarities: np.ndarray) -> dict[str, str]:
    title = "Every basis vector has samples like it"
    terms = [term for m in reading.model.members for term in m.terms if not term.is_linear_part]
    kernels = [view.kernel for term in terms for view in term.views]
    if not all(kernel.stationary for kernel in kernels):
        return _check("SPKM02", title, "none", "Similarity has no scale of its own for dot-product kernels.")
    lonely = np.flatnonzero((similarities.max(axis=0) < INACTIVE) & reading.model.vector_rows)
    if len(lonely) == 0:
        return _check("SPKM02", title, "pass", f"Each has a sample of similarity {INACTIVE} or more.")
    detail = f"No sample is like {_listed(reading, lonely)}: these vectors change nothing here."
    return _check(
        "SPKM02", title, "look", detail, "Fit with a smaller n_basis, or check that X is from the same source."
    )


def _unused_vectors(reading: Reading, share: np.ndarray) -> dict[str, str]:
    title = "Every basis vector counts"
    idle = np.flatnonzero((np.abs(share) < UNUSED) & reading.model.vector_rows)
    if len(idle) == 0:
        return _check("SPKM03", title, "pass", "Each has a part in the variance of the scores.")
    detail = f"Next to no part in the scores: {_listed(reading, idle)}."
    return _check("SPKM03", title, "look", detail, "Fit with a smaller n_basis, or with n_basis='auto', which prunes.")


def _edge_of_search(reading: Reading) -> dict[str, str]:
    title = "The search chose within what it tried"
    results = fitted_part(reading.estimator, "cv_results_")
    if results is None:
        return _check("SPKM04", title, "none", "Sizes were set, not searched for.")
    at_edge = reading.model.n_basis >= (fitted_part(reading.estimator, "max_basis") or 50)
    if at_edge:
        detail = f"The number of basis vectors, {reading.model.n_basis}, is the largest that was tried."
        return _check("SPKM04", title, "look", detail, "Raise max_basis.")
    return _check("SPKM04", title, "pass", f"{len(results['n_basis'])} models were compared on held-out samples.")


def _interrupted(reading: Reading) -> dict[str, str]:
    title = "The fit ran to its end"
    if reading.model.interrupted:
        return _check("SPKM05", title, "look", "It was stopped before.", "Fit again, or with warm_start=True go on.")
    return _check("SPKM05", title, "pass", "It was not interrupted.")


def _against_constant(compared: Comparison | None) -> dict[str, str]:
    title = "Better than a constant"
    if compared is None:
        return _check("SPKM06", title, "none", "There are no targets to compare with.", "Pass y.")
    one = compared.constant
    if one.low > 0:
        return _check("SPKM06", title, "pass", f"{one.text}.")
    if one.high >= 0:
        return _check("SPKM06", title, "look", f"{one.text}: it may be chance.", "Judge the model on more samples.")
    remedy = "The features may say nothing of the target, or these samples differ from those of the fit."
    return _check("SPKM06", title, "look", f"{one.text}.", remedy)


def _against_linear(compared: Comparison | None) -> dict[str, str]:
    title = "Not clearly worse than a linear model"
    one = None if compared is None else compared.others.get("linear")
    if one is None:
        needs = "one target, the training samples and a table that is not too large"
        return _check("SPKM07", title, "none", f"It needs {needs}.", "Pass y and train=(X_train, y_train).")
    if one.high >= 0:
        return _check("SPKM07", title, "pass", f"{one.text}{'' if one.low > 0 else ': it may be chance'}.")
    remedy = "Try kernel='linear', or SPKMClassifierCV or SPKMRegressorCV."
    return _check("SPKM07", title, "look", f"{one.text}.", remedy)


def _overfit(
    reading: Reading, scores: np.ndarray, y: np.ndarray | None, train: tuple[Any, np.ndarray] | None
) -> dict[str, str]:
    title = "As good on these samples as on those of the fit"
    if y is None or train is None:
        return _check("SPKM08", title, "none", "It needs the training samples.", "Pass train=(X_train, y_train).")
    own = main_score(reading, scores, y)
    before = main_score(reading, reading.model.scores(train[0]), train[1])
    name = "R²" if reading.labels is None else "accuracy"
    detail = f"{name} {own:.3f} here and {before:.3f} on the training samples."
    room = 0.1 if reading.labels is None else max(0.05, share_interval(own * len(y), len(y))[1] - own)
    if before - own <= room:
        return _check("SPKM08", title, "pass", detail)
    return _check("SPKM08", title, "look", detail, "Fit with fewer basis vectors, a stronger penalty, or more samples.")


def _calibrated(quality: dict[str, Any] | None) -> dict[str, str]:
    title = "Probabilities mean what they say"
    found = None if quality is None else quality.get("calibration")
    if found is None:
        return _check("SPKM09", title, "none", "There are no probabilities, or no targets to compare with.")
    detail = f"They are off by {found['error']:.3f} on average."
    if found["error"] <= 0.08:
        return _check("SPKM09", title, "pass", detail)
    return _check("SPKM09", title, "look", detail, "Calibrate with sklearn.calibration.CalibratedClassifierCV.")


def _few_samples(reading: Reading, y: np.ndarray | None) -> dict[str, str]:
    title = "Enough samples of every class"
    if y is None or reading.labels is None or np.ndim(y) == 2:
        return _check("SPKM10", title, "none", "There are no classes to count.")
    counts = {str(label): int(np.sum(y == label)) for label in reading.labels}
    few = [f"{label} ({count})" for label, count in counts.items() if count < FEW]
    if not few:
        return _check("SPKM10", title, "pass", f"The rarest has {min(counts.values())}.")
    detail = f"Fewer than {FEW} samples: {', '.join(few[:6])}. Figures for them are uncertain."
    return _check("SPKM10", title, "look", detail, "Judge the model on more samples.")


def _outside(reading: Reading, table: Any, train: tuple[Any, np.ndarray] | None) -> dict[str, str]:
    title = "Samples are like those of the fit"
    if train is None:
        return _check("SPKM11", title, "none", "It needs the training samples.", "Pass train=(X_train, y_train).")
    columns, most = np.arange(len(reading.names)), max(50, int(1e7 / len(reading.names)))
    rows, known = (
        dense_rows(part, np.arange(0, part.shape[0], max(1, part.shape[0] // min(2000, most))), columns)
        for part in (table, train[0])
    )
    _, rank = familiarity(reading.model, rows, known)
    unlike = float(np.mean(rank <= max(0.01, 1.5 / (1 + len(known)))))
    detail = f"{unlike:.1%} of the samples are less like any basis vector than 99 % of the training samples."
    if unlike <= 0.05:
        return _check("SPKM11", title, "pass", detail)
    return _check("SPKM11", title, "look", detail, "Do not trust predictions there; fit with samples of that kind.")


def _seen_before(table: object, train: tuple[Any, np.ndarray] | None) -> dict[str, str]:
    title = "No sample was in the fit"
    if train is None or sparse.issparse(table) or not isinstance(table, np.ndarray):
        return _check("SPKM12", title, "none", "It needs the training samples as one table.")
    counts = Counter(row.tobytes() for row in np.ascontiguousarray(train[0], dtype=np.float64))
    seen = sum(row.tobytes() in counts for row in np.ascontiguousarray(table, dtype=np.float64))
    if seen == 0:
        return _check("SPKM12", title, "pass", "No row is the same as one of the training samples.")
    twins = sum(count for count in counts.values() if count > 1)  # training samples that equal another one
    usual = twins * len(table) / len(train[0])
    if twins and seen <= min(usual + 2 * usual**0.5, FEW_SEEN * len(table)):
        detail = f"{seen} of {len(table)} samples equal a training sample, as often as training samples one another."
        return _check("SPKM12", title, "pass", detail)
    detail = f"{seen} of {len(table)} samples are also among the training samples."
    return _check("SPKM12", title, "look", detail, "Judge the model on samples that the fit has not seen.")


def _enough(quality: dict[str, Any] | None) -> dict[str, str]:
    title = "Enough samples to judge it by"
    if quality is None:
        return _check("SPKM16", title, "none", "There are no targets to compare with.", "Pass y.")
    first, n = quality["metrics"][0], quality["n"]
    low, high = first["low"], first["high"]
    if low is None:
        detail = f"{n} samples are too few for an interval of {first['name']}."
        return _check("SPKM16", title, "look" if n < FEWEST else "none", detail, "Judge the model on more samples.")
    figures = f"{first['name']} {first['value']:.3f} could be {low:.3f} to {high:.3f}"
    detail = f"With {n} samples, {figures} ({LEVEL_TEXT} interval)."
    if high - low <= WIDE and n >= FEWEST:
        return _check("SPKM16", title, "pass", detail)
    return _check("SPKM16", title, "look", detail, "Judge the model on more samples.")


def _stable(reading: Reading, stability: Any) -> dict[str, str]:
    title = "The selection of features is stable"
    if stability is None:
        remedy = "Pass stability=stability_selection(estimator, X, y)."
        detail = "It needs the result of a stability selection."
        if reading.fold_shares is not None:
            detail += " That folds of the search chose a feature is no proof: they share most of their samples."
        return _check("SPKM13", title, "none", detail, remedy)
    shaky = [j for j in reading.read if stability.probabilities[j] < stability.threshold]
    if not shaky:
        return _check("SPKM13", title, "pass", "All features of the model are chosen on most halves of the samples.")
    names = ", ".join(reading.names[j] for j in shaky[:6]) + (f" and {len(shaky) - 6} more" if len(shaky) > 6 else "")
    remedy = "Read these features as one of several that would do as well."
    return _check("SPKM13", title, "look", f"Not chosen again on halves of the samples: {names}.", remedy)


def _listed(reading: Reading, rows: np.ndarray) -> str:
    labels = basis_labels(reading.model)
    shown = ", ".join(labels[r] for r in rows[:8])
    return shown + (f" and {len(rows) - 8} more" if len(rows) > 8 else "")
