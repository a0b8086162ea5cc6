"""
The paper's illustration: two spirals
=====================================

Algorithm 1 of the paper (alternating steps on the basis vectors and on the weights) beside the default of this library,
with at most thirty vectors each: diamonds, in the colour of the class that they speak for. The paper's algorithm has a
bandwidth to be chosen, here on validation samples; the default learns it.
"""

import matplotlib.pyplot as plt

from spkm import SPKMClassifier
from spkm.datasets import make_spirals
from spkm.inspection import DecisionMapDisplay
from spkm.kernels import RBF
from spkm.penalties import SquaredL2

X, y = make_spirals(400, noise=0.03, random_state=0)
X_valid, y_valid = make_spirals(400, noise=0.03, random_state=1)
X_test, y_test = make_spirals(2000, noise=0.03, random_state=2)


def algorithm_1(gamma):
    return SPKMClassifier(
        n_basis=30,
        kernel=RBF(gamma),
        loss="squared_hinge",
        solver="alternating",
        weight_penalty=SquaredL2(1e-4),
        learn_bandwidth=False,
        linear_part=False,
        basis_bounds=None,
        max_iter=500,
        tol=1e-3,
        random_state=0,
    ).fit(X, y)


tried = [algorithm_1(gamma) for gamma in (1, 3, 10, 30)]
paper = max(tried, key=lambda model: model.score(X_valid, y_valid))
ours = SPKMClassifier(n_basis=30, random_state=0).fit(X, y)

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4.6))
named = ((paper, f"the paper's algorithm, gamma = {paper.kernel.gamma}"), (ours, "the default here"))
for (model, name), ax in zip(named, axes, strict=True):
    DecisionMapDisplay.from_estimator(model, X, y, features=(0, 1), ax=ax)
    ax.get_legend().remove()
    ax.set_title(f"{name}: {model.score(X_test, y_test):.1%} right", fontsize=10)
plt.show()
