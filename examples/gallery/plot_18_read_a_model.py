"""
Read a whole model in two pictures
==================================

Four vectors decide about breast cancer samples. The first picture shows them all, in standard deviations from the mean;
the second explains one sample: what each vector adds, then which features made it like that vector.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from spkm import SPKMClassifier
from spkm.explain import summary
from spkm.inspection import BasisDisplay, ContributionDisplay

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = SPKMClassifier(n_basis=4, random_state=0).fit(X_train, y_train)
print(f"{model.score(X_test, y_test):.1%} right on new samples")
print(summary(model, X_train, y_train))

# %%
BasisDisplay.from_estimator(model, X_train, max_features=14)
plt.show()

# %%
ContributionDisplay.from_estimator(model, X_test, row=3, background=X_train[::4])
plt.show()
