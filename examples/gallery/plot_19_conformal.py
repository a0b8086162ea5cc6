"""
Intervals that hold: conformal prediction
=========================================

A conformal interval contains the truth as often as promised, whatever the model and the noise: samples have to be
exchangeable, that is all. Here the noise grows with x, which the model's own standard deviation does not follow.
"""

import matplotlib.pyplot as plt
import numpy as np

from spkm import SPKMRegressor
from spkm.conformal import SplitConformalRegressor
from spkm.losses import Quantile

rng = np.random.default_rng(0)


def draw(n):
    x = rng.uniform(0, 10, n)
    return x[:, None], np.sin(x) + (0.05 + 0.06 * x) * rng.standard_normal(n)


(X_train, y_train), (X_held, y_held), (X_test, y_test) = draw(400), draw(400), draw(2000)
model = SPKMRegressor(n_basis=10, random_state=0).fit(X_train, y_train)
conformal = SplitConformalRegressor(model, confidence_level=0.9).conformalize(X_held, y_held)

# %%
# Three ways to nine samples in ten, and how many of 2,000 new samples each contains.
mean, deviation = model.predict(X_test, return_std=True)
interval = conformal.predict_interval(X_test)[1][:, :, 0]
quantiles = [SPKMRegressor(n_basis=10, loss=Quantile(q), random_state=0).fit(X_train, y_train) for q in (0.05, 0.95)]
ways = {
    "standard deviation": (mean - 1.645 * deviation, mean + 1.645 * deviation),
    "conformal": (interval[:, 0], interval[:, 1]),
    "two quantile fits": tuple(fit.predict(X_test) for fit in quantiles),
}

# %%
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True)
order = np.argsort(X_test[:, 0])
for ax, (name, (low, high)) in zip(axes, ways.items(), strict=True):
    inside = (low <= y_test) & (y_test <= high)
    ax.scatter(X_test[inside, 0], y_test[inside], s=3, color="grey")
    ax.scatter(X_test[~inside, 0], y_test[~inside], s=5, color="#D55E00")
    ax.fill_between(X_test[order, 0], low[order], high[order], color="#0072B2", alpha=0.25)
    ends = [inside[X_test[:, 0] < 2].mean(), inside[X_test[:, 0] > 8].mean()]
    ax.set_title(f"{name}: {inside.mean():.1%}\n{ends[0]:.0%} where x < 2, {ends[1]:.0%} where x > 8", fontsize=10)
    ax.set_xlabel("x")
axes[0].set_ylabel("y")
plt.show()
