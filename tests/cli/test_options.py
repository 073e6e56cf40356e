"""The table of options and that of refusals, held to the functions of the package."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import argmetric as am
from argmetric.cli._command import app
from argmetric.cli._options import OPTIONS
from argmetric.cli.scores._rows import REFUSALS
from cli_scores import DECIDED, Y, write_csv
from command import Run

# Parameters by the options that give them, and those that no command line gives
GIVEN = {
    "p": "score",
    "y": "label",
    "labels": "decision_column",
    "groups": "group",
    "sample_weight": "weight",
    "n_jobs": "jobs",
    "random_state": "seed",
    "classes": "one_label",
    "cost": "cost_fp",
}
UNGIVEN = {
    "decide": {
        "cost": "a matrix of costs is no option",
        "budget": "a column of costs is for Python",
    },
    "forecast": {"cost": "a matrix of costs is no option"},
    "evaluate": {
        "cost": "a matrix of costs is no option",
        "forecast": "--score says the same by a note",
        "sample_weight": "weights of rows are for Python",
    },
    "tune": {
        "reference": "a threshold on the scores is the same",
        "min_positives": "a floor on rows that are tuned on is for Python",
        "budget": "a column of costs is for Python",
        "n_bootstrap": "the default is enough for a command",
        "cv": "the same",
        "unlabelled": "decide --reference --confidence takes its rows for it",
    },
    "calibrate": {},
}


def options_of(command: str) -> set[str]:
    found = app[command].assemble_argument_collection()
    return {name for one in found for name in one.names}


@pytest.mark.parametrize("verb", UNGIVEN)
def test_every_parameter_is_an_option_or_has_a_reason(verb: str) -> None:
    flags = options_of(verb)
    for name in inspect.signature(getattr(am, verb)).parameters:
        option = f"--{GIVEN.get(name, name).replace('_', '-')}"
        assert (option in flags) != (name in UNGIVEN[verb]), name
    assert all(UNGIVEN[verb].values())


def test_every_refusal_has_options_a_message_and_a_reason() -> None:
    for _, options, message, _ in REFUSALS:
        assert "{}" in message
        for name in options.split():
            command, _, option = name.rpartition(":")
            assert command in ("stream", "monitor") or option in {*OPTIONS, "method"}
            if command:
                assert f"--{option.replace('_', '-')}" in options_of(command)


def test_a_rule_and_a_report_go_together_in_every_order(run: Run) -> None:
    write_csv(y=Y, decision=DECIDED)
    for line in ("decide scores.csv --decision-column d", "forecast scores.csv"):
        ended = run(*line.split(), "--report", "page.txt")
        assert ended.code == 0, ended.err
        assert re.search("written: page.txt", ended.err)
        Path("page.txt").unlink()
