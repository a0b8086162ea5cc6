"""Pictures of the pages that show how the library is used."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pictures._style import BLUE, GREEN, GREY, ORANGE, boxes, run_page
from spkm.inspection import PairMatrixDisplay


def start() -> Any:
    """Espresso: which temperature and time make a cup that is liked, as the model of the page predicts."""
    page = run_page("start")
    model, X, y = page["model"], page["X"], page["y"]
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained", sharey=True)
    water, seconds = np.meshgrid(np.linspace(86, 99, 41), np.linspace(12, 48, 41))
    for ax, roast in zip(axes, ("light", "medium", "dark"), strict=True):
        grid = pd.DataFrame({"roast": roast, "water_c": water.ravel(), "seconds": seconds.ravel(), "dose_g": 18.0})
        p = model.predict_proba(grid[X.columns])[:, 1].reshape(water.shape)
        filled = ax.contourf(water, seconds, p, levels=np.linspace(0, 1, 11), cmap="RdYlBu", alpha=0.85)
        for answer, mark, colour in (("yes", "o", BLUE), ("no", "x", "#8B1A1A")):
            some = X[(X["roast"] == roast) & (y == answer)]
            ax.scatter(some["water_c"], some["seconds"], s=9, marker=mark, linewidths=0.8, color=colour, label=answer)
        ax.set(title=f"{roast} roast", xlabel="water in °C", xlim=(86, 99), ylim=(12, 48))
    axes[0].set_ylabel("seconds")
    axes[0].legend(title="liked", fontsize=8, title_fontsize=8, loc="upper left", frameon=True, framealpha=0.9)
    figure.colorbar(filled, ax=axes, label="predicted probability that the cup is liked", shrink=0.95)
    return figure


def explain() -> Any:
    """Exact Shapley values of the first sample of the page."""
    page = run_page("explain", until="from spkm.explain import Normal")
    figure, ax = plt.subplots(figsize=(8.5, 4.2), layout="constrained")
    _bars(ax, page)
    return figure


def _bars(ax: Any, page: dict[str, Any]) -> None:
    explanation, X = page["explanation"], page["X"]
    parts = explanation.frame().iloc[0].sort_values(key=np.abs)
    shown = pd.concat([pd.Series({f"{len(parts) - 9} others": parts.iloc[:-9].sum()}), parts.iloc[-9:]])
    labels = [f"{name} = {X[name].iloc[0]:.4g}" if name in X else name for name in shown.index]
    ax.barh(labels, shown, color=np.where(shown > 0, BLUE, ORANGE))
    ax.axvline(0, color="0.2", linewidth=0.8)
    base, score = float(np.ravel(explanation.base_values)[0]), float(np.ravel(explanation.scores)[0])
    ax.set(
        title=f"usual score {base:+.2f}, and these parts, make {score:+.2f}: malignant",
        xlabel="exact Shapley value (right: for benign)",
    )


def select() -> Any:
    """Held-out loss against the number of features."""
    page = run_page("select")
    figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    path = page["path"].frame()
    ax.plot(path["n_features"], path["losses"], color=BLUE, marker="o")
    ax.set(
        xlabel="features in the model",
        ylabel="held-out loss",
        title="a feature leaves, and the loss is measured on held-out samples",
        xticks=path["n_features"],
    )
    return figure


def errors_of_selection() -> Any:
    """Statistics of knockoffs: how much more important each feature is than its copy."""
    page = run_page("errors_of_selection", until="from spkm import stability_selection")
    selector = page["selector"]
    values = selector.knockoff_statistics_
    figure, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
    ax.bar(range(len(values)), values, color=np.where(np.arange(len(values)) < 14, BLUE, GREY))
    ax.axhline(selector.knockoff_threshold_, color=ORANGE, label="threshold for a false discovery rate of 0.1")
    ax.axhline(0, color="0.2", linewidth=0.8)
    ax.set(
        xlabel="feature (blue: the 14 that matter)",
        ylabel="feature minus copy",
        title="how much more important a feature is than its made-up copy",
    )
    ax.legend()
    return figure


def genes() -> Any:
    """Honest and leaking validation, and the shares of halves that choose a gene."""
    page = run_page("genes")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), width_ratios=[1, 1.5], layout="constrained")
    bars = {
        "true types,\nhonest": page["honest"],
        "dealt types,\nhonest": page["dealt_honest"],
        "dealt types,\nleaking": page["leaking"],
    }
    left.bar(list(bars), [100 * one.mean() for one in bars.values()], color=[BLUE, GREY, ORANGE])
    left.axhline(50, color="0.2", linestyle=":", linewidth=1)
    left.set(ylabel="accuracy in four folds, %", ylim=(0, 100), title="genes chosen before the folds: too good")
    stable = page["stable"]
    shown = stable.frame().sort_values("probability").iloc[-14:]
    colours = [BLUE if name in page["matter"] else GREY for name in shown["feature"]]
    right.barh(shown["feature"], 100 * shown["probability"], color=colours)
    right.axvline(100 * stable.threshold, color=ORANGE, label="at most one false gene expected")
    right.set(xlabel="chosen on so many random halves of the patients, %", title="blue: the six genes that matter")
    right.legend(loc="lower right")
    return figure


def credit() -> Any:
    """Losses, reasons of a refusal, and a direction that holds for every applicant."""
    page = run_page("credit")
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(11, 3.5), width_ratios=[0.8, 1.3, 1.1], layout="constrained"
    )
    left.bar(list(page["losses"]), list(page["losses"].values()), color=[BLUE, GREY, GREY])
    left.set(title="held-out log loss", ylim=(0, 0.6))
    parts, applicant = page["parts"][::-1], page["applicant"].iloc[0]
    texts = [f"{page['title'](name)} {page['text'](applicant[name])}" for name in parts.index]
    middle.barh(texts, parts, color=np.where(parts > 0, ORANGE, BLUE))
    middle.axvline(0, color="0.2", linewidth=0.8)
    middle.set(title="reasons of one refusal, exact", xlabel="right: towards refusal")
    amounts = np.linspace(10_000, 90_000, 60)
    for late in (0, 1, 2, 3):
        rows = pd.concat([page["applicant"]] * len(amounts)).assign(income=amounts, late_payments=late)
        right.plot(
            amounts / 1000,
            page["model"].predict_proba(rows)[:, 1],
            color=plt.cm.viridis(late / 3.5),
        )
        end = (90, page["model"].predict_proba(rows)[-1, 1])
        right.annotate(f"{late}", end, (4, -6 if late == 0 else -1), textcoords="offset points")
    right.set(
        title="with 0, 1, 2, 3 late payments",
        xlabel="income in thousands",
        ylabel="probability of a refusal",
        ylim=(0, 1),
    )
    return figure


def uncertainty() -> Any:
    """A mean with its deviation, and conformal intervals."""
    page = run_page("uncertainty", until="from sklearn.datasets import load_iris")
    model, X, y = page["model"], page["X"], page["y"]
    x = np.linspace(-4, 4, 200)[:, None]
    mean, deviation = model.predict(x, return_std=True)
    _, intervals = page["conformal"].predict_interval(x)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
    for ax in (left, right):
        ax.scatter(X[:200], y[:200], s=6, color="0.6")
        ax.plot(x, mean, color=BLUE)
        ax.set_xlabel("x")
    left.fill_between(x[:, 0], mean - 2 * deviation, mean + 2 * deviation, color=BLUE, alpha=0.2)
    left.set_title("two standard deviations: wide where no sample was")
    right.fill_between(x[:, 0], intervals[:, 0, 1], intervals[:, 1, 1], color=GREEN, alpha=0.2)
    right.fill_between(x[:, 0], intervals[:, 0, 0], intervals[:, 1, 0], color=GREEN, alpha=0.35)
    right.set_title("conformal intervals of 80 and 95 %")
    return figure


def tables() -> Any:
    """Rows of a table before and after the encoder."""
    page = run_page("tables")
    encoder, X = page["encoder"], page["X"]
    names = list(encoder.get_feature_names_out())
    keep = [j for j, name in enumerate(names) if not name.startswith("supplier")]
    Z = np.asarray(encoder.transform(X.iloc[:12]), dtype=float)[:, keep]
    scaled = (Z - Z.min(axis=0)) / np.where(np.ptp(Z, axis=0) > 0, np.ptp(Z, axis=0), 1)
    figure, (above, below) = plt.subplots(2, 1, figsize=(10, 5.6), height_ratios=[1, 1.3], layout="constrained")
    above.set_axis_off()
    columns = ["species", "soil", "water_ml", "temperature_c", "light_hours", "fertilised"]
    cells = [["" if pd.isna(cell) else str(cell) for cell in row] for row in X[columns].iloc[:6].to_numpy()]
    shown = above.table(cells, colLabels=columns, loc="center", cellLoc="center")
    shown.auto_set_font_size(False)
    shown.set_fontsize(9)
    above.set_title("a table as it comes, with text and gaps")
    below.imshow(scaled, cmap="Blues", aspect="auto")
    below.set_xticks(range(len(keep)), [names[j] for j in keep], rotation=60, ha="right", fontsize=7.5)
    below.set(ylabel="sample", title="and as the model reads it: a feature for each level, and marks of gaps")
    return figure


def views() -> Any:
    """Share of each view of the page's model."""
    page = run_page("views", until="clf = SPKMClassifier(\n")
    figure, ax = plt.subplots(figsize=(7.5, 2.8), layout="constrained")
    usage = page["clf"].view_usage_
    ax.barh(list(usage), [100 * one.share for one in usage.values()], color=BLUE)
    ax.set(
        xlabel="share of the variance of the scores, %",
        title="three views of the samples, and how much each contributes",
    )
    return figure


def pairs() -> Any:
    """All pairs of the page, and R² by what is new."""
    page = run_page("pairs", until="import sklearn")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), width_ratios=[1.6, 1], layout="constrained")
    PairMatrixDisplay.from_estimator(page["model"], pairs=page["pairs"], ax=left)
    left.set_title("predicted affinity of all pairs (dots: measured)")
    names = {"pairs": "a new pair", "left": "a new drug", "right": "a new target", "both": "both new"}
    right.bar([names[new] for new in page["scores"]], list(page["scores"].values()), color=[BLUE, GREEN, GREEN, ORANGE])
    right.tick_params("x", rotation=20)
    right.set(ylabel="R² of held-out pairs", ylim=(0, 1), title="it depends on what is new")
    return figure


def ordinal() -> Any:
    """Probabilities of ordered classes along the score."""
    page = run_page("ordinal")
    model, X = page["model"], page["X"]
    x = np.zeros((200, 3))
    x[:, 0] = np.linspace(-3, 3, 200)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    for k, (name, colour) in enumerate(zip(model.classes_, (BLUE, GREEN, ORANGE), strict=True)):
        left.plot(x[:, 0], model.predict_proba(x)[:, k], color=colour, label=name)
        own = page["y"] == name
        right.scatter(X[own, 0], X[own, 1], s=10, color=colour, label=name)
    left.set(
        xlabel="first feature", ylabel="probability", title="one score and two thresholds: classes follow each other"
    )
    left.legend()
    right.set(xlabel="first feature", ylabel="second feature", title="the samples")
    return figure


def survival() -> Any:
    """Survival curves of three samples."""
    page = run_page("survival")
    model = page["model"]
    times = np.linspace(0.01, 1.45, 80)
    figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    rows = np.zeros((3, 4))
    rows[:, 0] = [-1.5, 0, 1.5]
    for x, curve, colour in zip(
        rows, model.predict_survival_function(rows, times=times), (BLUE, GREEN, ORANGE), strict=True
    ):
        ax.plot(times, curve, color=colour, label=f"first feature {x[0]:+.1f}")
    ax.set(xlabel="time", ylabel="probability of no event yet", ylim=(0, 1), title="a curve for every sample")
    ax.legend()
    return figure


def landmarks() -> Any:
    """Samples in the features that two landmarks make."""
    page = run_page("landmarks")
    features, y = page["features"], page["y"]
    figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
    for label, name, colour in ((0, "malignant", ORANGE), (1, "benign", BLUE)):
        ax.scatter(features[y == label, 0], features[y == label, 1], s=10, color=colour, label=name)
    ax.set(
        xlabel="first new feature",
        ylabel="second new feature",
        title="30 features become similarities to three landmarks",
    )
    ax.legend()
    return figure


def spectra() -> Any:
    """Spectra, their pretreatment, predictions with intervals and the bands behind one of them."""
    page = run_page("spectra", until="from sklearn.datasets import load_digits")
    nm, X, y, old = page["wavelengths"], page["X"], page["y"], page["old"]
    figure, axes = plt.subplots(2, 2, figsize=(11, 6.6), layout="constrained")
    colours = plt.cm.viridis(y / 40)
    for ax, rows, title in (
        (axes[0, 0], X, "spectra as measured"),
        (axes[0, 1], page["Z"], "second derivative and SNV"),
    ):
        for row, colour in zip(rows[::4], colours[::4], strict=True):
            ax.plot(nm, row, color=colour, linewidth=0.6)
        ax.set(title=title, xlabel="wavelength in nm")
    figure.colorbar(plt.cm.ScalarMappable(plt.Normalize(0, 40), "viridis"), ax=axes[0], label="share in %", shrink=0.8)
    ax, test = axes[1, 0], y[~old]
    middle, half = (page["low"] + page["high"]) / 2, (page["high"] - page["low"]) / 2
    ax.errorbar(test, middle, yerr=half, fmt="none", ecolor=GREY, elinewidth=0.8)
    ax.scatter(test, page["predicted"].ravel(), s=12, color=BLUE, zorder=3)
    ax.plot([0, 40], [0, 40], color="0.2", linewidth=0.8, linestyle=":")
    ax.set(xlabel="reference, %", ylabel="predicted, %", title="new specimens, with intervals of 90 %")
    reasons = page["reasons"]
    values = reasons.values[0, :, 0]
    axes[1, 1].bar(
        [name.removesuffix(" nm") for name in reasons.feature_names], values, color=np.where(values > 0, BLUE, ORANGE)
    )
    axes[1, 1].axhline(0, color="0.2", linewidth=0.8)
    axes[1, 1].tick_params("x", rotation=45, labelsize=8)
    axes[1, 1].set(xlabel="band in nm", ylabel="percentage points", title="one prediction: exact parts of ten bands")
    return figure


def command() -> Any:
    """The verbs of the command, by what they are for."""
    figure, ax = plt.subplots(figsize=(9.5, 3.2), layout="constrained")
    texts = [
        (0, 1, "a table\nspkm doctor"),
        (2.5, 1, "a model file\nspkm fit"),
        (5.6, 2.2, "each sample\npredict, explain, counterfactual"),
        (5.6, 1.4, "all samples\nprove"),
        (5.6, 0.6, "the model\ninspect, report, compare"),
        (5.6, -0.2, "in use\ncheck, export, serve"),
    ]
    boxes(ax, texts, [(0, 1)], width=2.1)
    for y in (2.2, 1.4, 0.6, -0.2):
        ax.plot([3.61, 3.9, 4.47], [1, y, y], color=GREY, linewidth=1)
    return figure


def deploy() -> Any:
    """The way of a model from a fit to other machines."""
    figure, ax = plt.subplots(figsize=(9.5, 2.9), layout="constrained")
    texts = [
        (0, 0.8, "fitted pipeline\nmodel.save(path)"),
        (2.4, 0.8, "model.spkm\nno pickle"),
        (4.9, 2.0, "spkm.load\nscikit-learn"),
        (4.9, 1.2, "runtime='numpy'\nNumPy alone"),
        (4.9, 0.4, "export\nPython C JS SQL ONNX"),
        (4.9, -0.4, "spkm serve\nHTTP, JSON"),
        (7.4, 0.8, "monitor, check\nis it still the same?"),
    ]
    boxes(ax, texts, [(0, 1)], width=1.95)
    for y in (2.0, 1.2, 0.4, -0.4):
        ax.plot([3.43, 3.6, 3.85], [0.8, y, y], color=GREY, linewidth=1)
        ax.plot([5.95, 6.2, 6.36], [y, 0.8, 0.8], color=GREY, linewidth=1)
    return figure


def prove() -> Any:
    """Probabilities along one column for each level of another, with the region of a statement that is proved."""
    page = run_page("prove", until="answer = prove")
    ages = np.arange(18, 80)
    figure, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
    ax.fill_between(
        [18, 30], 0, 0.2, color=GREEN, alpha=0.15, label="proved: at most 0.2 for nurses and bakers below 30"
    )
    for job, colour in (("nurse", BLUE), ("baker", GREEN), ("judge", ORANGE)):
        rows = pd.DataFrame({"age": ages, "job": job})
        ax.plot(ages, page["model"].predict_proba(rows)[:, 1], color=colour, label=job)
    ax.set(
        xlabel="age", ylabel="probability of yes", ylim=(0, 1.02), title="a statement about all samples, not about some"
    )
    ax.legend(fontsize=8)
    return figure
