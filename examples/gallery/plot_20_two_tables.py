"""
Two tables of the same patients: which genes go with which proteins
===================================================================

Three hundred patients, 120 genes and 80 proteins (made up, so we know the truth). The level of two proteins follows the
square of the sum of three genes, a relation that has no linear part: a linear analysis finds nothing. ``SPKMCCA`` finds
both groups, and every other gene and protein has a weight of exactly zero.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spkm import SPKMCCA
from spkm.inspection import CanonicalDisplay
from spkm.kernels import Polynomial

rng = np.random.default_rng(0)
genes = pd.DataFrame(rng.standard_normal((450, 120)), columns=[f"GENE{j:03d}" for j in range(120)])
proteins = pd.DataFrame(rng.standard_normal((450, 80)), columns=[f"PROT{j:02d}" for j in range(80)])
signal = genes[["GENE010", "GENE020", "GENE030"]].sum(axis=1) ** 2 / 3
proteins["PROT07"] += signal
proteins["PROT21"] += signal
train, test = slice(0, 300), slice(300, 450)

linear = SPKMCCA(kernel_x="linear", kernel_y="linear", random_state=0).fit(genes[train], proteins[train])
square = SPKMCCA(kernel_x=Polynomial(2, coef0=0.0), kernel_y="linear", random_state=0)
square.fit(genes[train], proteins[train])
print(f"linear: {linear.score(genes[test], proteins[test]):.2f} on new patients")
print(f"square: {square.score(genes[test], proteins[test]):.2f} on new patients")

# %%
# The summary begins with cautions, if there are any. ``square.report("page.html", genes[test], proteins[test])`` is a
# page of the same facts, and ``square.export("genes.sql", side="x")`` the score of the genes as a query.
print(square.summary(genes[test], proteins[test]))

# %%
# Weights of both tables, and the two scores of patients that the fit has not seen. The p-value is the share of random
# orders of the patients that reach the correlation.
CanonicalDisplay.from_estimator(square, genes[test], proteins[test])
plt.show()
