"""Methods that read a fitted estimator: explanations, a summary, a formula, tables, the view of a notebook.

They are functions, which estimators take as methods. What they do lies in a package above this one, so it is imported
when they are called.
"""

from __future__ import annotations

from html import escape
from typing import Any

from sklearn.base import BaseEstimator


def explain(self: Any, X: Any, background: Any = None, **options: Any) -> Any:
    """Explain predictions: contributions of basis vectors, exact Shapley values, neighbours.

    Parameters
    ----------
    X : table
        Samples to explain.
    background : table, default=None
        Samples that absent features take their values from; None are those of X.
    **options
        Those of :func:`spkm.explain.explain`.

    Returns
    -------
    explanation : Explanation
        Arrays and frames; see :class:`spkm.explain.Explanation`.
    """
    from spkm.explain import explain as explain_with

    return explain_with(self, X, background, **options)


def summary(self: Any, X: Any = None, y: Any = None, **options: Any) -> str:
    """Return a description of the model that fits a terminal.

    Parameters
    ----------
    X, y : table and targets, default=None
        Samples, for what cannot be read off the model alone.
    **options
        Those of :func:`spkm.explain.summary`.

    Returns
    -------
    text : str
        A sentence, a row for each basis vector and, with samples, one for each feature.
    """
    from spkm.explain import summary as summary_of

    return summary_of(self, X, y, **options)


def formula(self: Any, digits: int = 4) -> str:
    """Return the model as a formula, a line for each output.

    Parameters
    ----------
    digits : int, default=4
        Significant digits of the numbers.

    Returns
    -------
    text : str
        The formula, with its kernels below.
    """
    from spkm.explain import formula as formula_of

    return formula_of(self, digits)


def to_frame(self: Any) -> Any:
    """Return the basis vectors with their weights as a pandas frame.

    Returns
    -------
    frame : DataFrame
        A row for each basis vector, in the user's units.
    """
    from spkm.explain import to_frame as frame_of

    return frame_of(self)


def repr_html(self: Any) -> str:
    """Return scikit-learn's diagram and, of a fitted estimator, the summary below it."""
    return BaseEstimator._repr_html_inner(self) + _summary_html(self)


def repr_mimebundle(self: Any, **kwargs: Any) -> dict[str, str]:
    """Return what notebooks show: scikit-learn's diagram and, of a fitted estimator, the summary below it."""
    shown = BaseEstimator._repr_mimebundle_(self, **kwargs)
    if "text/html" in shown:
        shown["text/html"] += _summary_html(self)
    return shown


def _summary_html(estimator: Any) -> str:
    if not estimator.__sklearn_is_fitted__():
        return ""
    return f"<details open><summary>The fitted model</summary><pre>{escape(summary(estimator))}</pre></details>"
