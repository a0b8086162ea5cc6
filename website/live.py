"""The model of the first page, its picture, and the live report.

``python website/live.py`` draws the picture into ``docs/images``; the report is made whenever the site is built.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from spkm import SPKMClassifier, TableEncoder
from spkm.inspection import report

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
COLOURS = {"even": "#2166ac", "odd": "#b2182b"}
EXAMPLE = 8  # the digit whose prediction the picture takes apart


def first_model() -> tuple[Any, tuple[Any, ...]]:
    """Return the model of the first page, fitted, and its split of the data: samples and digits."""
    X, digit = load_digits(return_X_y=True)
    split = train_test_split(X, digit, random_state=0)
    model = SPKMClassifier(n_basis=10, scale="common", linear_part=False, random_state=0)
    return model.fit(split[0], np.where(split[2] % 2 == 0, "even", "odd")), split


def write_reports(folder: Path) -> None:
    """Write the live report: cups of espresso that are liked or not, by a model of three vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pd.read_csv(ROOT / "examples" / "data" / "espresso.csv")
    X, y = table[["roast", "water_c", "seconds", "dose_g"]], table["liked"]
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    model = make_pipeline(TableEncoder(), SPKMClassifier(n_basis=3, random_state=0)).fit(X_train, y_train)
    report(model, folder / "espresso.html", X_test, y_test, train=(X_train, y_train), title="Which espresso is liked?")


def _picture(ax: Any, pixels: np.ndarray, colour: str) -> None:
    ax.imshow(pixels.reshape(8, 8), cmap="Greys", vmin=0, vmax=16)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(color=colour, linewidth=2.5)


def draw_model(path: Path) -> None:
    """Draw the whole model of the first page, and one prediction taken apart."""
    model, (_, X_test, _, digits) = first_model()
    weights = model.dual_coef_.ravel()
    order = np.argsort(weights)
    x = X_test[np.flatnonzero(digits == EXAMPLE)[:1]]
    parts = weights * model.model_.similarities(x)[0]
    score = float(model.decision_function(x)[0])
    figure = plt.figure(figsize=(11, 4.3), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.45, 1])
    axes = left.subplots(2, 5).ravel()
    for ax, r in zip(axes, order, strict=True):
        _picture(ax, model.basis_vectors_[r], COLOURS["odd" if weights[r] > 0 else "even"])
        ax.set_title(f"{weights[r]:+.0f}", fontsize=11)
    left.suptitle("The whole model: ten pictures, and a weight for each\n(blue: for even, red: for odd)", fontsize=11)
    axes = right.subplots(1, 2, width_ratios=[1, 2.6])
    _picture(axes[0], x[0], "0.4")
    axes[0].set_title("a new digit", fontsize=11)
    bars = axes[1]
    bars.barh(range(len(order)), parts[order], color=[COLOURS["odd" if parts[r] > 0 else "even"] for r in order])
    bars.set_yticks(range(len(order)), [f"{weights[r]:+.0f} × {parts[r] / weights[r]:.2f}" for r in order], fontsize=8)
    bars.axvline(0, color="0.3", linewidth=0.8)
    bars.invert_yaxis()
    bars.spines[["top", "right"]].set_visible(False)
    bars.set_xlabel("weight × similarity", fontsize=9)
    said = "odd" if score > 0 else "even"
    intercept = float(np.ravel(model.intercept_)[0])
    bars.set_title(f"their sum {intercept:+.1f} is {score:+.1f}: {said}", fontsize=11)
    right.suptitle("One prediction, taken apart\n", fontsize=11)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    draw_model(IMAGES / "model.png")
