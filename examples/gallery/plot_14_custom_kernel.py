"""
A kernel of your own: hours on a clock
======================================

23:30 and 0:30 are neighbours. Put the hour on a circle, and exp(gamma x·u) is a kernel of the angle between two hours,
the shape of the von Mises distribution. It is one class with two formulas; ``check_kernel`` compares the slope with
differences, and everything else of the library works with it.
"""

import matplotlib.pyplot as plt
import numpy as np

from spkm import SPKMRegressor
from spkm.checking import check_kernel
from spkm.kernels import DotKernel


class VonMises(DotKernel):
    """k(x, u) = exp(gamma (x.u - 1)): for x and u on a circle, a bump around the hour of u."""

    def __init__(self, gamma=3.0):
        self.gamma = gamma

    def value(self, dot):
        return np.exp(dot - self.gamma)

    def slope(self, dot, value):
        return value


print(f"largest error of its derivatives: {check_kernel(VonMises()):.1e}")


# %%
# Bicycles that are rented, by the hour of the day (made up).
def circle(hour):
    angle = 2 * np.pi * np.asarray(hour) / 24
    return np.column_stack([np.cos(angle), np.sin(angle)])


rng = np.random.default_rng(0)
hour = rng.uniform(0, 24, 400)
rate = (
    30
    + 150 * np.exp(-(((hour - 8) / 1.2) ** 2))
    + 200 * np.exp(-(((hour - 17.5) / 2) ** 2))
    + 40 * (hour > 10) * (hour < 21)
)
rented = rng.poisson(rate)
model = SPKMRegressor(n_basis=8, kernel=VonMises(12.0), loss="poisson", scale=False, random_state=0)
model.fit(circle(hour), rented)

# %%
figure, ax = plt.subplots(figsize=(6.5, 6), subplot_kw={"projection": "polar"})
grid = np.linspace(0, 24, 400)
ax.set(theta_zero_location="N", theta_direction=-1)
ax.scatter(2 * np.pi * hour / 24, rented, s=8, color="grey", label="samples")
ax.plot(2 * np.pi * grid / 24, model.predict(circle(grid)), color="#0072B2", linewidth=2.5, label="model of 8 vectors")
vectors = np.arctan2(model.basis_vectors_[:, 1], model.basis_vectors_[:, 0])
ax.scatter(vectors, np.full(len(vectors), 300), marker="*", s=120, color="#D55E00", label="hours of the basis vectors")
ax.set_xticks(np.arange(0, 2 * np.pi, np.pi / 4), [f"{h}:00" for h in range(0, 24, 3)])
ax.set(rmax=320, rlabel_position=70)
ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.06), frameon=False, ncols=3)
plt.show()
