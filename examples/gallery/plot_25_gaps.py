"""
Samples with gaps, without an imputer
=====================================

An imputer fills in a value, and the model is then as sure as if it had been measured. An expected probability is less
sure the more the missing value matters, and every missing value has a worth: what measuring it would change.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from spkm import SPKMClassifier
from spkm.explain import with_gaps

data = load_iris()
X, X_test, y, y_test = train_test_split(data.data, data.target, test_size=0.5, random_state=0, stratify=data.target)
model = SPKMClassifier(random_state=0).fit(X, y)
predictor, imputer = with_gaps(model, X), SimpleImputer().fit(X)
rng = np.random.default_rng(0)

# %%
# Log loss of the test samples with more and more holes.
shares, losses = np.linspace(0, 0.6, 7), {"expected probability": [], "mean imputed": []}
for share in shares:
    gaps = np.where(rng.uniform(size=X_test.shape) < share, np.nan, X_test)
    losses["expected probability"].append(log_loss(y_test, predictor.predict_proba(gaps)))
    losses["mean imputed"].append(log_loss(y_test, model.predict_proba(imputer.transform(gaps))))

# %%
# A flower of which only the sepal was measured: which number should be measured next?
flower = X_test[[3]].copy()
flower[:, 2:] = np.nan
worth = predictor.worth(flower)

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8))
for (name, values), colour in zip(losses.items(), ("#0072B2", "#D55E00"), strict=True):
    axes[0].plot(shares, values, "o-", color=colour, label=name)
axes[0].set_xlabel("share of missing values")
axes[0].set_ylabel("log loss")
axes[0].legend()
names = [name.replace(" (cm)", "") for name in data.feature_names]
axes[1].barh(names, worth.values[0].max(axis=1), color="#0072B2")
axes[1].set_xlabel("expected change of a probability if it were measured")
axes[1].set_title("a flower of which the petal was not measured", fontsize=10)
axes[1].invert_yaxis()
plt.tight_layout()
plt.show()
