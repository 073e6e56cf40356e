"""
Check the probabilities
=======================

A model trained with class weights gives probabilities that are too high. The check
shows it, and `reference` repairs it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import argmetric as am

X, y = make_classification(9000, weights=[0.93], class_sep=0.8, random_state=0)
train, valid, new = slice(0, 3000), slice(3000, 6000), slice(6000, None)
model = LogisticRegression(class_weight="balanced").fit(X[train], y[train])
p = model.predict_proba(X)[:, 1]
check = am.calibration_check(y[valid], p[valid], "f1")
check.plot()
plt.show()

# %%
# F1 on new rows, without and with the labelled reference.
raw = am.decide(p[new], "f1")
repaired = am.decide(p[new], "f1", reference=(y[valid], p[valid]))
for name, decision in (("raw", raw), ("recalibrated", repaired)):
    actual = am.evaluate(y[new], decision.labels, "f1")
    print(f"{name:12} expected {decision.expected:.3f}, actual {actual:.3f}")
