"""
Forecast a score without labels
===============================

`forecast` gives the distribution of F1 from the probabilities alone. When labels
arrive, the actual score can be compared with it.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(1)
p = rng.beta(0.5, 3.0, 800)
labels = am.decide(p, "f1").labels
forecast = am.forecast(p, labels, "f1")
print(forecast)

# %%
# The actual score lies inside the 90 % interval.
y = rng.random(800) < p
actual = am.evaluate(y, labels, "f1", forecast=forecast)
am.ForecastDisplay(forecast, score=actual).plot()
plt.show()
