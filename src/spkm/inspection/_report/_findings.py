"""Checks of a model, each with a code and a remedy: passed, worth a look, or not run, as something is missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from spkm.explain import familiarity
from spkm.explain._cautions import cancellation_text
from spkm.explain._table import basis_labels, fitted_part
from spkm.inspection._intervals import FEWEST, LEVEL_TEXT, share_interval
from spkm.inspection._report._quality import Comparison, main_score
from spkm.inspection._report._samples import Samples, dense_rows

NEARLY_EQUAL = 0.99  # cosine of two basis vectors in the kernel's feature space
INACTIVE = 0.05  # similarity that no sample exceeds
UNUSED = 1e-3  # share of the scores' variance
FEW_SEEN = 0.2  # share of samples that may equal training samples, if these equal one another as often
FEW = 5  # samples of a class
OFF = 0.08  # calibration error above which probabilities are off
WIDE = 0.2  # length of the interval of accuracy or R² above which the samples are few


class Found(NamedTuple):
    """The result of a check: "pass", "look", or "none" if it did not run; a sentence, and a remedy."""

    level: str
    detail: str
    remedy: str = ""


WITHOUT_TARGETS = Found("none", "There are no targets to compare with.", "Pass y.")
WITHOUT_TRAINING = Found("none", "It needs the training samples.", "Pass train=(X_train, y_train).")

#: Headings of the checks that stand first where they found something; others stand in the table of checks alone.
CAUTIONS = {
    "SPKM06": "It may be no better than a constant",
    "SPKM07": "It is worse than a linear model",
    "SPKM08": "It is worse on these samples than on those of the fit",
    "SPKM16": "Few samples to judge it by",
    "SPKM10": "Few samples of a class",
    "SPKM11": "Some samples are unlike all samples of the fit",
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
    samples : Samples
        The samples of the report, with the model.
    quality : dict or None
        Facts of quality.
    beside : Comparison or None
        The model beside simple ones.
    share : ndarray
        Share of each basis vector in the variance of the scores.
    contrary : list of Contrary
        Vectors that speak against the samples.
    cancellation : float
        How much contributions cancel.
    stability : StabilitySelection or None
        Shares of halves that chose a feature.
    """

    samples: Samples
    quality: dict[str, Any] | None
    beside: Comparison | None
    share: np.ndarray
    contrary: list[Any]
    cancellation: float
    stability: Any


def findings(seen: Evidence) -> list[dict[str, str]]:
    """Return all checks of a report, first those on whether basis vectors can be read one by one."""
    return [{"code": code, "title": title, **check(seen)._asdict()} for code, title, check in CHECKS]


def cautions_first(checks: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return what a reader must read before all else, the gravest first: a heading, a sentence, what to do."""
    found = {check["code"]: check for check in checks if check["level"] == "look"}
    return [
        {"title": title, "detail": found[code]["detail"], "remedy": found[code]["remedy"]}
        for code, title in CAUTIONS.items()
        if code in found
    ]


def _cancelling(seen: Evidence) -> Found:
    text, _, remedy = cancellation_text(seen.cancellation).partition(" Use ")
    if text:
        return Found("look", text, f"Use {remedy}")
    factor = f"{seen.cancellation:.1f}"
    return Found("pass", f"They cancel by a factor of {factor}, the median over samples; 1 is not at all.")


def _contrary(seen: Evidence) -> Found:
    if seen.samples.y is None:
        return WITHOUT_TARGETS
    if not seen.contrary:
        return Found("pass", "No vector speaks against the samples that resemble it most.")
    more = f" {len(seen.contrary) - 3} more do the same." if len(seen.contrary) > 3 else ""
    detail = " ".join(one.text for one in seen.contrary[:3]) + more
    return Found("look", detail, "Read these vectors together with the others, or fit fewer.")


def _equal_vectors(seen: Evidence) -> Found:
    model, close, place = seen.samples.reading.model, [], 0
    labels = basis_labels(model)
    for member in model.members:
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
        return Found("pass", "No two of them are nearly the same.")
    more = f" and {len(close) - 4} more pairs" if len(close) > 4 else ""
    detail = f"Nearly the same: {', '.join(close[:4])}{more}. Their weights can only be read together."
    return Found("look", detail, "Fit with a smaller n_basis, or with n_basis='auto'.")


def _inactive_vectors(seen: Evidence) -> Found:
    model = seen.samples.reading.model
    terms = [term for m in model.members for term in m.terms if not term.is_linear_part]
    if not all(view.kernel.stationary for term in terms for view in term.views):
        return Found("none", "Similarity has no scale of its own for dot-product kernels.")
    lonely = np.flatnonzero((seen.samples.similarities.max(axis=0) < INACTIVE) & model.vector_rows)
    if len(lonely) == 0:
        return Found("pass", f"Each has a sample of similarity {INACTIVE} or more.")
    detail = f"No sample is like {_listed(model, lonely)}: these vectors change nothing here."
    return Found("look", detail, "Fit with a smaller n_basis, or check that X is from the same source.")


def _unused_vectors(seen: Evidence) -> Found:
    model = seen.samples.reading.model
    idle = np.flatnonzero((np.abs(seen.share) < UNUSED) & model.vector_rows)
    if len(idle) == 0:
        return Found("pass", "Each has a part in the variance of the scores.")
    detail = f"Next to no part in the scores: {_listed(model, idle)}."
    return Found("look", detail, "Fit with a smaller n_basis, or with n_basis='auto', which prunes.")


def _edge_of_search(seen: Evidence) -> Found:
    reading = seen.samples.reading
    results = fitted_part(reading.estimator, "cv_results_")
    if results is None:
        return Found("none", "Sizes were set, not searched for.")
    if reading.model.n_basis >= (fitted_part(reading.estimator, "max_basis") or 50):
        detail = f"The number of basis vectors, {reading.model.n_basis}, is the largest that was tried."
        return Found("look", detail, "Raise max_basis.")
    return Found("pass", f"{len(results['n_basis'])} models were compared on held-out samples.")


def _interrupted(seen: Evidence) -> Found:
    if seen.samples.reading.model.interrupted:
        return Found("look", "It was stopped before.", "Fit again, or with warm_start=True go on.")
    return Found("pass", "It was not interrupted.")


def _against_constant(seen: Evidence) -> Found:
    if seen.beside is None:
        return WITHOUT_TARGETS
    one = seen.beside.constant
    if one.low > 0:
        return Found("pass", f"{one.text}.")
    if one.high >= 0:
        return Found("look", f"{one.text}: it may be chance.", "Judge the model on more samples.")
    remedy = "The features may be unrelated to the target, or these samples differ from those of the fit."
    return Found("look", f"{one.text}.", remedy)


def _against_linear(seen: Evidence) -> Found:
    one = None if seen.beside is None else seen.beside.others.get("linear")
    if one is None:
        needs = "It needs one target, the training samples and a table that is not too large."
        return Found("none", needs, "Pass y and train=(X_train, y_train).")
    if one.high >= 0:
        return Found("pass", f"{one.text}{'' if one.low > 0 else ': it may be chance'}.")
    return Found("look", f"{one.text}.", "Try kernel='linear', or SPKMClassifierCV or SPKMRegressorCV.")


def _overfit(seen: Evidence) -> Found:
    samples = seen.samples
    if samples.y is None or samples.known is None:
        return WITHOUT_TRAINING
    own = main_score(samples.reading, samples.scores, samples.y)
    before = main_score(samples.reading, samples.reading.model.scores(samples.known[0]), samples.known[1])
    is_r2, n = samples.reading.labels is None, len(samples.y)
    detail = f"{'R²' if is_r2 else 'accuracy'} {own:.3f} here and {before:.3f} on the training samples."
    if before - own <= (0.1 if is_r2 else max(0.05, share_interval(own * n, n)[1] - own)):
        return Found("pass", detail)
    return Found("look", detail, "Fit with fewer basis vectors, a stronger penalty, or more samples.")


def _calibrated(seen: Evidence) -> Found:
    found = None if seen.quality is None else seen.quality.get("calibration")
    if found is None:
        return Found("none", "There are no probabilities, or no targets to compare with.")
    detail = f"They are off by {found['error']:.3f} on average."
    if found["error"] <= OFF:
        return Found("pass", detail)
    return Found("look", detail, "Calibrate with sklearn.calibration.CalibratedClassifierCV.")


def _few_samples(seen: Evidence) -> Found:
    y, labels = seen.samples.y, seen.samples.reading.labels
    if y is None or labels is None or np.ndim(y) == 2:
        return Found("none", "There are no classes to count.")
    counts = {str(label): int(np.sum(y == label)) for label in labels}
    few = [f"{label} ({count})" for label, count in counts.items() if count < FEW]
    if not few:
        return Found("pass", f"The rarest has {min(counts.values())}.")
    detail = f"Fewer than {FEW} samples: {', '.join(few[:6])}. Figures for them are uncertain."
    return Found("look", detail, "Judge the model on more samples.")


def _outside(seen: Evidence) -> Found:
    reading, train = seen.samples.reading, seen.samples.known
    if train is None:
        return WITHOUT_TRAINING
    columns, most = np.arange(len(reading.names)), max(50, int(1e7 / len(reading.names)))
    rows, known = (
        dense_rows(part, np.arange(0, part.shape[0], max(1, part.shape[0] // min(2000, most))), columns)
        for part in (seen.samples.table, train[0])
    )
    _, rank = familiarity(reading.model, rows, known)
    unlike = float(np.mean(rank <= max(0.01, 1.5 / (1 + len(known)))))
    detail = f"{unlike:.1%} of the samples are less like any basis vector than 99 % of the training samples."
    if unlike <= 0.05:
        return Found("pass", detail)
    return Found("look", detail, "Do not trust predictions there; fit with samples of that kind.")


def _seen_before(seen: Evidence) -> Found:
    table, train = seen.samples.table, seen.samples.known
    if train is None or sparse.issparse(table) or not isinstance(table, np.ndarray):
        return Found("none", "It needs the training samples as one table.")
    counts = Counter(row.tobytes() for row in np.ascontiguousarray(train[0], dtype=np.float64))
    again = sum(row.tobytes() in counts for row in np.ascontiguousarray(table, dtype=np.float64))
    if again == 0:
        return Found("pass", "No row is the same as one of the training samples.")
    twins = sum(count for count in counts.values() if count > 1)  # training samples that equal another one
    usual = twins * len(table) / len(train[0])
    if twins and again <= min(usual + 2 * usual**0.5, FEW_SEEN * len(table)):
        detail = f"{again} of {len(table)} samples equal a training sample, as often as training samples one another."
        return Found("pass", detail)
    detail = f"{again} of {len(table)} samples are also among the training samples."
    return Found("look", detail, "Judge the model on samples that were not in the fit.")


def _stable(seen: Evidence) -> Found:
    reading, stability = seen.samples.reading, seen.stability
    if stability is None:
        detail = "It needs the result of a stability selection."
        if reading.fold_shares is not None:
            detail += " That folds of the search chose a feature is no proof: they share most of their samples."
        return Found("none", detail, "Pass stability=stability_selection(estimator, X, y).")
    shaky = [j for j in reading.read if stability.probabilities[j] < stability.threshold]
    if not shaky:
        return Found("pass", "All features of the model are chosen on most halves of the samples.")
    names = ", ".join(reading.names[j] for j in shaky[:6]) + (f" and {len(shaky) - 6} more" if len(shaky) > 6 else "")
    remedy = "Read these features as one of several that would do as well."
    return Found("look", f"Not chosen again on halves of the samples: {names}.", remedy)


def _enough(seen: Evidence) -> Found:
    if seen.quality is None:
        return WITHOUT_TARGETS
    first, n = seen.quality["metrics"][0], seen.quality["n"]
    low, high = first["low"], first["high"]
    if low is None:
        detail = f"{n} samples are too few for an interval of {first['name']}."
        return Found("look" if n < FEWEST else "none", detail, "Judge the model on more samples.")
    figures = f"{first['name']} {first['value']:.3f} could be {low:.3f} to {high:.3f}"
    detail = f"With {n} samples, {figures} ({LEVEL_TEXT} interval)."
    if high - low <= WIDE and n >= FEWEST:
        return Found("pass", detail)
    return Found("look", detail, "Judge the model on more samples.")


def _listed(model: Any, rows: np.ndarray) -> str:
    labels = basis_labels(model)
    shown = ", ".join(labels[r] for r in rows[:8])
    return shown + (f" and {len(rows) - 8} more" if len(rows) > 8 else "")


CHECKS = (
    ("SPKM14", "Contributions can be read one by one", _cancelling),
    ("SPKM15", "Weights agree with the samples", _contrary),
    ("SPKM01", "Basis vectors differ", _equal_vectors),
    ("SPKM02", "Every basis vector has samples like it", _inactive_vectors),
    ("SPKM03", "Every basis vector counts", _unused_vectors),
    ("SPKM04", "The search chose within what it tried", _edge_of_search),
    ("SPKM05", "The fit ran to its end", _interrupted),
    ("SPKM06", "Better than a constant", _against_constant),
    ("SPKM07", "Not clearly worse than a linear model", _against_linear),
    ("SPKM08", "As good on these samples as on those of the fit", _overfit),
    ("SPKM09", "Probabilities mean what they say", _calibrated),
    ("SPKM10", "Enough samples of every class", _few_samples),
    ("SPKM11", "Samples are like those of the fit", _outside),
    ("SPKM12", "No sample was in the fit", _seen_before),
    ("SPKM13", "The selection of features is stable", _stable),
    ("SPKM16", "Enough samples to judge it by", _enough),
)
