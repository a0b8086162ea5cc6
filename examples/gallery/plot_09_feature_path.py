"""
From many features to few: the path
===================================

A path shows the held-out score of models with fewer and fewer features, and which features are left. Three of thirty
matter here, by their squares.
"""

import matplotlib.pyplot as plt
import numpy as np

from spkm import SPKMClassifier, sparsity_path
from spkm.datasets import make_sparse_relation
from spkm.inspection import FeaturePathDisplay, PathDisplay

X, y, relevant = make_sparse_relation("quadratic", n_samples=600, n_features=30, random_state=0)
print("features that matter:", *np.sort(relevant))

model = SPKMClassifier(kernel="polynomial", n_basis=4, selection="strict", random_state=0)
path = sparsity_path(model, X, y)

# %%
# The score, with the standard error of the best.
PathDisplay(path).plot()
plt.show()

# %%
# And the features themselves, from those that stay longest.
FeaturePathDisplay(path, [f"x{j}" for j in range(30)], max_features=14).plot()
plt.show()
