"""Small files of samples, and the command as a process of its own."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest


def spkm(*words, stdin=None, **environment):
    """Run the command; return the finished process, with bytes of stdout and stderr as text."""
    done = subprocess.run(
        [sys.executable, "-m", "spkm", *map(str, words)],
        input=stdin,
        capture_output=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    return done


def flowers(n=120, seed=0):
    """Return a frame of mixed columns with gaps, whose target ``good`` a few vectors explain."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    soil = rng.choice(["sand", "clay", "loam"], n).astype(object)
    water, light = rng.normal(10, 3, n).round(2), rng.normal(size=n).round(3)
    good = (np.abs(water - 10) < 2.2) ^ (soil == "clay")
    soil[rng.random(n) < 0.08] = None
    light[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "plant": [f"p{i}" for i in range(n)],
            "soil": soil,
            "water": water,
            "light": light,
            "bed": rng.integers(0, 12, n),
            "size": (2 * water + rng.normal(size=n)).round(3),
            "good": np.where(good, "yes", "no"),
        }
    )


def read_json(path):
    """Return what a JSON file holds."""
    return json.loads(path.read_text())
