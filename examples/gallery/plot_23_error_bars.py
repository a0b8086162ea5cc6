"""
How sure an explanation is
==========================

Effects and Shapley values are read off one model, fitted to one sample of the world. ``with_uncertainty`` fits the
samples again with random weights, 15 times from where the model is, and every explanation then has error bars.
"""

import matplotlib.pyplot as plt
import numpy as np

from spkm import SPKMRegressor
from spkm.explain import partial_dependence

rng = np.random.default_rng(0)


def draw(n):
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)


# %%
# Bands of the effect of the first feature for 80 and 800 samples, beside the effect of the true function.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, n in zip(axes, (80, 800), strict=True):
    X, y = draw(n)
    model = SPKMRegressor(random_state=0).fit(X, y).with_uncertainty(X, y, random_state=0)
    (effect,) = partial_dependence(model, X, [0], grid={0: np.linspace(-2, 2, 60)})
    grid = effect.grid[0]
    low, high = (end[:, 0] for end in effect.interval(0.9))
    ax.fill_between(grid, low, high, color="#0072B2", alpha=0.25, label="90 % band")
    ax.plot(grid, effect.values[:, 0], color="#0072B2", label="effect")
    truth = np.sin(2 * grid) + 0.5 * X[:, 1].mean()
    ax.plot(grid, truth, "--", color="black", linewidth=1, label="true function")
    ax.set_title(f"{n} samples", fontsize=10)
    ax.set_xlabel("x0")
    ax.set_ylim(-2.2, 2.2)
axes[0].set_ylabel("effect")
axes[0].legend(fontsize=8)
plt.show()

# %%
# Shapley values of one sample with their bars: the third feature has none that its bar does not explain.
bars = model.explain(X[:1], X[::8]).bars().frame()
errors = [bars["value"] - bars["lower"], bars["upper"] - bars["value"]]
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.barh(bars["feature"], bars["value"], xerr=errors, color="#E69F00", ecolor="black", capsize=3)
ax.axvline(0, color="black", linewidth=0.8)
ax.invert_yaxis()
ax.set_title("Shapley values of one sample, with 90 % bars", fontsize=10)
plt.show()
