"""
Outliers: a robust loss
=======================

One sample in eight is wrong by far. The squared loss follows them, the Huber loss does not; the quantile loss draws
limits.
"""

import matplotlib.pyplot as plt
import numpy as np

from spkm import SPKMRegressor
from spkm.losses import Quantile

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 300))


def truth(x):
    return np.sin(x) + 0.1 * x


y = truth(x) + 0.2 * rng.standard_normal(len(x))
wrong = rng.random(len(x)) < 0.12
y[wrong] += rng.uniform(2, 6, wrong.sum())

# %%
grid = np.linspace(0, 10, 400)[:, None]
figure, ax = plt.subplots(figsize=(8, 4.4))
ax.scatter(x[~wrong], y[~wrong], s=9, color="grey", label="samples")
ax.scatter(x[wrong], y[wrong], s=14, marker="x", color="black", label="wrong ones")
ax.plot(grid, truth(grid), color="black", linestyle=":", label="the truth")
for loss, colour in (("squared", "#D55E00"), ("huber", "#0072B2")):
    prediction = SPKMRegressor(n_basis=10, loss=loss, random_state=0).fit(x[:, None], y).predict(grid)
    error = np.sqrt(np.mean((prediction - truth(grid)[:, 0]) ** 2))
    ax.plot(grid, prediction, color=colour, linewidth=2, label=f"{loss}: error {error:.2f}")
low, high = (
    SPKMRegressor(n_basis=10, loss=Quantile(q), random_state=0).fit(x[~wrong, None], y[~wrong]).predict(grid)
    for q in (0.05, 0.95)
)
ax.fill_between(grid[:, 0], low, high, color="#0072B2", alpha=0.15, label="5 and 95 % quantiles (without wrong ones)")
ax.set(xlabel="x", ylabel="y")
ax.legend(frameon=False, ncols=2, loc="upper left", fontsize=9)
ax.set_ylim(-2, 10)
plt.show()
