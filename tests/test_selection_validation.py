"""What held-out rows say: losses row by row, factors on scores, weights, a user's scorer."""

import numpy as np
import pytest

from spkm.losses import Cosine, EpsilonInsensitive, Log, Squared
from spkm.selection import Fold, Validation, row_losses
from spkm.sources import ArraySource
from tests import cases

FACTORS = 2.0 ** np.arange(-3, 5.5, 0.5)  # half octaves from an eighth to 32
SUMS = {name: loss for name, loss in cases.LOSSES.items() if loss.has_pointwise}


class Given:
    """A model of given scores, which counts how often it is asked."""

    def __init__(self, F):
        self.F = F
        self.calls = 0

    def predict(self, source):
        self.calls += 1
        return self.F[: source.n_rows]


def source_of(loss, n=30, m=1, seed=0, weight=True):
    rng = np.random.default_rng(seed)
    return ArraySource(
        cases.rows(n, seed=seed), cases.targets(loss, n, m, seed=seed), rng.uniform(0.5, 2, n) if weight else None
    )


def judge_of(loss, scorer=None, m=1):
    folds = [
        Fold(source_of(loss, 20, m, seed), source_of(loss, n, m, seed + 5), np.random.default_rng(seed))
        for seed, n in ((0, 8), (1, 12))
    ]
    return Validation(folds, loss, scorer)


def losses_of(model, source, loss):
    """Return what a single fold's held-out samples say of a model."""
    return Validation([Fold(source, source, np.random.default_rng(0))], loss).losses([model])


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("loss", SUMS.values(), ids=SUMS)
def test_losses_of_rows_add_up_to_the_loss(loss, m):
    source = source_of(loss, m=m)
    F = np.random.default_rng(1).standard_normal(source.Y.shape)
    rows = row_losses(loss, source.Y, F)
    assert rows.shape == (30,) and rows.dtype == np.float64
    assert source.w[:, 0] @ rows == pytest.approx(loss.value(loss.totals(source.Y, F, source.w)))


def test_a_loss_that_is_no_sum_is_judged_by_squared_errors():
    source = source_of(Cosine(), m=2)
    F = np.random.default_rng(1).standard_normal(source.Y.shape)
    np.testing.assert_allclose(row_losses(Cosine(), source.Y, F), ((source.Y - F) ** 2).sum(axis=1))


@pytest.mark.parametrize("loss", cases.LOSSES.values(), ids=cases.LOSSES)
def test_the_best_factor_on_scores_of_classes_and_none_on_real_ones(loss):
    source = source_of(loss)
    w = source.w[:, 0]
    for size in (0.1, 10.0):
        F = size * (source.Y + 0.8 * np.random.default_rng(1).standard_normal(source.Y.shape))
        found = losses_of(Given(F), source, loss)
        as_they_are = row_losses(loss, source.Y, F)
        if isinstance(loss, Squared):
            np.testing.assert_array_equal(found, np.abs(source.Y - F)[:, 0])  # far rows must not decide alone
            continue
        if loss.target == "real":
            np.testing.assert_array_equal(found, as_they_are)
            continue
        tried = [row_losses(loss, source.Y, a * F) for a in FACTORS]
        np.testing.assert_array_equal(found, tried[int(np.argmin([w @ rows for rows in tried]))])
        assert w @ found < w @ as_they_are


def test_squared_errors_of_classes_are_judged_as_they_are():
    source = source_of(Log(), m=3)
    F = np.random.default_rng(1).standard_normal(source.Y.shape)
    np.testing.assert_allclose(losses_of(Given(F), source, Squared()), ((source.Y - F) ** 2).sum(axis=1))


def test_shrinkage_does_not_decide():
    # The factors are powers of the root of two, so scores of half the size have the same losses but for the ends.
    source = source_of(Log())
    F = source.Y + np.random.default_rng(1).standard_normal(source.Y.shape)
    whole, half = (losses_of(Given(a * F), source, Log()) for a in (1.0, 0.5))
    np.testing.assert_allclose(half, whole, rtol=1e-12)


def test_losses_of_all_folds_are_one_vector_with_the_rows_weights():
    judge = judge_of(EpsilonInsensitive(0.0))
    models = [Given(np.random.default_rng(k).standard_normal((12, 1))) for k in range(2)]
    losses = judge.losses(models)
    by_hand = [
        ((model.F[: fold.test.n_rows] - fold.test.Y) ** 2)[:, 0]
        for model, fold in zip(models, judge.folds, strict=True)
    ]
    np.testing.assert_allclose(losses, np.concatenate(by_hand))
    weight = np.concatenate([fold.test.w[:, 0] * fold.test.total_weight for fold in judge.folds])
    np.testing.assert_allclose(judge.weight, weight)
    np.testing.assert_array_equal(judge.row_weight, judge.weight)


def test_a_model_is_asked_once_for_each_fold():
    judge = judge_of(Log())
    models = [Given(np.ones((12, 1))), Given(np.ones((12, 1)))]
    first = judge.losses(models)
    np.testing.assert_array_equal(judge.row_losses(models), first)
    assert [model.calls for model in models] == [1, 1]
    # A model made where another one was cannot be taken for it.
    for k in range(20):
        other = [Given(np.full((12, 1), float(k))) for _ in range(2)]
        np.testing.assert_array_equal(
            judge.losses(other),
            np.concatenate([losses_of(g, f.test, Log()) for g, f in zip(other, judge.folds, strict=True)]),
        )
        del other


def test_a_scorer_judges_by_one_number_for_each_fold():
    judge = judge_of(Squared(), lambda model, fold: model.F[0, 0] * fold.test.n_rows)
    models = [Given(np.full((12, 1), 3.0)), Given(np.full((12, 1), 5.0))]
    np.testing.assert_array_equal(judge.losses(models), [-3.0 * 8, -5.0 * 12])
    np.testing.assert_allclose(judge.weight, [fold.test.total_weight for fold in judge.folds])
    # Paths, which a scorer cannot see, are judged by rows all the same.
    assert len(judge.row_losses(models)) == len(judge.row_weight) == 20


def test_the_simplest_model_is_taken_by_the_rule():
    judge = judge_of(Squared())
    exact = [Given(fold.test.Y) for fold in judge.folds]
    off = [Given(fold.test.Y + 1.0) for fold in judge.folds]
    losses = [judge.losses(models) for models in (off, exact, exact)]
    assert judge.simplest(losses, np.array([1, 3, 2]), 0.02) == (2, 2)
