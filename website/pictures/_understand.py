"""Pictures of the pages that explain, judge and extend the library."""

from __future__ import annotations

import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from benchmarks._tables import FOLDER, Table
from pictures._style import BLUE, GREEN, GREY, ORANGE, boxes, run_page
from spkm import SPKMRegressor, datasets
from spkm.kernels import RBF, Laplacian, Matern, RationalQuadratic


def how() -> Any:
    """A model of four vectors as the sum of its bumps."""
    X, y = datasets.make_waves(120, 1, noise=0.12, random_state=0)
    model = SPKMRegressor(n_basis=4, kernel="rbf", linear_part=False, random_state=0).fit(X, y)
    x = np.linspace(-1, 1, 200)[:, None]
    parts = model.model_.contributions(x)[:, :, 0]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
    for r in range(parts.shape[1]):
        left.plot(x, parts[:, r], color=BLUE if parts[:, r].sum() > 0 else ORANGE)
        at = float(model.basis_vectors_[r, 0])
        left.plot([at], [0], marker="D", color="black", markersize=5)
    left.axhline(0, color="0.3", linewidth=0.8)
    left.set(title="four bumps, each around a learned vector (diamonds)", xlabel="x", ylabel="weight × similarity")
    right.scatter(X, y, s=8, color="0.6", label="samples")
    right.plot(x, model.predict(x), color=BLUE, label="their sum: the model")
    right.set(title="and their sum, with the intercept", xlabel="x", ylabel="y")
    right.legend()
    return figure


def teach() -> Any:
    """The lesson's three models: a bump at every sample, two bumps, and two bumps that have moved."""
    page = run_page("teach", until="stuck")
    x, bumps, grid = page["x"], page["bumps"], np.linspace(-1, 1, 200)[:, None]
    models = {
        "60 bumps, one at every sample": (x, np.linalg.solve(bumps(x, x) + 0.1 * np.eye(60), page["y"])),
        "2 bumps, where they start": (page["start"], page["weights"](page["start"])),
        "2 bumps, after the descent": (page["u"], page["weights"](page["u"])),
    }
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, layout="constrained")
    for ax, (title, (u, c)) in zip(axes, models.items(), strict=True):
        ax.plot(grid, bumps(grid, u) * c, color=ORANGE, linewidth=0.8, alpha=0.6)
        ax.plot(u, np.zeros(len(u)), "D", color="black", markersize=4)
        ax.scatter(x, page["y"], s=8, color="0.6")
        ax.plot(grid, bumps(grid, u) @ c, color=BLUE)
        ax.set(title=title, xlabel="x", ylim=(-1.6, 1.6))
    return figure


def choose() -> Any:
    """Kernels against the distance to a basis vector."""
    t = np.linspace(-4, 4, 400)[:, None]
    figure, ax = plt.subplots(figsize=(8.5, 3.6), layout="constrained")
    kernels = {"rbf": RBF(0.5), "matern": Matern(1.5, gamma=0.5), "laplacian": Laplacian(0.7)}
    kernels["rational_quadratic"] = RationalQuadratic(1.0, gamma=0.3)
    for (name, kernel), colour in zip(kernels.items(), (BLUE, GREEN, ORANGE, "#CC79A7"), strict=True):
        ax.plot(t, kernel(t, np.zeros((1, 1))), color=colour, label=name)
    ax.set(
        xlabel="distance from the basis vector",
        ylabel="similarity",
        title="kernels differ in how far a vector is felt, and in their peak",
    )
    ax.legend()
    return figure


def made() -> Any:
    """The made-up data sets."""
    figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
    X, y = datasets.make_spirals(300, random_state=0)
    axes[0].scatter(*X.T, s=6, c=np.where(y == 1, ORANGE, BLUE))
    axes[0].set_title("make_spirals")
    X, y = datasets.make_waves(600, 2, random_state=0)
    axes[1].scatter(*X.T, s=8, c=y, cmap="RdYlBu_r")
    axes[1].set_title("make_waves")
    spectra = datasets.make_spectra(30, 1, random_state=0)
    for row, share in zip(spectra.X, spectra.y, strict=True):
        axes[2].plot(spectra.wavelengths, row, linewidth=0.7, color=plt.cm.viridis(share / 40))
    axes[2].set_title("make_spectra")
    X, y, relevant = datasets.make_sparse_relation("quadratic", 400, 20, random_state=0)
    axes[3].scatter(X[:, relevant[0]], X[:, relevant[1]], s=6, c=np.where(y == 1, ORANGE, BLUE))
    axes[3].set_title("make_sparse_relation")
    return figure


def when_not() -> Any:
    """Outside the samples a sum of bumps returns to its linear part; a step needs many vectors."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (150, 1))
    grid = np.linspace(-6, 6, 300)[:, None]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
    y = x[:, 0] ** 2 + 0.2 * rng.standard_normal(150)
    model, linear = SPKMRegressor(random_state=0).fit(x, y), LinearRegression().fit(x, y)
    left.scatter(x, y, s=8, color="0.6")
    left.plot(grid, model.predict(grid), color=BLUE, label="ours")
    left.plot(grid, grid[:, 0] ** 2, color=GREY, linestyle=":", label="truth")
    left.plot(grid, linear.predict(grid), color=ORANGE, label="linear")
    left.set(ylim=(-2, 15), title="beyond the samples nothing is known", xlabel="x")
    left.legend(fontsize=8)
    y = np.floor(3 * x[:, 0]) % 2 + 0.05 * rng.standard_normal(150)
    model = SPKMRegressor(random_state=0).fit(x, y)
    inside = np.linspace(-2, 2, 400)[:, None]
    right.scatter(x, y, s=8, color="0.6")
    right.plot(inside, model.predict(inside), color=BLUE)
    right.set(title="steps are for trees: bumps are smooth", xlabel="x")
    return figure


def bound() -> Any:
    """The bounds of the page beside the error of new samples."""
    page = run_page("bound", until="from spkm.kernels import RBF")
    found, X, y = page["bound"], page["X_new"], page["y_new"]
    bars = {
        "error of 5,000\nnew samples": 1 - found.estimator.score(X, y),
        "bound from those\nnew samples": page["theory"].held_out_bound(found.estimator, X, y),
        "bound from the\ntraining samples alone": found.value,
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.5), width_ratios=[1, 1.3], layout="constrained")
    some = slice(0, 1200)
    left.scatter(*X[some, :2].T, s=3, c=np.where(y[some] == np.max(y), ORANGE, BLUE))
    left.set(title="two classes: inside and outside", aspect="equal", xticks=[], yticks=[])
    right.bar(list(bars), [100 * value for value in bars.values()], color=[GREY, GREEN, BLUE])
    right.set(ylabel="error, %", title="what can be proved of it, at 95 %")
    return figure


def compare() -> Any:
    """Accuracy and time of one prediction's reason, from the table of the page."""
    table = Table.read(FOLDER / "compare.csv")
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    rows = [row for row in rows if row["measured"][:1].isdigit()]
    figure, ax = plt.subplots(figsize=(9, 0.34 * len(rows) + 1.1), layout="constrained")
    for k, row in enumerate(rows):
        mean, _, error = row["measured"].replace("*", "").partition("±")
        ours = row["what"].startswith("SPKM")
        ax.errorbar(float(mean), k, xerr=float(error or 0), fmt="o", color=BLUE if ours else GREY, capsize=3)
        ax.text(1.01, k, row["the reason is"], transform=ax.get_yaxis_transform(), va="center", fontsize=8)
    ax.set_yticks(range(len(rows)), [row["what"] for row in rows], fontsize=9)
    ax.invert_yaxis()
    ax.set(xlabel="accuracy on breast cancer, % (right: what its reason for a prediction is)")
    return figure


def guide() -> Any:
    """The pages of the guide, by the question that brings a reader."""
    figure, ax = plt.subplots(figsize=(9.5, 2.4), layout="constrained")
    texts = [
        (0, 1.6, "Use it\nstart, read, explain"),
        (2.6, 1.6, "your kind of data\ntables, spectra, pairs"),
        (5.2, 1.6, "in production\nlarge, deploy, command"),
        (0, 0.5, "Judge it\ncompare, when not"),
        (2.6, 0.5, "how sure?\nuncertainty, bounds"),
        (5.2, 0.5, "Understand it\nidea, how, extend"),
    ]
    boxes(ax, texts, [], width=2.3)
    return figure


def walk() -> Any:
    """The way of a fit."""
    figure, ax = plt.subplots(figsize=(10.5, 2.6), layout="constrained")
    texts = [
        (0, 1, "read\ntable to arrays"),
        (2.2, 1, "Spec, Data\nparameters checked"),
        (4.4, 1, "recipe_for\none way of fitting"),
        (6.6, 1, "begin\nstrength, start"),
        (8.8, 1, "descend\nthe solver"),
        (8.8, -0.1, "conclude, verify\nmerge, prove"),
        (6.6, -0.1, "model_\npublished at once"),
    ]
    boxes(ax, texts, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)], width=1.85)
    return figure


def extend() -> Any:
    """The parts that can be written by users."""
    figure, ax = plt.subplots(figsize=(9.5, 2.6), layout="constrained")
    texts = [
        (0, 1.6, "kernel\nk(x, u)"),
        (2.2, 1.6, "loss\nL(y, f)"),
        (4.4, 1.6, "penalty\non u, on c"),
        (6.6, 1.6, "source\nsamples in blocks"),
        (3.3, 0.5, "objective\nvalue and gradient"),
        (6.6, 0.5, "solver\nminimises it"),
    ]
    boxes(ax, texts, [(0, 4), (1, 4), (2, 4), (3, 4), (4, 5)], width=1.85)
    return figure


def project() -> Any:
    """Layers of the package: imports go downwards."""
    figure, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
    layers = [
        "cli",
        "inspection, conformal, persistence, theory",
        "explain, selection of features",
        "estimators",
        "fitting (recipes)",
        "core, tables",
        "kernels, losses, penalties, solvers, sources",
    ]
    for k, name in enumerate(layers):
        y = len(layers) - k
        ax.barh(y, 8 - 0.25 * (len(layers) - k), color=plt.cm.Blues(0.15 + 0.08 * k), edgecolor="white", height=0.9)
        ax.text(0.15, y, name, va="center", fontsize=9.5)
    ax.set_axis_off()
    ax.set_title("imports go downwards only; a test keeps it")
    return figure


def troubleshooting() -> Any:
    """The objective of a fit that has converged, and of one that stopped early."""
    X, y = datasets.make_waves(400, 2, random_state=0)
    figure, ax = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
    for max_iter, colour, label in (
        (None, BLUE, "converged"),
        (12, ORANGE, "stopped after 12 iterations: ConvergenceWarning"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SPKMRegressor(
                n_basis=15, solver="lbfgs", weight_penalty="rkhs", max_iter=max_iter, random_state=0
            ).fit(X, y)
        path = model.objective_path_
        ax.plot(range(len(path)), path, color=colour, label=label, linewidth=2.5 if max_iter else 1.2)
    ax.set(
        xlabel="iteration",
        ylabel="objective",
        xscale="symlog",
        title="a warning of the solver, as ConvergenceDisplay shows it",
    )
    ax.legend()
    return figure
