"""Basis vectors that are training samples, and the training samples nearest to basis vectors."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import spkm
from spkm import SPKMClassifier, SPKMRegressor, Term, View
from spkm.core.fitted import fitted_terms
from spkm.core.nearest import distinct_nearest_rows, nearest_rows
from spkm.explain import nearest, summary
from spkm.sources import ArraySource

pytestmark = pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
QUICK = {"basis": "samples", "random_state": 0, "n_jobs": 1, "max_iter": 15}
STORAGE = {"dense": np.asarray, "single": lambda X: X.astype(np.float32), "csr": sparse.csr_array}


def table(n=60, d=4, seed=0):
    """Return rows with an outlier, which scaling clips, and smooth targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[3] *= 40.0
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def assert_on_samples(model, X):
    """Every basis vector is a row of X to the bit where its view looks, and no two are the same row."""
    U, X = model.basis_vectors_, dense(X)
    seen = np.isfinite(U)
    assert U.dtype == X.dtype
    for u, mask, row in zip(U, seen, model.nearest_samples_, strict=True):
        assert mask.any() and np.array_equal(u[mask], X[row, mask])
    assert np.all(model.nearest_distances_ == 0)


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize(
    "settings",
    {
        "evidence": {},
        "huber": {"loss": "huber"},
        "auto": {"n_basis": "auto", "max_basis": 6},
        "lbfgs": {"solver": "lbfgs", "weight_penalty": "rkhs"},
        "proximal": {"solver": "proximal", "weight_penalty": "l1"},
        "adam": {"solver": "adam"},
        "alternating": {"solver": "alternating", "max_iter": 3},
        "polynomial": {"kernel": "polynomial"},
        "free": {"basis_bounds": None},
        "views": {"views": {"a": [0, 1], "b": [1, 2, 3]}, "n_basis": 3},
        "product": {"terms": [Term(3, (View("rbf", [0]), View("rbf", [1, 2]))), Term(2, View("linear"))]},
    }.items(),
    ids=lambda pair: pair[0],
)
def test_every_solver_and_structure_of_a_regressor(settings, storage):
    X, y = table()
    X = STORAGE[storage](X)
    model = SPKMRegressor(**{"n_basis": 5, **QUICK, **settings[1]}).fit(X, y)
    assert_on_samples(model, X)
    assert len(np.unique(np.nan_to_num(model.basis_vectors_), axis=0)) == len(model.basis_vectors_)
    scores = model.model_.scores(X)
    np.testing.assert_allclose(model.predict(X), scores[:, 0], rtol=1e-6)


@pytest.mark.parametrize(
    "settings",
    [{}, {"multi_class": "ovo"}, {"multi_class": "ovr"}, {"selection": "strict", "kernel": "linear"}],
    ids=str,
)
def test_classes(settings):
    X, y = table(90)
    labels = np.digitize(X[:, 0] if "selection" in settings else y, [-0.5, 0.5])  # a linear kernel finds the former
    model = SPKMClassifier(**{"n_basis": 4, **QUICK, **settings}).fit(X, labels)
    assert_on_samples(model, X)
    if "multi_class" in settings:
        for part in model.estimators_:
            assert_on_samples(part, X)
            assert set(labels[part.nearest_samples_]) <= set(labels)
    else:
        assert len(set(model.nearest_samples_)) == len(model.basis_vectors_)


def test_samples_without_weight_are_never_chosen():
    X, y = table()
    weight = np.ones(len(y))
    weight[::2] = 0.0
    model = SPKMRegressor(8, **QUICK).fit(X, y, weight)
    assert_on_samples(model, X)
    assert np.all(weight[model.nearest_samples_] > 0)
    alone = SPKMRegressor(8, **QUICK).fit(X[1::2], y[1::2])
    np.testing.assert_array_equal(model.basis_vectors_, alone.basis_vectors_)


def test_equal_samples_of_different_targets_are_chosen_once():
    X = np.repeat(np.arange(6.0), 20)[:, None]
    y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(len(X))
    model = SPKMRegressor(6, **QUICK).fit(X, y)
    assert sorted(model.basis_vectors_[:, 0]) == list(range(6))
    with pytest.warns(UserWarning, match="more than the"):
        more = SPKMRegressor(21, **QUICK).fit(X[::10], y[::10])
    assert len(np.unique(more.basis_vectors_)) == 6  # there are no others


def test_the_weights_are_those_of_the_samples():
    # With the vectors held, fixed bandwidth and a ridge, the fit is convex: its weights are known in closed form.
    X, y = table(40)
    settings = {"kernel": "rbf", "learn_bandwidth": False, "weight_penalty": spkm.penalties.SquaredL2(0.02)}
    model = SPKMRegressor(5, **{**QUICK, "max_iter": 500}, tol=1e-9, linear_part=False, **settings).fit(X, y)
    held, target = model.model_, model.model_.target
    Phi = held.similarities(X) - held.similarities(X).mean(axis=0)
    z = (y - y.mean()) / target.scale[0]
    C = np.linalg.solve(Phi.T @ Phi / len(y) + 0.5 * 0.02 * np.eye(5), Phi.T @ z / len(y))
    np.testing.assert_allclose(model.dual_coef_, C * target.scale[0], rtol=1e-4, atol=1e-6)


def test_constant_targets_warm_starts_and_files(tmp_path):
    X, y = table()
    assert_on_samples(SPKMRegressor(4, **QUICK).fit(X, np.ones(len(y))), X)
    model = SPKMRegressor(4, **QUICK, warm_start=True).fit(X, y).fit(X, y)
    assert_on_samples(model, X)
    model.save(tmp_path / "model.spkm")
    again = spkm.load(tmp_path / "model.spkm")
    assert_on_samples(again, X)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    small = SPKMClassifier(2, kernel="linear", **QUICK, selection="strict", max_features=2)
    small = small.fit(X, X[:, 0] > 0).restricted()
    assert small.basis_vectors_.shape[1] == len(small.selected_features_)
    assert np.isfinite(small.basis_vectors_).all()


def test_what_cannot_be_is_told():
    X, y = table()
    with pytest.raises(ValueError, match="basis='samples' cannot be combined with a basis_penalty"):
        SPKMRegressor(basis="samples", basis_penalty="l2").fit(X, y)
    with pytest.raises(ValueError, match="basis must be"):
        SPKMRegressor(basis="medoids").fit(X, y)
    with pytest.raises(ValueError, match="basis='samples' needs samples in memory"):
        SPKMRegressor(basis="samples").fit([(X, y), (X, y)])


@pytest.mark.parametrize("storage", STORAGE)
def test_nearest_samples_of_a_free_model(storage):
    X, y = table()
    model = SPKMRegressor(5, random_state=0, max_iter=15).fit(STORAGE[storage](X), y)
    found = nearest(model, model.basis_vectors_, X, k=1)
    # k near 1 is rounded by some units in the last place, of which sqrt(2 - 2 k) shows the root.
    rounding = 64 * np.finfo(np.float32 if storage == "single" else np.float64).eps
    np.testing.assert_allclose(model.nearest_distances_, found.distance[:, 0], atol=np.sqrt(2 * rounding))
    np.testing.assert_array_equal(model.nearest_samples_, found.index[:, 0])
    first = summary(model).splitlines()
    row = f"{model.nearest_samples_[0]} ({model.nearest_distances_[0]:.2g})"
    assert any(line.startswith("u0") and row in line for line in first)


def test_nearest_rows_by_a_double_loop():
    X, y = table(30)
    model = SPKMRegressor(terms=[Term(3, (View("rbf", [0, 1]), View("rbf", [2]))), Term(4, View("linear"))], **QUICK)
    fitted = model.set_params(basis="free").fit(X, y).model_
    Z, terms = fitted.scaled(X), fitted.terms
    cosine = np.zeros((len(Z), 7))
    for term in terms:
        for r, column in enumerate(range(term.rows.start, term.rows.stop)):
            for i, z in enumerate(Z):
                value = 1.0
                for view in term.views:
                    x, u = z[None, view.columns], view.basis[r : r + 1]
                    k = view.kernel
                    value *= (k(x, u) / np.sqrt(k(x, x) * k(u, u)))[0, 0]
                cosine[i, column] = abs(value)
    source = ArraySource(Z)
    found = nearest_rows(source, terms)
    np.testing.assert_array_equal(found.rows, cosine.argmax(axis=0))
    np.testing.assert_allclose(found.distances, np.sqrt(2 - 2 * cosine.max(axis=0)), atol=1e-6)
    distinct = distinct_nearest_rows(source, terms)
    first = int(np.argmax(cosine.max(axis=0)))
    assert distinct[first] == cosine[:, first].argmax() and len(set(distinct)) == 7
    assert [t.name for t in fitted_terms(fitted.model, fitted.theta)] == [t.name for t in terms]


def test_batches_are_refused():
    assert hasattr(SPKMRegressor(4), "partial_fit") and not hasattr(SPKMRegressor(4, basis="samples"), "partial_fit")
