"""
Detectors: objects without a box
================================

A detector scores the boxes that it proposes. Objects without a box are false negatives
that no row stands for; so are pairs that a blocking step never compared. F1 of the rows
alone is then too high. ``missed=`` in ``decide``, ``forecast``, ``evaluate`` and
``tune`` adds them: a count (12), a rate per positive among the rows (0.4), or counts
(found, missed) of a reference, whose uncertainty is in the interval.

It goes with metrics in which true negatives do not count: F-beta, Jaccard, Tversky,
recall, precision, Fowlkes-Mallows, a ``Utility`` with ``tn=0``.

Boxes and objects are drawn here: two classes, of which the detector proposes a box for
80 % and for 45 % of the objects. A box is right if scipy's assignment pairs it with an
object at an overlap (IoU) of 0.5 or more.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

import argmetric as am

rng = np.random.default_rng(0)


def draw_boxes(found):
    """Objects and scored boxes (x, y, width, height) of an image."""
    objects = rng.uniform([0, 0, 8, 8], [80, 80, 20, 20], (rng.poisson(5), 4))
    near = objects[rng.random(len(objects)) < found]
    near = near + rng.normal(0.0, 1.2, near.shape)
    wrong = rng.uniform([0, 0, 8, 8], [80, 80, 20, 20], (rng.poisson(4), 4))
    scores = np.append(rng.beta(3, 2, len(near)), rng.beta(2, 3, len(wrong)))
    return objects, np.concatenate([near, wrong]), scores


def match(objects, boxes):
    """Which boxes have an object, and how many objects have none."""
    low = np.maximum(objects[:, None, :2], boxes[:, :2])
    high = np.minimum(*((x[..., :2] + x[..., 2:]) for x in (objects[:, None], boxes)))
    both = np.clip(high - low, 0.0, None).prod(axis=2)
    area = objects[:, None, 2:].prod(axis=2) + boxes[:, 2:].prod(axis=1)
    iou = both / (area - both)
    rows, columns = linear_sum_assignment(-iou)
    right = columns[iou[rows, columns] >= 0.5]
    return np.isin(np.arange(len(boxes)), right), len(objects) - len(right)


def detect(found, n_images=150):
    """Labels and scores of the boxes, and the number of objects that have none."""
    images = [draw_boxes(found) for _ in range(n_images)]
    right, missed = zip(*(match(o, b) for o, b, _ in images), strict=True)
    return np.concatenate(right), np.concatenate([s for *_, s in images]), sum(missed)


# %%
# One threshold a class for macro-F1, and the score to expect on new images, of which no
# object is labelled.

table = []
for found in (0.8, 0.45):
    y, p, missed = detect(found)
    rule = am.tune(y, p, "f1", missed=missed)
    y_new, p_new, missed_new = detect(found)
    labels, known = rule.apply(p_new), {"reference": (y, p)}
    f = am.forecast(p_new, labels, "f1", missed=(int(y.sum()), missed), **known)
    rows_alone = am.forecast(p_new, labels, "f1", **known)
    actual = am.evaluate(y_new, labels, "f1", missed=missed_new)
    table.append([rows_alone.mean, f.mean, *f.interval, actual])
    print(f"threshold {rule.threshold:.2f}: {f.mean:.3f} expected, {actual:.3f} actual")
alone, mean, *_, actual = np.mean(table, axis=0)
print(f"macro-F1: {alone:.3f} of rows alone, {mean:.3f} expected, {actual:.3f} actual")

# %%
# Dots are what the rows alone would promise, bars the forecast with missed objects.

x, (alone, mean, low, high, actual) = np.arange(2), np.transpose(table)
plt.errorbar(x, mean, [mean - low, high - mean], fmt="s", label="forecast, 90 %")
plt.plot(x, alone, "o", label="forecast of the rows alone")
plt.plot(x, actual, "k_", markersize=20, label="actual")
plt.xticks(x, ["80 % found", "45 % found"])
plt.gca().set(ylabel="F1", xlim=(-0.5, 1.5))
plt.legend()
plt.show()
