"""
How long until a relapse: a hazard that bends
=============================================

Six hundred patients (made up, so we know the truth), followed for three years; one in three has had no relapse by the
end of their time and is *censored*. The hazard is lowest at a middle dose and rises with age beyond sixty. A hazard
that is linear in the dose cannot say so. ``SPKMSurvival`` has a kernel machine of four vectors for the log hazard.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spkm import SPKMSurvival
from spkm.inspection import SurvivalCalibrationDisplay, SurvivalDisplay

rng = np.random.default_rng(0)
n = 900
patients = pd.DataFrame({"age": rng.uniform(30, 85, n), "dose": rng.uniform(0, 10, n), "marker": rng.normal(size=n)})
log_hazard = ((patients["dose"] - 5) / 2.5) ** 2 + 0.06 * np.maximum(patients["age"] - 60, 0) - 1.5
relapse, followed = rng.exponential(np.exp(-log_hazard)), rng.uniform(0.5, 3, n)
outcome = pd.DataFrame({"relapse": relapse < followed, "years": np.minimum(relapse, followed)})
train, test = slice(0, 600), slice(600, n)

linear = SPKMSurvival(kernel="linear", n_basis=1, random_state=0).fit(patients[train], outcome[train])
model = SPKMSurvival(n_basis=4, random_state=0).fit(patients[train], outcome[train])
print(f"linear hazard: concordance {linear.score(patients[test], outcome[test]):.2f} on new patients")
print(f"four vectors:  concordance {model.score(patients[test], outcome[test]):.2f}")

# %%
# The share of patients like this one without a relapse, for three doses. The grey line is a patient of mean log hazard.
patient = patients[test].head(1)
SurvivalDisplay.from_estimator(model, patient, feature="dose", values=[1, 5, 9], times=np.linspace(0, 2.5, 200))
plt.show()

# %%
# Are the probabilities right? New patients in five groups by their predictions: predicted share without a relapse, and
# the observed one (Kaplan and Meier's estimate, which takes account of the censored).
SurvivalCalibrationDisplay.from_estimator(model, patients[test], outcome[test], times=[0.5, 1.5])
plt.show()
