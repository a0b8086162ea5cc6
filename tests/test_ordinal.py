"""Ordered classes: the loss and its thresholds, the order of labels, and what one score is worth."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from spkm import SPKMClassifier, SPKMOrdinalClassifier, SPKMRegressor, load
from spkm.core.model import PreimageModel, Term, View
from spkm.core.objective import Objective
from spkm.core.targets import Ordered
from spkm.kernels import RBF
from spkm.losses import Ordinal, best_thresholds, first_thresholds
from spkm.penalties import RKHSNorm
from spkm.sources import ArraySource

QUICK = {"n_basis": 4, "weight_penalty": "rkhs"}


# A check fits three labels of text, which need order="sorted".
@parametrize_with_checks([SPKMOrdinalClassifier(order="sorted", max_iter=8, **QUICK)])
@pytest.mark.filterwarnings("ignore:.* stopped after 8 iterations")
def test_scikit_learn(estimator, check):
    check(estimator)


def ordered(n=240, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = 2 * X[:, 0] + X[:, 1] ** 2 + rng.logistic(size=n)
    return X, np.digitize(f, [-1.0, 0.5, 2.5])


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_the_loss_is_minus_the_logarithm_of_a_difference(n_classes):
    rng = np.random.default_rng(n_classes)
    t = np.sort(rng.standard_normal(n_classes - 1))
    F = 2 * rng.standard_normal((50, 1))
    Y = rng.integers(0, n_classes, (50, 1)).astype(float)
    above = 1 / (1 + np.exp(np.r_[-np.inf, t, np.inf] - F))  # probability of a class above each threshold
    shares = above[:, :-1] - above[:, 1:]
    loss = Ordinal(t)
    assert_allclose(loss.probabilities(F), shares, rtol=1e-9, atol=1e-12)
    assert_allclose(loss.pointwise(Y, F)[:, 0], -np.log(shares[np.arange(50), Y[:, 0].astype(int)]), rtol=1e-9)
    step = 1e-6
    slope = (loss.pointwise(Y, F + step) - loss.pointwise(Y, F - step)) / (2 * step)
    assert_allclose(loss.slope(Y, F), slope, atol=1e-7)


def test_the_loss_does_not_overflow():
    loss = Ordinal((-1.0, 1.0))
    F, Y = np.array([[800.0], [-900.0], [1e4], [0.0]]), np.array([[0.0], [1.0], [2.0], [1.0]])
    assert_allclose(loss.pointwise(Y, F)[:3, 0], [801.0, 899 - np.log(-np.expm1(-2.0)), 0.0], rtol=1e-12)
    assert np.isfinite(loss.slope(Y, F)).all()
    assert np.isfinite(loss.log_probabilities(F)).all()


def test_gradient_of_the_objective():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 3)), rng.integers(0, 4, (30, 1)).astype(float)
    model = PreimageModel([Term(3, (View(RBF(0.4), metric="relevances"),))], 3, 1, True)
    objective = Objective(model, Ordinal((-1.0, 0.2, 1.5)), ArraySource(X, Y), None, RKHSNorm(0.1))
    theta = 0.5 * rng.standard_normal(len(model.zeros()[0]))
    _, gradient = objective.value_and_gradient(theta)
    for i in range(len(theta)):
        step = np.zeros_like(theta)
        step[i] = 1e-6
        numeric = (objective.value(theta + step) - objective.value(theta - step)) / 2e-6
        assert gradient[i] == pytest.approx(numeric, abs=1e-7)


@pytest.mark.parametrize("n_classes", [2, 4, 7])
def test_best_thresholds_are_those_of_a_general_optimiser(n_classes):
    rng = np.random.default_rng(n_classes)
    f, weight = 2 * rng.standard_normal(400), rng.uniform(0.5, 2, 400)
    code = np.clip(np.rint(f + rng.logistic(size=400) + n_classes / 2), 0, n_classes - 1).astype(int)
    start = first_thresholds(np.bincount(code, weight, n_classes) / weight.sum(), 1.0)
    assert np.all(np.diff(start) > 0)
    found = best_thresholds(code, f, weight, start)

    def value(p):  # the first threshold and the logarithms of gaps
        t = np.cumsum(np.r_[p[0], np.exp(p[1:])])
        return weight @ Ordinal(t).pointwise(code[:, None].astype(float), f[:, None])[:, 0] / weight.sum()

    other = minimize(value, np.r_[start[0], np.log(np.diff(start))], options={"gtol": 1e-9})
    assert_allclose(found, np.cumsum(np.r_[other.x[0], np.exp(other.x[1:])]), atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_decoding_takes_the_most_likely_class(seed):
    rng = np.random.default_rng(seed)
    t = np.sort(2 * rng.standard_normal(6))  # some gaps are narrow: such a class is never the most likely
    loss = Ordinal(t)
    target = Ordered.of(np.arange(7), loss)
    F = rng.uniform(-8, 8, (500, 1))
    near = np.min(np.abs(F - target.cuts[1:-1]), axis=1) < 1e-9
    assert_array_equal(target.decode(F)[~near], loss.probabilities(F).argmax(axis=1)[~near])
    for label in np.unique(target.decode(F)):
        A, a = target.region(label, F[0])
        inside = np.all(F @ A.T + a >= 0, axis=1)
        assert_array_equal(inside[~near], (target.decode(F) == label)[~near])
        assert np.abs(a).max() < 100  # the first and the last class end nowhere: they have one bound
        assert len(a) == 2 - (label == 0) - (label == 6)


def test_median_has_the_lowest_expected_distance():
    X, y = ordered()
    labels = np.array(["a", "b", "c", "d"])
    model = SPKMOrdinalClassifier(**QUICK, order=labels.tolist(), random_state=0).fit(X, labels[y])
    P, codes = model.predict_proba(X), np.arange(4)
    expected = np.abs(codes[:, None] - codes) @ P.T  # of each class that might be predicted, for each sample
    assert_array_equal(model.predict_median(X), labels[expected.argmin(axis=0)])
    assert np.any(model.predict_median(X) != model.predict(X))


def test_scores_and_thresholds_suit_each_other():
    X, y = ordered()
    model = SPKMOrdinalClassifier(random_state=0).fit(X, y)
    again = best_thresholds(y, model.latent_score(X), np.ones(len(y)), model.thresholds_)
    assert_allclose(again, model.thresholds_, atol=0.02)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))
    assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)), atol=1e-9)
    X, y = ordered(2000, seed=1)
    rivals = [SPKMClassifier(random_state=0), SPKMRegressor(random_state=0)]
    errors = [np.abs(np.rint(rival.fit(*ordered()).predict(X)) - y).mean() for rival in rivals]
    assert np.abs(model.predict(X) - y).mean() < min(errors) + 0.02


def test_one_explanation_for_all_classes():
    X, y = ordered()
    model = SPKMOrdinalClassifier(random_state=0).fit(X, y)
    values = model.explain(X[:5], X[:40])
    assert values.values.shape == (5, 4, 1)
    assert_allclose(
        values.values.sum(axis=(1, 2)), model.latent_score(X[:5]) - model.latent_score(X[:40]).mean(), atol=1e-8
    )
    assert "one score for ordered classes, 0 < 1 < 2 < 3" in model.summary(X, y)


def test_scores_of_probabilities_in_another_order_are_told_of():
    """A metric of scikit-learn sorts the labels, and reads the columns as if the estimator had."""
    X, y = ordered(120)
    words = np.array(["poor", "fair", "good", "best"])
    model = SPKMOrdinalClassifier(**QUICK, order=words.tolist(), random_state=0).fit(X, words[y])
    score = get_scorer("neg_log_loss")
    for estimator in (model, make_pipeline(FunctionTransformer(), model).fit(X, words[y])):
        with pytest.warns(UserWarning, match="This score is wrong: .* sorted order of the labels, .'best', 'fair'"):
            score(estimator, X, words[y])
    of_codes = SPKMOrdinalClassifier(**QUICK, random_state=0).fit(X, y)
    right = score(of_codes, X, y)  # no warning, as of all that follow
    assert right == pytest.approx(np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean())
    score(CalibratedClassifierCV(FrozenEstimator(model)).fit(X, words[y]), X, words[y])
    get_scorer("accuracy")(model, X, words[y])


def test_order_of_labels():
    X, code = ordered(120)
    names = np.array(["poor", "fair", "good", "best"])
    model = SPKMOrdinalClassifier(order=names.tolist(), random_state=0, **QUICK).fit(X, names[code])
    numbers = SPKMOrdinalClassifier(random_state=0, **QUICK).fit(X, 10.0 * code)
    assert model.classes_.tolist() == names.tolist()
    assert numbers.classes_.tolist() == [0.0, 10.0, 20.0, 30.0]
    assert_array_equal(model.predict_proba(X), numbers.predict_proba(X))
    pandas = pytest.importorskip("pandas")
    category = pandas.Series(pandas.Categorical(names[code], categories=names, ordered=True))
    assert_array_equal(
        SPKMOrdinalClassifier(random_state=0, **QUICK).fit(X, category).predict_proba(X), model.predict_proba(X)
    )


def test_text_without_an_order_is_an_error_but_for_two_labels():
    X, code = ordered(120)
    names = np.array(["a", "b", "c", "d"])
    model = SPKMOrdinalClassifier(random_state=0, **QUICK)
    pandas = pytest.importorskip("pandas")
    for y in (names[code], names[code].astype(object), pandas.Series(pandas.Categorical(names[code]))):
        with pytest.raises(
            ValueError, match=r"4 labels of text, 'a', 'b', .* Give order=\[\.\.\.\], lowest label first"
        ):
            model.fit(X, y)
    asked = SPKMOrdinalClassifier(order="sorted", random_state=0, **QUICK)
    for y, given in ((names[code], names), (names[3 - code], names.tolist()), (10 * code, None)):
        other = SPKMOrdinalClassifier(order=given, random_state=0, **QUICK)
        assert_array_equal(asked.fit(X, y).predict_proba(X), other.fit(X, y).predict_proba(X))
        assert_array_equal(asked.classes_, np.unique(y))
    # Two classes are the same model in either order.
    two = np.where(code > 1, "no", "yes")
    there, back = (SPKMOrdinalClassifier(order=order, random_state=0, **QUICK) for order in (None, ["yes", "no"]))
    assert_allclose(there.fit(X, two).predict_proba(X), back.fit(X, two).predict_proba(X)[:, ::-1], atol=1e-6)


def test_weights_are_repeats_and_absent_classes_are_absent():
    X, y = ordered(90)
    weight = np.random.default_rng(0).integers(0, 3, 90)
    weight[y == 3] = 0
    model = SPKMOrdinalClassifier(random_state=0, **QUICK).fit(X, y, sample_weight=weight)
    other = SPKMOrdinalClassifier(random_state=0, **QUICK).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert model.classes_.tolist() == [0, 1, 2]
    assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-7)


def test_strict_selection_and_monotone():
    X, y = ordered(200, 8)
    model = SPKMOrdinalClassifier(n_basis=2, selection="strict", random_state=0, max_iter=30).fit(X, y)
    assert set(model.selected_features_) >= {0, 1}
    assert len(model.selected_features_) < 8
    rising = SPKMOrdinalClassifier(monotone={0: 1}, random_state=0, **QUICK).fit(X, y)
    line = np.repeat(X[:1], 50, axis=0)
    line[:, 0] = np.linspace(-3, 3, 50)
    assert np.all(np.diff(rising.latent_score(line)) >= -1e-12)


def test_files(tmp_path):
    X, code = ordered(100)
    names = np.array(["poor", "fair", "good", "best"])
    model = SPKMOrdinalClassifier(order=names.tolist(), random_state=0, **QUICK).fit(X, names[code])
    model.save(tmp_path / "model.spkm")
    for again in (load(tmp_path / "model.spkm"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert_array_equal(again.predict(X), model.predict(X))
        assert_array_equal(again.thresholds_, model.thresholds_)


@pytest.mark.parametrize(
    ("order", "y", "message"),
    [
        (None, np.array(["a", "b", 3] * 10, dtype=object), "text or an ordered category .* got 3"),
        (None, ["a", "b", None] * 10, "10 of 30 are missing"),
        (["a", "b"], ["a", "b", "c"] * 10, r"labels of the order \['a', 'b'\]; got .*'c'"),
        (["a", "a", "b"], ["a", "b"] * 15, "order must hold every label once"),
        ("abc", ["a", "b"] * 15, "order must be a sequence of at least two labels"),
        (None, [1] * 30, "at least two classes .* got one class"),
        (None, np.array([0, 1, np.nan] * 10), "finite numbers"),
        (None, [0, 1, np.nan] * 10, "10 of 30 are missing"),
        (None, None, "requires y to be passed"),
    ],
)
def test_bad_labels(order, y, message):
    model = SPKMOrdinalClassifier(order=order, **QUICK)
    before = clone(model).get_params()
    with pytest.raises(ValueError, match=message):
        model.fit(np.random.default_rng(0).standard_normal((30, 2)), y)
    assert model.get_params() == before


def test_bad_thresholds_and_codes():
    for thresholds in ((), (1.0, 0.0), (np.nan,), ((0.0,),)):
        with pytest.raises(ValueError, match="thresholds of loss must be finite numbers that rise"):
            Ordinal(thresholds).check("loss")
    with pytest.raises(ValueError, match="needs codes 0 to 1"):
        SPKMRegressor(loss=Ordinal((0.0,))).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    with pytest.raises(ValueError, match="is for real targets"):
        SPKMClassifier(loss=Ordinal((0.0,))).fit([[0.0], [1.0], [2.0]], [0, 1, 1])


def plain(**settings):
    """Return an estimator whose minimum does not depend on its start: a linear one."""
    return SPKMOrdinalClassifier(3, kernel="linear", weight_penalty="rkhs", tol=1e-9, random_state=0, **settings)


@pytest.mark.parametrize("n", [300, 20_400])  # more than are kept in memory
def test_chunks_give_the_fit_of_the_array(n):
    X, y = ordered(n)
    weight = 1.0 + np.arange(n) % 3
    array = plain().fit(X, y, weight)
    cuts = [slice(i, i + n // 4) for i in range(0, n, n // 4)]
    stream = plain().fit([(X[cut], y[cut], weight[cut]) for cut in cuts])
    assert_allclose(stream.thresholds_, array.thresholds_, atol=1e-3)
    assert_allclose(stream.predict_proba(X), array.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("kind", ["parquet", "csv", "pandas", "polars", "lazy", "dask"])
def test_named_columns_of_all_tables_bring_their_order(kind, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, code = ordered(150)
    names = ["poor", "fair", "good", "best"]
    array = plain(order=names).fit(X, np.array(names)[code])
    frame = pandas.DataFrame(X, columns=list("abcd"))
    table = frame.assign(grade=pandas.Categorical.from_codes(code, categories=names, ordered=True))
    model = plain()
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        table.to_parquet(tmp_path / "t.parquet", row_group_size=40)
        table = tmp_path / "t.parquet"
    elif kind == "csv":  # has no order of its own
        pytest.importorskip("pyarrow")
        table.to_csv(tmp_path / "t.csv", index=False)
        table, model = tmp_path / "t.csv", plain(order=names)
    elif kind in ("polars", "lazy"):
        polars = pytest.importorskip("polars")
        grade = polars.Series("grade", np.array(names)[code], dtype=polars.Enum(names))
        table = polars.from_pandas(frame).with_columns(grade)
        table = table.lazy() if kind == "lazy" else table
    elif kind == "dask":
        table = pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=3)
    model.fit(table, target="grade")
    assert model.classes_.tolist() == names and model.feature_names_in_.tolist() == list("abcd")
    assert_allclose(model.predict_proba(frame), array.predict_proba(X), atol=1e-3)


def test_bad_chunks():
    X, y = ordered(60)
    with pytest.raises(ValueError, match="got one class"):
        plain().fit([(X, np.ones(60, int))])
    with pytest.raises(ValueError, match=r"labels of the order \[0, 1\]; got 2"):
        plain(order=[0, 1]).fit([(X, y)])
