"""
Out of Python: ONNX, C, SQL, JavaScript
=======================================

A fitted model is a few hundred numbers. ``export`` writes them as code of other languages; each gives the probabilities
of Python to rounding.
"""

import runpy
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from onnx.reference import ReferenceEvaluator
from sklearn.datasets import load_breast_cancer

from spkm import SPKMClassifier

X, y = load_breast_cancer(return_X_y=True)
model = SPKMClassifier(n_basis=4, random_state=0).fit(X, y)
expected = model.predict_proba(X)[:, 1]

# %%
with TemporaryDirectory() as name:
    folder, sizes = Path(name), {}
    for suffix in (".onnx", ".js", ".py", ".c", ".sql", ".json"):
        model.export(folder / f"model{suffix}")
        sizes[suffix] = (folder / f"model{suffix}").stat().st_size / 1024
    model.save(folder / "model.spkm")
    sizes[".spkm"] = (folder / "model.spkm").stat().st_size / 1024
    session = ReferenceEvaluator(str(folder / "model.onnx"))
    found = dict(zip(session.output_names, session.run(None, {session.input_names[0]: X}), strict=True))
    plain = runpy.run_path(str(folder / "model.py"))["probabilities"]
    by_python = np.array([plain(list(row))[-1] for row in X[:50]])
probability = next(value for key, value in found.items() if "prob" in key)[:, -1]
print(f"largest difference, ONNX: {np.abs(probability - expected).max():.1e}")
print(f"largest difference, Python without NumPy: {np.abs(by_python - expected[:50]).max():.1e}")

# %%
# And as a function of one sample, for services.
compiled = model.compiled("predict_proba")
start = time.perf_counter()
for row in X:
    compiled(row)
print(f"{1e6 * (time.perf_counter() - start) / len(X):.0f} µs for each sample")

# %%
figure, ax = plt.subplots(figsize=(7, 3))
bars = ax.barh(list(sizes), list(sizes.values()), color="#0072B2")
ax.bar_label(bars, fmt=" %.0f kB")
ax.set(xlabel="size of the whole model in kB", xlim=(0, 1.15 * max(sizes.values())))
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
plt.show()
