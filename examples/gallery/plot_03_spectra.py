"""
NIR spectra: which wavelengths carry the answer
===============================================

Spectra of powders with a varying share of an ingredient (made up: overlapping bands, a drifting baseline, noise).
Wavelengths have one unit, so they share one scale. Basis vectors of all wavelengths are spectra; a model of a few
wavelengths says what a cheap sensor would have to measure.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from spkm import SPKMRegressor
from spkm.inspection import BasisDisplay

rng = np.random.default_rng(0)
n, wavelengths = 300, np.linspace(900, 1700, 60)


def band(centre, width):
    return np.exp(-(((wavelengths - centre) / width) ** 2))


share, water = rng.uniform(0, 0.4, n), rng.uniform(0.2, 1.0, n)
pure = share[:, None] * band(1210, 30) + water[:, None] * band(1450, 60) + 0.4 * band(1150, 90)
drift = rng.normal(0, 0.1, (n, 1)) * (wavelengths - 1300) / 400 + rng.normal(0, 0.1, (n, 1))
X = pure * rng.uniform(0.8, 1.2, (n, 1)) + drift + 0.003 * rng.standard_normal((n, len(wavelengths)))
X_train, X_test, y_train, y_test = train_test_split(X, 100 * share, random_state=0)

# %%
# All wavelengths, and at most six of them.
everything = SPKMRegressor(n_basis=4, scale="common", linear_part=False, random_state=0).fit(X_train, y_train)
few = SPKMRegressor(n_basis=4, scale="common", selection="strict", max_features=6, random_state=0).fit(X_train, y_train)
for name, model in (("all 60", everything), (f"{len(few.selected_features_)} chosen", few)):
    error = np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2))
    print(f"{name:<9} wavelengths: error on new samples {error:.2f} percentage points")

# %%
figure, (above, below) = plt.subplots(2, 1, figsize=(8, 6), sharex=True)
BasisDisplay.from_estimator(everything, X_train, x=wavelengths, x_label="", ax=above)
above.set_title("basis vectors of the model of all wavelengths", loc="left", fontsize=10)
colours = plt.colormaps["viridis"](y_train[:60] / 40)
for spectrum, colour in zip(X_train[:60], colours, strict=True):
    below.plot(wavelengths, spectrum, color=colour, linewidth=0.7)
for k, j in enumerate(few.selected_features_):
    below.axvline(wavelengths[j], color="#D55E00", linestyle="--", label="chosen" if k == 0 else None)
figure.colorbar(
    plt.cm.ScalarMappable(plt.Normalize(0, 40)), ax=below, label="share in %", location="bottom", shrink=0.5
)
below.set(xlabel="wavelength in nm", ylabel="absorbance")
below.set_title("spectra, and the wavelengths of the small model", loc="left", fontsize=10)
below.legend(frameon=False)
plt.show()
