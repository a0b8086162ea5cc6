"""Numbers of a page, beside the plain form of a model, that split predictions by features exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from spkm.core.fitted import FittedModel, ModelEnsemble
from spkm.explain._structure import ProductPiece, structure_of


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
