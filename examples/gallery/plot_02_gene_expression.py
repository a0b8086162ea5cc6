"""
Gene expression: a few genes out of a thousand, and how sure we are
===================================================================

Eighty patients, a thousand genes, of which six separate the two types of tumour (the data are made up).
``selection="strict"`` gives a model that does not depend on any gene outside its list. How often a gene is chosen again
on halves of the patients says how far to trust the list.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spkm import SPKMClassifier
from spkm.inspection import StabilityDisplay

rng = np.random.default_rng(0)
n, d = 80, 1000
names = [f"GENE{j:04d}" for j in range(d)]
batch = rng.standard_normal((n, 8)) @ rng.standard_normal((8, d)) * 0.3  # genes are expressed together
X = pd.DataFrame(8 + batch + rng.standard_normal((n, d)), columns=names)
tumour = rng.integers(2, size=n)
matter = names[100:700:100]
X[matter] += 1.6 * np.where(tumour == 1, 1, -1)[:, None] * np.array([1, -1, 1, -1, 1, -1])
y = np.where(tumour == 1, "type A", "type B")

# %%
# At most six genes.
model = SPKMClassifier(kernel="linear", n_basis=1, selection="strict", max_features=6, random_state=0).fit(X, y)
found = model.get_feature_names_out()
print("found:        ", *found)
print("of those that matter:", len(set(found) & set(matter)), "of", len(matter))

# %%
# The same search on halves of the patients. A gene that is chosen nearly always is one to follow up.
display = StabilityDisplay.from_estimator(model, X, y, n_pairs=8, random_state=0, max_features=14)
for label in display.ax_.get_yticklabels():
    label.set_fontweight("bold" if label.get_text() in matter else "normal")
display.ax_.set_title(
    "how often a gene is chosen on half of the patients (bold: those that matter)", loc="left", fontsize=10
)
plt.show()
