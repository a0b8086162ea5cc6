"""
Two features together
=====================

Which features act together? H-statistics say how much of the joint effect of two features is more than the sum of their
single effects, and an effect surface shows it. Both are averages over all samples, in closed form.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spkm import SPKMRegressor
from spkm.explain import h_statistics
from spkm.inspection import EffectDisplay

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.uniform(0, 1, (500, 5)), columns=["temperature", "pressure", "catalyst", "stirring", "batch age"])
best = 0.3 + 0.5 * X["pressure"]  # the best temperature rises with the pressure
y = 60 - 80 * (X["temperature"] - best) ** 2 + 12 * X["catalyst"] + rng.normal(0, 1.5, 500)
model = SPKMRegressor(n_basis=12, random_state=0).fit(X, y)

# %%
names, H = h_statistics(model, X)
table = pd.DataFrame(np.squeeze(H), index=names, columns=names).round(2)
print(table.to_string())

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
EffectDisplay.from_estimator(model, X, ("temperature", "pressure"), ax=left)
EffectDisplay.from_estimator(model, X, "catalyst", ax=right)
plt.show()
