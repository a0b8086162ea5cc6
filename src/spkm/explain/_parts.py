"""Every feature's part of a similarity: of its logarithm, or of the inner product behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from spkm.core.fitted import FittedModel
from spkm.explain._structure import Structure
from spkm.kernels import DotForm


def similarity_parts(model: FittedModel, structure: Structure, Z: np.ndarray) -> np.ndarray:
    """Return the parts, (n, R, d), d the players.

    For a product kernel log k(x, u) is a sum over features; for a mixture of products it is split in proportion to
    the weighted distances. For a polynomial of an inner product the parts are those of the inner product.
    """
    result = np.zeros((len(Z), model.n_basis, len(structure.names)))
    for term in model.terms:
        for view in term.views:
            parts = _view_parts(view, Z[:, view.columns])
            for k, player in enumerate(structure.owner[np.asarray(model.features)[view.columns]]):
                result[:, term.rows, player] += parts[:, :, k]
    return result


def _view_parts(view: Any, Z: np.ndarray) -> np.ndarray:
    """Return the parts of one view, (n, R_t, width)."""
    kernel = view.kernel.rkhs()
    forms = kernel.forms()
    if forms is None or len(forms) != 1:
        raise ValueError(f"{type(kernel).__name__} has no parts by feature: it is neither a product nor a polynomial.")
    (form,) = forms
    if isinstance(form, DotForm):
        return Z[:, None, :] * (view.basis * form.rates)[None]
    apart = np.abs(Z[:, None, :] - view.basis[None])
    shares = apart**2 * (form.amounts @ form.squared) + apart * (form.amounts @ form.absolute)
    if len(form.amounts) == 1:
        return -shares / form.amounts[0]
    width = np.ones(apart.shape[2])
    exponents = apart**2 @ (form.squared * width).T + apart @ (form.absolute * width).T
    log = logsumexp(-exponents, axis=2, b=form.amounts, keepdims=True)  # k itself may underflow
    total = shares.sum(axis=2, keepdims=True)
    return np.divide(shares * log, total, out=np.zeros_like(shares), where=total > 0)
