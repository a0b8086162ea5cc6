"""Makes espresso.csv, the made-up table of the demo: ``python examples/data/make_espresso.py``.

1,000 cups of espresso. A cup is liked if its water was neither too hot nor too cold, for a dark roast cooler than for a
light one, and ran neither too fast nor too slowly; a larger dose helps a little. Who made it, the day and the humidity
do not matter. Some cells are empty: the thermometer fails now and then, and the roast was not always noted.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

OPTIMUM = {"light": 94.5, "medium": 93.0, "dark": 90.5}  # degrees Celsius
COLUMNS = "cup roast water_c seconds dose_g barista humidity_pct day liked".split()


def made(n: int = 1000, seed: int = 3) -> list[list[str]]:
    """Return the rows of the table as texts; empty ones are missing."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        roast = str(rng.choice(list(OPTIMUM), p=[0.25, 0.45, 0.3]))
        barista = str(rng.choice(["Ana", "Ben", "Chloe", "Dev"]))
        day = str(rng.choice(["Mon", "Tue", "Wed", "Thu", "Fri"]))
        water, seconds = rng.uniform(86, 99), rng.uniform(12, 48)
        dose, humidity = rng.normal(18, 1.2), rng.integers(30, 75)
        score = 2.6 - ((water - OPTIMUM[roast]) / 2.8) ** 2 - ((seconds - 27) / 7) ** 2 + 0.5 * (dose - 18)
        liked = rng.random() < 1 / (1 + np.exp(-1.8 * score))
        rows.append(
            [
                f"C{i:03d}",
                "" if rng.random() < 0.03 else roast,
                "" if rng.random() < 0.02 else f"{water:.1f}",
                f"{seconds:.0f}",
                f"{dose:.1f}",
                barista,
                str(humidity),
                day,
                "yes" if liked else "no",
            ]
        )
    return rows


if __name__ == "__main__":
    with open(Path(__file__).with_name("espresso.csv"), "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, *made()])
