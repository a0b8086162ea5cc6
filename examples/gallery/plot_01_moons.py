"""
A handful of vectors instead of hundreds
========================================

A support vector machine keeps every sample near the boundary. Here the basis vectors are learned: at most eight of them
draw the same boundary (those that end at the same place become one), and there is nothing else in the model.
"""

import matplotlib.pyplot as plt
from matplotlib.colors import ListedColormap
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from spkm import SPKMClassifier
from spkm.inspection import DecisionMapDisplay

X, y = make_moons(1000, noise=0.3, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

ours = SPKMClassifier(n_basis=8, random_state=0).fit(X_train, y_train)
svc = make_pipeline(StandardScaler(), SVC(C=10)).fit(X_train, y_train)

# %%
# Both in one figure, with the accuracy on samples that neither has seen. Diamonds are basis vectors, in the colour of
# the class that they speak for; stars are support vectors.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4))
DecisionMapDisplay.from_estimator(ours, X_train, y_train, features=(0, 1), ax=left)
left.get_legend().remove()
left.set_title(f"SPKM: {len(ours.dual_coef_)} learned vectors, {ours.score(X_test, y_test):.1%} right")

pale = ListedColormap(["#C6DFEE", "#F7DFCB"])
DecisionBoundaryDisplay.from_estimator(svc, X_train, ax=right, response_method="predict", cmap=pale)
vectors = X_train[svc[-1].support_]
right.scatter(*vectors.T, s=90, marker="*", facecolors="white", edgecolors="black", zorder=3)
right.set_title(f"SVC: {len(vectors)} support vectors, {svc.score(X_test, y_test):.1%} right")
right.set(xlabel="x0", ylabel="x1", xlim=left.get_xlim(), ylim=left.get_ylim())
plt.show()
