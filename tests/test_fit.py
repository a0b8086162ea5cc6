"""What a fit of either estimator promises: every part by name, seeds, threads, arguments left alone."""

import numpy as np
import pytest
import threadpoolctl
from scipy import sparse
from sklearn.base import clone

from spkm import PairwiseSPKMRegressor, SPKMClassifier, SPKMRegressor
from spkm.core.starts import STARTS, Greedy
from spkm.kernels import KERNELS, RBF, Affine, Matern, Polynomial, Sum
from spkm.penalties import BASIS_PENALTIES, L1, WEIGHT_PENALTIES, RKHSNorm, SquaredL2
from spkm.solvers import LBFGS, SOLVERS, Adam
from tests.small_data import assert_same_fit, counts, curve, fingerprints, scores, three_classes, two_classes

QUICK = {"n_basis": 4, "tol": 1e-2, "random_state": 0}
BETTER_THAN_NOTHING = 0.5  # where a solver of many small steps stops early under a coarse tolerance


@pytest.fixture(params=["classifier", "regressor"])
def case(request):
    """Return a quick estimator of either kind with rows and targets."""
    if request.param == "classifier":
        return SPKMClassifier(**QUICK), *two_classes()
    return SPKMRegressor(**{**QUICK, "n_basis": 8}), *curve()


# Parts by name and as objects.


KERNEL_OBJECTS = [Matern(2.5), Polynomial(2), Affine(RBF()), Sum(RBF(), Polynomial(2))]


@pytest.mark.parametrize("kernel", [*sorted(KERNELS), *KERNEL_OBJECTS])
def test_every_kernel(kernel):
    X, y = fingerprints() if kernel == "tanimoto" else three_classes()
    assert SPKMClassifier(kernel=kernel, **QUICK).fit(X, y).score(X, y) > 0.9
    y = X[:, :2].sum(axis=1)
    assert SPKMRegressor(kernel=kernel, **QUICK).fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize("penalty", [*sorted(BASIS_PENALTIES), L1(0.1), [L1(0.01), SquaredL2(0.01)], [], None])
def test_every_basis_penalty(case, penalty):
    model, X, y = case
    model.set_params(basis_penalty=penalty).fit(X, y)
    assert model.score(X, y) > BETTER_THAN_NOTHING


def test_an_l1_penalty_gives_zeros_on_the_scale_of_the_model():
    X, y = three_classes()
    X = np.hstack([X, np.random.default_rng(0).standard_normal((len(X), 5))])
    model = SPKMClassifier(kernel="polynomial", basis_penalty=L1(0.05), **{**QUICK, "tol": 1e-3}).fit(X, y)
    # A zero stands for the mean of a column in the units of X.
    zeros = np.isclose(model.basis_vectors_, X.mean(axis=0), rtol=0, atol=1e-12)
    assert zeros[:, 3:].mean() > 0.5 and not zeros[:, :3].all()
    assert model.score(X, y) > 0.9
    assert not np.any(clone(model).set_params(basis_penalty=None).fit(X, y).basis_vectors_ == X.mean(axis=0))


@pytest.mark.parametrize("penalty", [*sorted(WEIGHT_PENALTIES), RKHSNorm(1e-3), [RKHSNorm(), L1(1e-3)], None])
def test_every_weight_penalty(case, penalty):
    model, X, y = case
    model.set_params(weight_penalty=penalty)
    if penalty == "evidence" and isinstance(model, SPKMClassifier):
        model.set_params(loss="squared")
    model.fit(X, y)
    assert model.score(X, y) > BETTER_THAN_NOTHING


@pytest.mark.parametrize("solver", [*sorted(SOLVERS), LBFGS(max_iter=400, tol=1e-2), Adam(max_iter=200, batch_size=20)])
def test_every_solver(case, solver):
    model, X, y = case
    model.set_params(solver=solver)
    if solver == "varpro" and isinstance(model, SPKMClassifier):
        model.set_params(loss="squared")
    if solver in ("adam", "alternating"):
        model.set_params(max_iter=400 if solver == "adam" else 100, tol=0.1)
    model.fit(X, y)
    assert model.score(X, y) > BETTER_THAN_NOTHING
    assert len(model.objective_path_) >= 2
    if solver == "alternating":  # its rounds come near a minimum slowly: with few vectors they do
        model.set_params(n_basis=3, max_iter=1000, tol=1e-3).fit(X, y)
    assert 0 <= model.stationarity_ < 1


@pytest.mark.parametrize("settings", [{}, {"multi_class": "ovr"}, {"basis": "samples"}, {"n_restarts": 2}], ids=str)
def test_a_finer_tolerance_leaves_a_shorter_step(settings):
    X, y = three_classes()
    coarse, fine = (
        SPKMClassifier(n_basis=4, weight_penalty="rkhs", tol=tol, random_state=0, **settings).fit(X, y).stationarity_
        for tol in (0.3, 1e-6)
    )
    assert fine < 0.1 * coarse


def test_the_step_that_is_left_is_small_for_default_fits(case):
    model, X, y = case
    assert model.set_params(tol=1e-6, max_iter=3000).fit(X, y).stationarity_ < 1e-2
    constant = SPKMRegressor(random_state=0).fit(X, np.ones(len(X)))
    assert constant.stationarity_ == 0.0


@pytest.mark.parametrize("start", [*sorted(STARTS), "auto", Greedy(n_candidates=20)])
def test_every_start(case, start):
    model, X, y = case
    assert model.set_params(start=start).fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize("scale", [True, False, "common"])
def test_first_basis_vectors_are_in_the_units_of_the_rows(case, scale):
    model, X, y = case
    first = 50 + 10 * X[: model.n_basis]
    model.set_params(start=first, scale=scale, solver=Adam(max_iter=1, batch_size=80, basis_rate=1e-9))
    model.fit(50 + 10 * X, y)
    np.testing.assert_allclose(model.basis_vectors_, first, rtol=1e-5)
    model.set_params(start=first.tolist(), solver="auto").fit(50 + 10 * X, y)
    assert model.score(50 + 10 * X, y) > 0.6


def test_more_restarts_are_never_worse(case):
    model, X, y = case
    values = [clone(model).set_params(n_restarts=k).fit(X, y).objective_ for k in (1, 2, 4)]
    assert values[0] >= values[1] >= values[2]


# Seeds, threads, arguments that stay as they were.


def test_same_seed_same_bits(case):
    model, X, y = case
    assert_same_fit(clone(model).fit(X, y), clone(model).fit(X, y), X)


def test_every_kind_of_seed(case):
    model, X, y = case
    for seed in (np.random.RandomState, np.random.default_rng):
        once, again = (clone(model).set_params(random_state=seed(3)).fit(X, y) for _ in range(2))
        assert_same_fit(once, again, X)
    by_number = clone(model).set_params(random_state=np.int64(0)).fit(X, y)
    assert_same_fit(by_number, model.fit(X, y), X)
    for seed in (None, np.random.RandomState(3), np.random.default_rng(3)):
        # scikit-learn's rule: the state of a generator moves on from fit to fit.
        model.set_params(random_state=seed, start="random")
        first, second = (model.fit(X, y).basis_vectors_ for _ in range(2))
        assert not np.array_equal(first, second)


@pytest.mark.parametrize("seed", [None, 5])
def test_global_randomness_is_left_alone(case, seed):
    model, X, y = case
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    once = model.set_params(random_state=seed).fit(X, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    if seed is not None:
        np.random.seed(2)  # noqa: NPY002
        assert_same_fit(clone(model).fit(X, y), once, X)


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "proximal"])
def test_bits_do_not_depend_on_threads(case, blocks_of, solver):
    model, X, y = case
    blocks_of(7)
    fits = [
        clone(model).set_params(solver=solver, n_jobs=n).fit(X, y)
        for n in ((1, 3, None) if solver == "auto" else (1, 3))
    ]
    for other in fits[1:]:
        assert_same_fit(fits[0], other, X)


def test_blas_threads_are_given_back(case):
    model, X, y = case
    with threadpoolctl.threadpool_limits(3):
        before = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
        model.set_params(n_jobs=2).fit(X, y).predict(X)
        assert [pool["num_threads"] for pool in threadpoolctl.threadpool_info()] == before
        with pytest.raises(ValueError, match="gamma"):
            model.set_params(kernel=RBF(-1.0)).fit(X, y)
        assert [pool["num_threads"] for pool in threadpoolctl.threadpool_info()] == before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_step_that_overflows_is_taken_back_in_silence(blocks_of, n_jobs):
    X, y = curve()
    blocks_of(30)
    model = SPKMRegressor(n_basis=6, kernel=Polynomial(25), scale=False, n_jobs=n_jobs, random_state=0)
    assert np.all(np.isfinite(model.fit(X.astype(np.float32), y).predict(X.astype(np.float32))))


def test_arguments_are_left_alone(case):
    model, X, y = case
    X, y, weight = X.copy(), y.copy(), np.linspace(0.5, 1.5, len(X))
    copies = X.copy(), y.copy(), weight.copy()
    settings = model.get_params()
    model.fit(X, y, sample_weight=weight).predict(X)
    for now, before in zip((X, y, weight), copies, strict=True):
        np.testing.assert_array_equal(now, before)
    assert model.get_params() == settings


def test_settings_changed_after_a_fit_do_not_change_its_predictions(case):
    model, X, y = case
    model.set_params(kernel=RBF(0.3), learn_bandwidth=False).fit(X, y)
    before = scores(model, X)
    model.set_params(kernel__gamma=30.0)
    np.testing.assert_array_equal(scores(model, X), before)
    assert model.kernel_.gamma == 0.3


FOUR = {"n_basis": 4, "n_jobs": 1, "random_state": 0}


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("make", ["classifier", "ovo", "regressor", "poisson", "pairs"])
def test_a_user_who_wants_every_floating_point_error_raised_gets_a_model(make, storage):
    X, y = {"classifier": two_classes, "ovo": three_classes, "poisson": counts}.get(make, curve)()
    far = storage(1e3 * X)
    with np.errstate(all="raise"):
        if make == "pairs":
            pairs = np.column_stack([np.arange(len(X)), np.arange(len(X))[::-1]])
            model = PairwiseSPKMRegressor(**FOUR).fit(pairs, y, left=storage(X), right=storage(X))
            assert np.all(np.isfinite(model.predict(pairs, left=far)))
            return
        model = {
            "classifier": SPKMClassifier(**FOUR),
            "ovo": SPKMClassifier(multi_class="ovo", **FOUR),
            "regressor": SPKMRegressor(**FOUR),
            "poisson": SPKMRegressor(loss="poisson", **FOUR),
        }[make].fit(storage(X), y)
        for rows in (storage(X), far):
            assert len(model.predict(rows)) == len(y)
            if hasattr(model, "predict_proba"):
                model.predict_proba(rows)
                model.predict_log_proba(rows)
