"""The report of two tables: the components of an SPKMCCA, their certainty and their shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from spkm._arrays import FileName, RandomState, TableLike, TargetLike
from spkm._checks import check_choice
from spkm.explain import Relation, relations
from spkm.explain._canonical import TABLES, sentence_on_tables
from spkm.inspection._display import number
from spkm.inspection._reading import Reading
from spkm.inspection._report._axis import axis_of
from spkm.inspection._report._facts import settings_of, versions
from spkm.inspection._report._html import check_suffix, embedded, page_of, write_facts
from spkm.inspection._report._markdown import table_of, text_of
from spkm.inspection._report._samples import rounded

SURE = 0.05  # p-value up to which a relation is taken for more than chance
MOST_POINTS = 500  # samples of a scatter
MOST_ENTRIES = 20  # features of a component and a table
MOST_EFFECTS = 4  # curves of effects of a component and a table
SCRIPTS = ("dom.js", "charts.js", "relations.js")


def canonical_report(
    estimator: BaseEstimator,
    path: FileName,
    X: TableLike,
    y: TargetLike,
    *,
    title: str | None = None,
    tables: tuple[str, str] = TABLES,
    x_axis: Any = None,
    y_axis: Any = None,
    n_permutations: int = 999,
    privacy: str = "rows",
    random_state: RandomState = 0,
) -> Path:
    """Write a page on the relation of two tables: its features, its shape and its certainty.

    The page opens from a disk without a network: for each component a sentence, the weights of the features of both
    tables as bars, or as curves over an axis, the scores of samples against one another, and effects of the features
    on the scores. Every chart has its numbers as a table.

    Parameters
    ----------
    estimator : fitted SPKMCCA
        The components.
    path : str or Path
        File to write: ``.html`` is a page, ``.md`` a card, ``.json`` the facts themselves.
    X, y : tables
        Samples, best those that the fit has not used: correlations and p-values are honest only then.
    title : str, default=None
        Title of the page.
    tables : pair of str, default=("X", "Y")
        Names of the tables: ("genes", "proteins").
    x_axis, y_axis : array-like of shapes (d_x,) and (d_y,), False or None, default=None
        Places of the features on an axis, such as wavelengths: weights are then curves. None takes them from names that
        are numbers; False never draws curves.
    n_permutations : int, default=999
        Random orders of the samples for the p-values, at least 19: fewer never reach a p-value of 0.05.
    privacy : {"rows", "aggregate"}, default="rows"
        "aggregate" puts no score of a sample into the file.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the orders. Equal inputs make equal files.

    Returns
    -------
    path : Path
        The file. It is there as a whole or not at all.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> import numpy as np
    >>> from spkm import SPKMCCA
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((200, 6)), rng.standard_normal((200, 4))
    >>> Y[:, 0] += X[:, 1]
    >>> model = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0).fit(X[:100], Y[:100])
    >>> path = model.report(mkdtemp() + "/tables.html", X[100:], Y[100:])
    >>> path.stat().st_size < 100_000
    True
    """
    kinds = {".html": _page, ".htm": _page, ".md": _card, ".json": embedded}
    check_suffix(path, kinds)
    check_choice("privacy", privacy, ("rows", "aggregate"))
    if isinstance(tables, str) or len(tables) != 2:
        raise ValueError(f"tables must be a pair of names, one for each table; got {tables!r}.")
    tables = str(tables[0]), str(tables[1])
    found = relations(estimator, X, y, n_permutations=n_permutations, random_state=random_state)
    facts = {
        "schema": 1,
        "title": title or f"The relation of {tables[0]} and {tables[1]}",
        "answer": [_answer(found, tables), sentence_on_tables(estimator, tables)],
        "cautions": [text for one in found for text in one.cautions()],
        "tables": list(tables),
        "axes": [_axis(estimator, side, axis) for side, axis in (("x", x_axis), ("y", y_axis))],
        "n": found[0].n,
        "privacy": privacy,
        "relations": _described(estimator, found, X, y, tables, privacy),
        "settings": settings_of(estimator),
        "versions": versions(),
    }
    return write_facts(path, kinds, facts)


def _answer(found: list[Relation], tables: tuple[str, str]) -> str:
    """Return whether the tables go together, in a sentence."""
    n, sure = found[0].n, [one for one in found if one.p_value <= SURE]
    if not sure:
        what = f"No relation of {tables[0]} and {tables[1]} was found on {n:,} samples"
        return f"{what}: what there is may be chance (p above {SURE})."
    strongest, most = max(one.correlation for one in sure), max(one.p_value for one in sure)
    count = f"{len(sure)} of {len(found)} components are" if len(found) > 1 else "the relation is"
    return (
        f"{tables[0]} and {tables[1]} go together: {count} more than chance on {n:,} samples (p at most "
        f"{number(most, 2)}), with a correlation of {'up to ' * (len(sure) > 1)}{strongest:.2f}."
    )


def _axis(estimator: Any, side: str, given: Any) -> dict[str, Any] | None:
    axis = axis_of(Reading.of(estimator.side(side)), given)
    return None if axis is None else {"label": axis["label"], "values": rounded(axis["values"], 8)}


def _described(
    estimator: Any, found: list[Relation], X: Any, y: Any, tables: tuple[str, str], privacy: str
) -> list[dict[str, Any]]:
    """Return the facts of each component."""
    scores = estimator.transform(X), estimator.transform_y(y)
    rows = np.unique(np.linspace(0, len(scores[0]) - 1, MOST_POINTS).astype(int))
    weights = estimator.x_weights_, estimator.y_weights_
    return [
        {
            "name": f"Component {one.place + 1}",
            "sentence": one.sentence(tables),
            "training": rounded(one.training),
            "validation": rounded(one.validation),
            "correlation": rounded(one.correlation),
            "interval": rounded(one.interval),
            "p_value": rounded(one.p_value),
            "entries": [_entries(own, one.place, privacy) for own in one.entries],
            "left_out": [max(0, len(own) - MOST_ENTRIES) for own in one.entries],
            "weights": [rounded(w[one.place]) for w in weights],
            "points": None
            if privacy == "aggregate"
            else [rounded(pair) for pair in zip(*(s[rows, one.place] for s in scores), strict=True)],
            "rows": None if privacy == "aggregate" else rows.tolist(),
        }
        for one in found
    ]


def _entries(own: Any, place: int, privacy: str) -> list[dict[str, Any]]:
    """Return the features of a component in one table; the grid of an effect ends at the largest value of a sample."""
    drawn = MOST_EFFECTS if privacy == "rows" else 0
    return [
        {
            "name": e.name,
            "weight": rounded(e.weight),
            "vector": rounded(e.vector),
            "shape": e.shape(place),
            "grid": rounded(e.effect.grid[0]) if k < drawn else None,
            "effect": rounded(e.effect.values[:, place]) if k < drawn else None,
        }
        for k, e in enumerate(own[:MOST_ENTRIES])
    ]


def _page(facts: dict[str, Any]) -> str:
    return page_of(facts["title"], facts["answer"][0], SCRIPTS, embedded(facts))


def _card(facts: dict[str, Any]) -> str:
    """Return the facts as Markdown."""
    lines = [f"# {text_of(facts['title'])}", "", text_of(" ".join(facts["answer"])), ""]
    lines += [f"- **Caution:** {text_of(text)}" for text in facts["cautions"]]
    for one in facts["relations"]:
        rows = [
            ["on the samples of this card", one["correlation"], *one["interval"], one["p_value"]],
            ["held out by the fit", one["validation"], None, None, None],
            ["on the samples of the fit", one["training"], None, None, None],
        ]
        lines += ["", f"## {one['name']}", "", text_of(one["sentence"]), ""]
        lines += [*table_of(["correlation", "value", "low", "high", "p"], rows), ""]
        features = [
            [table, e["name"], e["weight"], e["vector"], e["shape"]]
            for table, own in zip(facts["tables"], one["entries"], strict=True)
            for e in own
        ]
        lines += table_of(["table", "feature", "weight", "vector", "effect on the score"], features)
        lines += ["", f"{sum(one['left_out'])} more are not shown."] if sum(one["left_out"]) else []
    settings = ", ".join(f"{name}={value}" for name, value in facts["settings"].items()) or "defaults"
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return "\n".join([*lines, "", f"Settings: {text_of(settings)}. Versions: {versions}.", ""])
