"""The help of every command, completion, and the tables of options and refusals."""

import os
import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import argmetric as am
from argmetric._ground.arguments import keywords_of
from argmetric.cli._command import app, first_lines
from argmetric.cli._errors import with_flags
from argmetric.cli._options import OPTIONS
from argmetric.cli._values import mark_streams, refusals
from argmetric.scale import files as aio

ENDS = "--help", "-h", "--version"


def commands(level, path=""):
    yield path, level
    for name, command in level.resolved_commands().items():
        if name not in ENDS:
            yield from commands(command, f"{path} {name}".strip())


EVERY = dict(commands(app))


def examples(command):
    return re.findall(r"^    (argmetric.*)$", EVERY[command].help_epilogue, re.M)


def test_every_command_is_there():
    assert len(EVERY) > 25


def test_the_list_of_commands_says_how_their_help_begins():
    found = {name: level.help for name, level in EVERY.items() if " " not in name}
    del found[""]
    begins = {name: text.split("\n\n")[0] for name, text in found.items()}
    assert begins == first_lines()


def test_the_list_of_commands_is_that_of_the_application(run, capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("--help").out
    assert run("-h").out == run().out == shown
    app.resolved_commands()
    app.help_print([])
    assert capfd.readouterr().out == shown


@pytest.mark.parametrize("command", EVERY)
def test_examples_parse_and_are_shown(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(*command.split(), "--help").out
    assert "Examples:" in shown
    assert 1 <= len(examples(command)) <= 3
    for line in examples(command):
        assert line in shown  # not wrapped: it can be copied
        program, *tokens = shlex.split(line)
        assert program == "argmetric"
        assert " ".join(tokens).startswith(command)
        app.parse_args(mark_streams(tokens), exit_on_error=False, print_error=False)


def test_no_option_is_there_for_the_parser_alone():
    found = {
        name
        for command in EVERY.values()
        if command.default_command is not None
        for argument in command.assemble_argument_collection()
        for name in argument.names
        if name.startswith(("--no-", "--empty-"))
    }
    assert found == {"--no-label"}


@pytest.mark.parametrize("command", [name for name in EVERY if name])
def test_every_option_is_shown(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    level = EVERY[command]
    if level.default_command is None:
        return
    shown = run(*command.split(), "--help").out
    for argument in level.assemble_argument_collection():
        if argument.parse:
            assert argument.name in shown
    for argument in level.assemble_argument_collection(parse_docstring=True):
        if argument.parse and not argument._accepts_keywords:
            assert argument.parameter.help, argument.name


def test_the_completion_for_bash_is_a_script_with_the_commands(run):
    ended = run("--install-completion", "--shell", "bash", "-o", "argmetric.bash")
    assert ended.code == 0
    assert "written: " in ended.err
    checked = subprocess.run(["bash", "-n", "argmetric.bash"], capture_output=True)
    assert (checked.returncode, checked.stderr) == (0, b"")
    words = "source argmetric.bash; COMP_WORDS=(argmetric fore); COMP_CWORD=1; "
    words += 'COMP_LINE="argmetric fore"; COMP_POINT=14; _argmetric; '
    completed = subprocess.run(
        ["bash", "-c", f'{words} echo "${{COMPREPLY[@]}}"'],
        capture_output=True,
        text=True,
    )
    assert completed.stdout.strip() == "forecast"
    script = Path("argmetric.bash").read_text()
    for name in EVERY:
        if name and not name.startswith("-"):
            assert name.split()[-1] in script
    assert run("--install-completion", "--shell", "bash", "-o", "-").out == script


def test_an_unknown_shell_is_asked_for(run, monkeypatch):
    from cyclopts.completion import detect

    def unknown():
        raise detect.ShellDetectionError

    monkeypatch.setattr(detect, "detect_shell", unknown)
    monkeypatch.setitem(os.environ, "SHELL", "/bin/odd")
    run("--install-completion").failed(
        2,
        exactly="which shell is this (/bin/odd)? Pass --shell bash, zsh, fish or "
        "powershell",
    )


PATTERN = re.compile(r"'[^'\s]*\*[^'\s]*'")  # such as 'p_*'


@pytest.mark.parametrize("command", [name for name in EVERY if name])
def test_help_shows_asterisks_and_every_choice_once(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = re.sub(r"[\s│]+", " ", run(*command.split(), "--help").out)
    level = EVERY[command]
    texts = [level.help or ""]
    if level.default_command is not None:
        texts += [
            one.parameter.help or "" for one in level.assemble_argument_collection()
        ]
    written = Counter(PATTERN.findall(" ".join(texts)))
    found = Counter(PATTERN.findall(shown))
    assert not written - found
    for choices in re.findall(r"choices: ([^\]]+)", shown):
        names = choices.strip().split(", ")
        assert len(names) == len(set(names))


def test_asterisks_are_looked_for():
    assert PATTERN.findall(EVERY["decide"].help)


# -- options -----------------------------------------------------------------

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
        "ask": "decide writes accept, ask or reject",
    },
    "calibrate": {},
}


def options_of(command):
    found = EVERY[command.replace("-", " ")].assemble_argument_collection()
    return {name for one in found for name in one.names}


@pytest.mark.parametrize("verb", UNGIVEN)
def test_every_parameter_is_an_option_or_has_a_reason(verb):
    flags = options_of(verb)
    for name in keywords_of(getattr(am, verb)):
        option = f"--{GIVEN.get(name, name).replace('_', '-')}"
        assert (option in flags) != (name in UNGIVEN[verb]), name
    assert all(UNGIVEN[verb].values())


DECIDING = "", "decide", "forecast", "evaluate", "tune", "calibrate", "predict"


def test_every_refusal_has_options_and_a_message():
    for way, options, message in refusals():
        assert "{}" in message
        for name in options.split():
            command, _, option = name.rpartition(":")
            other = command not in DECIDING or way == "unknown"  # by another name
            assert other or option in {*OPTIONS, "method"}
            if command:
                known = f"--{option.replace('_', '-')}" in options_of(command)
                assert known != (way == "unknown")


def test_every_role_has_a_flag():
    known = {
        name
        for called, command in app.resolved_commands().items()
        if not called.startswith("-") and command.default_command is not None
        for argument in command.assemble_argument_collection()
        for name in argument.names
    }
    said = f"{aio.marked('pos_label')}, {aio.marked('encoding', 'x')}; `a`"
    assert with_flags(said) == "--pos-label, --encoding x; `a`"
    assert with_flags(f"pass {aio.marked('output', 'FILE')}") == "pass -o FILE"
    flags = {with_flags(aio.marked(role)) for role in aio.ROLES}
    assert flags - known == set()
