"""Forecasts: sane numbers, in words, that refuse nothing."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from spkm import SPKMClassifier, SPKMRegressor
from spkm.cli import main
from spkm.estimators import forecast as module


@pytest.fixture(autouse=True)
def steady(monkeypatch):
    """Let every trial take a second, so that forecasts of two sizes can be compared."""

    def quickest(function, times):
        function()
        return 1.0

    monkeypatch.setattr(module, "_quickest", quickest)


@pytest.mark.parametrize("estimator", [SPKMClassifier(3), SPKMRegressor(3)])
def test_more_samples_take_longer(estimator):
    for streamed in (False, True):
        found = [estimator.forecast(n, 4, streamed=streamed) for n in (100, 1_000, 20_000, 10**6, 10**8)]
        seconds = [one.seconds for one in found]
        assert all(a <= b for a, b in pairwise(seconds)) and seconds[-1] > 10 * seconds[0]
        memory = [one.memory_bytes for one in found]
        assert memory[-1] == memory[-3] if streamed else memory[-1] > 8 * 4 * 10**8
        assert all(one.passes >= 1 for one in found)
    wide = estimator.forecast(1_000, 40)
    assert wide.memory_bytes > estimator.forecast(1_000, 4).memory_bytes


def test_it_tells_in_words():
    found = SPKMRegressor(3).forecast(10**11, 30)
    assert not found.fits and "Give files or chunks" in str(found) and "checkpoint=" in str(found)
    small = SPKMClassifier(3).forecast(1_000, 3, n_classes=5)
    assert small.fits and "1,000 samples of 3 features, in memory" in str(small)
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1"):
        SPKMRegressor().forecast(0, 3)


def test_doctor_of_a_folder(tmp_path, capsys):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    for i in range(3):
        columns = {"a": rng.standard_normal(900), "b": rng.choice(["x", "y"], 900), "y": rng.standard_normal(900)}
        pq.write_table(pa.table(columns), tmp_path / f"{i}.parquet")
    assert main(["doctor", str(tmp_path), "--target", "y", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["data"]["samples"] == 2700 and found["data"]["looked_at"] == 1000
    assert found["fit"]["features"] == 3 and "read in chunks" in found["fit"]["words"]
