"""
Larger than memory: Parquet files
=================================

``fit`` takes a folder of Parquet files and the name of a column. Memory does not grow with the number of samples; here
there are 300,000 in six files, and predictions come chunk by chunk. A long fit may have the progress bar of
scikit-learn 1.9 or newer, which needs the package ``rich``.
"""

import resource
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.callback import ProgressBar

from spkm import SPKMRegressor
from spkm.inspection import EffectDisplay

folder = TemporaryDirectory()
names = ["distance_km", "hour", "rain_mm", "passengers"]


def trips(seed, n=50_000):
    """Taxi trips that never happened: minutes by distance, hour and rain."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.gamma(2, 2, n), rng.uniform(0, 24, n), rng.exponential(1, n), rng.integers(1, 5, n)])
    rush = np.exp(-(((X[:, 1] - 8) / 1.5) ** 2)) + np.exp(-(((X[:, 1] - 18) / 2) ** 2))
    return pd.DataFrame(X, columns=names), 3 + 2.2 * X[:, 0] * (1 + 0.8 * rush) + 0.8 * X[:, 2] + rng.normal(0, 1.5, n)


for i in range(6):
    X, minutes = trips(i)
    pq.write_table(pa.Table.from_pandas(X.assign(minutes=minutes)), Path(folder.name) / f"part-{i}.parquet")

model = SPKMRegressor(n_basis=15, random_state=0).set_callbacks(ProgressBar()).fit(folder.name, "minutes")
X_test, y_test = trips(99)
print(f"R² on new trips: {model.score(X_test, y_test):.3f}")
print(f"predicted from the files: {sum(len(part) for part in model.predict_chunks(folder.name)):,}")
print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
folder.cleanup()

# %%
# The effect of two features together: the rush hours lengthen long trips.
EffectDisplay.from_estimator(model, X_test[:1000], ("hour", "distance_km"))
plt.show()
