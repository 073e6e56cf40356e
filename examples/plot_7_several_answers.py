"""
Several answers of a language model, and one to hand in
=======================================================

Ask ten times which people a text names, and you get ten sets. Which do you hand in, and
what F1 will it have? No language model was run: these answers are generated. Put yours
in place of `ask`.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(0)


def ask(n):
    """True sets, and ten answers to each question; some name many people, some few."""
    odds = rng.normal(-1.0, 1.2, (n, 1, 12)) + rng.normal(0, 2, (n, 11, 1))
    odds[:, 1:] *= 2
    drawn = rng.random(odds.shape) < 1 / (1 + np.exp(-odds))
    every = [[frozenset(np.flatnonzero(row)) for row in one] for one in drawn]
    return [one[0] for one in every], [one[1:] for one in every]


(truth, answers), reference = ask(500), ask(200)
found = am.sets.decide(answers, "f1", reference=reference)
votes = [{i for i in range(12) if sum(i in s for s in one) > 4} for one in answers]
ways = {"first answer": [one[0] for one in answers], "named by half": votes}
ways["sets.decide"] = found.labels
for name, sets in ways.items():
    pairs = zip(sets, truth, strict=True)
    f1 = np.mean([2 * len(a & b) / max(len(a) + len(b), 1) for a, b in pairs])
    plt.barh(name, f1, color="#9fb4c7")
    print(f"{name:14} actual F1 {f1:.3f}")
print(f"forecast {found.mean:.3f}, from 200 questions with known answers")
plt.plot(found.interval, [2, 2], lw=4, color="#c8553d")
plt.show()
