"""Conformal intervals and sets: equal to their definitions, and as often right as they say."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, ShuffleSplit
from sklearn.pipeline import make_pipeline

from spkm import SPKMClassifier, SPKMOrdinalClassifier, SPKMRegressor, SPKMSurvival
from spkm.conformal import (
    ConditionalConformalClassifier,
    CrossConformalClassifier,
    CrossConformalRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
)


def line(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + rng.normal(size=n)


def three_classes(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.array(["a", "b", "c"])[np.argmax(np.c_[X, np.zeros(n)] + rng.normal(size=(n, 3)), axis=1)]


def test_split_intervals_cover_as_the_theorem_says():
    # With 19 exchangeable scores and one more, the 18th smallest covers with probability 18/20, whatever the model.
    covered = []
    model = DummyRegressor(strategy="constant", constant=0.3).fit(np.zeros((2, 1)), np.zeros(2))
    rng = np.random.default_rng(0)
    for _ in range(2000):
        y = rng.exponential(size=20)
        conformal = SplitConformalRegressor(model, confidence_level=0.9).conformalize(np.zeros((19, 1)), y[:19])
        low, high = conformal.predict_interval(np.zeros((1, 1)))[1][0, :, 0]
        covered.append(low <= y[19] <= high)
    deviation = np.sqrt(0.9 * 0.1 / len(covered))
    assert abs(np.mean(covered) - 0.9) < 4 * deviation


@pytest.mark.parametrize("score", ["lac", "aps"])
def test_split_sets_cover_at_least_the_level(score):
    X, y = three_classes(200)
    model = LogisticRegression().fit(X, y)
    covered = []
    for seed in range(1, 41):
        X, y = three_classes(99 + 50, seed)
        conformal = SplitConformalClassifier(model, confidence_level=0.8, conformity_score=score)
        sets = conformal.conformalize(X[:99], y[:99]).predict_set(X[99:])[1][:, :, 0]
        covered.append(sets[np.arange(50), np.searchsorted(model.classes_, y[99:])].mean())
    # The coverage of one draw has at most the variance of a Beta(80, 20) and of 50 coin tosses.
    deviation = np.sqrt((0.8 * 0.2 / 101 + 0.8 * 0.2 / 50) / len(covered))
    assert np.mean(covered) > 0.8 - 4 * deviation
    assert score == "aps" or np.mean(covered) < 0.81 + 4 * deviation


@pytest.mark.parametrize("method", ["plus", "minmax", "base"])
@pytest.mark.parametrize("score", ["absolute", "residual_normalized"])
def test_cross_intervals_are_those_of_the_definition(method, score):
    X, y = line(39)
    levels = [0.5, 0.9]
    base = SPKMRegressor(3, random_state=0) if score == "residual_normalized" else LinearRegression()
    cv = KFold(3, shuffle=True, random_state=0)
    conformal = CrossConformalRegressor(base, confidence_level=levels, method=method, cv=cv, conformity_score=score)
    new = line(6, 1)[0]
    predictions, intervals = conformal.fit_conformalize(X, y).predict_interval(new)

    def expected(model, Z):
        if score == "absolute":
            return model.predict(Z), np.ones(len(Z))
        return model.predict(Z, return_std=True)

    ends = np.empty((len(new), 2, 2))
    whole, unit = expected(clone(base).fit(X, y), new)
    folds = [(clone(base).fit(X[train], y[train]), test) for train, test in cv.split(X)]
    for i in range(len(new)):
        below, above, scores, centres, units = [], [], [], [], []
        for model, test in folds:
            (centre,), (here,) = expected(model, new[i : i + 1])
            centres.append(centre)
            units.append(here)
            held, widths = expected(model, X[test])
            for residual in np.abs(y[test] - held) / widths:
                below.append((centre, residual * here))
                above.append((centre, residual * here))
                scores.append(residual)
        for k, level in enumerate(levels):
            rank = int(np.ceil(level * 40))
            if method == "base":
                half = np.sort(scores)[rank - 1] * unit[i]
                ends[i, :, k] = whole[i] - half, whole[i] + half
            elif method == "plus":
                ends[i, :, k] = (
                    -np.sort([-(c - r) for c, r in below])[rank - 1],
                    np.sort([c + r for c, r in above])[rank - 1],
                )
            else:
                here = list(zip(centres, units, strict=True))
                ends[i, :, k] = (
                    -np.sort([-min(c - r * u for c, u in here) for r in scores])[rank - 1],
                    np.sort([max(c + r * u for c, u in here) for r in scores])[rank - 1],
                )
    np.testing.assert_allclose(predictions, whole, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(intervals, ends, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("score", ["lac", "aps"])
def test_cross_sets_are_those_of_the_definition(score):
    X, y = three_classes(59)
    cv = KFold(4, shuffle=True, random_state=1)
    conformal = CrossConformalClassifier(LogisticRegression(), confidence_level=0.8, conformity_score=score, cv=cv)
    new = three_classes(12, 1)[0]
    labels, sets = conformal.fit_conformalize(X, y).predict_set(new)
    classes = np.unique(y)

    def scored(p, k):
        return 1 - p[k] if score == "lac" else p[p >= p[k]].sum()

    counts = np.zeros((12, 3))
    for train, test in cv.split(X):
        model = LogisticRegression().fit(X[train], y[train])
        known = [
            scored(p, np.searchsorted(classes, c)) for p, c in zip(model.predict_proba(X[test]), y[test], strict=True)
        ]
        for i, p in enumerate(model.predict_proba(new)):
            for k in range(3):
                counts[i, k] += np.sum(np.array(known) < scored(p, k))
    expected = counts < 0.8 * 60
    if score == "aps":
        expected[np.arange(12), np.searchsorted(classes, labels)] = True
    np.testing.assert_array_equal(sets[:, :, 0], expected)


def test_cross_intervals_cover():
    covered = []
    for seed in range(60):
        X, y = line(60, seed)
        conformal = CrossConformalRegressor(LinearRegression(), confidence_level=0.8, cv=5)
        intervals = conformal.fit_conformalize(X[:40], y[:40]).predict_interval(X[40:])[1][:, :, 0]
        covered.append(np.mean((intervals[:, 0] <= y[40:]) & (y[40:] <= intervals[:, 1])))
    # What is proved is 2 * 0.8 - 1, less a term; sums of 1,200 tosses leave no doubt that it is reached.
    assert np.mean(covered) > 0.6


def test_what_is_proved_of_folds():
    X, y = line(40)
    proved = {}
    for method in ("plus", "minmax", "base"):
        for cv in (4, 40):
            conformal = CrossConformalRegressor(LinearRegression(), confidence_level=[0.8, 0.9], method=method, cv=cv)
            proved[method, cv] = conformal.fit_conformalize(X, y).guaranteed_coverage_
    np.testing.assert_allclose(proved["minmax", 40], [33 / 41, 37 / 41])  # leave-one-out has the level
    np.testing.assert_allclose(proved["minmax", 4], [33 / 50, 37 / 50])  # folds of ten samples have less
    np.testing.assert_allclose(proved["plus", 40], [0.6, 0.8])
    np.testing.assert_allclose(proved["plus", 4], np.array([0.6, 0.8]) - 2 * 0.75 / 11)
    assert (proved["base", 4] == 0).all()
    classes = CrossConformalClassifier(LogisticRegression(), cv=5).fit_conformalize(*three_classes(40))
    assert classes.guaranteed_coverage_ == pytest.approx([0.8 - 0.875 / 6])


def test_deviations_make_intervals_wide_where_nothing_was_seen():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(120, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=120)
    model = SPKMRegressor(random_state=0, linear_part=False).fit(X[:60], y[:60])
    conformal = SplitConformalRegressor(model, conformity_score="residual_normalized").conformalize(X[60:], y[60:])
    intervals = conformal.predict_interval(np.array([[0.0], [30.0]]))[1]
    width = intervals[:, 1, 0] - intervals[:, 0, 0]
    assert width[1] > 2 * width[0]
    assert np.array_equal(conformal.predict(X), model.predict(X))


def test_a_copy_is_fitted_where_none_is_given_fitted():
    X, y = three_classes(60)
    base = SPKMClassifier(3, random_state=0, weight_penalty="rkhs")
    conformal = SplitConformalClassifier(base, prefit=False, confidence_level=0.7)
    with pytest.raises(NotFittedError):
        conformal.predict_set(X)
    conformal.fit(X[:40], y[:40], {"sample_weight": np.ones(40)})
    with pytest.raises(NotFittedError, match="conformalize"):
        conformal.predict_set(X)
    labels, sets = conformal.conformalize(X[40:], y[40:]).predict_set(X)
    assert list(conformal.classes_) == ["a", "b", "c"] and sets.shape == (60, 3, 1)
    assert np.array_equal(labels, conformal.estimator_.predict(X)) and not hasattr(base, "classes_")
    conformal.fit(X[:40], y[:40])  # another model: its scores are not known yet
    with pytest.raises(NotFittedError, match="conformalize"):
        conformal.predict_set(X)


def test_groups_and_weights_go_with_their_samples():
    X, y = line(40)
    groups = np.repeat(np.arange(8), 5)
    weight = np.random.default_rng(0).uniform(1, 2, size=40)
    conformal = CrossConformalRegressor(LinearRegression(), confidence_level=0.8, cv=GroupKFold(4))
    conformal.fit_conformalize(X, y, groups=groups, fit_params={"sample_weight": weight})
    train, test = next(GroupKFold(4).split(X, y, groups))
    model = LinearRegression().fit(X[train], y[train], weight[train])
    np.testing.assert_allclose(conformal.conformity_scores_[test], np.abs(y[test] - model.predict(X[test])), rtol=1e-9)
    of_pipeline = clone(conformal).set_params(estimator=make_pipeline(LinearRegression()))
    of_pipeline.fit_conformalize(X, y, groups=groups, fit_params={"linearregression__sample_weight": weight})
    np.testing.assert_array_equal(of_pipeline.conformity_scores_, conformal.conformity_scores_)


def test_a_class_that_a_fold_has_not_seen_has_no_probability():
    X, y = three_classes(40)
    y[:10], y[10:] = "a", np.where(y[10:] == "a", "b", y[10:])
    groups = np.repeat(np.arange(4), 10)
    conformal = CrossConformalClassifier(LogisticRegression(), confidence_level=0.5, cv=LeaveOneGroupOut())
    conformal.fit_conformalize(X, y, groups=groups)
    assert (conformal.conformity_scores_[:10] == 1).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"confidence_level": 1.0}, "confidence_level must be a number above 0 and below 1"),
        ({"confidence_level": []}, "confidence_level must be"),
        ({"confidence_level": 0.99}, "needs at least 99 samples .* got 20"),
        ({"conformity_score": "gamma"}, "conformity_score must be one of 'absolute', 'residual_normalized'"),
        ({"conformity_score": "residual_normalized"}, "LinearRegression does not. Use conformity_score='absolute'"),
        ({"estimator": None}, "prefit=True needs a fitted estimator"),
        ({"prefit": "no"}, "prefit must be one of True, False"),
    ],
)
def test_bad_arguments_of_a_split_are_named(wrong, message):
    X, y = line(20)
    arguments = {"estimator": LinearRegression().fit(X, y), **wrong}
    conformal = SplitConformalRegressor(**arguments)
    with pytest.raises(ValueError, match=message):
        conformal.conformalize(X, y)
    assert not hasattr(conformal, "conformity_scores_")


def test_samples_and_targets_of_a_split_are_as_many():
    X, y = three_classes(60)
    model = LogisticRegression().fit(X, y)
    for n in (50, 60):
        with pytest.raises(ValueError, match=f"the same number of samples; got {n} and {110 - n}"):
            SplitConformalClassifier(model).conformalize(X[:n], y[: 110 - n])
    with pytest.raises(ValueError, match="the same number of samples; got 60 and 50"):
        SplitConformalRegressor(LinearRegression().fit(*line(60))).conformalize(X, np.arange(50.0))


def test_targets_of_a_split_are_finite():
    X, y = line(20)
    with pytest.raises(ValueError, match="y must hold finite numbers; got inf"):
        SplitConformalRegressor(LinearRegression().fit(X, y)).conformalize(X, np.where(y > 1, np.inf, y).astype(object))


def test_bad_arguments_of_folds_are_named():
    X, y = line(20)
    with pytest.raises(ValueError, match="hold every sample out once"):
        CrossConformalRegressor(LinearRegression(), cv=ShuffleSplit(2, random_state=0)).fit_conformalize(X, y)
    with pytest.raises(ValueError, match="method must be one of"):
        CrossConformalRegressor(LinearRegression(), method="jackknife").fit_conformalize(X, y)
    with pytest.raises(ValueError, match="one target for each sample"):
        CrossConformalRegressor(LinearRegression()).fit_conformalize(X, np.c_[y, y])
    with pytest.raises(ValueError, match="y must hold classes"):
        CrossConformalClassifier(LogisticRegression()).fit_conformalize(X, y)
    with pytest.raises(ValueError, match="prefit=True"):
        SplitConformalRegressor(LinearRegression()).fit(X, y)
    X, y = three_classes(40)
    model = LogisticRegression().fit(X[y != "c"], y[y != "c"])
    with pytest.raises(ValueError, match="has not learned"):
        SplitConformalClassifier(model).conformalize(X, y)
    with pytest.raises(ValueError, match="needs predict_proba"):
        SplitConformalClassifier(SPKMClassifier(2, loss="cosine", random_state=0).fit(X, y)).conformalize(X, y)


@pytest.mark.parametrize("score", ["lac", "aps"])
@pytest.mark.parametrize("kind", [SplitConformalClassifier, ConditionalConformalClassifier, CrossConformalClassifier])
def test_sets_of_ordered_classes_do_not_depend_on_their_names(kind, score):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    code = np.digitize(X[:, 0] + 0.5 * rng.standard_normal(400), [-0.5, 0.5])
    names = np.array(["low", "mid", "high"])  # in another order than that of the alphabet
    sets = []
    for y, order in ((code, None), (names[code], names.tolist())):
        model = SPKMOrdinalClassifier(2, order=order, weight_penalty="rkhs", tol=1e-2, random_state=0)
        if kind is CrossConformalClassifier:
            found = kind(model, cv=KFold(3), conformity_score=score).fit_conformalize(X[:300], y[:300])
        else:
            found = kind(model.fit(X[:150], y[:150]), conformity_score=score).conformalize(X[150:300], y[150:300])
        sets.append(found.predict_set(X[300:])[1][:, :, 0])
    np.testing.assert_array_equal(*sets)
    assert sets[0][np.arange(100), code[300:]].mean() > 0.8


def test_other_kinds_of_models_are_refused():
    X = np.random.default_rng(0).standard_normal((60, 2))
    quick = {"n_basis": 2, "weight_penalty": "rkhs", "random_state": 0}
    times = np.rec.fromarrays([np.ones(60, bool), np.exp(X[:, 0])], names="event,time")
    for model, what in (
        (SPKMClassifier(**quick).fit(X, X[:, 0] > 0), "SPKMClassifier predicts classes"),
        (SPKMSurvival(**quick).fit(X, times), "SPKMSurvival predicts log hazards"),
    ):
        with pytest.raises(TypeError, match=what):
            SplitConformalRegressor(model).conformalize(X, X[:, 0])
    regressor = SPKMRegressor(**quick).fit(X, X[:, 0])
    with pytest.raises(TypeError, match="needs an estimator of classes; got SPKMRegressor"):
        SplitConformalClassifier(regressor).conformalize(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="same number of samples; got 60 and 59"):
        SplitConformalRegressor(regressor).conformalize(X, X[1:, 0])


@pytest.mark.parametrize("score", ["absolute", "residual_normalized"])
def test_a_target_in_a_column_is_one_target(score):
    """Before, distances were those of each sample from every other: intervals of shape (n, 2, n, n)."""
    X, y = line(120)
    model = SPKMRegressor(2, random_state=0)
    plain, column = (
        SplitConformalRegressor(clone(model).fit(X[:50], target[:50]), conformity_score=score)
        .conformalize(X[50:100], target[50:100])
        .predict_interval(X[100:])[1]
        for target in (y, y[:, None])
    )
    np.testing.assert_array_equal(plain, column)
    several = clone(model).fit(X[:50], np.c_[y, -y][:50])
    with pytest.raises(ValueError, match=r"predicts 2\. Conformalize each output by itself"):
        SplitConformalRegressor(several, conformity_score=score).conformalize(X[50:100], y[50:100])
