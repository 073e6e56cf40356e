"""
Detectors: objects without a box
================================

F1 of the rows leaves out objects that no box finds. ``missed=`` adds them: a count, a
rate, or (found, missed) of a reference. The boxes here are drawn: squares of area 1.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

import argmetric as am

rng = np.random.default_rng(0)


def detect(share):  # labels and scores of the boxes, number of objects without a box
    objects, wrong = rng.uniform(0, 100, (800, 2)), rng.uniform(0, 100, (600, 2))
    boxes = np.append(rng.normal(objects[rng.random(800) < share], 0.1), wrong, axis=0)
    scores = np.append(rng.beta(3, 2, len(boxes) - 600), rng.beta(2, 3, 600))
    both = np.clip(1 - np.abs(objects[:, None] - boxes), 0, None).prod(axis=2)
    iou = both / (2 - both)  # overlap / union
    pairs = linear_sum_assignment(iou, maximize=True)
    right = pairs[1][iou[pairs] >= 0.5]
    return np.isin(np.arange(len(boxes)), right), scores, 800 - len(right)


table = []
for share in (0.8, 0.45) * 6:  # two classes, a threshold each; six draws
    (y, p, lost), (y_new, p_new, lost_new) = detect(share), detect(share)
    labels = am.tune(y, p, "f1", missed=lost).apply(p_new)
    rows = am.forecast(p_new, labels, "f1", reference=(y, p))
    f = am.forecast(p_new, labels, "f1", reference=(y, p), missed=(y.sum(), lost))
    table.append([rows.mean, f.mean, am.evaluate(y_new, labels, "f1", missed=lost_new)])
macro = np.reshape(table, (6, 2, 3)).mean(axis=1)
print("rows alone {:.3f}, missed= {:.3f}, actual {:.3f}".format(*macro.mean(axis=0)))
plt.legend(plt.plot(range(1, 7), macro, "o"), ["rows alone", "missed=", "actual"])
plt.gca().set(xlabel="draw of boxes", ylabel="macro-F1 of new boxes", ylim=(0.4, 0.8))
plt.show()
