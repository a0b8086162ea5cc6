"""The course of a fit of either estimator: warm starts, warnings, interrupts, callbacks, scikit-learn's company."""

import itertools
import logging
import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn import datasets
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from spkm import SPKMClassifier, SPKMRegressor
from spkm.core.objective import Objective
from spkm.core.profiled import ProfiledObjective
from spkm.core.starts import first_theta
from spkm.kernels import RBF
from spkm.solvers import SOLVERS
from tests.interrupting import interrupt_at
from tests.recording import Recorder
from tests.small_data import assert_same_fit, counts, curve, scores, two_classes

QUICK = {"n_basis": 4, "tol": 1e-2, "random_state": 0}


@pytest.fixture(params=["classifier", "regressor"])
def case(request):
    """Return a quick estimator of either kind with rows and targets."""
    if request.param == "classifier":
        return SPKMClassifier(**QUICK), *two_classes()
    return SPKMRegressor(**{**QUICK, "n_basis": 8}), *curve()


def shortened(model, max_iter, X, y):
    """Return the model after ``max_iter`` more iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.set_params(max_iter=max_iter).fit(X, y)


@pytest.mark.parametrize("settings", [{}, {"loss": "huber"}, {"solver": "proximal", "basis_penalty": "l1"}])
def test_a_warm_start_goes_on_where_the_last_fit_ended(case, settings):
    model, X, y = case
    model.set_params(warm_start=True, **settings)
    first = shortened(model, 5, X, y).objective_
    for _ in range(3):
        second = shortened(model, 5, X, y)
        assert second.objective_path_[0] == pytest.approx(first, rel=1e-6, abs=1e-9)
        assert second.objective_ <= first + 1e-9 * abs(first)
        first = second.objective_


def test_without_a_warm_start_a_fit_forgets_the_last(case):
    model, X, y = case
    once = clone(model).fit(X, y)
    assert_same_fit(model.fit(X[:40], y[:40]).fit(X, y), once, X)
    assert_same_fit(clone(model).set_params(warm_start=True).fit(X, y), once, X)


def test_a_warm_start_may_grow_the_basis(case):
    model, X, y = case
    model.set_params(warm_start=True, weight_penalty="rkhs").fit(X, y)
    first = model.objective_
    model.set_params(n_basis=10).fit(X, y)
    assert model.basis_vectors_.shape == (10, 2)
    assert model.objective_path_[0] <= first + 1e-6 and model.objective_ <= first
    with pytest.raises(
        ValueError, match=r"n_basis must be at least that of the last fit, 10, .* got 3. Set warm_start"
    ):
        model.set_params(n_basis=3).fit(X, y)


def test_a_warm_start_on_other_rows_and_targets(case):
    model, X, y = case
    model.set_params(warm_start=True).fit(X[:40], y[:40])
    assert model.fit(100 * X + 7, y).score(100 * X + 7, y) > 0.8
    with pytest.raises(ValueError, match=r"warm_start=True needs the columns of the last fit, 2; got 1"):
        model.fit(X[:, :1], y)
    other = y + 1 if isinstance(model, SPKMClassifier) else np.column_stack([y, y])
    with pytest.raises(ValueError, match=r"warm_start=True needs the (classes|outputs) of the last fit"):
        clone(model).fit(X, y).fit(X, other)


def test_a_warm_start_takes_a_new_kernel():
    X, y = two_classes()
    model = SPKMClassifier(kernel=RBF(0.2), learn_bandwidth=False, warm_start=True, **QUICK).fit(X, y)
    assert model.set_params(kernel__gamma=0.9).fit(X, y).kernel_.gamma == 0.9


def test_the_warning_says_what_to_change(case):
    model, X, y = case
    with pytest.warns(ConvergenceWarning) as caught:
        model.set_params(max_iter=12, tol=0.0).fit(X, y)
    told = r"\w+ stopped after 12 iterations while the objective still fell from \S+ to \S+ over the last 10\. "
    assert re.fullmatch(told + r"Raise max_iter or tol\.", str(caught[0].message))
    assert caught[0].filename == __file__  # the user's own line


def test_verbose_logs_every_iteration(case, caplog):
    model, X, y = case
    caplog.set_level(logging.INFO, "spkm")
    model.fit(X, y)
    assert caplog.messages == []
    model.set_params(verbose=2).fit(X, y)
    lines = [line for line in caplog.messages if "iteration" in line]
    assert len(lines) == model.n_iter_
    assert re.fullmatch(rf"{type(model).__name__} \w+ iteration 1: objective \S+", lines[0])


def test_verbose_logs_the_stages_at_most_a_line_a_second(case, caplog):
    model, X, y = case
    caplog.set_level(logging.INFO, "spkm")
    model.set_params(verbose=1).fit(X, y)
    first, *between, last = caplog.records
    name = type(model).__name__
    assert re.fullmatch(rf"{name} start by recipe \w+( \w+)*", first.getMessage())
    assert re.fullmatch(rf"{name} done in \S+ s", last.getMessage())
    times = [record.created for record in (first, *between)]
    assert all(after - before > 0.9 for before, after in itertools.pairwise(times))


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_an_interrupt_keeps_the_best_so_far(case, solver):
    model, X, y = case
    model.set_params(solver=solver, tol=0.0, max_iter=100)
    if isinstance(model, SPKMClassifier) and solver == "varpro":
        model.set_params(loss="squared")
    eliminates = solver == "varpro" or (solver == "proximal" and isinstance(model, SPKMRegressor))
    owner = ProfiledObjective if eliminates else Objective
    method = "block_loss" if solver == "adam" else "value_and_gradient"
    interrupt = interrupt_at(getattr(owner, method), 40)
    with interrupt as calls, pytest.warns(ConvergenceWarning, match="was interrupted; the best model so far is kept"):
        model.fit(X, y)
    assert len(calls) >= 40
    assert np.all(np.isfinite(model.predict(X))) and model.score(X, y) > 0.3


def test_an_interrupted_restart_keeps_the_one_before(case):
    model, X, y = case
    with interrupt_at(first_theta, -1) as calls:
        once = clone(model).fit(X, y)
    with interrupt_at(first_theta, len(calls) + 1), pytest.warns(ConvergenceWarning, match="was interrupted"):
        model.set_params(n_restarts=3).fit(X, y)
    np.testing.assert_array_equal(scores(model, X), scores(once, X))
    with interrupt_at(first_theta, 1), pytest.raises(KeyboardInterrupt):  # nothing to keep
        clone(model).fit(X, y)


def test_callbacks_see_every_iteration_and_may_stop(case, callbacks):
    model, X, y = case
    recorder = Recorder()
    clone(model).set_callbacks(recorder).fit(X, y)
    n_iter = clone(model).fit(X, y).n_iter_
    assert recorder.names == ["setup", *["iteration"] * n_iter, "fit", "teardown"]
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        model.set_callbacks(Recorder(stop_at=3)).fit(X, y)
    assert model.n_iter_ == 3


def test_progress_bar_alone_and_in_a_grid_search(case, capsys, callbacks):
    model, X, y = case
    clone(model).set_callbacks(callbacks.ProgressBar()).fit(X, y)
    assert type(model).__name__ in capsys.readouterr().out
    search = GridSearchCV(model, {"n_basis": [2, 3]}, cv=2).set_callbacks(callbacks.ProgressBar())
    search.fit(X, y)
    assert "GridSearchCV" in capsys.readouterr().out


def test_grid_search_over_a_parameter_of_the_kernel(case):
    model, X, y = case
    search = GridSearchCV(model.set_params(kernel=RBF(), learn_bandwidth=False), {"kernel__gamma": [1e-3, 0.5]}, cv=2)
    search.fit(X, y)
    assert search.best_params_ == {"kernel__gamma": 0.5}
    assert search.best_estimator_.kernel_.gamma == 0.5
    assert model.kernel.gamma == "mean"


def test_pipeline_and_cross_validation(case):
    model, X, y = case
    pipe = make_pipeline(FunctionTransformer(lambda rows: 3 * rows), model)
    assert cross_val_score(pipe, X, y, cv=2).min() > 0.7
    assert pipe.fit(X, y)[-1].n_features_in_ == 2


def test_clone_and_pickle(case):
    model, X, y = case
    model.fit(X, y)
    assert_same_fit(pickle.loads(pickle.dumps(model)), model, X)
    again = clone(model)
    assert not hasattr(again, "basis_vectors_")
    assert_same_fit(again.fit(X, y), model, X)


def test_a_pickle_holds_the_model_and_not_the_rows():
    X, y = two_classes(2000)
    model = SPKMClassifier(**QUICK).fit(X, y)
    assert len(pickle.dumps(model)) < 10_000 < X.nbytes


def test_html_of_a_notebook(case):
    model, X, y = case
    for state in (model, model.fit(X, y)):
        assert type(model).__name__ in state._repr_html_()


def test_counts_in_cross_validation():
    X, y = counts()
    model = SPKMRegressor(loss="poisson", **QUICK)
    assert cross_val_score(model, X, y, scoring="neg_mean_poisson_deviance", cv=3).min() > -2


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "diabetes", "linnerud"])
def test_default_fits_of_bundled_data_converge(name, recwarn):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    kind = SPKMRegressor if name in ("diabetes", "linnerud") else SPKMClassifier
    kind(random_state=0).fit(X, y)
    assert not [str(warning.message) for warning in recwarn if warning.category is ConvergenceWarning]


@pytest.mark.parametrize("estimator", [SPKMRegressor, SPKMClassifier])
@pytest.mark.parametrize("shift, scale", [(20.0, 1.0), (0.0, 10.0), (3.0, 0.1)])
def test_warm_start_on_far_samples_is_no_worse_than_a_fit_anew(estimator, shift, scale):
    Z = np.random.default_rng(0).standard_normal((150, 3))
    y = np.sin(2 * Z[:, 0]) * Z[:, 2] + 0.3 * Z[:, 1]
    y = y if estimator is SPKMRegressor else (y > 0).astype(int)
    X = shift + scale * Z
    warm = estimator(warm_start=True, random_state=0).fit(Z, np.roll(y, 1)).fit(X, y)
    assert warm.score(X, y) >= estimator(random_state=0).fit(X, y).score(X, y) - 0.05


@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
@pytest.mark.parametrize("linear_part", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_a_warm_start_with_more_vectors_never_ends_higher(kernel, linear_part, scale):
    # Unscaled columns of other sizes: kernel values of new vectors may be a million times those of the old ones.
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 3)) * [1.0, 100.0, 1e-3]
        y = np.sin(X[:, 0]) + 0.01 * X[:, 1] + 0.1 * rng.standard_normal(60)
        options = {"kernel": kernel, "linear_part": linear_part, "scale": scale, "random_state": seed}
        model = SPKMRegressor(2, weight_penalty="rkhs", warm_start=True, max_iter=8, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            before = model.fit(X, y).objective_
            assert model.set_params(n_basis=5).fit(X, y).objective_ <= before * (1 + 1e-9)
