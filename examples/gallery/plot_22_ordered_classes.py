"""
Slow, medium, fast: classes with an order
=========================================

How far diabetes has gone on after a year, in three grades (442 patients; data of scikit-learn). To take a slow course
for a fast one is a worse mistake than to take it for a medium one, and a classifier ignores that.
``SPKMOrdinalClassifier`` learns one score for all grades and the thresholds between them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split

from spkm import SPKMClassifier, SPKMOrdinalClassifier
from spkm.inspection import OrderDisplay, ShapleyDisplay

X, progress = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
grades = np.array(["slow", "medium", "fast"])
y = grades[np.digitize(progress, np.quantile(progress, [1 / 3, 2 / 3]))]

ordered = SPKMOrdinalClassifier(n_basis=5, order=grades.tolist(), random_state=0)
plain = SPKMClassifier(n_basis=5, random_state=0)
place = {grade: k for k, grade in enumerate(grades)}
for name, model in (("ordered", ordered), ("plain", plain)):
    predicted = cross_val_predict(model, X, y, cv=StratifiedKFold(5, shuffle=True, random_state=0))
    off = np.array([abs(place[p] - place[t]) for p, t in zip(predicted, y, strict=True)])
    print(f"{name}: {np.mean(off == 0):.1%} right, {np.mean(off == 2):.1%} two grades off (five folds)")

# %%
# Above, the probability of each grade along the score; below, patients that the fit has not seen, by their true grade.
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
ordered.fit(X_train, y_train)
OrderDisplay.from_estimator(ordered, X_test, y_test)
plt.show()

# %%
# One Shapley value for each feature says why a patient's score is what it is, whatever the grade.
ShapleyDisplay.from_estimator(ordered, X_test.head(1), background=X_train)
plt.show()
