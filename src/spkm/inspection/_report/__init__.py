"""The report: a fitted model in one file, to be read, asked and passed on.

``facts`` in `_facts.py` makes plain data of a model and its samples; `_html.py`, `_markdown.py` and JSON show them. A
part of the page has a file here that returns its facts, and a script in `page/` that draws them:

=============== ========================= ==========================================================
key             facts                     drawn by
=============== ========================= ==========================================================
answer          `_answer.py`              the head of the page, `overview.js`
first, checks   `_findings.py`            `overview.js`, `sections.js`
quality, beside `_quality.py`             `sections.js`, `overview.js`: the model beside simple ones
by_group        `_groups.py`              `overview.js`, `sections.js`
columns         `_features.py`,           `parts.js`: a category is one column, with its importance
                `_importance_facts.py`    and its effect
selection       `_selection.py`           `overview.js`: features that were chosen, how surely
pairs           `_pair_facts.py`          `pairs.js`: named entities of both sides
order, survival `_target_facts.py`        `targets.js`: score axis, survival curves
axis            `_axis.py`                `axis.js`: curves of ordered features
basis           `_basis_facts.py`         `parts.js`
page, refits    `_machine.py`             `machine.js` and all that computes in the browser
page.edit       `_machine.py`             `edit.js`: weights solved again after an edit by hand
=============== ========================= ==========================================================

**A kind of target** adds its section by three functions: one in `_quality.py` that returns ``n``, ``metrics`` (each a
name, value, low, high and better), ``note``, ``baseline`` and ``figures``; a branch of ``compared`` for its measure
beside a constant; its sentences in `_answer.py`. ``figures`` need no script: each is a dict of ``title``, ``note``,
``alt``, ``head`` and ``rows`` of its table, and either ``lines`` (``x``, ``x_label``, ``y_label`` and ``series`` of
name, values, low, high) or ``bars`` (``labels`` and ``values``).

**Two tables** have a page of their own: facts in `_relations.py`, drawn by `relations.js` with the same charts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from spkm._arrays import FileName, TableLike, TargetLike
from spkm.inspection._report._facts import Options, facts
from spkm.inspection._report._html import check_suffix, embedded, to_html, write_facts
from spkm.inspection._report._markdown import to_markdown
from spkm.inspection._report._relations import canonical_report

__all__ = ["canonical_report", "facts", "report", "to_html", "to_markdown"]

KINDS = {".html": to_html, ".htm": to_html, ".md": to_markdown, ".json": embedded}


def report(
    estimator: BaseEstimator,
    path: FileName,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    train: tuple[Any, Any] | None = None,
    title: str | None = None,
    target: str | None = None,
    units: dict[str, str] | None = None,
    stability: Any = None,
    categories: dict[str, Any] | None = None,
    groups: Any = None,
    x: Any = None,
    entities: tuple[Any, Any] | None = None,
    privacy: str = "rows",
    max_rows: int = 1000,
    random_state: int = 0,
) -> Path:
    """Write what a fitted model learned, how good it is and why it predicts what it does, into one file.

    The page opens from a disk without a network. It holds the model itself: it explains rows that are picked or
    pasted, and predicts what happens when features are different. On opening it compares its predictions with ours.

    Parameters
    ----------
    estimator : fitted estimator
        Any of this library, or a pipeline that ends with one. After a :class:`~spkm.TableEncoder` the page speaks of
        the columns of its table: a category is one thing.
    path : str or Path
        File to write: ``.html`` is a page, ``.md`` a model card, ``.json`` the facts themselves.
    X, y : table and targets, default of y None
        Samples, best ones that the model was not fitted on. For an estimator of pairs X are the pairs, or (pairs,
        left, right).
    train : (X, y), default=None
        The training samples: then ranges are theirs, and the report compares with a linear model and with the score on
        them.
    title : str, default=None
        Title of the page, in your words: "Who thrives: a model of 300 seedlings". None names the target and how many
        samples there are.
    target : str, default=None
        Name of the target; None is the name of y where it is a Series.
    units : dict from a column to its unit, default=None
        Units of features.
    stability : StabilitySelection or int, default=None
        How often features are chosen on halves of the samples, by :func:`spkm.stability_selection`. A number draws so
        many pairs of halves of ``train``; each takes about two fits.
    categories : dict from a name to columns, default=None
        Columns of which exactly one is 1, the dummies of a category: the page takes the level, and explains it as
        one feature. A TableEncoder brings its own.
    groups : column, values of one, or list or frame of these, default=None
        Columns of X by name or number, or values that the model does not read: the page shows the quality in every
        group, with intervals, and the largest gap. Numbers of many values are cut into quarters. A dict is taken for
        ``categories``, as before version 0.3.
    x : array-like of shape (d,), False or None, default=None
        Places of the features on an axis, such as wavelengths: vectors, effects and Shapley values are then curves.
        None takes them from names that are numbers, "1210" or "1210 nm"; False never draws curves.
    entities : pair of sequences of str, default=None
        Names of the entities of both sides, for an estimator of pairs. None are the index of the frames of the fit, or
        numbers.
    privacy : {"rows", "aggregate"}, default="rows"
        "aggregate" puts no sample into the file: no rows, no neighbours, no least and largest values.
    max_rows : int, default=1000
        Most samples in the file: chosen by class or by target, without chance. If there are many features, fewer fit.
    random_state : int, default=0
        Seed of the resamples behind intervals. Equal inputs make equal files.

    Returns
    -------
    path : Path
        The file. It is there as a whole or not at all.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from sklearn.datasets import load_iris
    >>> from spkm import SPKMClassifier
    >>> from spkm.inspection import report
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = SPKMClassifier(n_basis=3, random_state=0).fit(X[::2], y[::2])
    >>> path = report(model, mkdtemp() + "/iris.html", X[1::2], y[1::2])
    >>> path.stat().st_size < 150_000
    True
    """
    check_suffix(path, KINDS)
    options = Options(
        *(train, title, target, units, stability, categories, groups),
        *(x, entities, privacy, max_rows, random_state),
    )
    return write_facts(path, KINDS, facts(estimator, X, y, options))
