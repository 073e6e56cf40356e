"""A command from its function: options of the table, help of the docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from cyclopts import App

from argmetric import __version__
from argmetric.cli._options import OPTIONS, MoreFiles, RowsFile, with_help
from argmetric.cli._values import entries

_ENTRY = re.compile(r"\w+")


class Given:
    """The options of a command, each by its name; `more` and `file` are its files."""

    def __init__(self, defaults: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        self._defaults = dict(defaults)
        self.__dict__.update({**defaults, **given})

    def __getattr__(self, name: str) -> Any:
        """Return None for an option that the command does not have."""
        if name.startswith("_"):
            raise AttributeError(name)
        return None

    def has(self, name: str) -> bool:
        """Whether an option was given, with another value than its default."""
        value, default = getattr(self, name), self._defaults.get(name)
        return value is not None and value is not False and value != default

    @property
    def names(self) -> list[str]:
        """All options that the command has."""
        return list(self._defaults)

    def but(self, **values: Any) -> Given:
        """Return the same options, some with other values."""
        return Given(self._defaults, {**vars(self), **values})

    def only(self, *names: str) -> dict[str, Any]:
        """Return some options by their names."""
        return {name: getattr(self, name) for name in names}


Run = Callable[[Given], int]


def command(
    options: str,
    *,
    changed: Mapping[str, Any] | None = None,
    first: Mapping[str, Any] | None = None,
    files: Mapping[str, Any] | None = None,
) -> Callable[[Run], Callable[..., int]]:
    """Make a command of a function that takes all options at once.

    Parameters
    ----------
    options : str
        Names in `argmetric.cli._options.OPTIONS`, in the order of the help.
    changed : mapping of str to (type, default), optional
        Options of the command alone, or with another type than in the table.
    first : mapping of str to type, optional
        Files that are named before those of the rows.
    files : mapping of str to type, optional
        All files that are named, where they are no rows; `*name` is any number of them.
    """
    table = {**OPTIONS, **(changed or {})}
    named = {name: table[name] for name in options.split()}
    if files is None:
        files = {**(first or {}), "file": RowsFile, "*more": MoreFiles}

    def made(function: Run) -> Callable[..., int]:
        text, helps = documented(function)
        of = inspect.Parameter

        def parameter(name: str, type_: Any, kind: Any, **default: Any) -> Any:
            if name in helps:
                type_ = Annotated[type_, with_help(helps[name])]
            return of(name, kind, annotation=type_, **default)

        found = []
        for name, type_ in files.items():
            kind = of.VAR_POSITIONAL if name.startswith("*") else of.POSITIONAL_ONLY
            found.append(parameter(name.lstrip("*"), type_, kind))
        for name, (type_, default) in named.items():
            found.append(parameter(name, type_, of.KEYWORD_ONLY, default=default))
        defaults = {name: default for name, (_, default) in named.items()}
        signature = inspect.Signature(found)

        def run(*paths: str, **given: Any) -> int:
            bound = signature.bind_partial(*paths)
            bound.apply_defaults()
            return function(Given(defaults, {**bound.arguments, **given}))

        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__name__, run.__doc__ = function.__name__.rstrip("_"), text
        run.__module__ = function.__module__
        return run

    return made


def documented(function: Any) -> tuple[str, dict[str, str]]:
    """Return a docstring without its parameters, and the text of each of those.

    Examples
    --------
    >>> documented(Given.has)
    ('Whether an option was given, with another value than its default.', {})
    >>> sorted(documented(command)[1])
    ['changed', 'files', 'first', 'options']
    """
    text, _, entries = (inspect.getdoc(function) or "").partition("\nParameters\n")
    helps: dict[str, str] = {}
    name = ""
    for line in entries.splitlines()[1:]:
        if line.startswith(" "):
            helps[name] = f"{helps.get(name, '')} {line.strip()}".strip()
        elif found := _ENTRY.match(line):
            name = found[0]
    return text.rstrip(), helps


_RESULTS = "Exit codes: 0 done, 1 failure, 2 wrong usage, 3 gate not met"
_STREAMS = (
    "`-` is standard input or output. `--force` lets an output overwrite a file that "
    "is read. `--debug` (or `ARGMETRIC_DEBUG=1`) shows the traceback of a failure."
)
ENDINGS = f"{_RESULTS}. {_STREAMS}"
TRAINING_ENDINGS = f"{_RESULTS}, 130 interrupted. {_STREAMS}"
ROWS_ENDINGS = (
    f"{_RESULTS}.\n\nFiles: CSV, TSV and JSONL (also .gz, .zst), Parquet, Arrow "
    f"(Feather), Excel; {_STREAMS}"
)

# What is typed after each command, and after argmetric alone
_TYPED = """
: demo
: decide scores.csv --metric f1 -o decided.csv
: decide --help
decide: scores.csv --metric f1 -o decided.csv
decide: orders.parquet --group order --max-positives 5 -o out.csv
decide: photos.csv --scores 'p_*' --one-label -o chosen.csv
forecast: decided.csv --fail-under 0.7
forecast: scores.csv --threshold 0.5 --reference val.csv
monitor: 'scores/*.parquet' --reference val.parquet --time scored_at
monitor: new.csv --reference val.csv --every 1000 --floor 0.6
monitor: a.csv --scores 'p_*' --one-label --reference v.csv --time t
compare: new.csv --scores 'p_*' --reference val.csv
compare: new.csv --score judge --decisions 'd_*' --known labels.csv
report: scores.csv --metric f1 -o report.html
report: scores.csv --group order --reference val.csv -o report.md
evaluate: decided.csv --label bought --fail-under 0.7
evaluate: chosen.csv --labels 'y_*' --average macro
tune: val.csv --label bought --metric f1 -o rule.json
tune: val.csv -m f1 -m mcc -o 'rule-{metric}.json'
tune: val.csv --cost-fp 1 --cost-fn 20
calibrate: val.csv --label bought -o map.json
calibrate: new.csv --map map.json -o mended.csv
export: rule.json --to sql --column score
export: rule.json --to python -o label.py
train: table.csv --label bought --drop id -o model.skops
train: table.csv --label bought --model logistic -o model.skops
predict: model.skops new.csv -o predicted.csv
predict: model.skops new.csv --joint --group order -o out.csv
expect: borders.csv guess.csv --utility windowdiff
stream: train.svm --metric f1 -o predictions.jsonl
stream: - --format csv --label y --checkpoint kept --resume
stream predict: kept new.csv -o predicted.jsonl
spans: tagged.jsonl --names O,B-PER,I-PER -o chosen.jsonl
spans: text.conll --model text.crfsuite --dev dev.conll
tag: train chunks.train --task chunk --model chunks.tag
tag train: chunks.train --task chunk --model chunks.tag
tag train: ner.train --task ner --dev ner.dev --model ner.tag
tag predict: chunks.tag chunks.test -o tagged.txt
tag predict: names.tag letter.txt --raw -o names.jsonl
tag evaluate: tagged.txt --fail-under 0.9
tag templates: chunk
summarize: reviews --words 60
summarize: a.txt b.txt --chars 280 --html page.html
summarize train: clusters.jsonl --words 60 --out model
summarize evaluate: clusters.jsonl --model model --words 60
metrics:
metrics: --json
demo:
demo: --report demo.html
--install-completion:
--install-completion: --shell zsh
"""
EXAMPLES: dict[str, list[str]] = {}
for _line in _TYPED.strip().splitlines():
    _typed = f"argmetric {_line.replace(':', '', 1).strip()}"
    EXAMPLES.setdefault(_line.partition(":")[0], []).append(_typed)


def epilogue(command: str, ending: str) -> str:
    """Return what the help of a command ends with: examples, and how it may end."""
    examples = "\n".join(f"    {line}" for line in EXAMPLES.get(command, ()))
    return f"Examples:\n\n{examples}\n\n{ending}" if examples else ending


# Of each its module, and how its help begins; a test compares them.
_TABLE = entries("""
decide: scores._decide Choose the labels that maximise the expected metric, and
    write them to the rows.
forecast: scores._decide Forecast the score of a decision before its labels are
    known.
monitor: scores._monitor Say whether the model is still good, period by period,
    before the labels come.
compare: scores._compare Say which model is better on the same rows, and which
    labels would tell.
report: scores._lines Report on a decision: its forecast, and what would change it.
evaluate: scores._decide Score decisions, or one threshold, against the true
    labels.
tune: scores._fit Find the threshold with the best score on labelled rows, and keep
    it as a rule.
calibrate: scores._fit Check probabilities against labels; fit or apply a map
    that recalibrates them.
train: models._train Train a classifier that decides for the metric, and keep it in
    a file.
predict: models._train Score and label new rows by a model of `argmetric train`.
export: _tools Write a rule for a program that does not have argmetric.
expect: _tools Expected utility of one label sequence when the other is
    drawn from a model.
stream: stream._commands Learn from a stream in one pass, for the metric; every row
    is predicted first.
spans: _spans Choose the spans (entities, chunks) with the best expected F-measure.
tag: _tag Tag text: chunks, named entities, parts of speech, or two at
    once.
summarize: _summarize Summarise texts in their own words, within a word
    limit.
metrics: _tools List the metrics: formulas, what an empty answer counts, how they
    are computed.
demo: _demo Decide and forecast on generated data, then compare with the actual
    score.
--install-completion: _tools Let the shell complete commands, options and their
    values.
""")
_COMMANDS = {name: text.split(" ", 1) for name, text in _TABLE}
FIRST_LINES = {name: line for name, (_, line) in _COMMANDS.items()}
GROUPS = ("stream", "tag", "summarize")


def make_app(*, listed: bool = False) -> App:
    """Return the application; of one that is only `listed` no command is loaded."""
    made = App(
        name="argmetric",
        version=__version__,
        help="Decide for the metric you are judged by: the labels that maximise the "
        "expected metric, and the score to expect.",
        help_format="markdown",
        suppress_keyboard_interrupt=False,  # `main` answers for it
        help_epilogue=epilogue("", ROWS_ENDINGS),
    )
    for place, (command, (module, _)) in enumerate(_COMMANDS.items()):
        options: dict[str, Any] = {}
        if listed:
            options["help"] = FIRST_LINES[command]
        elif command not in GROUPS:  # a group of commands has an ending of its own
            ending = ENDINGS if command.startswith("-") else ROWS_ENDINGS
            options["help_epilogue"] = epilogue(command, ending)
        if not command.startswith("-"):
            options["sort_key"] = place
        function = command.lstrip("-").replace("-", "_")
        path = f"argmetric.cli.{module}:{function}"
        made.command(path, name=command, **options)
    return made


app = make_app()
