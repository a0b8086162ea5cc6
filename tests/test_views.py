"""Several views: kernels on named columns, each with its own vectors."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from spkm import SPKMClassifier, SPKMRegressor, SPKMSelector, Term, View
from spkm.kernels import RBF, Linear, Product, Tanimoto
from spkm.penalties import L1, RKHSNorm, SquaredL2
from tests.small_data import three_classes, two_classes

VIEWS = {"shape": [0, 1, 2], "size": slice(3, 5), "noise": [5, 6, 7]}
QUICK = {"n_basis": 2, "tol": 1e-3, "random_state": 0}


def rows(n=120, seed=0):
    """Return rows of eight columns, classes by the first five, and a real target."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8))
    score = X[:, 0] * X[:, 1] + np.abs(X[:, 3]) - 0.8
    return X, np.where(score > 0, "yes", "no"), score


def fitted(**settings):
    X, y, _ = rows()
    return SPKMClassifier(views=VIEWS, **{**QUICK, **settings}).fit(X, y), X, y


def test_the_model_is_a_sum_over_views():
    clf, X, _ = fitted(scale=False)
    score = np.full(len(X), clf.intercept_)
    for name, usage in clf.view_usage_.items():
        U, c = clf.basis_vectors_[usage.rows][:, usage.columns], clf.dual_coef_[usage.rows]
        score += clf.kernel_[name](X[:, usage.columns], U) @ c
    np.testing.assert_allclose(clf.decision_function(X), score, atol=1e-10)
    assert clf.basis_vectors_.shape == (6, 8) and list(clf.view_usage_) == list(VIEWS)
    assert [usage.columns.tolist() for usage in clf.view_usage_.values()] == [[0, 1, 2], [3, 4], [5, 6, 7]]


def test_a_vector_is_nan_where_its_view_does_not_look():
    clf, *_ = fitted()
    for usage in clf.view_usage_.values():
        seen = np.zeros(8, dtype=bool)
        seen[usage.columns] = True
        assert np.all(np.isfinite(clf.basis_vectors_[usage.rows]) == seen)


def test_one_view_of_all_columns_is_the_plain_model():
    X, y, target = rows()
    # One table of one kernel has more by default: a linear part, a strength by folds.
    same = {**QUICK, "weight_penalty": "rkhs", "learn_bandwidth": True}
    for plain, targets in ((SPKMClassifier(**same), y), (SPKMRegressor(**same), target)):
        viewed = clone(plain).set_params(views={"all": slice(None)}).fit(X, targets)
        plain.fit(X, targets)
        np.testing.assert_allclose(viewed.basis_vectors_, plain.basis_vectors_, rtol=1e-10)
        np.testing.assert_array_equal(viewed.predict(X), plain.predict(X))


def test_a_view_and_the_same_view_as_a_term_make_the_same_model():
    X, y, _ = rows()
    terms = [Term(2, View("rbf", columns, name=name)) for name, columns in VIEWS.items()]
    by_terms = SPKMClassifier(terms=terms, **QUICK).fit(X, y)
    by_views, *_ = fitted()
    np.testing.assert_array_equal(by_terms.decision_function(X), by_views.decision_function(X))
    assert by_terms.view_usage_["size"].share == by_views.view_usage_["size"].share


def test_a_term_of_two_views_is_their_product():
    X, y, _ = rows()
    term = Term(3, (View(RBF(0.2), [0, 1]), View(RBF(0.3), [3, 4])))
    clf = SPKMClassifier(terms=[term], scale=False, learn_bandwidth=False, tol=1e-3, random_state=0).fit(X, y)
    U = clf.basis_vectors_
    K = RBF(0.2)(X[:, :2], U[:, :2]) * RBF(0.3)(X[:, 3:5], U[:, 3:5])
    np.testing.assert_allclose(clf.decision_function(X), K @ clf.dual_coef_ + clf.intercept_, atol=1e-10)
    assert list(clf.view_usage_) == ["term 0 view 0 × term 0 view 1"]


@pytest.mark.parametrize("columns", [["a", "b"], slice("a", "b"), [0, 1], np.array([True, True] + 6 * [False])])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_are_told_by_index_mask_slice_or_name(columns, frame):
    X, y, _ = rows()
    table = frame(dict(zip("abcdefgh", X.T, strict=True)))
    views = {"first": columns, "rest": lambda X: [c for c in X.columns if c > "b"]}
    clf = SPKMClassifier(views=views, **QUICK).fit(table, y)
    by_index = SPKMClassifier(views={"first": [1, 0], "rest": slice(2, None)}, **QUICK).fit(X, y)
    # The same model, whose sums over features a frame's layout in memory may round in another order.
    np.testing.assert_array_equal(clf.dual_coef_, by_index.dual_coef_)
    rounding = 100 * np.finfo(float).eps * np.abs(clf.dual_coef_).sum()
    np.testing.assert_allclose(clf.decision_function(table), by_index.decision_function(X), rtol=0, atol=rounding)
    assert clf.view_usage_["first"].columns.tolist() == [0, 1]
    assert list(clf.get_feature_names_out()) == list("abcdefgh")


def test_a_dict_of_tables_is_the_joined_table():
    X, y, _ = rows()
    parts = {"left": X[:, :3], "right": X[:, 3:]}
    clf = SPKMClassifier(**QUICK).fit(parts, y)
    joined = SPKMClassifier(views={"left": slice(0, 3), "right": slice(3, 8)}, **QUICK).fit(X, y)
    expected = joined.decision_function(X)
    np.testing.assert_array_equal(clf.decision_function(parts), expected)
    np.testing.assert_array_equal(clf.decision_function({"right": X[:, 3:], "left": X[:, :3]}), expected)
    np.testing.assert_array_equal(clf.decision_function(X), expected)
    mixed = {"left": X[:, :3], "right": sparse.csr_array(X[:, 3:])}
    assert sparse.issparse(mixed["right"]) and SPKMClassifier(**QUICK).fit(mixed, y).n_features_in_ == 8
    with pytest.raises(ValueError, match="a table for each view, \\['left', 'right'\\]; got \\['left'\\]"):
        clf.predict({"left": X[:, :3]})
    with pytest.raises(ValueError, match="one table, as in the fit; got a dict of"):
        joined.predict(parts)
    with pytest.raises(ValueError, match="same number of rows"):
        SPKMClassifier().fit({"left": X, "right": X[:5]}, y)
    with pytest.raises(ValueError, match="views=None"):
        SPKMClassifier(views=VIEWS).fit(parts, y)


def test_each_view_may_have_its_own_settings():
    X, y, _ = rows()
    X = np.abs(X)
    clf = SPKMClassifier(
        n_basis={"shape": 3, "size": 1, "noise": 2},
        kernel={"shape": "rbf", "size": Linear(), "noise": "tanimoto"},
        learn_bandwidth={"shape": "columns", "size": False, "noise": False},
        basis_penalty={"shape": None, "size": SquaredL2(0.1), "noise": None},
        views=VIEWS,
        random_state=0,
        tol=1e-3,
    ).fit(X, y)
    assert [usage.rows.stop - usage.rows.start for usage in clf.view_usage_.values()] == [3, 1, 2]
    assert isinstance(clf.kernel_["noise"], Tanimoto) and isinstance(clf.kernel_["size"], Linear)
    # Columns of counts are taken as they are beside others that are scaled.
    assert np.all(clf.model_.scaling.scale[5:] == 1) and np.all(clf.model_.scaling.scale[:5] != 1)
    kernel = clf.kernel_["noise"]
    usage = clf.view_usage_["noise"]
    part = kernel(X[:, 5:], clf.basis_vectors_[usage.rows][:, 5:]) @ clf.dual_coef_[usage.rows]
    without = X.copy()
    without[:, 5:] = 0.0
    np.testing.assert_allclose(clf.decision_function(X) - clf.decision_function(without), part, atol=1e-10)
    with pytest.raises(ValueError, match=r"feature [567] of X has minimum"):
        clf.predict(-X)


def test_kernels_of_the_same_columns_may_differ():
    X, _, target = rows()
    views = {"curved": slice(0, 5), "straight": slice(0, 5)}
    kernel = {"curved": "rbf", "straight": "linear"}
    model = SPKMRegressor(n_basis={"curved": 5, "straight": 1}, kernel=kernel, views=views, random_state=0)
    assert model.fit(X, target).score(X, target) > 0.5
    assert sum(usage.share for usage in model.view_usage_.values()) == pytest.approx(1)


def test_shares_are_covariances_with_the_prediction():
    clf, X, _ = fitted(scale=False)
    total = clf.decision_function(X)
    for name, usage in clf.view_usage_.items():
        U, c = clf.basis_vectors_[usage.rows][:, usage.columns], clf.dual_coef_[usage.rows]
        part = clf.kernel_[name](X[:, usage.columns], U) @ c
        assert usage.share == pytest.approx(np.cov(part, total)[0, 1] / total.var(ddof=1), rel=1e-8)


def test_l1_on_the_weights_prunes_views_that_bring_nothing():
    X, y, _ = rows(400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = SPKMClassifier(
            n_basis=3, views=VIEWS, weight_penalty=[RKHSNorm(), L1(0.02)], tol=1e-4, random_state=0
        ).fit(X, y)
    assert clf.view_usage_["noise"].n_used == 0 and clf.view_usage_["noise"].share == 0
    assert clf.view_usage_["shape"].n_used > 0
    # What no vector in use looks at has no influence, and the model says so.
    assert not set(clf.selected_features_) & {5, 6, 7}
    other = X.copy()
    other[:, 5:] = np.random.default_rng(9).standard_normal((400, 3))
    np.testing.assert_array_equal(clf.decision_function(other), clf.decision_function(X))
    small = clf.restricted()
    np.testing.assert_allclose(
        small.decision_function(X[:, clf.selected_features_]), clf.decision_function(X), rtol=1e-12, atol=1e-12
    )
    assert small.view_usage_["noise"].columns.tolist() == []


@pytest.mark.usefixtures("careful")
def test_strict_selection_inside_views():
    X, y, _ = rows(300, seed=3)
    settings = {"weight_penalty": "rkhs", "selection": "strict", "max_features": 4}
    clf = SPKMClassifier(n_basis=5, views=VIEWS, basis_bounds=None, random_state=0, **settings).fit(X, y)
    chosen = clf.selected_features_
    assert set(chosen) <= {0, 1, 2, 3} and {0, 1, 3} <= set(chosen)
    assert clf.view_usage_["shape"].columns.tolist() == [c for c in chosen if c < 3]
    assert clf.view_usage_["noise"].columns.tolist() == []
    assert np.all(np.isnan(clf.basis_vectors_[:, 5:]))
    small = clf.restricted()
    np.testing.assert_allclose(small.decision_function(X[:, chosen]), clf.decision_function(X), rtol=1e-12, atol=1e-12)
    assert clf.score(X, y) > 0.85
    assert np.all(clf.feature_importances_[chosen] > 0)


@pytest.mark.usefixtures("hasty")
@pytest.mark.filterwarnings("ignore:The best .* lies at the edge:UserWarning")
def test_the_number_of_vectors_of_views_can_be_found():
    X, _, target = rows()
    model = SPKMRegressor(n_basis="auto", max_basis=6, views=VIEWS, random_state=0).fit(X, target)
    assert len(model.basis_vectors_) <= 6
    assert set(model.view_usage_) == set(VIEWS)


def test_sparse_views_predict_as_dense_ones():
    X, y, _ = rows()
    X = np.where(np.abs(X) < 0.8, 0.0, X)
    clf = SPKMClassifier(views=VIEWS, **QUICK).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(clf.decision_function(X), clf.decision_function(sparse.csr_array(X)), atol=1e-12)
    assert clf.score(X, y) > 0.7


def test_pipeline_grid_search_clone_and_pickle():
    X, y, _ = rows()
    pipe = make_pipeline(FunctionTransformer(), SPKMClassifier(views=VIEWS, **QUICK))
    grid = {"spkmclassifier__views": [VIEWS, {"shape": [0, 1, 2]}], "spkmclassifier__n_basis": [1, 2]}
    search = GridSearchCV(pipe, grid, cv=2).fit(X, y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert clone(again[-1]).views == again[-1].views


def test_a_warm_start_goes_on_with_every_view():
    X, y, _ = rows()
    clf = SPKMClassifier(views=VIEWS, warm_start=True, **QUICK).fit(X, y)
    before = clf.objective_
    clf.set_params(n_basis=3).fit(X, y)
    assert clf.objective_ <= before + 1e-9 and len(clf.basis_vectors_) == 9
    with pytest.raises(ValueError, match="views of the last fit"):
        clf.set_params(views={"shape": [0, 1], "size": [2, 3, 4], "noise": [5, 6, 7]}).fit(X, y)
    with pytest.raises(ValueError, match="views of the last fit"):
        clf.set_params(views={"all": slice(None)}).fit(X, y)


def test_a_start_is_given_by_the_vectors_of_a_fit():
    clf, X, y = fitted()
    again = SPKMClassifier(views=VIEWS, start=clf.basis_vectors_, max_iter=1, n_basis=2)
    with pytest.warns(ConvergenceWarning):
        again.fit(X, y)
    seen = np.isfinite(clf.basis_vectors_)
    # A step away from where it began, not as far as from the centres of k-means.
    assert np.abs(again.basis_vectors_ - clf.basis_vectors_)[seen].max() < 0.3
    with pytest.warns(ConvergenceWarning):
        elsewhere = SPKMClassifier(views=VIEWS, max_iter=1, n_basis=2, random_state=0).fit(X, y)
    assert np.abs(elsewhere.basis_vectors_ - clf.basis_vectors_)[seen].max() > 0.3


BAD = [
    ({"views": {}}, "views must be a dict from names to features"),
    ({"views": [[0], [1]]}, "views must be a dict from names to features"),
    ({"views": {"a": []}}, "no feature"),
    ({"views": {"a": [0, 0]}}, "the same feature twice"),
    ({"views": {"a": [0, 99]}}, r"views\['a'\] must select features"),
    ({"views": {"a": ["x"]}}, r"views\['a'\] must select features"),
    ({"views": VIEWS, "terms": [Term(1, View("rbf"))]}, "Pass either views or terms"),
    ({"views": VIEWS, "kernel": {"shape": "rbf"}}, "kernel must have an entry for each view"),
    ({"views": VIEWS, "n_basis": {"shape": 0, "size": 1, "noise": 1}}, "n_basis must be an integer"),
    ({"views": VIEWS, "learn_bandwidth": dict.fromkeys(VIEWS, "yes")}, "learn_bandwidth must be one of"),
    ({"views": VIEWS, "basis_penalty": dict.fromkeys(VIEWS, "rows")}, "basis_penalty"),
    ({"kernel": {"a": "rbf"}}, "kernel can be a dict only with views"),
    ({"terms": []}, "terms must be a list of spkm.Term"),
    ({"terms": [View("rbf")]}, "terms must be a list of spkm.Term"),
    ({"terms": [Term(1, "rbf")]}, r"views of terms\[0\] must be a spkm.View"),
    ({"terms": [Term(0, View("rbf"))]}, "n_basis must be an integer"),
    ({"terms": [Term(1, (View("rbf", [0]), View("rbf", [0, 1])))]}, "different features"),
    ({"terms": [Term(1, (View("rbf"), View("rbf", [0, 1])))]}, "different features"),
    ({"terms": [Term(1, View("rbf", name="a")), Term(1, View("rbf", name="a"))]}, "names of terms must be different"),
    ({"terms": [Term(1, View("rbf", metric="learned"))]}, r"metric of terms\[0\] must be one of"),
    ({"terms": [Term(1, View("rbff"))]}, "Did you mean 'rbf'"),
]


@pytest.mark.parametrize(("settings", "message"), BAD, ids=[message for _, message in BAD])
def test_what_cannot_be_is_told(settings, message):
    X, y, _ = rows(30)
    with pytest.raises((TypeError, ValueError), match=message):
        SPKMClassifier(**settings).fit(X, y)


def test_a_product_of_kernels_on_the_same_columns_is_a_kernel():
    X, y, _ = rows()
    terms = [Term(2, View(Product(RBF(0.1), Linear(0.5)), [0, 1, 2]))]
    assert SPKMClassifier(terms=terms, random_state=0, tol=1e-3).fit(X, y).basis_vectors_.shape == (2, 8)


FOUR = {"n_basis": 4, "n_jobs": 1, "random_state": 0}


def tables(pd):
    rng = np.random.default_rng(0)
    left = pd.DataFrame(rng.standard_normal((60, 2)), columns=["a", "b"])
    right = pd.DataFrame(rng.standard_normal((60, 2)) * 9, columns=["c", "d"])
    return {"left": left, "right": right}, (left["a"] + right["c"] > 0).to_numpy()


def test_tables_of_a_dict_keep_the_order_and_the_width_of_their_columns():
    pd = pytest.importorskip("pandas")
    X, y = tables(pd)
    clf = SPKMClassifier(**FOUR).fit(X, y)
    wrong = {
        r"X\['left'\] must be named, and ordered": {**X, "left": X["left"][["b", "a"]]},
        r"X\['left'\] must have the 2 columns of the fit; got 1": {
            "left": X["left"][["a"]],
            "right": X["right"].assign(e=1.0),
        },
        r"X\['right'\] must be named": {**X, "right": X["right"].rename(columns={"c": "z"})},
        "X must be a dict with a table for each view": {"left": X["left"]},
        "same number of rows": {**X, "right": X["right"][:-1]},
    }
    for message, other in wrong.items():
        with pytest.raises(ValueError, match=message):
            clf.predict(other)
    other_order = {"right": X["right"], "left": X["left"]}
    np.testing.assert_array_equal(clf.decision_function(other_order), clf.decision_function(X))


def test_keys_that_are_no_names_are_refused():
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"names, which are strings, to tables; got the keys \[0, 1\]"):
        SPKMClassifier(**FOUR).fit({0: X, 1: X}, y)


def test_a_selector_reads_a_dict_of_tables():
    X, y = three_classes()
    tables = {"a": X[:, :1], "b": X[:, 1:]}
    settings = {"kernel": {"a": "linear", "b": "linear"}, "selection": "strict", "max_features": 2}
    selector = SPKMSelector(SPKMClassifier(**{**FOUR, "n_basis": 1}, **settings)).fit(tables, y)
    np.testing.assert_array_equal(selector.transform(tables), X[:, selector.get_support()])
