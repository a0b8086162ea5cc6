"""
The same model on a cluster: Dask
=================================

A Dask array takes the place of a NumPy array. Sums are added in the order of the chunks, so that any number of workers
gives the same bits. This example runs without a cluster; with ``distributed.Client(...)`` above it, it would use one.
"""

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from spkm import SPKMClassifier
from spkm.inspection import DecisionMapDisplay

dask.config.set(scheduler="threads")


def rings(block_info=None):
    """Points in the plane; those of class 0 lie in a ring."""
    chunk = block_info[None]["chunk-location"][0]
    return np.random.default_rng(chunk).normal(0, 1, (25_000, 2))


X = da.map_blocks(rings, chunks=((25_000,) * 4, (2,)), dtype=float)
y = (abs(da.sqrt((X**2).sum(axis=1)) - 1.5) > 0.5).astype(int)
model = SPKMClassifier(n_basis=12, random_state=0).fit(X, y)
print(
    f"{len(X):,} samples in {X.numblocks[0]} chunks; fitted: {type(model.basis_vectors_).__name__}, an ordinary model"
)

# %%
sample, labels = X[:2000].compute(), y[:2000].compute()
display = DecisionMapDisplay.from_estimator(model, sample[:300], labels[:300], features=(0, 1))
display.ax_.set_title(f"{model.score(sample, labels):.1%} right, 12 vectors", fontsize=10)
plt.show()
