"""
Digits: what the vectors look like
==================================

Basis vectors live in the space of the data. For images they are images: each shows a pattern of the model, and its
weights say which digit it speaks for.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from spkm import SPKMClassifier
from spkm.inspection import BasisDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Pixels share a unit, so they share a scale. Twelve vectors for ten digits.
model = SPKMClassifier(n_basis=12, kernel="rbf", scale="common", learn_bandwidth=True, random_state=0).fit(
    X_train, y_train
)
print(f"{model.score(X_test, y_test):.1%} of new digits right, with {len(model.basis_vectors_)} vectors")

# %%
BasisDisplay.from_estimator(model, image_shape=(8, 8))
plt.show()
