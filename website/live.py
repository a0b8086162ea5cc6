"""The model of the first page: its live report, and the pictures of it that the README shows.

``python website/live.py`` draws the pictures into ``docs/images``; the report is made whenever the site is built.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from spkm import SPKMClassifier
from spkm.inspection import BasisDisplay, DecisionMapDisplay

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def first_model() -> tuple[Any, tuple[Any, ...]]:
    """Return the model of the first page, fitted, and its split of the data."""
    data = load_breast_cancer(as_frame=True)
    split = train_test_split(data.data, data.target_names[data.target], random_state=0)
    model = SPKMClassifier(n_basis=2, selection="strict", max_features=3, random_state=0)
    return model.fit(split[0], split[2]), split


def write_reports(folder: Path) -> None:
    """Write the report of the model of the first page."""
    folder.mkdir(parents=True, exist_ok=True)
    model, (X_train, X_test, y_train, y_test) = first_model()
    model.report(folder / "breast_cancer.html", X_test, y_test, train=(X_train, y_train), title="Breast cancer")


def draw_model(path: Path) -> None:
    """Draw the whole model of the first page: what it predicts over two features, and its two vectors."""
    model, (X_train, X_test, y_train, y_test) = first_model()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.6), width_ratios=[1.6, 1], layout="constrained")
    DecisionMapDisplay.from_estimator(model, X_train, y_train, features=("worst radius", "worst texture"), ax=left)
    left.set_title("what it predicts, at the median of the third feature", loc="left", fontsize=10)
    BasisDisplay.from_estimator(model, X_train, ax=right)
    right.set_title(
        f"all of the model: {model.score(X_test, y_test):.1%} of new samples right", loc="left", fontsize=10
    )
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    draw_model(IMAGES / "model.png")
