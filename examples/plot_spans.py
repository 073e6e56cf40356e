"""
Names in a sentence
===================

A token classifier gives each word a probability for each label. `decode_spans` chooses
the entities with the best expected F1, not the most probable labels.
"""

import matplotlib.pyplot as plt
import numpy as np

from argmetric import sequence as seq

names = ["O", "B-PER", "I-PER", "B-LOC"]
words = ["Marco", "Rio", "left", "Florence"]
p = np.array(
    [
        [0.15, 0.75, 0.02, 0.08],
        [0.50, 0.05, 0.38, 0.07],
        [0.97, 0.01, 0.01, 0.01],
        [0.50, 0.10, 0.02, 0.38],
    ]
)
chosen = seq.decode_spans(seq.token_model(p, names), words, "f1")
print([(span.text, span.type, round(span.probability, 2)) for span in chosen.spans])

# %%
fig, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
ax.imshow(p.T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
ax.set_xticks(range(4), words)
ax.set_yticks(range(4), names)
for span in chosen.spans:
    ax.axvspan(span.start - 0.5, span.stop - 0.5, fill=False, edgecolor="C1", lw=2)
plt.show()
