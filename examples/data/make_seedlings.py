"""Makes seedlings.csv, the made-up table of the demo: ``python examples/data/make_seedlings.py``.

500 seedlings of a greenhouse. Whether one thrives depends on its temperature, with an optimum that differs from species
to species, on water, of which clay wants less than sand, and on light; the supplier, the height of the shelf and the
number do not matter. Some cells are empty: the sensor of light fails more often in summer, and fertiliser was not
always noted.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

OPTIMUM = {"basil": 26.0, "tomato": 22.0, "lettuce": 16.0, "spinach": 14.0}  # degrees Celsius
WATER = {"sand": 60.0, "loam": 45.0, "clay": 30.0}  # ml a day
COLUMNS = "seedling species soil water_ml temperature_c light_hours fertilised supplier shelf_cm season thrives".split()


def made(n: int = 500, seed: int = 7) -> list[list[str]]:
    """Return the rows of the table as texts; empty ones are missing."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        species = str(rng.choice(list(OPTIMUM), p=[0.3, 0.35, 0.25, 0.1]))
        soil = str(rng.choice(list(WATER), p=[0.3, 0.5, 0.2]))
        season = str(rng.choice(["spring", "summer", "autumn"]))
        supplier = str(rng.choice(["Albers", "Brook", "Costa", "Dunn", *(f"other {k}" for k in range(20))]))
        water, temperature = rng.uniform(15, 75), rng.normal(20, 4.5)
        light, fertilised, shelf = rng.uniform(4, 16), bool(rng.random() < 0.4), rng.integers(20, 200)
        score = (
            2.2
            - ((temperature - OPTIMUM[species]) / 4.5) ** 2
            - ((water - WATER[soil]) / 18) ** 2
            + 0.25 * (light - 9)
            + 0.8 * fertilised
        )
        thrives = rng.random() < 1 / (1 + np.exp(-1.6 * score))
        no_light = rng.random() < (0.15 if season == "summer" else 0.03)
        rows.append(
            [
                f"S{i:03d}",
                species,
                "" if rng.random() < 0.04 else soil,
                f"{water:.0f}",
                f"{temperature:.1f}",
                "" if no_light else f"{light:.1f}",
                "" if rng.random() < 0.08 else str(fertilised),
                supplier,
                str(shelf),
                season,
                "yes" if thrives else "no",
            ]
        )
    return rows


if __name__ == "__main__":
    with open(Path(__file__).with_name("seedlings.csv"), "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, *made()])
