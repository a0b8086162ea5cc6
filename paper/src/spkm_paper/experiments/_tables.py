"""From results to tables: means and deviations over the splits, and a paired test against the best competitor."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import wilcoxon

from spkm_paper.experiments._blocks import Table
from spkm_paper.experiments._tasks import Result, Results

FEWEST_PAIRS = 6  # of fewer splits not even a unanimous verdict of the test is below 0.05
#: For the readers of comparisons.
TEST_NOTE = (
    "Δ is the mean difference, on the same splits, to the competitor that is best by its mean; p is the two-sided "
    f"Wilcoxon signed-rank test of it, given from {FEWEST_PAIRS} splits on. Splits share samples: p is too small."
)


@dataclass(frozen=True)
class Line:
    """A row of a comparison.

    Parameters
    ----------
    method : str
        Name of the method in the results, and in the table.
    paper : str
        What the paper has in its place.
    competitor : bool
        Whether others are compared with it.
    """

    method: str
    paper: str = ""
    competitor: bool = False


def comparison(
    results: Results,
    data: str,
    title: str,
    lines: Iterable[Line],
    measure: str,
    head: str,
    more: Mapping[str, str] | None = None,
    form: str = "{:.1f}",
    larger_is_better: bool = True,
    notes: Sequence[str] = (),
) -> Table:
    """Return the table of one data set: a line for each method that has results or a number in the paper.

    Parameters
    ----------
    results : Results
        Of the experiment.
    data, title : str
        The data set, and the table's title.
    lines : iterable of Line
        The methods, in their order.
    measure, head : str
        The number to compare by, and the head of its column.
    more : mapping of str to str, default=None
        Other numbers whose means to show, with the heads of their columns.
    form : str
        How the number is written.
    larger_is_better : bool
        Whether the best competitor is the one with the largest mean.
    notes : sequence of str
        Notes of this table.
    """
    lines, more = list(lines), more or {}
    found = {line.method: results.by_seed(data, line.method, measure) for line in lines}
    best = _best([line.method for line in lines if line.competitor], found, larger_is_better)
    rows = []
    for line in lines:
        values = np.array(list(found[line.method].values()), dtype=float)
        if not len(values) and not line.paper:
            continue
        others = [mean_of(results.values(data, line.method, name), "{:.4g}") for name in more]
        delta, p = ("", "") if best in (None, line.method) else _against(found[line.method], found[str(best)], form)
        ours = mean_and_deviation(values, form)
        rows.append([line.method, ours, line.paper, *others, delta, p, str(len(values))])
    columns = ["method", head, "paper", *more.values(), "Δ", "p", "splits"]
    compared = [f"Best competitor: {best}."] if best else []
    return Table(title, columns, rows, [*notes, *compared])


def mean_and_deviation(values: np.ndarray, form: str = "{:.1f}") -> str:
    """Return mean ± standard deviation over the splits; the mean alone of one, nothing of none.

    Examples
    --------
    >>> mean_and_deviation(np.array([1.0, 3.0]))
    '2.0 ± 1.4'
    """
    if not len(values):
        return ""
    text = mean_of(values, form)
    return text if len(values) == 1 else f"{text} ± {form.format(values.std(ddof=1))}"


def mean_of(values: np.ndarray, form: str) -> str:
    """Return the mean, or nothing of no values."""
    return form.format(values.mean()) if len(values) else ""


def paired_p(differences: np.ndarray) -> float:
    """Return p of the two-sided Wilcoxon signed-rank test, differences of zero counted half to either side.

    Examples
    --------
    >>> paired_p(np.zeros(8)), round(paired_p(np.arange(1.0, 9.0)), 4)
    (1.0, 0.0078)
    """
    if not np.any(differences):
        return 1.0
    return float(wilcoxon(differences, zero_method="zsplit").pvalue)


def runs_csv(results: Sequence[Result]) -> str:
    """Return the runs of an experiment as CSV: a line for each, a column for each number but lists of them."""
    scalars = [{k: v for k, v in (r.numbers or {}).items() if isinstance(v, int | float)} for r in results]
    names = list(dict.fromkeys(name for numbers in scalars for name in numbers))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["data", "split", "method", *names, "run_seconds", "warnings", "failure"])
    for result, numbers in zip(results, scalars, strict=True):
        cells = [numbers.get(name, "") for name in names]
        failure = "".join((result.error or "").splitlines()[-1:])
        task = result.task
        writer.writerow([task.data, task.seed, task.method, *cells, result.seconds, len(result.warnings), failure])
    return text.getvalue()


def _best(methods: Sequence[str], found: Mapping[str, Mapping[int, float]], larger_is_better: bool) -> str | None:
    means = {method: np.mean(list(found[method].values())) for method in methods if found[method]}
    if not means:
        return None
    return (max if larger_is_better else min)(means, key=lambda method: means[method])


def _against(ours: Mapping[int, float], theirs: Mapping[int, float], form: str) -> tuple[str, str]:
    """Return the mean difference over the splits that both have, and p."""
    both = sorted(set(ours) & set(theirs))
    if not both:
        return "", ""
    differences = np.array([ours[seed] - theirs[seed] for seed in both])
    p = f"{paired_p(differences):.3f}" if len(both) >= FEWEST_PAIRS else ""
    return _signed(float(differences.mean()), form), p


def _signed(value: float, form: str) -> str:
    """Return a number with its sign, but zero, also where it is rounded to it, without."""
    text = form.replace("{:", "{:+").format(value)
    return text if any(digit in text for digit in "123456789") else text[1:]
