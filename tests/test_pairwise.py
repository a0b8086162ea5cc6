"""Estimators of pairs, against the plain model on the table that is never made; and honest splits."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate

from spkm import PairKFold, PairwiseSPKMClassifier, PairwiseSPKMRegressor, SPKMClassifier, SPKMRegressor, Term, View
from spkm.kernels import RBF, Tanimoto
from spkm.penalties import RKHSNorm
from spkm.solvers import LBFGS, Result

N_LEFT, N_RIGHT, D_LEFT, D_RIGHT = 15, 12, 3, 4
QUICK = {"n_basis": 4, "tol": 1e-3, "random_state": 0}
ESTIMATORS = [PairwiseSPKMClassifier, PairwiseSPKMRegressor]


def data(share=1.0, seed=0):
    """Return pairs, labels, numbers, and the tables of entities."""
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((N_LEFT, D_LEFT)), rng.standard_normal((N_RIGHT, D_RIGHT))
    pairs = np.array([(i, j) for i in range(N_LEFT) for j in range(N_RIGHT)])
    pairs = pairs[np.sort(rng.permutation(len(pairs))[: int(share * len(pairs))])]
    target = left[pairs[:, 0], 0] * right[pairs[:, 1], 1]
    return pairs, np.where(target > 0, "binds", "does not"), target, left, right


def targets_of(estimator, labels, numbers):
    return labels if issubclass(estimator, PairwiseSPKMClassifier) else numbers


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_model_is_that_of_the_joined_table(estimator):
    pairs, labels, numbers, left, right = data()
    y = targets_of(estimator, labels, numbers)
    plain = SPKMClassifier if estimator is PairwiseSPKMClassifier else SPKMRegressor
    penalty = RKHSNorm(1e-3)
    # Converged: where the weights are eliminated, a warm start first solves for those of the basis.
    settings = {**QUICK, "tol": 1e-8, "left_kernel": RBF(0.2)}
    model = estimator(weight_penalty=penalty, **settings).fit(pairs, y, left=left, right=right)
    columns = [np.arange(D_LEFT), np.arange(D_LEFT, D_LEFT + D_RIGHT)]
    term = Term(4, (View(RBF(0.2), columns[0], name="left"), View("rbf", columns[1], name="right")))
    joined = np.hstack([left[pairs[:, 0]], right[pairs[:, 1]]])
    # There are several minima, and the two descents draw other start points. A fit of the joined table that goes on
    # from the model of pairs begins at its objective: the two problems are one.
    free = {"basis_bounds": None, "warm_start": True}  # vectors of pairs are not bounded
    same = plain(terms=[term], weight_penalty=penalty, max_iter=1, random_state=0, **free)
    with pytest.warns(ConvergenceWarning):
        same.fit(joined, y)
    same.model_ = replace(model.model_, asked=same.model_.asked)
    same.set_params(max_iter=50, tol=1e-3).fit(joined, y)
    assert same.objective_path_[0] == pytest.approx(model.objective_, rel=1e-6)
    U = np.hstack([model.basis_left_, model.basis_right_])
    scaling = model.model_.scaling
    Z, V = scaling(joined), scaling.forward_points(U)
    K = model.kernel_["left"](Z[:, :D_LEFT], V[:, :D_LEFT]) * model.kernel_["right"](Z[:, D_LEFT:], V[:, D_LEFT:])
    by_hand = K @ model.dual_coef_ + model.intercept_
    found = model.decision_function(pairs) if plain is SPKMClassifier else model.predict(pairs)
    np.testing.assert_allclose(found, by_hand, atol=1e-8)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("new", [("left",), ("right",), ("left", "right"), ()])
def test_entities_may_be_new_on_either_side(estimator, new):
    pairs, labels, numbers, left, right = data()
    model = estimator(**QUICK).fit(pairs, targets_of(estimator, labels, numbers), left=left, right=right)
    order = {"left": np.arange(N_LEFT)[::-1], "right": np.arange(N_RIGHT)[::-1]}
    tables = {side: table[order[side]] for side, table in (("left", left), ("right", right)) if side in new}
    moved = pairs.copy()
    for k, side in enumerate(("left", "right")):
        if side in new:
            moved[:, k] = np.argsort(order[side])[pairs[:, k]]
    np.testing.assert_array_equal(model.predict(moved, **tables), model.predict(pairs))
    if estimator is PairwiseSPKMClassifier:
        np.testing.assert_allclose(model.predict_proba(moved, **tables), model.predict_proba(pairs))
        np.testing.assert_allclose(np.exp(model.predict_log_proba(pairs)), model.predict_proba(pairs))
    y = targets_of(estimator, labels, numbers)
    assert model.score(moved, y, **tables) == pytest.approx(model.score(pairs, y))


def test_it_learns():
    pairs, labels, numbers, left, right = data()
    train, test = next(PairKFold(random_state=0).split(pairs))
    tables = {"left": left, "right": right}
    clf = PairwiseSPKMClassifier(n_basis=8, random_state=0).fit(pairs[train], labels[train], **tables)
    assert clf.score(pairs[test], labels[test]) > 0.85
    reg = PairwiseSPKMRegressor(n_basis=8, random_state=0).fit(pairs[train], numbers[train], **tables)
    assert reg.score(pairs[test], numbers[test]) > 0.7


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_entities_that_no_pair_names_are_not_looked_at(estimator):
    pairs, labels, numbers, left, right = data()
    y = targets_of(estimator, labels, numbers)
    model = estimator(**QUICK).fit(pairs, y, left=left, right=right)
    more = estimator(**QUICK).fit(pairs, y, left=np.vstack([left, 50 + left]), right=right)
    np.testing.assert_array_equal(more.basis_left_, model.basis_left_)


def test_frames_csr_and_single_precision():
    pairs, labels, _, left, right = data()
    left = np.where(left > 0.3, left, 0.0)
    frame = pd.DataFrame(right, columns=list("abcd"))
    model = PairwiseSPKMClassifier(**QUICK).fit(pd.DataFrame(pairs), labels, left=sparse.csr_array(left), right=frame)
    np.testing.assert_allclose(model.predict_proba(pairs, left=left), model.predict_proba(pairs), atol=1e-9)
    assert list(model.right_feature_names_in_) == list("abcd") and not hasattr(model, "left_feature_names_in_")
    with pytest.raises(ValueError, match="columns of right must be named"):
        model.predict(pairs, right=frame[list("badc")])
    single = PairwiseSPKMClassifier(**QUICK).fit(pairs, labels, left=left.astype(np.float32), right=np.float32(right))
    assert single.basis_left_.dtype == np.float32


def test_views_and_kernels_of_either_side_make_terms():
    pairs, labels, _, left, right = data()
    frame = pd.DataFrame(np.abs(left), columns=["a", "b", "c"])
    model = PairwiseSPKMClassifier(
        left_views={"first": ["a"], "rest": lambda X: X.columns[1:]},
        left_kernel={"first": "rbf", "rest": "tanimoto"},
        right_kernel=["rbf", "linear"],
        n_basis=2,
        tol=1e-3,
        random_state=0,
    ).fit(pairs, labels, left=frame, right=right)
    assert list(model.view_usage_) == [f"{a} × right {b}" for a in ("first", "rest") for b in (0, 1)]
    assert model.basis_left_.shape == (8, 3) and np.isnan(model.basis_left_[:4, 1:]).all()
    assert np.isfinite(model.basis_right_).all() and isinstance(model.kernel_["rest"], Tanimoto)
    assert sum(usage.share for usage in model.view_usage_.values()) == pytest.approx(1)


def test_weights_are_repetitions():
    pairs, _, numbers, left, right = data(0.5)
    weight = np.random.default_rng(1).integers(0, 3, len(pairs))
    tables = {"left": left, "right": right}
    weighted = PairwiseSPKMRegressor(**QUICK).fit(pairs, numbers, sample_weight=weight, **tables)
    rows = np.repeat(np.arange(len(pairs)), weight)
    repeated = PairwiseSPKMRegressor(**QUICK).fit(pairs[rows], numbers[rows], **tables)
    np.testing.assert_array_equal(weighted.predict(pairs), repeated.predict(pairs))


def test_the_order_of_repeated_measurements_does_not_matter():
    pairs, _, numbers, left, right = data(0.5)
    twice, y = np.repeat(pairs, 2, axis=0), np.repeat(numbers, 2) + np.tile([0.0, 0.1], len(pairs))
    model = PairwiseSPKMRegressor(**QUICK).fit(twice, y, left=left, right=right)
    other = PairwiseSPKMRegressor(**QUICK).fit(twice[::-1], y[::-1], left=left, right=right)
    np.testing.assert_array_equal(model.predict(pairs), other.predict(pairs))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_clone_pickle_and_what_pairs_do_not_have(estimator):
    pairs, labels, numbers, left, right = data()
    model = estimator(**QUICK).fit(pairs, targets_of(estimator, labels, numbers), left=left, right=right)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(pairs), model.predict(pairs))
    assert clone(model).get_params() == model.get_params()
    for name in ("get_support", "restricted", "get_feature_names_out", "basis_vectors_", "selected_features_"):
        assert not hasattr(model, name)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_cross_validation_passes_the_tables_on(estimator):
    pairs, labels, numbers, left, right = data()
    y = targets_of(estimator, labels, numbers)
    tables = {"left": left, "right": right}
    model = estimator(**{**QUICK, "n_basis": 3})
    plain = cross_val_score(model, pairs, y, cv=PairKFold(n_splits=2, random_state=0), params=tables)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = estimator(**{**QUICK, "n_basis": 3})  # asks for the tables by itself
        scores = cross_val_score(routed, pairs, y, cv=PairKFold(n_splits=2, random_state=0), params=tables)
        np.testing.assert_allclose(scores, plain)
        splitter = PairKFold(n_splits=2, random_state=0)
        grid = GridSearchCV(routed, {"n_basis": [1, 3]}, cv=splitter).fit(pairs, y, **tables)
        assert grid.cv_results_["mean_test_score"][1] == pytest.approx(plain.mean())


def test_a_new_setting_is_harder():
    pairs, _, numbers, left, right = data()
    tables = {"left": left, "right": right}
    model = PairwiseSPKMRegressor(n_basis=8, random_state=0, tol=1e-3)
    errors = {
        new: -cross_validate(
            model, pairs, numbers, cv=PairKFold(new, 3, 0), params=tables, scoring="neg_mean_squared_error"
        )["test_score"].mean()
        for new in ("pairs", "both")
    }
    assert errors["pairs"] < errors["both"]


@pytest.mark.parametrize("new", ["pairs", "left", "right", "both"])
def test_what_is_new_is_in_no_training_row(new):
    pairs = data(0.7)[0]
    splitter = PairKFold(new, 3, 0)
    tested = []
    for train, test in splitter.split(pairs):
        left, right = (set(pairs[test, k]) & set(pairs[train, k]) for k in (0, 1))
        assert not set(map(tuple, pairs[test])) & set(map(tuple, pairs[train]))
        assert bool(left) == (new in ("pairs", "right")) and bool(right) == (new in ("pairs", "left"))
        tested.append(test)
    assert len(tested) == splitter.get_n_splits()
    np.testing.assert_array_equal(np.sort(np.concatenate(tested)), np.arange(len(pairs)))  # every pair once


def test_a_repeated_pair_is_on_one_side_of_a_split():
    pairs = np.repeat(data()[0], 2, axis=0)
    for train, test in PairKFold("pairs", 4, 1).split(pairs):
        assert not set(map(tuple, pairs[test])) & set(map(tuple, pairs[train]))


BAD_SPLITS = [
    (PairKFold("drugs"), "new must be one of"),
    (PairKFold(n_splits=1), "n_splits must be an integer of at least 2"),
    (PairKFold("left", 40), "needs as many left entities"),
    (PairKFold("both", 12), "both entities are new"),
]


@pytest.mark.parametrize(("splitter", "message"), BAD_SPLITS)
def test_splits_that_cannot_be(splitter, message):
    with pytest.raises(ValueError, match=message):
        list(splitter.split(data(0.2)[0] if splitter.new == "both" else data()[0]))
    with pytest.raises(ValueError, match="shape"):
        list(PairKFold().split(np.zeros((5, 3), dtype=int)))


def bad_calls():
    pairs, labels, _, left, right = data()
    good = {"pairs": pairs, "y": labels, "left": left, "right": right}
    outside = pairs.copy()
    outside[3, 1] = 99
    text = left.astype(object)
    text[0, 0] = "a"
    return {
        "left must be given": {**good, "left": None},
        "right must be given": {**good, "right": None},
        "which has 12 rows; got 99 in row 3, column 1": {**good, "pairs": outside},
        "integers of shape": {**good, "pairs": pairs.astype(float)},
        r"got shape \(180, 3\)": {**good, "pairs": np.hstack([pairs, pairs[:, :1]])},
        "Input left contains NaN": {**good, "left": np.where(left > 2, left, np.nan)},
        "left must hold numbers": {**good, "left": text},
        "inconsistent numbers of samples": {**good, "y": labels[:-1]},
        "at least two classes": {**good, "y": np.full(len(pairs), "binds")},
        "sample_weight must not be negative": {**good, "sample_weight": np.full(len(pairs), -1.0)},
    }


@pytest.mark.parametrize("message", bad_calls())
def test_what_cannot_be_fitted_is_told(message):
    with pytest.raises((TypeError, ValueError), match=message):
        PairwiseSPKMClassifier().fit(**bad_calls()[message])


BAD_SETTINGS = [
    ({"n_basis": "auto"}, "n_basis must be an integer"),
    ({"left_kernel": "rbff"}, "left_kernel"),
    ({"left_kernel": []}, "left_kernel must be a kernel or a list"),
    ({"right_kernel": {"a": "rbf"}}, "right_kernel can be a dict only with right_views"),
    ({"left_views": {"a": [9]}}, r"left_views\['a'\]"),
    ({"left_views": {"a": [0]}, "left_kernel": {"b": "rbf"}}, "left_kernel must have an entry for each view"),
    ({"left_kernel": "tanimoto"}, "needs non-negative features"),
    ({"new": "drugs"}, "new must be one of"),
    ({"new": "left", "weight_penalty": RKHSNorm(0.1)}, "leave nothing to choose"),
    ({"new": "right", "loss": "cosine"}, "leave nothing to choose"),
]


@pytest.mark.parametrize(("settings", "message"), BAD_SETTINGS)
def test_settings_that_cannot_be(settings, message):
    pairs, labels, _, left, right = data()
    with pytest.raises((TypeError, ValueError), match=message):
        PairwiseSPKMClassifier(**settings).fit(pairs, labels, left=left, right=right)


def test_tables_of_other_widths_are_refused():
    pairs, labels, _, left, right = data()
    model = PairwiseSPKMClassifier(**QUICK).fit(pairs, labels, left=left, right=right)
    with pytest.raises(ValueError, match="left must have the 3 columns of the fit; got 4"):
        model.predict(pairs, left=right)


class Stays(LBFGS):
    """A solver whose first descents end where they begin, as on a plateau."""

    begun: list = []  # of all of them: a fit works on a copy

    def __init__(self, stays=1, converged=True):
        super().__init__(tol=1e-2)
        self.stays = stays
        self.converged = converged
        self.begun.clear()

    def minimize(self, objective, theta, rng, on_iteration=None):
        self.begun.append(theta)
        if len(self.begun) > self.stays:
            return super().minimize(objective, theta, rng, on_iteration)
        theta = np.zeros_like(theta)
        return Result(theta, objective.value(theta), 10, self.converged, trace=[objective.value(theta)] * 11)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_fit_of_pairs_that_has_not_begun_starts_again(estimator):
    pairs, labels, numbers, left, right = data()
    y = targets_of(estimator, labels, numbers)
    model = estimator(n_basis=4, random_state=0, solver=Stays(1)).fit(pairs, y, left=left, right=right)
    assert len(Stays.begun) == 2
    assert np.any(Stays.begun[0] != Stays.begun[1])
    assert model.score(pairs, y) > (0.8 if estimator is PairwiseSPKMClassifier else 0.5)
    stuck = estimator(n_basis=4, random_state=0, n_restarts=2, solver=Stays(9))
    with pytest.warns(ConvergenceWarning, match=r"hardly begun, from 3 starts: .* a linear model .* Raise n_basis"):
        stuck.fit(pairs, y, left=left, right=right)


def test_a_fit_of_pairs_that_was_cut_short_has_one_start():
    pairs, _, numbers, left, right = data()
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        PairwiseSPKMRegressor(4, random_state=0, solver=Stays(9, False)).fit(pairs, numbers, left=left, right=right)
    assert len(Stays.begun) == 1


def test_a_good_fit_of_pairs_has_one_start():
    pairs, _, _, left, right = data()
    for y in (left[pairs[:, 0], 0] * right[pairs[:, 1], 1], left[pairs[:, 0], 0] + right[pairs[:, 1], 1]):
        PairwiseSPKMRegressor(n_basis=4, random_state=0, solver=Stays(0)).fit(pairs, y, left=left, right=right)
        assert len(Stays.begun) == 1


def entities_by_heart(seed):
    """Return pairs, targets and tables of left entities that targets depend on by more than their features."""
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((60, 6)), rng.standard_normal((20, 3))
    pairs = np.array([(i, j) for i in range(60) for j in range(20)])
    own = rng.standard_normal((60, 3))
    y = left[pairs[:, 0], 0] * right[pairs[:, 1], 0] + np.sum(own[pairs[:, 0]] * right[pairs[:, 1]], axis=1)
    return pairs, y, {"left": left, "right": right}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_strength_for_new_entities_predicts_them_better(seed):
    pairs, y, tables = entities_by_heart(seed)
    train, test = next(PairKFold("left", 3, 0).split(pairs))
    known, new = (
        PairwiseSPKMRegressor(8, new=new, random_state=0).fit(pairs[train], y[train], **tables)
        for new in ("pairs", "left")
    )
    assert (known.model_.recipe, new.model_.recipe) == ("pairs", "new entities")
    assert known.model_.strength is None and new.model_.strength > 1.0
    assert new.score(pairs[test], y[test]) > known.score(pairs[test], y[test]) + 0.05
    assert known.score(pairs[train], y[train]) > new.score(pairs[train], y[train])


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("new", ["left", "right", "both"])
def test_every_side_may_be_new(estimator, new):
    pairs, labels, numbers, left, right = data()
    y = targets_of(estimator, labels, numbers)
    model = estimator(**QUICK, new=new).fit(pairs, y, left=left, right=right)
    usual = model.model_.loss.rkhs_strength[0]
    assert model.model_.recipe == "new entities"
    assert 1.0 <= model.model_.strength / usual <= 100.0
    assert clone(model).new == new


@pytest.mark.parametrize(("new", "message"), [("left", "needs as many left entities"), ("both", "left entities")])
def test_too_few_entities_for_folds(new, message):
    pairs, _, numbers, left, right = data()
    few = pairs[:, 0] < 1
    with pytest.raises(ValueError, match=f"new='{new}' leaves entities out in .* {message}.* Set new='pairs'"):
        PairwiseSPKMRegressor(**QUICK, new=new).fit(pairs[few], numbers[few], left=left, right=right)
