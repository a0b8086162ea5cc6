"""The ranks and figures of README.md and of the first page, taken from the tables in ``benchmarks/results``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks._tables import FOLDER, Look, Table, look_in, parts, version_of

MEAN = "mean rank by accuracy or R²"
RANKS = f"all, both halves: {MEAN}"
ERROR = "standard error of the rank by accuracy or R²"
AGAINST = ("wins/losses", "ours minus theirs", "worst")  # rows of what is won and lost against each rival
RIVALS = ("kernel", "xRFM", "LightGBM tuned", "LightGBM", "CatBoost", "HistGB", "forest", "linear")
NAMES = {
    "kernel": "tuned SVM, kernel ridge or SVR",
    "LightGBM tuned": "LightGBM, tuned",
    "HistGB": "HistGradientBoosting",
    "forest": "random forest",
    "linear": "linear model",
}
RANK_MARKS = re.compile(r"<!-- ranks -->\n.*?<!-- end -->", re.DOTALL)
MARKS = re.compile(r"<!-- figures -->\n.*?<!-- end -->", re.DOTALL)


@dataclass(frozen=True)
class Figure:
    """A row of README.md: the task with its conditions, the benchmark that measures it, what peers have and ours."""

    task: str
    benchmark: str
    peer: Callable[[Look], str]
    ours: Callable[[Look], str]


def halves(look: Look, group: str, what: str, unit: str) -> str:
    """Return the figures of both halves of the panel."""
    found = []
    for half in "AB":
        row = f"{group}, half {half}: {what}"
        found.append(f"{look(row, 'measured')} {look(row, 'error')}".strip())
    return f"{' / '.join(found)} {unit}"


def whole(cell: str) -> str:
    """Return the mean of a cell such as "140.5 ± 2.5", as a whole number."""
    return f"{float(cell.split()[0]):.0f}"


def with_ranks(text: str, folder: Path = FOLDER) -> str:
    """Return a page with the mean rank of every method between its marks, the best first, and what is lost to each."""
    files = parts("ranks", folder)
    if not files:
        return text
    look, facts = look_in("ranks", folder), Table.read(files[0]).facts
    older = version_of(facts)
    columns = {"spkm, defaults": "measured", **{NAMES.get(name, name): name for name in RIVALS}}
    rows = {
        name: (look(RANKS, column), *(look(RANKS.replace(MEAN, of), column) for of in (ERROR, *AGAINST)))
        for name, column in columns.items()
    }
    lines = [
        "| method | mean rank | spkm wins / loses | points ahead | largest loss |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, (rank, error, won, gap, worst) in sorted(rows.items(), key=lambda row: float(row[1][0])):
        ours = name.startswith("spkm")
        cells = [f"**{name}**" if ours else name, f"**{rank} {error}**" if ours else f"{rank} {error}", won, gap, worst]
        lines.append("| " + " | ".join(cell.replace("± ", "±\u00a0") for cell in cells) + " |")
    told = f"<small>`{facts['command']}`" + (f", spkm {older}" if older else "") + "</small>"
    return RANK_MARKS.sub(lambda match: "<!-- ranks -->\n\n" + "\n".join([*lines, "", told]) + "\n\n<!-- end -->", text)


FIGURES = (
    Figure(
        "**Two classes**: points of accuracy above a tuned SVM, on 14 tables (the half on which rules were chosen / "
        "the other half)",
        "panel_classes",
        lambda look: "0",
        lambda look: halves(look, "two classes", "accuracy minus tuned SVC", "points"),
    ),
    Figure(
        "**Numbers**: points of R² above the better of tuned kernel ridge and SVR, on 19 tables (halves as above)",
        "panel",
        lambda look: "0",
        lambda look: halves(look, "regression", "R² minus tuned KRR or SVR", "points"),
    ),
    Figure(
        "**Censored times**: mean rank of five methods by concordance on ten sets, 1 the best",
        "survival",
        lambda look: ", ".join(
            f"{name} {look('mean rank, concordance', name)}" for name in ("ridge Cox", "Coxnet", "forest", "boosting")
        ),
        lambda look: look("mean rank, concordance", "measured"),
    ),
    Figure(
        "**Ordered classes**: mean rank of five methods by absolute error on eight sets, 1 the best",
        "ordinal",
        lambda look: ", ".join(
            f"{title} {look('mean rank, MAE', name)}"
            for name, title in {
                "REDSVM": "REDSVM",
                "LogisticAT": "LogisticAT",
                "rounded": "rounded regression",
                "classifier": "classifier without order",
            }.items()
        ),
        lambda look: look("mean rank, MAE", "measured"),
    ),
    Figure(
        "**Two tables**: features found (F1, 1 is perfect) and correlation on new samples, for a square relation among "
        "100 columns in each",
        "cca",
        lambda look: (
            f"ElasticNetCCA F1 {look('square, d = 100, F1', 'ElasticNetCCA')}, PMDCCA "
            f"{look('square, d = 100, F1', 'PMDCCA')}, KCCA correlation {look('square, d = 100, correlation', 'KCCA')}"
        ),
        lambda look: (
            f"F1 {look('square, d = 100, F1', 'measured')}, correlation "
            f"{look('square, d = 100, correlation', 'measured')}"
        ),
    ),
    Figure(
        "**Shapley values** of one prediction: time, and error relative to the largest value; 30 features",
        "explain",
        lambda look: (
            f"shap's KernelExplainer: {look('shap KernelExplainer, defaults', 'measured')} ms, error "
            f"{float(look('shap KernelExplainer, defaults', 'error')):.0%}"
        ),
        lambda look: f"{look('rbf, 30 features', 'measured')} ms, error {look('rbf, 30 features', 'error')}",
    ),
    Figure(
        "**10 of 100 features matter**: accuracy for a polynomial of degree 2, 500 samples to fit",
        "simulated",
        lambda look: (
            f"SVM on all features: {look('degree 2, n = 500: SVC, all columns', 'measured')} %; on those ten: "
            f"{look('degree 2, n = 500: SVC, oracle', 'measured')} %"
        ),
        lambda look: (
            f"{look('degree 2, n = 500: ours, fit on train', 'measured')} % (mean of "
            f"{look('degree 2, n = 500: ours, fit on train', 'seeds')} draws), precision "
            f"{look('degree 2, n = 500: ours, fit on train', 'precision')}, recall "
            f"{look('degree 2, n = 500: ours, fit on train', 'recall')}"
        ),
    ),
    Figure(
        "**Few words of 4,862**: accuracy on BASEHOCK, 1,993 texts",
        "wide_sets",
        lambda look: (
            f"l1-logistic regression: {look('basehock, l1-logistic, fitted on train + val', 'measured')} % with "
            f"{whole(look('basehock, l1-logistic, fitted on train + val', 'columns'))} words"
        ),
        lambda look: (
            f"{look('basehock, ours, 5 folds of train + val', 'measured')} % with "
            f"{whole(look('basehock, ours, 5 folds of train + val', 'columns'))}"
        ),
    ),
    Figure(
        "**Speed**: CPU time to fit and to predict, over that of spkm at no less accuracy; 20,000 made-up samples of "
        "50 features, the tuning of the SVM not counted",
        "svc",
        lambda look: (
            f"SVM of scikit-learn {look('fit, n', 'measured')} and {look('predict, 2', 'measured')}, of "
            f"scikit-learn-intelex {look('fit, SVC of', 'measured')} and {look('predict, SVC of', 'measured')}"
        ),
        lambda look: "1 and 1",
    ),
)


def with_figures(text: str, folder: Path = FOLDER) -> str:
    """Return README.md with the table of figures between its marks; a benchmark without results has no row."""
    lines = ["| figure | others | spkm | benchmark |", "| --- | --- | --- | --- |"]
    for figure in FIGURES:
        files = parts(figure.benchmark, folder)
        if not files:
            continue
        look = look_in(figure.benchmark, folder)
        facts = Table.read(files[0]).facts
        older = version_of(facts)
        told = f"`{facts['command'].removeprefix('python -m benchmarks ')}`" + (f" (spkm {older})" if older else "")
        lines.append(f"| {figure.task} | {figure.peer(look)} | {figure.ours(look)} | {told} |")
    return MARKS.sub(lambda match: "<!-- figures -->\n\n" + "\n".join(lines) + "\n\n<!-- end -->", text)
