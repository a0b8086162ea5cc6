"""
Pairs: drugs, targets, and what is new
======================================

Samples are pairs of a drug and a target. A prediction for a *new* drug is far harder than for a new pair of known ones;
`PairKFold` measures both honestly. A table of all pairs with the features of both sides is never built.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from spkm import PairKFold, PairwiseSPKMRegressor
from spkm.inspection import PairMatrixDisplay

rng = np.random.default_rng(0)
families = rng.integers(3, size=24)
drugs = rng.standard_normal((3, 6))[families] + 0.4 * rng.standard_normal((24, 6))
sites = np.sort(rng.integers(4, size=36))
targets = rng.standard_normal((4, 8))[sites] + 0.4 * rng.standard_normal((36, 8))
binding = rng.normal(0, 1.5, (3, 4))[families][:, sites] + drugs[:, :1] * targets[:, 1]

known = rng.random(binding.shape) < 0.5  # half of all pairs were measured
pairs = np.argwhere(known)
y = binding[known] + 0.2 * rng.standard_normal(known.sum())
model = PairwiseSPKMRegressor(n_basis=12, random_state=0).fit(pairs, y, left=drugs, right=targets)

# %%
# The quality depends on what is new in the test pairs.
scores = {
    new: cross_val_score(
        model, pairs, y, cv=PairKFold(new, n_splits=3, random_state=0), params={"left": drugs, "right": targets}
    )
    for new in ("pairs", "left", "right", "both")
}
for new, score in scores.items():
    print(f"new {new:<6} R² {score.mean():6.2f}")

# %%
# All pairs; dots are on those that were measured. Similar drugs, and similar targets, are put side by side.
display = PairMatrixDisplay.from_estimator(
    model,
    pairs=pairs,
    left_names=[f"drug {i}" for i in range(24)],
    right_names=[f"target {j}" for j in range(36)],
)
display.ax_.set_title("predicted affinity of all pairs (dots: measured)", loc="left", fontsize=10)
plt.show()
