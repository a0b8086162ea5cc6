"""The live reports of the site: models that a visitor can try, in one file each, made by the library itself."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from spkm import SPKMClassifier


def write_reports(folder: Path) -> None:
    """Write the report of the model of the first page."""
    folder.mkdir(parents=True, exist_ok=True)
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = SPKMClassifier(n_basis=3, random_state=0).fit(X_train, y_train)
    model.report(folder / "breast_cancer.html", X_test, y_test, train=(X_train, y_train), title="Breast cancer")
