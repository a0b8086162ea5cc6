"""
Credit decisions with reason codes
==================================

Whoever is refused has a right to the main reasons. Shapley values of this model are exact, by column of the table: the
columns of a category are one feature. The table is made up, with text and missing values in it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from spkm import SPKMClassifier, TableEncoder
from spkm.explain import explain

rng = np.random.default_rng(0)
n = 1500
table = pd.DataFrame(
    {
        "income": rng.lognormal(10.4, 0.5, n).round(-2),
        "debt share": rng.beta(2, 5, n).round(3),
        "years employed": rng.gamma(2.0, 3.0, n).round(1),
        "late payments": rng.poisson(0.7, n),
        "purpose": rng.choice(["car", "home", "business"], n, p=[0.5, 0.3, 0.2]),
    }
)
good = (
    0.9 * np.log(table["income"] / 33000) - 6 * np.maximum(table["debt share"] - 0.3, 0) - 0.9 * table["late payments"]
)
good += 0.5 * np.tanh(table["years employed"] / 4) - 0.7 * (table["purpose"] == "business") + 0.6
y = np.where(good + 0.5 * rng.logistic(size=n) > 0, "granted", "refused")
table.loc[rng.random(n) < 0.1, "years employed"] = np.nan
train, test, y_train, y_test = train_test_split(table, y, random_state=0)

encoder = TableEncoder().fit(train)
model = SPKMClassifier(n_basis=6, random_state=0).fit(encoder.transform(train), y_train)
print(f"right on new applicants: {model.score(encoder.transform(test), y_test):.1%}")

# %%
# The reasons of one refusal: columns of the table whose values speak against the applicant, strongest first.
probability = model.predict_proba(encoder.transform(test))[:, list(model.classes_).index("refused")]
who = int(np.argsort(-probability)[12])
explanation = explain(
    model,
    encoder.transform(test.iloc[[who]]),
    background=encoder.transform(train)[::10],
    groups=encoder.column_groups(),
)
sign = 1 if model.classes_[1] == "refused" else -1
reasons = sign * explanation.frame().iloc[0].sort_values(key=lambda v: sign * v)
for name, value in reasons[reasons > 0].iloc[::-1][:3].items():
    print(f"reason: {name} = {table.loc[test.index[who], name]}  (+{value:.2f})")

# %%
figure, ax = plt.subplots(figsize=(7.5, 3))
labels = [f"{name} = {table.loc[test.index[who], name]}" for name in reasons.index]
ax.barh(labels, reasons, color=np.where(reasons > 0, "#D55E00", "#0072B2"))
ax.axvline(0, color="black", linewidth=0.8)
ax.set_xlabel("what it adds to the score of a refusal, against a typical applicant")
ax.set_title(f"refused with probability {probability[who]:.0%}", loc="left", fontsize=11)
plt.show()
