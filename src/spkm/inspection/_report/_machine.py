"""Numbers that a page computes with: the model, its split by features, sums for edits, refits, rows to compare."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.explain import familiarity
from spkm.explain._bars import LEVEL, half_width
from spkm.explain._edit import is_monotone, products
from spkm.explain._structure import ProductPiece, structure_of
from spkm.inspection._reading import Reading
from spkm.inspection._report._rounding import bounds_of, rounding_of_scores
from spkm.inspection._report._samples import Samples, dense_rows, plain_values, rounded
from spkm.inspection._report._target_facts import survival_of_page
from spkm.persistence._plain import jsonable, plain_model, with_javascript_classes

BACKGROUND = 40  # samples that a page compares a row with
VERIFIED = 50  # rows on which a page compares its predictions with ours
FAMILIAR = 2000  # samples that usual similarities are those of
MODEL_BYTES = 400_000  # of a model in a page
REFIT_BYTES = 250_000  # of all refits; larger models have no error bars of single samples in the page
REFIT_DIGITS = 13
EDIT_ROWS = 20_000  # samples that the sums behind an edit are taken over, about
EDIT_NUMBERS = 1000  # of these sums, as many as pairs of basis vectors; a page of larger models does not edit


def machine_facts(samples: Samples, links: list[Any], middle: np.ndarray, ship: bool) -> dict[str, Any] | None:
    """Return what a page computes with; None if it cannot compute the model, or if the model is too large for it.

    Parameters
    ----------
    samples : Samples
        The samples of the report.
    links : list of dict
        Columns that go together.
    middle : ndarray
        The usual row, by feature that is read.
    ship : bool
        Whether samples are in the file.
    """
    reading = samples.reading
    if len(reading.read) == 0:
        return None
    model = reading.model.restricted(reading.read)
    names = _names(reading)
    try:
        plain = jsonable(with_javascript_classes(plain_model(model, names)) | survival_of_page(reading))
    except TypeError:  # a kernel or a loss of the user's own, which no page can compute
        return None
    shapes = product_shapes(model, names)
    if len(json.dumps([plain, shapes])) > MODEL_BYTES:
        return None
    count = len(samples.shown) if ship else 1
    background = np.unique(np.linspace(0, count - 1, min(BACKGROUND, count)).round().astype(int))
    return {
        "plain": plain,
        "shapes": shapes,
        "links": links,
        "edit": _edit_facts(reading, samples.source),
        "background": background.tolist() if ship else None,
        "middle": middle.tolist(),
        "familiar": _usual_similarities(samples, model),
        "verify": _verification(samples, model, plain, middle, ship),
    }


def _names(reading: Reading) -> tuple[str, ...]:
    return tuple(reading.names[c] for c in reading.read)


def _usual_similarities(samples: Samples, model: Any) -> list[float] | None:
    """Return percentiles of the similarity of samples to the vector most like them; None where it has no scale."""
    if not all(v.kernel.stationary for m in model.members for term in m.terms for v in term.views):
        return None
    table = samples.table
    rows = np.arange(0, table.shape[0], max(1, table.shape[0] // FAMILIAR))
    whole = dense_rows(table, rows, samples.reading.read)
    found: list[float] = rounded(np.percentile(familiarity(model, whole, whole)[0], np.arange(0, 101)), 6)
    return found


def _verification(
    samples: Samples, model: Any, plain: dict[str, Any], middle: np.ndarray, ship: bool
) -> dict[str, Any]:
    """Return predictions of some rows, with which a page compares its own."""
    probes = samples.shown[:VERIFIED]
    if not ship:
        vectors = np.array(model.basis_vectors)
        probes = np.vstack([middle, np.where(np.isnan(vectors), middle, vectors)[: VERIFIED - 1]])
    scores = model.scores(probes)
    P = samples.reading.probabilities(scores)
    return {
        "rows": len(probes) if ship else probes.tolist(),
        "scores": scores.tolist(),
        "rounding": bounds_of(rounding_of_scores(plain, probes), samples.reading.labels is not None),
        "probabilities": None if P is None else P.tolist(),
        "predictions": [plain_values(value) for value in samples.reading.decide(scores)],
    }


def product_shapes(model: FittedModel | ModelEnsemble, names: tuple[str, ...]) -> list[list[dict[str, Any]]] | None:
    """Return for each member and term amounts a_q and rates w_qj such that

        k(x, u) = sum_q a_q prod_j exp(-w_qj |x_j - u_j|^p), p = 2 for "squared" and 1 for "absolute"

    or None where a kernel is no such sum. Rates of all components are ``steps[q] * base[j]``.
    """
    members = []
    for member in model.members:
        terms = []
        for own, term in zip(member.terms, structure_of(member, names).terms, strict=True):
            # A linear part is a sum over features, which needs no shape.
            shape = {"amounts": [], "views": [], "linear": True} if own.is_linear_part else _term_shape(term)
            if shape is None:
                return None
            terms.append(shape)
        members.append(terms)
    return members


def _term_shape(term: Any) -> dict[str, Any] | None:
    pieces = [factor.pieces for factor in term.factors]
    if not all(len(of_factor) == 1 and isinstance(of_factor[0], ProductPiece) for of_factor in pieces):
        return None
    amounts = [of_factor[0].amounts for of_factor in pieces]
    if len(amounts) > 1 and any(len(part) > 1 for part in amounts):
        return None  # a product of mixtures has too many components for a page
    views: dict[int, dict[str, Any]] = {}
    order = [id(view) for factor in term.factors for view in factor.views]
    for factor in term.factors:
        for view, (_, _, squared, absolute, _) in zip(factor.views, factor.pieces[0].parts, strict=True):
            rates = {"squared": _rank_one(squared), "absolute": _rank_one(absolute)}
            if None in rates.values():
                return None
            views[id(view)] = {kind: rate for kind, rate in rates.items() if rate and any(rate["base"])}
    whole = amounts[0] if len(amounts) == 1 else np.array([np.prod([part[0] for part in amounts])])
    return {"amounts": whole.tolist(), "views": [views[key] for key in order]}


def _rank_one(rates: np.ndarray) -> dict[str, Any] | None:
    """Return rates (Q, width) as a product of steps and a base; None if they are none."""
    size = rates.sum(axis=1)
    if not rates.any():
        return {"base": [0.0] * rates.shape[1], "steps": [0.0] * len(rates)}
    largest = int(np.argmax(size))
    base = rates[largest]
    steps = size / size[largest]
    if not np.allclose(steps[:, None] * base, rates, rtol=1e-12, atol=0.0):
        return None
    return {"base": base.tolist(), "steps": steps.tolist()}


def _edit_facts(reading: Reading, table: Any) -> dict[str, Any]:
    """Return for each member the lower triangle of :func:`spkm.explain._edit.products`, by rows.

    With these sums a page solves weights again after an edit by hand, such that scores of the samples in ``table``
    change least. They are means and hold no single sample. ``why`` is the reason if there are none, else empty.
    """
    members = reading.model.members
    sizes = [int(member.vector_rows.sum()) + 1 for member in members]
    why = ""
    if reading.is_pairs:
        why = "Models of pairs cannot be edited by hand."
    elif any(is_monotone(member) for member in members):
        why = "It is monotone by the signs of its weights, which an edit may change."
    elif sum(n * (n + 1) // 2 for n in sizes) > EDIT_NUMBERS:
        why = "It has too many basis vectors to be edited in a page; spkm.explain.edited does it."
    if why:
        return {"members": None, "n": 0, "why": why}
    rows = table[np.arange(0, table.shape[0], max(1, table.shape[0] // EDIT_ROWS))]
    weight = np.ones(rows.shape[0])
    found = []
    for member, n in zip(members, sizes, strict=True):
        M = products(member, np.flatnonzero(member.vector_rows), rows, weight)
        found.append({"sums": M[np.tril_indices(n)].tolist(), "intercept": bool(member.model.fit_intercept)})
    return {"members": found, "n": len(weight), "why": ""}


def refit_facts(reading: Reading, page: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the refits of a page's model, each as what differs from it; None without refits, or if too large."""
    if page is None or not reading.model.refits:
        return None
    model, names, models = reading.model.restricted(reading.read), _names(reading), []
    for refit in model.refits:
        plain, shapes = jsonable(plain_model(refit, names)), product_shapes(refit, names)
        own = [_changed(plain, page["plain"]), None if page["shapes"] is None else _changed(shapes, page["shapes"])]
        models.append(_rounded(own))
    if len(json.dumps(models)) > REFIT_BYTES:
        return None
    return {
        "models": models,
        "spread": float(model.refit_spread),
        "half_width": half_width(len(models), LEVEL),
        "level": LEVEL,
    }


def _changed(now: Any, before: Any) -> Any:
    """Return the parts of nested data that differ: of a dict the keys, of a list with dicts in it all entries."""
    if isinstance(now, dict):
        return {key: _changed(part, before[key]) for key, part in now.items() if part != before[key]}
    if isinstance(now, list) and _holds_dicts(now):
        return [_changed(part, old) for part, old in zip(now, before, strict=True)]
    return now


def _holds_dicts(values: list[Any]) -> bool:
    first = values[0] if values else None
    return _holds_dicts(first) if isinstance(first, list) else isinstance(first, dict)


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.{REFIT_DIGITS}g}") if isinstance(value, float) else value
