"""What a handful of learned vectors can do: a report, a table, three pictures and one model written out.

Fits SPKM beside a tuned SVC or kernel ridge on data that come with scikit-learn, prints how many vectors and numbers
each model keeps and how well it does on samples it has not seen, and draws what was learned into
``demo_output/``. Run it by ``make demo``.
"""

import os
import shlex
from pathlib import Path
from time import perf_counter

import matplotlib

matplotlib.use("Agg")  # files only: works without a display

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from spkm import PairKFold, PairwiseSPKMRegressor, SPKMClassifier, SPKMClassifierCV, SPKMRegressor
from spkm.explain import sobol_indices
from spkm.inspection import BasisDisplay, DecisionMapDisplay, PathDisplay
from spkm.penalties import L1, RKHSNorm

OUTPUT = Path("demo_output")
ESPRESSO = Path(os.path.relpath(Path(__file__).parent / "data" / "espresso.csv"))
# Without a linear part, and with one bandwidth for all features, the formula in the heading is the whole model.
PLAIN = {"linear_part": False, "learn_bandwidth": True, "random_state": 0}
SPLITS = 3  # random splits, two thirds to fit and one third to test; the table shows means

plt.rcParams.update({"font.size": 10, "axes.titlesize": 10, "figure.dpi": 150})


def save(display, path):
    """Write a display into a file."""
    display.figure_.savefig(path, bbox_inches="tight")
    plt.close(display.figure_)


def breast_cancer():
    data = load_breast_cancer()
    return data.data, data.target_names[data.target]


def digits():
    data = load_digits()
    return data.data, data.target


def diabetes():
    return load_diabetes(return_X_y=True, scaled=False)


def moons():
    return make_moons(1000, noise=0.3, random_state=0)


def split(X, y, seed):
    return train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=None if y.dtype.kind == "f" else y)


def tuned(X, machine, grid, common):
    """Return a grid search over a pipeline; the widths tried are multiples of the usual guess, 1 / total variance."""
    scaler = StandardScaler(with_std=not common)
    width = 1 / scaler.fit_transform(X).var(axis=0).sum()
    pipeline = make_pipeline(scaler, machine)
    step = pipeline.steps[-1][0]
    grid = {**grid, "gamma": width * np.array([0.1, 0.3, 1.0, 3.0])}
    return GridSearchCV(pipeline, {f"{step}__{name}": values for name, values in grid.items()}, cv=3)


def tuned_svc(X, common=False):
    return tuned(X, SVC(), {"C": [1, 10, 100]}, common)


def tuned_ridge(X):
    return tuned(X, KernelRidge(kernel="rbf"), {"alpha": [0.01, 0.1, 1, 10]}, common=False)


def size(model):
    """Return how many vectors a fitted model keeps, and how many numbers: vectors, weights and intercepts."""
    if hasattr(model, "basis_vectors_"):
        vectors, rest = model.basis_vectors_, np.size(model.dual_coef_) + np.size(model.intercept_)
    else:
        machine = model.best_estimator_[-1]
        if isinstance(machine, SVC):
            vectors, rest = machine.support_vectors_, machine.dual_coef_.size + machine.intercept_.size
        else:
            vectors, rest = machine.X_fit_, machine.dual_coef_.size
    return len(vectors), vectors.size + rest


def measure(X, y, make):
    """Return vectors, numbers, test score, seconds of one fit and of the search before it, as means over the splits."""
    rows = []
    for seed in range(SPLITS):
        X_train, X_test, y_train, y_test = split(X, y, seed)
        model = make(X_train)
        start = perf_counter()
        model.fit(X_train, y_train)
        seconds = perf_counter() - start
        fit = getattr(model, "refit_time_", seconds)
        rows.append((*size(model), model.score(X_test, y_test), fit, seconds - fit))
    return np.mean(rows, axis=0)


def ours(estimator, *sizes, **settings):
    return [(f"SPKM, n_basis={R}", lambda X, R=R: estimator(n_basis=R, **PLAIN, **settings)) for R in sizes]


def table():
    experiments = [
        ("breast cancer", breast_cancer(), "accuracy", [*ours(SPKMClassifier, 2, 5), ("SVC, tuned", tuned_svc)]),
        ("two moons", moons(), "accuracy", [*ours(SPKMClassifier, 4, 8), ("SVC, tuned", tuned_svc)]),
        (
            "digits",
            digits(),
            "accuracy",
            [*ours(SPKMClassifier, 20, 40, scale="common"), ("SVC, tuned", lambda X: tuned_svc(X, common=True))],
        ),
        ("diabetes", diabetes(), "R²", [*ours(SPKMRegressor, 2, 5), ("kernel ridge, tuned", tuned_ridge)]),
    ]
    line = "{:<15}{:<21}{:>9}{:>10}{:>18}{:>9}{:>11}".format
    print(line("data", "model", "vectors", "numbers", "test score", "fit", "search"))
    for name, (X, y), metric, models in experiments:
        print("─" * 93)
        for label, make in models:
            vectors, numbers, score, fit, search = measure(X, y, make)
            score = f"{100 * score:.1f} % {metric}" if metric == "accuracy" else f"{score:.3f} {metric}      "
            search = f"{search:.1f} s" if search > 0 else "none"
            print(line(name, label, f"{vectors:,.0f}", f"{numbers:,.0f}", score, f"{fit:.2f} s", search), flush=True)
            name = ""
    print(f"""
Means over {SPLITS} random splits. numbers: those in the vectors, weights and intercepts that the model keeps.
SPKM has no linear part and one learned bandwidth, so that the formula above is the whole model (digits: one scale
for all pixels, as for the SVC there); the others have the best of a grid (search: 3-fold cross-validation).
Differences of a point or so are noise here.
""")


def write_out_breast_cancer():
    """Print a whole model: intercept, weights, and what is special about each basis vector."""
    X, y = breast_cancer()
    X_train, X_test, y_train, y_test = split(X, y, seed=0)
    model = SPKMClassifier(n_basis=2, **PLAIN).fit(X_train, y_train)
    weights = np.ravel(model.dual_coef_)
    terms = "".join(f" {'-' if c < 0 else '+'} {abs(c):.2f} k(x, u{r})" for r, c in enumerate(weights, start=1))
    accuracy = 100 * model.score(X_test, y_test)
    print(f"The breast cancer model with {len(weights)} vectors, {accuracy:.1f} % right on new samples:\n")
    print(f"    f(x) = {np.ravel(model.intercept_)[0]:.2f}{terms}      f(x) > 0 means '{model.classes_[1]}'\n")
    print("k is an RBF kernel on features scaled to mean 0 and standard deviation 1. The vectors in units of the data,")
    print("in their eight most extreme features (in brackets: standard deviations from the mean):\n")
    names = load_breast_cancer().feature_names
    centre, spread = X_train.mean(axis=0), X_train.std(axis=0, ddof=1)
    deviation = (model.basis_vectors_ - centre) / spread
    print(f"    {'':<26}{'mean':>12}" + "".join(f"{f'u{r + 1}':>19}" for r in range(len(weights))))
    for j in np.argsort(-np.abs(deviation).max(axis=0))[:8]:
        cells = [f"{u:.4g} ({z:+.1f})" for u, z in zip(model.basis_vectors_[:, j], deviation[:, j], strict=True)]
        print(f"    {names[j]:<26}{centre[j]:>12.4g}" + "".join(f"{cell:>19}" for cell in cells))
    print()


def few_of_many():
    """Return made-up samples whose class depends on products and squares of 5 of 60 features."""
    X = np.random.default_rng(0).standard_normal((1200, 60))
    f = 2 * X[:, 7] * X[:, 21] + X[:, 33] ** 2 - X[:, 48] ** 2 + X[:, 55]
    return X, (f > np.median(f)).astype(int)


def select_features(path):
    """Print which features a strict selection keeps, and draw how the held-out accuracy depends on their number."""
    X, y = few_of_many()
    X_train, X_test, y_train, y_test = split(X, y, seed=0)
    start = perf_counter()
    model = SPKMClassifierCV(cv=3, random_state=0).fit(X_train, y_train)
    seconds = perf_counter() - start
    svc = tuned_svc(X_train).fit(X_train, y_train).score(X_test, y_test)
    columns = ", ".join(str(j) for j in model.selected_features_)
    print("Made-up samples, a class that depends on products and squares of features 7, 21, 33, 48, 55 of 60:\n")
    score = 100 * model.score(X_test, y_test)
    print(f"    SPKMClassifierCV, {len(model.basis_vectors_)} vectors, reads features {columns}: {score:.1f} % right,")
    print(f"    found in {seconds:.0f} s; a tuned SVC on all 60 features: {100 * svc:.1f} %\n")

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", gridspec_kw={"width_ratios": [1.25, 1]})
    drawn = PathDisplay.from_estimator(model, X_train, y_train, ax=axes[0])
    drawn.ax_[0].legend(frameon=False, fontsize=9, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    shares = sobol_indices(model, X_train)
    order = model.selected_features_[np.argsort(shares.total[model.selected_features_, 0])]
    total, alone = 100 * shares.total[order, 0], 100 * shares.first[order, 0]
    axes[1].barh(range(len(order)), total, color="#A9CBE3", label="with others")
    axes[1].barh(range(len(order)), alone, color="#0072B2", label="alone")
    axes[1].set_yticks(range(len(order)), [f"feature {j}" for j in order])
    axes[1].set_xlabel("part in the variance of the scores, %: bars overlap")
    axes[1].spines[["top", "right"]].set_visible(False)
    axes[1].legend(frameon=False, loc="lower right")
    figure.suptitle(
        f"{len(order)} of 60 features carry the class: {score:.0f} % right on new samples, "
        f"an SVC on all 60 features {100 * svc:.0f} %"
    )
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)


def weigh_views():
    """Print what three groups of the breast cancer features bring, and what an l1 penalty leaves of them."""
    data = load_breast_cancer()
    X_train, X_test, y_train, y_test = split(data.data, data.target, seed=0)
    views = {"means": slice(0, 10), "standard errors": slice(10, 20), "worst values": slice(20, 30)}
    plain = SPKMClassifier(n_basis=2, views=views, random_state=0).fit(X_train, y_train)
    pruned = SPKMClassifier(
        n_basis=2, views=views, weight_penalty=[RKHSNorm(), L1(0.005)], n_restarts=3, tol=1e-3, random_state=0
    ).fit(X_train, y_train)
    print("The breast cancer data as three views, two vectors each, and with an l1 penalty on the weights:\n")
    for name, usage in plain.view_usage_.items():
        kept = pruned.view_usage_[name]
        with_l1 = f"l1 keeps {kept.n_used} of 2 ({100 * kept.share:.0f} % of f)"
        print(f"    {name:<17}{100 * usage.share:5.0f} % of f   {with_l1}")
    right = [f"{100 * model.score(X_test, y_test):.1f} %" for model in (plain, pruned)]
    print(f"    right on new samples: {right[0]}, with l1 {right[1]}\n")


def predict_pairs():
    """Print how well affinities of made-up pairs are predicted, by what is new in the test pairs."""
    rng = np.random.default_rng(0)
    drugs, targets = rng.standard_normal((60, 6)), rng.standard_normal((50, 8))
    pairs = np.array([(i, j) for i in range(60) for j in range(50)])
    y = np.sin(drugs[pairs[:, 0], 0]) * targets[pairs[:, 1], 1] + 0.1 * rng.standard_normal(len(pairs))
    model = PairwiseSPKMRegressor(n_basis=10, random_state=0, tol=1e-3)
    tables = {"left": drugs, "right": targets}
    print("Made-up affinities of 60 drugs and 50 targets, R2 of ten pairs of vectors on new")
    for new, what in {"pairs": "pairs", "left": "drugs", "right": "targets", "both": "drugs with new targets"}.items():
        scores = cross_val_score(model, pairs, y, cv=PairKFold(new, n_splits=2, random_state=0), params=tables)
        print(f"    {what:<26}{scores.mean():.2f}")
    print()


def draw_digits(path):
    """Draw every basis vector as an image, with the class it speaks for most."""
    X, y = digits()
    X_train, X_test, y_train, y_test = split(X, y, seed=0)
    model = SPKMClassifier(n_basis=20, scale="common", **PLAIN).fit(X_train, y_train)
    display = BasisDisplay.from_estimator(model, image_shape=(8, 8))
    display.figure_.suptitle(
        f"Digits: the whole classifier is these {len(model.basis_vectors_)} images, each with the class it speaks for "
        f"most ({100 * model.score(X_test, y_test):.1f} % right on new images)",
        fontsize=10,
    )
    save(display, path)


def draw_moons(path):
    """Draw two decision surfaces side by side: ours with its basis vectors, an SVC with its support vectors."""
    X, y = moons()
    X_train, X_test, y_train, y_test = split(X, y, seed=0)
    model = SPKMClassifier(n_basis=8, **PLAIN).fit(X_train, y_train)
    svc = tuned_svc(X_train).fit(X_train, y_train)
    scaler, machine = svc.best_estimator_
    support = scaler.inverse_transform(machine.support_vectors_)
    figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", gridspec_kw={"wspace": 0.1})
    ours = DecisionMapDisplay.from_estimator(model, X_train, y_train, features=(0, 1), ax=axes[0])
    mesh = np.stack([part.ravel() for part in np.meshgrid(*ours.grid, indexing="ij")], axis=1)
    theirs = DecisionMapDisplay(
        ours.grid,
        svc.decision_function(mesh).reshape(*ours.decisions.shape, 1),
        svc.predict(mesh).reshape(ours.decisions.shape),
        ours.samples,
        ours.codes,
        support,
        ours.feature_names,
        ours.labels,
        vector_name="support vector",
    ).plot(ax=axes[1])
    for display, fitted, name in (
        (ours, model, f"SPKM: {len(model.basis_vectors_)} basis vectors"),
        (theirs, svc, f"SVC, tuned: {len(support)} support vectors"),
    ):
        display.ax_.set_title(f"{name}, {100 * fitted.score(X_test, y_test):.1f} % right on new samples")
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)


def from_a_file():
    """Go from a CSV file to a model, its quality and a report, as the command does."""
    from spkm import load as spkm_load
    from spkm.cli import main as spkm

    model, report = OUTPUT / "espresso.spkm", OUTPUT / "report.html"
    # Few columns and few vectors: every vector can be read, and the model is about as good as one of all columns.
    few = ["--features", "4", "--vectors", "3"]
    title = ["--title", "Which espresso is liked: a model of 1,000 cups"]
    for words in (
        ["fit", str(ESPRESSO), "--target", "liked", *few, "-o", str(model), "--report", str(report), *title],
        ["inspect", str(model)],
    ):
        print("$ spkm", shlex.join(words), flush=True)
        if spkm(words) != 0:
            raise SystemExit(1)
        print()
    cancelling = spkm_load(model)[-1].cancellation_
    print(
        f"The contributions of its vectors cancel by a factor of {cancelling:.1f} (1: not at all): each can be read by"
    )
    print("itself. Beyond 10 none could.\n")


def main():
    OUTPUT.mkdir(exist_ok=True)
    print("\nSPKM: f(x) = b + Σ_r c_r k(x, u_r), with a handful of learned vectors u_r\n")
    from_a_file()
    table()
    write_out_breast_cancer()
    select_features(OUTPUT / "features.png")
    weigh_views()
    predict_pairs()
    draw_digits(OUTPUT / "digits_basis.png")
    draw_moons(OUTPUT / "moons_surface.png")
    print("Now open")
    print(f"    {OUTPUT / 'report.html'}         the model of the file: how good, what matters, why; move the sliders")
    print(f"    {OUTPUT / 'digits_basis.png'}    the basis vectors of a digit classifier, as images")
    print(f"    {OUTPUT / 'features.png'}        five features found among sixty: how many, which, alone or together")
    print(f"    {OUTPUT / 'moons_surface.png'}   a decision surface with its few vectors, beside an SVC")


if __name__ == "__main__":
    main()
