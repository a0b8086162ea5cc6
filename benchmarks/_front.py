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
        "| method | mean rank ± standard error | tables that spkm wins / loses | spkm minus the method, points "
        "| largest loss of spkm, points |",
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
        "**Two classes, ours minus a tuned SVM** in points of accuracy: above 0 ours is better. Defaults; 14 public "
        "tables, 3 random splits, at most 1,500 training samples; the half of the tables on which rules were chosen / "
        "the other half",
        "panel_classes",
        lambda look: "0",
        lambda look: halves(look, "two classes", "accuracy minus tuned SVC", "points"),
    ),
    Figure(
        "**Regression, ours minus the better of tuned kernel ridge and SVR** in points of R²: above 0 ours is better. "
        '`n_basis="auto"`; 19 public tables, medians; halves as above',
        "panel",
        lambda look: "0",
        lambda look: halves(look, "regression", "R² minus tuned KRR or SVR", "points"),
    ),
    Figure(
        "**Censored times**, mean rank among five methods, 1 the best: lower is better. Concordance on ten sets, "
        "five repeats of five folds; at most 10 vectors",
        "survival",
        lambda look: ", ".join(
            f"{name} {look('mean rank, concordance', name)}" for name in ("ridge Cox", "Coxnet", "forest", "boosting")
        ),
        lambda look: look("mean rank, concordance", "measured"),
    ),
    Figure(
        "**Ordered classes**, mean rank among five methods by absolute error and by accuracy, 1 the best: lower is "
        "better. Eight sets, five folds",
        "ordinal",
        lambda look: ", ".join(
            f"{name} {look('mean rank, MAE', name)}; {look('mean rank, accuracy', name)}"
            for name in ("REDSVM", "LogisticAT", "rounded", "classifier")
        ),
        lambda look: f"{look('mean rank, MAE', 'measured')}; {look('mean rank, accuracy', 'measured')}",
    ),
    Figure(
        "**Two tables**: ours finds the features of a relation without a linear part (F1, 1 is perfect) and its "
        "correlation on new samples. A square, 100 columns in each table",
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
        "**Shapley values of one prediction**, time and error: ours are exact, and take less time. 30 features, 8 "
        "vectors, 100 background samples; error relative to the largest value",
        "explain",
        lambda look: (
            f"shap's KernelExplainer: {look('shap KernelExplainer, defaults', 'measured')} ms, error "
            f"{float(look('shap KernelExplainer, defaults', 'error')):.0%}"
        ),
        lambda look: f"{look('rbf, 30 features', 'measured')} ms, error {look('rbf, 30 features', 'error')}",
    ),
    Figure(
        "**10 of 100 features matter**: ours finds them and predicts better than an SVM that is given them. A "
        "polynomial of degree 2, 500 samples to fit, 500 to choose; accuracy",
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
        "**Few words of many**: ours takes a fraction of the words of l1. BASEHOCK, 1,993 texts of 4,862 words, at "
        "most 150 of them, two thirds to train; accuracy",
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
        "**Time of an SVM over ours**, to fit; to predict, at no less accuracy: above 1 ours is faster. CPU seconds, "
        "20,000 made-up samples of 50 features; the SVM's tuning is not counted",
        "svc",
        lambda look: (
            f"scikit-learn {look('fit, n', 'measured')}; {look('predict, 2', 'measured')}. "
            f"scikit-learn-intelex {look('fit, SVC of', 'measured')}; {look('predict, SVC of', 'measured')}"
        ),
        lambda look: "1; 1",
    ),
)


def with_figures(text: str, folder: Path = FOLDER) -> str:
    """Return README.md with the table of figures between its marks; a benchmark without results has no row."""
    lines = ["| figure, conditions and command | others | ours |", "| --- | --- | --- |"]
    for figure in FIGURES:
        files = parts(figure.benchmark, folder)
        if not files:
            continue
        look = look_in(figure.benchmark, folder)
        facts = Table.read(files[0]).facts
        older = version_of(facts)
        told = f"`{facts['command']}`" + (f", spkm {older}" if older else "")
        lines.append(f"| {figure.task} ({told}) | {figure.peer(look)} | {figure.ours(look)} |")
    return MARKS.sub(lambda match: "<!-- figures -->\n\n" + "\n".join(lines) + "\n\n<!-- end -->", text)
