"""
A stream that drifts
====================

Model and threshold are learned in one pass. After 5,000 rows the data changes, and the
learner recovers.
"""

import matplotlib.pyplot as plt
import numpy as np

from argmetric.stream import OnlineClassifier, StreamDisplay

rng = np.random.default_rng(8)
X = rng.normal(size=(10_000, 4))
side = np.where(np.arange(10_000) < 5000, 1, -1)
y = rng.random(10_000) < 1 / (1 + np.exp(4 - 3 * side * X[:, 0]))
model = OnlineClassifier(metric="f1")
labels = model.progressive(X, y)

# %%
ax = StreamDisplay.from_estimator(model).ax_
ax.axvline(5000, color="C3", ls=":")
plt.show()
