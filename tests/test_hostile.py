"""Random models agree in all the ways to their answers; ``python -m benchmarks hostile`` tries many more."""

import numpy as np
import pytest

from benchmarks._ways import WAYS, answers_of
from benchmarks.hostile import LAWS, Tally, differences, draw_case, try_case


def test_a_few_random_models_agree():
    tally = Tally()
    for seed in range(4):
        try_case(seed, tally)
    assert tally.findings == [] and tally.compared["model file"] >= 2


@pytest.mark.slow
def test_many_random_models_agree():
    tally = Tally()
    for seed in range(100, 160):
        try_case(seed, tally)
    assert tally.findings == [] and set(tally.compared) <= {*WAYS, *LAWS}


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
