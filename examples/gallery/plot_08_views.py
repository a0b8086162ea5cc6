"""
Several views: what each kind of measurement brings
===================================================

Patients measured in three ways: clinical numbers, proteins and a panel of noise. Each view has a kernel and two vectors
of its own; shares of the prediction add up to one, and an l1 penalty takes out views that are not needed.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spkm import SPKMClassifier
from spkm.inspection import ViewShareDisplay
from spkm.penalties import L1, RKHSNorm

rng = np.random.default_rng(1)
n = 400
sizes = {"clinical": 5, "protein": 8, "noise": 12}
tables = {name: rng.standard_normal((n, size)) for name, size in sizes.items()}
score = 1.5 * tables["clinical"][:, 0] + 2 * tables["protein"][:, 0] + np.maximum(tables["protein"][:, 1], 0)
y = np.where(score + 0.3 * rng.standard_normal(n) > 0, "ill", "well")
X = pd.DataFrame({f"{name} {j}": table[:, j] for name, table in tables.items() for j in range(table.shape[1])})
views = {name: [column for column in X if column.startswith(name)] for name in sizes}

# %%
plain = SPKMClassifier(n_basis=2, views=views, random_state=0).fit(X, y)
few = SPKMClassifier(n_basis=2, views=views, weight_penalty=[RKHSNorm(), L1(0.01)], n_restarts=3, random_state=0).fit(
    X, y
)
for name, usage in few.view_usage_.items():
    print(f"{name:<9} {usage.n_used} of 2 vectors left, share {usage.share:.0%}")

# %%
figure, (above, below) = plt.subplots(2, 1, figsize=(7.5, 4.6))
ViewShareDisplay.from_estimator(plain, ax=above)
above.set_title("by default", loc="left", fontsize=10)
ViewShareDisplay.from_estimator(few, ax=below)
below.set_title("with an l1 penalty on the weights", loc="left", fontsize=10)
plt.show()
