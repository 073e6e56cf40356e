"""Default settings of each task, chosen by experiment, and checks of options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, get_args

from argmetric._ground.arguments import check_choice, is_whole, shown, to_float
from argmetric.search.learning import MOST_EPOCHS, Recipe, RollIn
from argmetric.search.tagging._model import BeamScores
from argmetric.search.tagging.labels import Codec
from argmetric.search.tagging.templates import (
    Memory,
    Template,
    default_templates,
    read_templates,
)

TaskName = Literal["chunk", "ner", "pos", "label", "joint"]
Direction = Literal["left", "right", "both"]
Tables = str | Sequence[str] | Mapping[str, str | Sequence[str]]

_MOST = 2**62  # seeds, and what is added to them, are 64 bits
_SIDES = "left", "right"  # whether it is reversed is its place
_LARGEST = 1e30  # what 32-bit weights can bear
SAVED = "hash_bits", "memory", "beam", "beam_scores", "history_value", "random_state"
_WHOLE = {
    "beam": (1, _MOST),
    "epochs": (1, MOST_EPOCHS),
    "random_state": (0, _MOST),
    "hash_bits": (8, 28),
}


@dataclass(frozen=True)
class Defaults:
    """Default settings of a task."""

    tiers: tuple[str, ...]
    spans: tuple[bool, ...]
    epochs: int
    step: float
    dropout: float
    roll_in: RollIn
    direction: Direction
    right_weight: float = 1.0
    memory: Memory = "none"
    beam: int = 5
    beam_scores: BeamScores = "log"
    hash_bits: int = 20


DEFAULTS: dict[str, Defaults] = {
    "chunk": Defaults(("t",), (True,), 6, 0.07, 0.25, "mixed", "both"),
    "ner": Defaults(
        ("t",), (True,), 5, 0.05, 0.0, "gold", "both", right_weight=0.5, memory="both"
    ),
    "pos": Defaults(("t",), (False,), 6, 0.07, 0.25, "mixed", "both"),
    "label": Defaults(
        ("t",), (False,), 15, 0.03, 0.0, "mixed", "left", beam=10, hash_bits=18
    ),
    "joint": Defaults(
        ("tag", "chunk"), (False, True), 6, 0.07, 0.25, "mixed", "both", hash_bits=19
    ),
}


@dataclass(frozen=True, eq=False)
class TaggerOptions:
    """Options of a tagger, with the defaults of the task filled in.

    During learning its tiers are known too: the codecs of their labels, and the first
    rows of history features (see `make_choices`).
    """

    defaults: Defaults
    recipe: Recipe
    tables: tuple[tuple[Template, ...], ...]
    reverse: tuple[bool, ...]
    hash_bits: int
    memory: Memory
    beam: int
    beam_scores: BeamScores
    history_value: float
    random_state: int
    codecs: tuple[Codec, ...] = ()
    base: int = 0


def resolve(given: Mapping[str, Any], n_columns: int | None = None) -> TaggerOptions:
    """Check the arguments of a `Tagger` and fill in what is None.

    For text with `n_columns` columns, the task's own templates are those that read no
    other column.
    """
    check_choice(given["task"], "task", get_args(TaskName))
    defaults = DEFAULTS[given["task"]]
    values: dict[str, Any] = {
        name: vars(defaults).get(name) if value is None else value
        for name, value in given.items()
    }
    for name, kind in (
        ("direction", Direction),
        ("roll_in", RollIn),
        ("memory", Memory),
        ("beam_scores", BeamScores),
    ):
        check_choice(values[name], name, get_args(kind))
    values |= _numbers(values)
    if values["memory"] != "none" and defaults.spans != (True,):
        raise ValueError(f"memory is for spans in text, not for {given['task']!r}")
    if values["beam_scores"] == "raw" and values["direction"] == "both":
        raise ValueError(
            "beam_scores='raw' gives no probabilities that two directions could "
            "multiply: choose direction='left' or 'right'"
        )
    parts = "roll_in", "epochs", "step", "dropout"
    recipe = Recipe(**{name: values[name] for name in parts})
    tables = _tables(given["task"], values["templates"], n_columns)
    if recipe.roll_in == "none":
        tables = tuple(tuple(x for x in t if not x.labels) for t in tables)
    reverse = {"left": (False,), "right": (True,), "both": (False, True)}
    rest = {name: values[name] for name in SAVED}
    return TaggerOptions(defaults, recipe, tables, reverse[values["direction"]], **rest)


def fill_arguments(
    given: Mapping[str, Any], n_columns: int | None = None
) -> dict[str, Any]:
    """Return the checked arguments of a `Tagger`, with defaults for None."""
    options = resolve(given, n_columns)
    texts = [[template.text for template in table] for table in options.tables]
    by_tier = dict(zip(options.defaults.tiers, texts, strict=True))
    direction = "both" if len(options.reverse) == 2 else _SIDES[options.reverse[0]]
    return {
        **given,
        **vars(options.recipe),
        **{name: value for name, value in vars(options).items() if name in given},
        "templates": texts[0] if len(texts) == 1 else by_tier,
        "direction": direction,
    }


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that are numbers as plain ones; refuse those out of range."""
    found: dict[str, Any] = {}
    for name, (low, high) in _WHOLE.items():
        value = values[name]
        whole = is_whole(value)
        if not whole or not low <= value <= high:
            above = f" to {high}" if high < _MOST or (whole and value > 0) else ""
            raise ValueError(
                f"{name} must be an integer from {low}{above}, not {shown(value)}"
            )
        found[name] = int(value)
    for name in ("step", "history_value", "dropout"):
        if not isinstance(values[name], Real):
            raise ValueError(f"{name} must be a number, not {shown(values[name])}")
        value = to_float(values[name])
        if name == "dropout" and not 0.0 <= value < 1.0:
            raise ValueError(f"dropout must be at least 0 and below 1, not {value}")
        if name != "dropout" and not 0.0 < value < _LARGEST:
            raise ValueError(f"{name} must be positive and finite, not {value}")
        found[name] = value
    return found


def _tables(
    task: str, templates: Tables | None, n_columns: int | None
) -> tuple[tuple[Template, ...], ...]:
    """Return the templates of each tier of a task."""
    if task != "joint":
        if isinstance(templates, Mapping):
            raise ValueError("a dict of templates is for task='joint'")
        if templates is None:
            templates = default_templates(task, n_columns=n_columns)
        return (read_templates(templates),)
    tiers = DEFAULTS[task].tiers
    given = {} if templates is None else templates
    if not isinstance(given, Mapping) or set(given) - set(tiers):
        raise ValueError(f"templates of a joint task are a dict of {tiers}")
    return tuple(
        read_templates(given.get(name, default_templates(f"joint {name}")), tiers)
        for name in tiers
    )
