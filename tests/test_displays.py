"""Displays: what they draw is what the model says, and every one has axes, a figure and a frame."""

import copy
import json
import subprocess
import sys
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.model_selection import validation_curve

from spkm import PairwiseSPKMClassifier, SPKMClassifier, SPKMRegressor, sparsity_path
from spkm.estimators import SparsityPath, StabilitySelection
from spkm.explain import summary
from spkm.inspection import (
    BasisCardDisplay,
    BasisDisplay,
    CalibrationDisplay,
    ContributionDisplay,
    ConvergenceDisplay,
    Curve,
    CurveDisplay,
    DecisionMapDisplay,
    EffectDisplay,
    FeaturePathDisplay,
    PairMatrixDisplay,
    PathDisplay,
    ShapleyDisplay,
    StabilityDisplay,
    ViewShareDisplay,
    report,
)

plt = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("pandas")


@pytest.fixture(autouse=True)
def closed():
    with plt.rc_context({"figure.dpi": 40}):  # a drawing takes less time
        yield
    plt.close("all")


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    return SPKMClassifier(n_basis=4, random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer(as_frame=True)
    X, y = data.data.iloc[:200], data.target_names[data.target][:200]
    return SPKMClassifier(n_basis=3, random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return SPKMRegressor(n_basis=3, random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((12, 3)), rng.standard_normal((9, 4))
    index = np.array([(i, j) for i in range(12) for j in range(9)])
    y = left[index[:, 0], 0] * right[index[:, 1], 1] > 0
    return PairwiseSPKMClassifier(n_basis=4, random_state=0).fit(index, y, left=left, right=right), index, y


@pytest.fixture(scope="module")
def named():
    """Few samples of long names, of features and classes."""
    data = load_iris(as_frame=True)
    X = data.data.set_axis([f"{name}, measured in the morning ${name[0]}_1$" for name in data.data], axis=1)[::3]
    y = np.array(["setosa (Borsten-Schwertlilie)", "versicolor – verschiedenfarbig", "virginica"])[data.target][::3]
    return SPKMClassifier(n_basis=3, random_state=0, tol=1e-2).fit(X, y), X, y


@pytest.fixture(scope="module")
def outputs(diabetes):
    _, X, y = diabetes
    return SPKMRegressor(n_basis=3, random_state=0, tol=1e-2).fit(X, np.column_stack([1e-14 * y, y**2])), X


@pytest.fixture(scope="module")
def path(cancer):
    _, X, y = cancer
    return sparsity_path(SPKMClassifier(kernel="linear", selection="strict", random_state=0), X.iloc[:100, :8], y[:100])


def stability():
    probabilities = np.array([0.9, 0.1, 0.0, 0.5])
    return StabilitySelection(probabilities, 0.75, np.array([0]), np.array(list("abcd")), 2, 2.0, 1.0, True, 20)


def curves(**options):
    ours = Curve([1, 10, 100], [0.5, 0.2, 0.05], [0.1, 0.1, 0.01], others=[(1, 0.6)])
    theirs = Curve([1, 10], [0.6, 0.4], joined=False)
    lines = {"levels": {"mean": 1.0}, "places": {"samples": 50}, "y_scale": "log"}
    return CurveDisplay({"ours": ours, "theirs": theirs}, **(lines | options)).plot()


DRAWN = {
    "basis": lambda c: BasisDisplay.from_estimator(c["iris"][0]),
    "basis of the largest": lambda c: BasisDisplay.from_estimator(c["cancer"][0], c["cancer"][1], max_features=5),
    "basis as curves": lambda c: BasisDisplay.from_estimator(c["cancer"][0], x=np.arange(30), x_label="nm"),
    "basis as images": lambda c: BasisDisplay.from_estimator(c["cancer"][0], image_shape=(5, 6)),
    "card": lambda c: BasisCardDisplay.from_estimator(*c["cancer"], basis=1),
    "card of classes": lambda c: BasisCardDisplay.from_estimator(*c["iris"]),
    "card of numbers": lambda c: BasisCardDisplay.from_estimator(*c["diabetes"]),
    "contributions": lambda c: ContributionDisplay.from_estimator(*c["cancer"][:2], row=3),
    "contributions of vectors": lambda c: ContributionDisplay.from_estimator(*c["iris"][:2], level="basis", output=2),
    "contributions of features": lambda c: ContributionDisplay.from_estimator(*c["diabetes"][:2], level="features"),
    "bars": lambda c: ShapleyDisplay.from_estimator(*c["iris"][:2], kind="bar", output="virginica"),
    "bars of one": lambda c: ShapleyDisplay.from_estimator(c["iris"][0], c["iris"][1][:1], background=c["iris"][1]),
    "beeswarm": lambda c: ShapleyDisplay.from_estimator(c["cancer"][0], c["cancer"][1][:40]),
    "effect": lambda c: EffectDisplay.from_estimator(*c["diabetes"][:2], "bmi"),
    "effects": lambda c: EffectDisplay.from_estimator(*c["iris"][:2], 2),
    "effect of two": lambda c: EffectDisplay.from_estimator(*c["diabetes"][:2], ("bmi", "bp")),
    "map of two": lambda c: DecisionMapDisplay.from_estimator(*c["cancer"], features=(0, 1), n_points=15),
    "map of three": lambda c: DecisionMapDisplay.from_estimator(*c["iris"], features=(2, 3), n_points=15),
    "map of numbers": lambda c: DecisionMapDisplay.from_estimator(*c["diabetes"], features=("bmi", "bp"), n_points=9),
    "path": lambda c: PathDisplay(c["path"]).plot(),
    "features of a path": lambda c: FeaturePathDisplay(c["path"], c["cancer"][1].columns[:8]).plot(),
    "stability": lambda c: StabilityDisplay(stability()).plot(),
    "convergence": lambda c: ConvergenceDisplay.from_estimator(c["iris"][0]),
    "pairs": lambda c: PairMatrixDisplay.from_estimator(c["pairs"][0], c["pairs"][1][::3]),
    "views of pairs": lambda c: ViewShareDisplay.from_estimator(c["pairs"][0]),
    "curves": lambda c: curves(),
    "card of pairs": lambda c: BasisCardDisplay.from_estimator(*c["pairs"]),
    "long names, basis": lambda c: BasisDisplay.from_estimator(c["named"][0]),
    "long names, card": lambda c: BasisCardDisplay.from_estimator(*c["named"]),
    "long names, contributions": lambda c: ContributionDisplay.from_estimator(*c["named"][:2]),
    "long names, bars": lambda c: ShapleyDisplay.from_estimator(*c["named"][:2], kind="bar"),
    "long names, beeswarm": lambda c: ShapleyDisplay.from_estimator(*c["named"][:2]),
    "long names, effect": lambda c: EffectDisplay.from_estimator(*c["named"][:2], 0),
    "long names, effect of two": lambda c: EffectDisplay.from_estimator(*c["named"][:2], (0, 1)),
    "long names, map": lambda c: DecisionMapDisplay.from_estimator(*c["named"], features=(0, 2), n_points=9),
    "two units, basis": lambda c: BasisDisplay.from_estimator(c["outputs"][0]),
    "two units, card": lambda c: BasisCardDisplay.from_estimator(*c["outputs"]),
    "two units, contributions": lambda c: ContributionDisplay.from_estimator(*c["outputs"]),
    "two units, effect": lambda c: EffectDisplay.from_estimator(*c["outputs"], 2),
}


@pytest.fixture
def cases(iris, cancer, diabetes, pairs, path, named, outputs):
    found = {"iris": iris, "cancer": cancer, "diabetes": diabetes, "pairs": pairs, "path": path}
    return found | {"named": named, "outputs": outputs}


def texts_outside(figure):
    """Return the texts of a drawn figure that leave it."""
    drawn, draw = [], plt.Text.draw
    with patch.object(plt.Text, "draw", lambda text, renderer: (drawn.append(text), draw(text, renderer))):
        figure.canvas.draw()
    found = []
    for text in drawn:
        box = text.get_window_extent()
        outside = min(box.x0, box.y0) < -1 or box.x1 > figure.bbox.x1 + 1 or box.y1 > figure.bbox.y1 + 1
        if text.get_text().strip() and text.get_visible() and outside:
            found.append(text.get_text())
    return found


@pytest.mark.parametrize("name", DRAWN)
def test_every_display_draws_into_a_figure_of_its_own_and_into_given_axes(name, cases):
    display = DRAWN[name](cases)
    assert len(display.frame()) > 0
    axes = np.ravel(display.ax_)
    assert all(ax.figure is display.figure_ for ax in axes)
    assert any(ax.get_xlabel() or ax.get_title() for ax in axes)
    assert texts_outside(display.figure_) == []
    figure, (first, second) = plt.subplots(1, 2, figsize=(18, 5), layout="constrained")
    assert display.plot(ax=second) is display
    assert display.figure_ is figure and len(first.lines) == 0
    figure.canvas.draw()


def test_waterfalls_end_at_the_score(cancer):
    model, X, _ = cancer
    display = ContributionDisplay.from_estimator(model, X, row=7, background=X[::4])
    frame = display.frame()
    np.testing.assert_allclose(frame.sum(axis=1), display.contributions, atol=1e-9)
    assert list(frame.index)[-1] == "linear" and model.linear_coef_.any()
    total = frame.to_numpy().sum() + frame.attrs["base_value"]
    np.testing.assert_allclose(total, model.decision_function(X)[7], atol=1e-9)


def test_effects_on_outputs_of_different_units_have_panels_of_their_own(outputs):
    display = EffectDisplay.from_estimator(*outputs, 2)
    assert [ax.get_title(loc="left") for ax in display.ax_] == ["0", "1"]
    heights = [np.ptp(ax.lines[0].get_ydata()) / np.ptp(ax.get_ylim()) for ax in display.ax_]
    assert min(heights) > 0.5  # no curve lies flat on the scale of another


def test_more_than_three_classes_have_a_line_each_on_a_card(cases):
    digits = load_digits(n_class=4)
    model = SPKMClassifier(n_basis=4, random_state=0, scale="common", tol=1e-1).fit(digits.data, digits.target)
    card = BasisCardDisplay.from_estimator(model, digits.data, digits.target)
    assert [tick.get_text() for tick in card.ax_[-1].get_yticklabels()] == ["0", "1", "2", "3"]
    medians = [np.median(card.similarities[digits.target == k]) for k in range(4)]
    np.testing.assert_allclose(card.ax_[-1].lines[-1].get_xdata(), medians)


def test_effects_are_means_of_predictions(diabetes):
    model, X, _ = diabetes
    frame = EffectDisplay.from_estimator(model, X, "bmi", n_points=5).frame()
    for bmi, value in frame.to_numpy():
        np.testing.assert_allclose(value, model.predict(X.assign(bmi=bmi)).mean(), rtol=1e-9)


def test_the_map_holds_other_features_at_their_medians(iris):
    model, X, y = iris
    frame = DecisionMapDisplay.from_estimator(model, X, y, features=(2, 3), n_points=6).frame()
    rows = X.median().to_frame().T.loc[np.zeros(len(frame))].reset_index(drop=True)
    rows[X.columns[2]], rows[X.columns[3]] = frame[X.columns[2]], frame[X.columns[3]]
    assert (model.predict(rows) == frame["prediction"]).all()


def test_shapley_frames_add_up_to_scores(iris):
    model, X, _ = iris
    display = ShapleyDisplay.from_estimator(model, X[:20], background=X, output=1)
    scores = model.decision_function(X)[:, 1]
    np.testing.assert_allclose(display.frame().sum(axis=1), scores[:20] - scores.mean(), atol=1e-9)


def test_images_fill_their_grid():
    digits = load_digits()
    # A given penalty, so that no vectors are merged.
    model = SPKMClassifier(n_basis=8, weight_penalty="rkhs", random_state=0, scale="common", tol=1e-2)
    display = BasisDisplay.from_estimator(model.fit(digits.data[:200], digits.target[:200]), image_shape=(8, 8))
    assert display.ax_.size == 8
    assert all(len(ax.images) == 1 for ax in display.ax_.ravel())


def test_images_may_have_titles_and_scales_of_their_own():
    vectors = np.array([[1.0, -2.0, 0.0, 0.5], [10.0, 20.0, -5.0, 0.0]])
    display = BasisDisplay(
        vectors, vectors, np.zeros((2, 0)), [], [], image_shape=(2, 2), titles=["a", "b"], one_scale=False
    ).plot()
    assert [ax.get_title() for ax in display.ax_.ravel()] == ["a", "b"]
    for ax, vector in zip(display.ax_.ravel(), vectors, strict=True):
        np.testing.assert_allclose(ax.images[0].get_array().ravel(), vector / np.abs(vector).max())
        assert ax.images[0].get_clim() == (-1.0, 1.0)


def test_curves_share_colours_and_hold_validation_scores(iris):
    display = curves()
    assert display.frame()["score"].tolist() == [0.5, 0.2, 0.05, 0.6, 0.4]
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["1", "10", "100"]
    other = curves(names=["theirs", "ours", "mean"])
    assert other.style_of("ours")["color"] == display.style_of("theirs")["color"]
    assert other.style_of("ours") != display.style_of("ours")
    _, X, y = iris
    model = SPKMClassifier(weight_penalty="rkhs", max_iter=5, random_state=0)
    drawn = CurveDisplay.from_estimator({"a": model}, X, y, sizes=[2, 4], cv=2)
    _, scores = validation_curve(model, X, y, param_name="n_basis", param_range=[2, 4], cv=2)
    np.testing.assert_array_equal(drawn.frame()["score"], scores.mean(axis=1))
    assert drawn.frame()["n_basis"].tolist() == [2, 4]


def test_a_path_marks_the_simplest_model_within_one_standard_error(path):
    display = PathDisplay(path)
    best = np.argmax(path.scores)
    good = path.scores >= path.scores[best] - path.score_errors[best]
    assert path.n_features[display.chosen] == path.n_features[good].min()
    assert np.isfinite(path.score_errors).all() and (path.score_errors >= 0).all()


@pytest.mark.parametrize(("strengths", "shown"), [([1.0, 2.0, 4.0], [1, 2, 4]), ([2.0, 1.0, np.inf], [3, 2, 1])])
def test_a_path_whose_prices_fall_is_drawn_by_features(strengths, shown):
    left, ones = np.array([3, 2, 1]), np.ones(3)
    path = SparsityPath(np.array(strengths), left, left, left, ones, ones, 0 * ones, ones, [np.arange(k) for k in left])
    np.testing.assert_array_equal(PathDisplay(path).plot().ax_[0].lines[0].get_xdata(), shown)


def test_pair_matrices_hold_the_scores_of_pairs(pairs):
    model, _, _ = pairs
    frame = PairMatrixDisplay.from_estimator(model).frame()
    row, column = frame.index[0], frame.columns[0]
    expected = model.decision_function([[int(row), int(column)]])[0]
    np.testing.assert_allclose(frame.loc[row, column], expected, atol=1e-12)


def test_names_with_dollars_are_no_formulas(cancer):
    _, X, y = cancer
    names = [f"$price_{k}^2 <b>" for k in range(4)]
    small = X.iloc[:, :4].set_axis(names, axis=1)
    model = SPKMClassifier(n_basis=2, random_state=0).fit(small, y)
    BasisDisplay.from_estimator(model).figure_.canvas.draw()
    ShapleyDisplay.from_estimator(model, small[:20]).figure_.canvas.draw()


def two_outputs(X):
    return SPKMRegressor(1, kernel="linear", random_state=0).fit(X, np.asarray(X)[:, :2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: BasisDisplay.from_estimator(c[0], x=[1.0, 2.0]), "x must have an entry for each of the 4"),
        (lambda c: BasisDisplay.from_estimator(c[0], image_shape=(3, 3)), "image_shape must have 4 pixels"),
        (
            lambda c: BasisCardDisplay.from_estimator(*c, basis=9),
            "basis must be below {n_basis}, the number of vectors",
        ),
        (lambda c: ContributionDisplay.from_estimator(c[0], c[1], row=900), "row must be below 150"),
        (lambda c: EffectDisplay.from_estimator(c[0], c[1], (0, 1, 2)), "one feature or two"),
        (lambda c: EffectDisplay.from_estimator(c[0], c[1], "petal"), "features must name a feature of X; got 'petal'"),
        (lambda c: EffectDisplay.from_estimator(c[0], c[1], [(0, 1)]), r"features must be an integer.*got \(0, 1\)"),
        (lambda c: DecisionMapDisplay.from_estimator(c[0], c[1], features=(0,)), r"must be two features.*got \(0,\)"),
        (
            lambda c: DecisionMapDisplay.from_estimator(two_outputs(c[1]), c[1], features=(0, 1), n_points=2),
            "must predict one value; this one has 2 outputs",
        ),
        (lambda c: ShapleyDisplay.from_estimator(c[0], c[1], output="rose"), "output must be one of setosa"),
        (lambda c: ViewShareDisplay.from_estimator(c[0]), "must have views"),
        (lambda c: PairMatrixDisplay.from_estimator(c[0]), "must be one of pairs"),
    ],
)
def test_mistakes_are_named(call, message, iris):
    with pytest.raises(ValueError, match=message.format(n_basis=len(iris[0].basis_vectors_))):
        call(iris)


@pytest.fixture(scope="module")
def parts():
    """Three classes by binary models, each of which has a linear part between its vectors and the next ones."""
    X, y = load_iris(return_X_y=True)
    return SPKMClassifier(2, multi_class="ovr", linear_part=True, random_state=0).fit(X, y), X, y


@pytest.mark.parametrize("number", [0, 2, 4])
def test_cards_of_binary_models_skip_their_linear_parts(parts, number):
    model, X, y = parts
    fitted = model.model_
    row = np.flatnonzero(fitted.vector_rows)[number]
    card = BasisCardDisplay.from_estimator(model, X, y, basis=number)
    np.testing.assert_array_equal(card.similarities, fitted.similarities(X)[:, row])
    np.testing.assert_array_equal(card.weights, fitted.weights[row])
    columns = [int(name[1:]) for name in card.feature_names]
    np.testing.assert_array_equal(card.values, fitted.basis_vectors[row, columns])


def test_vectors_have_one_name_everywhere(parts, tmp_path):
    model, X, y = parts
    names = {name for name in model.to_frame().index if name.startswith("u")}
    assert names == {f"u{r}" for r in range(model.model_.vector_rows.sum())} and len(names) > 3
    report(model, tmp_path / "facts.json", X, y)
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert {card["name"] for card in facts["basis"]["cards"]} == names
    labels = facts["model"]["labels"]
    assert all(labels[card["r"]] == card["name"] for card in facts["basis"]["cards"])


def test_a_card_of_equal_similarities_is_drawn(iris):
    model, X, _ = iris
    card = BasisCardDisplay.from_estimator(model, X)
    for spread in (0.0, 1e-15):
        display = replace(card, similarities=1 + spread * np.arange(5.0))
        display.plot()
        assert [bar.get_height() for bar in display.ax_[-1].patches] == [5]


def test_calibration_is_scikit_learns(cancer):
    model, X, y = cancer
    CalibrationDisplay.from_estimator(model, X, y, pos_label="malignant")


def test_displays_say_what_they_need():
    code = """
import sys
from dataclasses import replace

class NotInstalled:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in ("matplotlib", "pandas"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled)
from spkm import SPKMClassifier
from spkm.inspection import BasisDisplay, report
model = SPKMClassifier(n_basis=2).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
try:
    BasisDisplay.from_estimator(model)
except ImportError as error:
    print(error)
try:
    BasisDisplay(model.basis_vectors_, model.basis_vectors_, model.dual_coef_[:, None], ["x"], ["f"]).frame()
except ImportError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert "spkm[plot]" in result.stdout and "spkm[frames]" in result.stdout


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_a_model_of_no_weights_can_be_drawn_and_reported(iris, diabetes, kind, tmp_path):
    model, X, y = iris if kind == "classifier" else diabetes
    X, y = X[::5], y[::5]
    still = copy.copy(model)
    theta = model.model_.theta.copy()
    model.model_.model.unpack(theta).weights[...] = 0.0
    still.model_ = replace(model.model_, theta=theta)
    BasisDisplay.from_estimator(still)
    BasisCardDisplay.from_estimator(still, X, y)
    for level in ("both", "basis", "features"):
        ContributionDisplay.from_estimator(still, X, level=level)
    EffectDisplay.from_estimator(still, X, 0)
    EffectDisplay.from_estimator(still, X, (0, 1))
    ShapleyDisplay.from_estimator(still, X)
    ShapleyDisplay.from_estimator(still, X[:1])
    DecisionMapDisplay.from_estimator(still, X, y, features=(0, 1))
    for name in ("page.html", "card.md"):
        assert report(still, tmp_path / name, X, y).stat().st_size > 1000
    assert "basis vectors" in summary(still, X, y)
    plt.close("all")
