"""Figures of the estimators: accuracy, R2 and recovered features."""

from __future__ import annotations

from itertools import product

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_multilabel_classification,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline

from benchmarks.ratchet.made import affinities, classes, counts, f1_percent, halves, held_out, people, stored, waves
from benchmarks.ratchet.record import LOSS, PERCENT, figure
from spkm import (
    PairKFold,
    PairwiseSPKMClassifier,
    PairwiseSPKMRegressor,
    SPKMClassifier,
    SPKMClassifierCV,
    SPKMNystroem,
    SPKMRegressor,
    SPKMRegressorCV,
    SPKMSelector,
    TableEncoder,
    Term,
    View,
    sparsity_path,
    stability_selection,
)
from spkm.datasets import make_inverse_dynamics, make_sparse_relation, make_spirals, make_waves


@figure("classes.small", "accuracy, four small tables, 10 vectors, %", PERCENT)
def small_tables(seed: int) -> float:
    tables = [load(return_X_y=True) for load in (load_breast_cancer, load_wine, load_iris)]
    tables.append(make_spirals(300, random_state=0))
    return float(np.mean([held_out(SPKMClassifier(10, random_state=seed), X, y, 5) for X, y in tables]))


@figure("classes.digits", "accuracy, digits, default, %", PERCENT)
def digits(seed: int) -> float:
    X, y = load_digits(return_X_y=True)
    return 100 * SPKMClassifier(random_state=seed).fit(X[::2], y[::2]).score(X[1::2], y[1::2])


@figure("classes.ovr", "accuracy, one vs rest, digits 0-3, 3 vectors, %", PERCENT)
def one_vs_rest(seed: int) -> float:
    X, y = load_digits(n_class=4, return_X_y=True)
    return held_out(SPKMClassifier(3, multi_class="ovr", random_state=seed), X, y, 2)


@figure("classes.ovo", "accuracy, one vs one, digits 0-3, 3 vectors, %", PERCENT)
def one_vs_one(seed: int) -> float:
    X, y = load_digits(n_class=4, return_X_y=True)
    return held_out(SPKMClassifier(3, multi_class="ovo", random_state=seed), X, y, 2)


@figure("classes.labels", "exact matches, several labels for a sample, %", PERCENT)
def labels(seed: int) -> float:
    X, Y = make_multilabel_classification(800, 10, n_classes=4, n_labels=2, random_state=0)
    return held_out(SPKMClassifier(10, random_state=seed), X, Y)


@figure("classes.balanced", "balanced accuracy, 10 % in one class, class_weight='balanced', %", PERCENT)
def balanced(seed: int) -> float:
    X, y = waves(2000, 4)
    y = (y > np.quantile(y, 0.9)).astype(int)
    Xa, ya, Xb, yb = halves(X, y)
    model = SPKMClassifier(10, class_weight="balanced", random_state=seed).fit(Xa, ya)
    return 100 * float(balanced_accuracy_score(yb, model.predict(Xb)))


@figure("classes.auto_size", "accuracy, n_basis='auto', %", PERCENT)
def automatic_size(seed: int) -> float:
    return held_out(SPKMClassifier("auto", random_state=seed), *classes(800, 3), 3)


@figure("classes.on_samples", "accuracy, basis='samples', %", PERCENT)
def on_samples(seed: int) -> float:
    return held_out(SPKMClassifier(10, basis="samples", random_state=seed), *load_breast_cancer(return_X_y=True))


@figure("classes.monotone", "accuracy, two monotone features, %", PERCENT)
def monotone(seed: int) -> float:
    rng = np.random.default_rng(6000)
    X = rng.standard_normal((500, 3))
    y = (X[:, 0] - X[:, 1] + np.sin(3 * X[:, 2]) + 0.3 * rng.standard_normal(500) > 0).astype(int)
    return held_out(SPKMClassifier(6, monotone={0: 1, 1: -1}, random_state=seed), X, y, 2)


@figure("classes.cv", "accuracy, SPKMClassifierCV, breast cancer, %", PERCENT)
def classifier_cv(seed: int) -> float:
    X, y = load_breast_cancer(return_X_y=True)
    return held_out(SPKMClassifierCV(random_state=seed), X, y, 3)


@figure("classes.batches", "accuracy, partial_fit in 20 batches, %", PERCENT)
def batches(seed: int) -> float:
    X, y = classes(4000, 4)
    Xa, ya, Xb, yb = halves(X, y)
    model = SPKMClassifier(15, random_state=seed)
    for part in np.array_split(np.arange(len(ya)), 20):
        model.partial_fit(Xa[part], ya[part], classes=[0, 1])
    return 100 * model.score(Xb, yb)


@figure("classes.warm", "accuracy, warm start from 3 to 10 vectors, %", PERCENT)
def warm(seed: int) -> float:
    Xa, ya, Xb, yb = halves(*classes(2000, 4))
    model = SPKMClassifier(3, warm_start=True, random_state=seed).fit(Xa, ya)
    return 100 * model.set_params(n_basis=10).fit(Xa, ya).score(Xb, yb)


@figure("numbers.small", "R2, diabetes and inverse dynamics, 20 vectors, %", PERCENT)
def numbers(seed: int) -> float:
    tables = [load_diabetes(return_X_y=True), make_inverse_dynamics(1000, random_state=0)]
    return float(np.mean([held_out(SPKMRegressor(20, random_state=seed), X, y, 4) for X, y in tables]))


@figure("numbers.surface", "R2, a waved surface, default, %", PERCENT)
def surface(seed: int) -> float:
    return held_out(SPKMRegressor(random_state=seed), *make_waves(400, 2, random_state=0))


@figure("numbers.groups", "squared error for new subjects over that of the mean, made up", LOSS)
def new_subjects(seed: int) -> float:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(24), 12)
    X = rng.standard_normal((24, 4))[groups] + 0.2 * rng.standard_normal((288, 4))
    y = rng.standard_normal(24)[groups] + 0.3 * X[:, 0]
    old = groups < 12
    model = SPKMRegressor(10, random_state=seed).fit(X[old], y[old], groups=groups[old])
    return float(np.mean((y[~old] - model.predict(X[~old])) ** 2) / np.mean((y[~old] - y[old].mean()) ** 2))


@figure("numbers.several", "R2, three targets at once, %", PERCENT)
def several_targets(seed: int) -> float:
    X, y = waves(500, 4)
    return held_out(SPKMRegressor(15, random_state=seed), X, np.c_[y, X[:, 3] ** 2, y - X[:, 3]], 2)


@figure("numbers.cv", "R2, SPKMRegressorCV, inverse dynamics, %", PERCENT)
def regressor_cv(seed: int) -> float:
    return held_out(SPKMRegressorCV(random_state=seed), *make_inverse_dynamics(800, random_state=0), 2)


@figure("numbers.deviation", "negative log likelihood, predict(return_std=True)", LOSS)
def deviation(seed: int) -> float:
    Xa, ya, Xb, yb = halves(*waves(600, 3))
    mean, std = SPKMRegressor(20, random_state=seed).fit(Xa, ya).predict(Xb, return_std=True)
    return float(np.mean(0.5 * ((yb - mean) / std) ** 2 + np.log(std) + 0.5 * np.log(2 * np.pi))) + 1.0


@figure("numbers.batches", "R2, partial_fit in 20 batches, %", PERCENT)
def regression_batches(seed: int) -> float:
    Xa, ya, Xb, yb = halves(*waves(4000, 4))
    model = SPKMRegressor(15, random_state=seed)
    for part in np.array_split(np.arange(len(ya)), 20):
        model.partial_fit(Xa[part], ya[part])
    return 100 * model.score(Xb, yb)


@figure("views.digits", "accuracy, digits 4 and 9 by four quarters of the picture, %", PERCENT)
def views(seed: int) -> float:
    X, y = load_digits(return_X_y=True)
    X, y = X[(y == 4) | (y == 9)], y[(y == 4) | (y == 9)]
    pixels = np.arange(64).reshape(8, 8)
    quarters = {f"{i}{j}": pixels[4 * i : 4 * i + 4, 4 * j : 4 * j + 4].ravel() for i in (0, 1) for j in (0, 1)}
    return held_out(SPKMClassifier(2, views=quarters, random_state=seed), X, y)


@figure("views.terms", "R2, a product of two views plus a view, %", PERCENT)
def terms(seed: int) -> float:
    X, y = waves(600, 4)
    both = Term(15, (View("rbf", slice(1, 2)), View("rbf", slice(2, 3))))
    return held_out(SPKMRegressor(terms=[Term(5, (View("rbf", slice(0, 1)),)), both], random_state=seed), X, y)


@figure("pairs.numbers", "R2, made affinities, 20 vectors, worst of three seeds, %", PERCENT, seeds=3, worst=True)
def pair_numbers(seed: int) -> float:
    D = affinities()
    P, y, train, test = D["pairs"], D["y"], D["train"], D["test"]
    model = PairwiseSPKMRegressor(20, random_state=seed).fit(P[train], y[train], left=D["left"], right=D["right"])
    return 100 * model.score(P[test], y[test])


@figure("pairs.classes", "accuracy, pairs that bind, 20 vectors, worst of three seeds, %", PERCENT, seeds=3, worst=True)
def pair_classes(seed: int) -> float:
    D = affinities()
    P, y, train, test = D["pairs"], D["y"] > 5, D["train"], D["test"]
    model = PairwiseSPKMClassifier(20, random_state=seed).fit(P[train], y[train], left=D["left"], right=D["right"])
    return 100 * float(balanced_accuracy_score(y[test], model.predict(P[test])))


@figure("pairs.new", "R2, pairs of a new drug, 20 vectors, %", PERCENT)
def new_entities(seed: int) -> float:
    D = affinities(n_left=60, n_right=40)
    P, y, tables = D["pairs"], D["y"], {"left": D["left"], "right": D["right"]}
    train, test = next(iter(PairKFold("left", n_splits=3, random_state=0).split(P)))
    return 100 * PairwiseSPKMRegressor(20, random_state=seed).fit(P[train], y[train], **tables).score(P[test], y[test])


@figure("selection.classes", "F1, strict selection, 5 of 50 features, linear and quadratic, %", PERCENT)
def strict(seed: int) -> float:
    found = []
    for kind, draw in product(("linear", "quadratic"), (1, 2, 3)):
        X, y, true = make_sparse_relation(kind, 700, 50, random_state=draw)
        model = SPKMClassifier(5, selection="strict", random_state=seed).fit(X, y)
        found.append(f1_percent(model.selected_features_, true))
    return float(np.mean(found))


@figure("selection.many_classes", "accuracy, at most 30 of 1,000 features, 6 classes, 90 samples, %", PERCENT)
def many_classes(seed: int) -> float:
    rng = np.random.default_rng(0)
    labels = np.arange(180) % 6
    X = rng.standard_normal((180, 1000))
    X[:, :60] += 1.5 * np.repeat(np.eye(6), 10, axis=1)[labels]
    model = SPKMClassifierCV(max_features=30, random_state=seed).fit(X[:90], labels[:90])
    return 100 * model.score(X[90:], labels[90:])


@figure("selection.numbers", "F1, strict selection, 3 of 30 features, regression, %", PERCENT)
def strict_numbers(seed: int) -> float:
    X, y = waves(400, 30)
    return f1_percent(SPKMRegressor(10, selection="strict", random_state=seed).fit(X, y).selected_features_, [0, 1, 2])


@figure("selection.few", "accuracy, strict selection of at most 4 features, breast cancer, %", PERCENT)
def few_features(seed: int) -> float:
    X, y = load_breast_cancer(return_X_y=True)
    return held_out(SPKMClassifier(5, selection="strict", max_features=4, random_state=seed), X, y, 3)


@figure("selection.selector", "accuracy, SPKMSelector before logistic regression, %", PERCENT)
def selector(seed: int) -> float:
    X, y, _ = make_sparse_relation("linear", 800, 30, random_state=2)
    chosen = SPKMSelector(SPKMClassifier(3, kernel="linear", selection="strict", random_state=seed))
    return held_out(make_pipeline(chosen, LogisticRegression()), X, y, 3)


@figure("selection.stability", "F1, stability selection, %", PERCENT)
def stability(seed: int) -> float:
    X, y, true = make_sparse_relation("linear", 300, 20, random_state=3)
    model = SPKMClassifier(1, kernel="linear", selection="strict", random_state=0)
    result = stability_selection(model, X, y, n_pairs=3, random_state=seed)
    return f1_percent(np.argsort(-result.probabilities)[: len(true)], true)


@figure("selection.path", "best F1 along a sparsity path, %", PERCENT)
def path(seed: int) -> float:
    X, y, true = make_sparse_relation("quadratic", 500, 20, random_state=4)
    found = sparsity_path(SPKMClassifier(5, selection="strict", random_state=seed), X, y)
    return max(f1_percent(entry, true) for entry in found.supports)


@figure("tables.encoder", "accuracy, a table with categories and missing values, %", PERCENT)
def encoder(seed: int) -> float:
    frame = people(1600)
    X, y = frame.drop(columns="good"), frame["good"].to_numpy()
    Xa, Xb = X.iloc[:600], X.iloc[600:]
    model = make_pipeline(TableEncoder(), SPKMClassifier(8, random_state=seed)).fit(Xa, y[:600])
    return 100 * model.score(Xb, y[600:])


@figure("features.nystroem", "accuracy, SPKMNystroem with 20 components before logistic regression, digits, %", PERCENT)
def nystroem(seed: int) -> float:
    X, y = load_digits(return_X_y=True)
    pipeline = make_pipeline(SPKMNystroem(n_components=20, random_state=seed), LogisticRegression(max_iter=1000))
    return held_out(pipeline, X, y, 3)


@figure("classes.counts", "accuracy, sparse counts, default kernel, %", PERCENT)
def sparse_counts(seed: int) -> float:
    from scipy.sparse import csr_array

    X, y = counts()
    return held_out(SPKMClassifier(10, random_state=seed), csr_array(X), y, 3)


@figure("data.davis", "R2, Davis pairs, 20 vectors, worst of three seeds, %", PERCENT, seeds=3, worst=True)
def davis(seed: int) -> float:
    D = stored("davis_dti")
    P, y, test = np.c_[D["drug_index"], D["target_index"]], D["y"], D["fold"] == -1
    tables = {"left": D["drug_features"].astype(float), "right": D["target_features"].astype(float)}
    model = PairwiseSPKMRegressor(20, random_state=seed).fit(P[~test], y[~test], **tables)
    return 100 * model.score(P[test], y[test])


@figure("data.mnist", "accuracy, MNIST, 3,000 samples, 10 vectors, %", PERCENT)
def mnist(seed: int) -> float:
    D = stored("mnist")
    X, y = D["X_train"][:3000] / 255.0, D["y_train"][:3000]
    return 100 * SPKMClassifier(10, random_state=seed).fit(X, y).score(D["X_test"][:4000] / 255.0, D["y_test"][:4000])
