"""A table to learn from, and what a saved model says of it."""

from pathlib import Path

import numpy as np

from argmetric.cli.models._saved import load_model
from argmetric.scale import files as aio

N = 160
RNG = np.random.default_rng(11)
AGE = RNG.normal(50, 15, N).round(1)
CITY = RNG.choice(["Rome", "Oslo", "Lima"], N)
INCOME = RNG.lognormal(3, 1, N).round(2)
LOGIT = -9 + 0.12 * AGE + 2.5 * (CITY == "Lima") + 0.7 * np.log(INCOME)
Y = (RNG.random(N) < 1 / (1 + np.exp(-LOGIT))).astype(int)
HOME = np.where(Y == 1, "spam", "ham")
GROUP = np.array([f"g{i // 4}" for i in range(N)])
WEIGHT = RNG.integers(1, 4, N)


def write_csv(name, rows=slice(None), **columns):
    columns = columns or {
        "id": [f"u{i}" for i in range(N)],
        "age": ["" if i % 9 == 0 else a for i, a in enumerate(AGE)],
        "city": CITY,
        "income": INCOME,
        "y": Y,
    }
    chosen = {key: list(values)[rows] for key, values in columns.items()}
    lines = [",".join(chosen)]
    lines += [",".join(map(str, row)) for row in zip(*chosen.values(), strict=True)]
    Path(name).write_text("\n".join(lines) + "\n")


def column(path, name):
    return aio.read_table(path).columns.column(name).to_pylist()


class model_of:  # noqa: N801
    """The methods of a saved model on the rows of a file."""

    def __init__(self, path, file):
        self.saved = load_model(path)
        self.X = self.saved.features.matrix(aio.read_table(file))

    def __getattr__(self, name):
        return lambda *given, **how: getattr(self.saved.model, name)(
            self.X, *given, **how
        )
