"""
Statements about every sample, proved or refuted
================================================

"No score above 1.2 where x0 is small" is a statement about all samples there could be. The answer is a proof, or a
sample that refutes it.
"""

import matplotlib.pyplot as plt
import numpy as np

from spkm import SPKMRegressor
from spkm.explain import prove

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(300, 2))
y = np.sin(1.5 * X[:, 0]) + 0.5 * np.cos(2 * X[:, 1]) + 0.1 * rng.normal(size=300)
model = SPKMRegressor(8, random_state=0).fit(X, y)

# %%
# The same limit in two regions, and the largest prediction of the first, to 0.01.
holds = prove(model, "prediction <= 0.7 where x0 <= 0", ranges=X)
fails = prove(model, "prediction <= 0.7 where 0 <= x0 <= 1", ranges=X)
top = prove(model, "prediction <= ? where x0 <= 0", ranges=X, tolerance=0.01)
print(holds)
print(fails)
print(top)

# %%
grid = np.linspace(-2, 2, 80)
mesh = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
surface = model.predict(mesh).reshape(80, 80)
figure, ax = plt.subplots(figsize=(6.4, 4.6))
levels = ax.contourf(grid, grid, surface, 14, cmap="cividis")
figure.colorbar(levels, label="prediction")
ax.contour(grid, grid, surface, [0.7], colors="white", linewidths=1.5)
for left, width, answer in ((-2, 2, holds), (0, 1, fails)):
    ax.add_patch(plt.Rectangle((left, -2), width, 4, fill=False, linestyle="--", linewidth=1.5, edgecolor="white"))
    ax.text(left + 0.05, 1.8, answer.status, color="white", fontsize=10, weight="bold")
ax.plot(fails.sample["x0"], fails.sample["x1"], "o", color="white", markeredgecolor="black", label="refutes it")
ax.plot(
    top.sample["x0"], top.sample["x1"], "*", color="white", markeredgecolor="black", ms=13, label="largest, x0 <= 0"
)
ax.set_title("prediction <= 0.7? The white line is 0.7", fontsize=10)
ax.set_xlabel("x0")
ax.set_ylabel("x1")
ax.legend(loc="lower left", fontsize=8)
plt.show()
