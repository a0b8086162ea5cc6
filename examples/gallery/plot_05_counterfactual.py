"""
What would have to change?
==========================

The smallest change that turns a decision, with a proof that no smaller one does: along a feature the score is a sum of
known curves, so whole intervals can be ruled out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from spkm import SPKMClassifier
from spkm.explain import counterfactual
from spkm.inspection import DecisionMapDisplay

data = load_wine(as_frame=True)
X, y = data.data[["alcohol", "color_intensity", "proline", "flavanoids"]], data.target_names[data.target]
model = SPKMClassifier(n_basis=6, random_state=0).fit(X, y)

# %%
# A wine of class_1, and the least that would make the model call it class_0.
candidates = np.flatnonzero(model.predict(X) == "class_1")
row = candidates[np.argsort(-model.predict_proba(X)[candidates, 0])[12]]
change = counterfactual(model, X.iloc[row], target="class_0", ranges=X, frozen=["flavanoids"])
for name, (before, after) in change.changes.items():
    print(f"{name}: {before:.4g} → {after:.4g}")
print(f"size {change.size:.3f} standard deviations; nothing below {change.size_bound:.3f} will do")

# %%
# The map around this wine: all features that are not drawn are held at its values.
names = list(change.changes)
axes = (names[0], names[1] if len(names) > 1 else ("alcohol" if names[0] != "alcohol" else "proline"))
display = DecisionMapDisplay.from_estimator(model, X, y, features=axes, at=X.iloc[row])
start = X.iloc[row][list(axes)].to_numpy()
end = np.array([change.changes[name][1] if name in change.changes else X.iloc[row][name] for name in axes])
display.ax_.annotate("", end, start, arrowprops={"arrowstyle": "->", "linewidth": 2.2, "mutation_scale": 22})
display.ax_.plot(*start, "o", color="black", markersize=8)
display.ax_.set_title("the least change that makes it class_0", loc="left", fontsize=10)
plt.show()
