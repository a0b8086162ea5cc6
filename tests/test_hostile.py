"""Random cases of every part agree in all the ways to their numbers; the benchmark ``hostile`` tries many more."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from benchmarks._hostile.cases import draw_case
from benchmarks._hostile.comparing import differences, rounding_of, sizes_of
from benchmarks._hostile.ways import WAYS, NotPossible, answers_of
from benchmarks.hostile import SUBJECTS, Tally, try_case
from spkm import SPKMRegressor, TableEncoder


@pytest.fixture(autouse=True)
def no_windows():
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    matplotlib.use("agg")


@pytest.mark.parametrize("subject", sorted(SUBJECTS))
def test_a_few_random_cases_agree(subject):
    tally = Tally()
    for seed in range(3):  # the first that is no refusal
        if not tally.compared:
            try_case(subject, seed, tally)
    assert tally.findings == [] and tally.compared.total() >= 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("subject", sorted(SUBJECTS))
def test_a_thousand_random_cases_agree(subject):
    tally = Tally()
    for seed in range(1000, 2000):
        try_case(subject, seed, tally)
    assert tally.findings == [] and tally.cases[subject] - tally.refused[subject] > 500


@pytest.mark.filterwarnings("ignore")
def test_what_differs_is_found():
    case = next(draw_case(seed) for seed in range(100) if ", two, " in draw_case(seed).about)
    model = case.model.fit(case.X, case.y)
    want = answers_of(model, case.new)
    assert differences(model, case.new, want, want, exact=True) == ""
    moved = {**want, "scores": want["scores"] + 1e-3 * np.abs(want["scores"]).max()}
    assert "scores differ" in differences(model, case.new, want, moved, exact=False)
    other = {**want, "predict": want["predict"][::-1]}
    assert (want["predict"] == other["predict"]).all() or "differ" in differences(model, case.new, want, other, True)


@pytest.mark.filterwarnings("ignore")
def test_the_bound_of_single_precision_is_near_what_rounding_does():
    # Above every error, and for most models within a few hundred times the largest.
    ratios = []
    for seed in range(12):
        case = draw_case(seed)
        try:
            model = case.model.fit(case.X, case.y)
        except ValueError:
            continue
        if case.about.startswith("array"):
            single = case.new.astype(np.float32)
            bound = rounding_of(model.model_, single)
            error = np.abs(model.model_.scores(single) - model.model_.scores(single.astype(float)))
            assert np.all(error <= bound)
            ratios.append(np.max(error / bound))
            assert np.median(bound / sizes_of(model.model_, single)) < 1e-2
    assert np.median(ratios) > 1 / 500


def level_precisions():
    """Return a pipeline fitted on categories of single precision, and the same levels as three kinds of numbers."""
    pandas = pytest.importorskip("pandas")
    values = np.array([0.1, 0.3, 2.0, 1e-5, 123456792.0] * 8)
    single, rng = values.astype(np.float32), np.random.default_rng(0)
    other = rng.standard_normal(len(values)).astype(np.float32).astype(float)
    frames = [pandas.DataFrame({"a": one, "b": other}) for one in (single, single.astype(float), values)]
    encoder = TableEncoder(categorical=["a"], min_frequency=1)
    model = make_pipeline(encoder, SPKMRegressor(n_basis=3, weight_penalty="rkhs", random_state=0))
    return model.fit(frames[0], np.tile([0.0, 1.0, 3.0, 7.0, 9.0], 8) + other), frames


@pytest.mark.parametrize("way", sorted(set(WAYS) - {"chunks"}))
def test_levels_of_single_precision_are_the_same_in_every_language(way, tmp_path):
    model, frames = level_precisions()
    want = answers_of(model, frames[0])
    for number, frame in enumerate(frames):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            found = WAYS[way][0](model, frame, folder)
        except NotPossible as error:
            pytest.skip(str(error))
        assert differences(model, frame, want, found, exact=False) == ""
