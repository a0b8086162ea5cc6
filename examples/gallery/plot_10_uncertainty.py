"""
How sure is a prediction?
=========================

A regressor with the default loss is the mean of a sparse Gaussian process, and has a standard deviation: small
where samples are dense, large where there are none.
"""

import matplotlib.pyplot as plt
import numpy as np

from spkm import SPKMRegressor

rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(-4, -0.5, 120), rng.uniform(1.5, 4, 80)])
y = np.sin(2 * x) + 0.3 * x + 0.25 * rng.standard_normal(len(x))
model = SPKMRegressor(n_basis=12, random_state=0).fit(x[:, None], y)

# %%
# The standard deviation of a new observation, noise included.
grid = np.linspace(-5, 5, 300)
mean, deviation = model.predict(grid[:, None], return_std=True)

# %%
figure, ax = plt.subplots(figsize=(8, 4.2))
ax.fill_between(
    grid, mean - 1.96 * deviation, mean + 1.96 * deviation, color="#0072B2", alpha=0.2, label="95 % of new samples"
)
ax.plot(grid, mean, color="#0072B2", linewidth=2, label="prediction")
ax.plot(grid, np.sin(2 * grid) + 0.3 * grid, color="black", linestyle=":", label="the truth")
ax.scatter(x, y, s=10, color="#D55E00", label="samples", zorder=3)
vectors = model.basis_vectors_[:, 0]
ax.scatter(
    vectors, np.full(len(vectors), ax.get_ylim()[0]), marker="^", color="black", clip_on=False, label="basis vectors"
)
ax.set(xlabel="x", ylabel="y", xlim=(-5, 5))
ax.legend(frameon=False, ncols=2, loc="upper left")
plt.show()
