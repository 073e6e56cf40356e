"""Files that rows, rules and maps are read from, columns, where rows go, refusals.

An option that has a meaning for a layout or a way works there. What a command does not
do with its options stands in one table, each with the reason; what is left out there
and cannot be is refused by the functions of the package.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import argmetric as am
from argmetric._ground.arguments import check_bytes
from argmetric._ground.groups import Groups
from argmetric._ground.labels import plain_label
from argmetric._ground.types import Floats, Integers
from argmetric.cli._command import Arguments
from argmetric.cli._errors import UsageError
from argmetric.cli._options import MAX_LINE
from argmetric.cli._report import progress, reading
from argmetric.cli._values import check_encoding, flag_of, refusals, refuse_same_column
from argmetric.scale import files
from argmetric.scale.files import Format

COLUMNAR = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
DEFAULTS = {
    "score": files.SCORE_NAMES,
    "label": files.LABEL_NAMES,
    "decision_column": files.DECISION_NAMES,
}
_WAYS = {"Rule": "one", "MultiLabelRule": "wide", "MultiClassRule": "classes"}
_WAYS |= {"ParityRule": "groups", "ClassReviewRule": "classes"}
_KINDS = {"wide": "several labels", "classes": "several classes"}
_KINDS |= {"groups": "several groups"}
_LARGEST_SAVED = 1 << 26  # bytes of a map or a rule
_SAVED_KEYS = {"calibrator", "file"}  # one of which is in every map or rule
_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")

# One path, folder, pattern or address as it was given, or several files
Input = str | tuple[str, ...]


def join_inputs(file: str, more: Sequence[str], *, writes: bool = True) -> Input:
    """Return the paths of a command line as one input.

    Files of text are listed, those of a pattern sorted by name. Folders, patterns and
    files of columns stay as typed: they are read in pieces. `writes`: the command has
    an option ``-o``.
    """
    given = (file, *more)
    if more and "-" in given:
        raise UsageError("- is standard input, which goes alone: leave the files out")
    for path in more if writes else ():  # one that is not there may be the output
        if in_pieces(path) or glob.has_magic(path) or os.path.lexists(path):
            continue
        hint = f"every file named is read: to write to it, pass -o {path}"
        if not os.path.splitext(path)[1]:
            hint = "a value with a space needs quotes, as in --metric 'F1 score'"
        raise files.DataError(f"{path}: no such file; {hint}")
    found = [path for one in given for path in _expand(one)]
    _refuse_twice(found)
    columnar = [one for one in found if in_pieces(one)]
    if not columnar:
        return found[0] if len(found) == 1 else tuple(found)
    if len(columnar) < len(found):
        other = next(one for one in found if not in_pieces(one))
        raise UsageError(
            f"{columnar[0]} and {other} cannot be read together: pass files of one kind"
        )
    return file if not more else given


def _refuse_twice(paths: list[str]) -> None:
    """Refuse a file that is named twice: its rows would count twice."""
    seen: dict[str, str] = {}
    for path in paths:
        place = path if "://" in path else os.path.realpath(path)
        if place in seen:
            also = f", as {seen[place]} and {path}" if seen[place] != path else ""
            raise UsageError(f"{path} is named twice{also}: leave one out")
        seen[place] = path


def list_files(source: Input, *, remote: bool = False) -> list[str]:
    """Return the files of an input, of folders too, and if asked for of addresses."""
    found: list[str] = []
    for path in (source,) if isinstance(source, str) else source:
        if os.path.isdir(path) or (remote and "://" in path):
            from argmetric.scale import find_files

            found += [one for one, _ in find_files(path)]
        else:
            found += _expand(path)
    return found


def shown_input(source: Input) -> str:
    """Return the name of an input in messages."""
    if isinstance(source, str):
        return source
    if len(source) > 2:
        return f"{source[0]} and {len(source) - 1} other files"
    return " and ".join(source)


def in_pieces(path: str) -> bool:
    """Return whether a path is read in batches: a folder, an address, or columnar."""
    return "://" in path or os.path.isdir(path) or path.lower().endswith(COLUMNAR)


def is_pattern(path: str) -> bool:
    """Return whether a path stands for all files that match it."""
    return "://" not in path and glob.has_magic(path) and not os.path.exists(path)


def _expand(path: str) -> list[str]:
    """Return the files that match a pattern, or the path itself."""
    if not is_pattern(path):
        return [path]
    found = [one for one in glob.glob(path, recursive=True) if os.path.isfile(one)]
    if not found:
        raise files.DataError(f"no file matches {path!r}")
    return sorted(found)


# ------------------------------------------------------------------------- columns


def read_rows(
    source: Input,
    format: files.Format | None = None,
    encoding: str = "utf-8",
    max_line: str = MAX_LINE,
    decimal: str = ".",
) -> files.Table:
    """Read rows of one file, or of several, with a sign of life."""
    check_encoding(encoding)
    try:
        most = check_bytes(max_line, "--max-line")
    except ValueError as error:
        raise UsageError(str(error)) from None
    how: dict[str, Any] = {"encoding": encoding, "max_line": most, "decimal": decimal}
    paths, name = list_files(source), shown_input(source)
    with reading(name):
        if len(paths) == 1:
            return files.read_table(paths[0], format, **how)
        return files.read_tables(paths, format, name=name, **how)


def find(
    role: files.Role,
    table: files.Table,
    name: str | None,
    *,
    logits: bool = False,
    taken: Iterable[str | None] = (),
    prefix: str = "",
) -> str:
    """Return the column of a role, named or by a usual name.

    The option that names it may have a prefix, as --reference-score has.
    """
    defaults = DEFAULTS[role] + (files.LOGIT_NAMES if logits else ())
    used: Any = list(taken)
    usual = files.default_columns(table, defaults, taken=used)
    looks = role == "score" and name is None and not usual
    for stem in files.SCORE_NAMES if looks else ():
        alike = [name for name in table.names if name.lower().startswith(f"{stem}_")]
        if len(alike) > 1:  # such as p_0, p_1, p_2
            raise files.DataError(
                f"{table.source} has {len(alike)} columns of scores, {alike[0]} to "
                f"{alike[-1]}: --scores '{alike[0][: len(stem) + 1]}*' takes several "
                "labels, with --one-label one of several classes; --score COLUMN takes "
                "one"
            )
    how: Any = {"what": role.partition("_")[0], "role": f"{prefix}{role}"}
    return files.find_column(table, name, defaults, taken=used, **how)


find_score = partial(find, "score")
find_label = partial(find, "label")
find_decisions = partial(find, "decision_column")


def load_decisions(table: files.Table, name: str, pos_label: str | None) -> Integers:
    """Return decisions: 0 and 1, else as labels are."""
    try:
        values = files.labels(table, name)
    except files.DataError:
        if pos_label is None:
            raise
        values = files.labels(table, name, pos_label=pos_label)
    return values.astype(np.int64)


def load_groups(table: files.Table, column: str | None) -> Groups | None:
    """Return the groups that were asked for, if any, by their names."""
    if column is None:
        return None
    codes, ids = files.groups(table, files.named_column(table, column))
    return Groups(codes, np.fromiter(ids, dtype=object, count=len(ids)))


def groups_of_rule(
    table: files.Table, o: Arguments, groups: Groups, rule: am.ParityRule
) -> Groups:
    """Return groups by their names in a rule; one that it has not is refused."""
    named = {str(name): name for name in rule.names}
    if len(named) < len(rule.names):
        raise files.DataError(
            f"{o.rule} has groups that are written alike in a file, such as 1 and '1': "
            "apply it in Python"
        )
    texts = [str(plain_label(name)) for name in groups.ids]
    for code, name in enumerate(texts):
        if name not in named:
            source, row = table.place_of(int(np.argmax(groups.codes == code)))
            raise files.DataError(
                f"{source}: column {o.group!r}, row {row + 1} is {name!r}, a group "
                f"that {o.rule} has no threshold for: {rule._known_names}; "
                f"{files.COUNTED}"
            )
    ids = [named[name] for name in texts]
    return Groups(groups.codes, np.fromiter(ids, dtype=object, count=len(ids)))


def load_weights(table: files.Table, name: str | None) -> Floats | None:
    """Return a column of weights, if one was named."""
    if name is None:
        return None
    return files.weights(table, files.named_column(table, name))


def refuse_shared(**chosen: str | None) -> None:
    """Refuse one column for two purposes, each given by the name of its option."""
    refuse_same_column((flag_of(option), name) for option, name in chosen.items())


def as_classes(names: list[str]) -> list[Any]:
    """Return names as classes: whole numbers where all of them are.

    Examples
    --------
    >>> as_classes(["2", "10"]), as_classes(["007", "2"])
    ([2, 10], ['007', '2'])
    """
    whole = all(_WHOLE.fullmatch(name) for name in names)
    return [int(name) for name in names] if whole else names


# ------------------------------------------------------------------- rules and maps


def is_saved(path: str | None) -> bool:
    """Return whether a file holds a saved calibrator or rule, not rows."""
    if path is None or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        if not file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return False
        file.seek(0)
        text = file.read(_LARGEST_SAVED).decode("utf-8-sig", errors="replace")
    try:
        found = json.loads(text)  # rows as JSON lines are several objects
    except ValueError:
        return False
    return isinstance(found, dict) and not _SAVED_KEYS.isdisjoint(found)


def load_saved(path: str, what: str) -> Any:
    """Read a rule of any kind, or a calibrator, of an earlier command."""
    if path == "-":
        raise UsageError(f"a {what} is read from a file, not from standard input")
    try:
        return am.Rule.load(path) if what == "rule" else am.Calibrator.load(path)
    except OSError as error:
        raise files.DataError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError) as error:
        reason = str(error)
        if what == "map":
            said = f"{path} is not a map of argmetric calibrate: {reason}"
            raise files.DataError(said) from error
        for said in (": ", " is no rule: ", " is no rule, or "):
            reason = reason.removeprefix(f"{path}{said}")
        reason = reason.removeprefix("this is no saved rule: ")
        raise files.DataError(
            f"{path} is not a rule: {reason}; argmetric tune -o rule.json writes rules"
        ) from None


def load_rule(path: str, way: str = "one", *also: type) -> Any:
    """Read a rule for rows of a layout, also those of more kinds."""
    rule = load_saved(path, "rule")
    kind = _WAYS.get(type(rule).__name__, "")
    if isinstance(rule, also) and way == (kind if kind == "classes" else "one"):
        return rule
    review = am.ReviewRule, am.classes.ClassReviewRule
    if isinstance(rule, review) and way == (kind or "one"):
        raise files.DataError(
            f"{path} leaves rows to a person, and here every row needs a label: "
            "argmetric decide FILE takes it, and monitor"
        )
    if kind != way and way != "one":
        raise files.DataError(f"{path} is not a rule for {_KINDS[way]}")
    if kind != way:
        hint = ": pass --scores" if kind == "wide" else ""
        if kind == "groups":
            hint = ": with --group COLUMN, decide, forecast and monitor take it"
            hint += " for rows that are read at once, as those of one file"
        what = _KINDS.get(kind, "something else")
        said = f"{path} is a rule for {what}; here there is one column of scores"
        raise files.DataError(said + hint)
    return rule


# --------------------------------------------------------------------------- output


class RowsOut(NamedTuple):
    """Target of written rows: a file, "-", or None where none are wanted."""

    target: str | None
    format: Format

    def write(
        self, table: files.Table, added: dict[str, Any], columns: Iterable[str] = ()
    ) -> None:
        """Write the rows with new columns; those of scores are numbers."""
        if self.target is None:
            return
        for name, values in added.items():
            table = table.with_column(name, values)
        with progress("writing"):
            numeric = frozenset(columns)
            files.write_table(table, self.target, self.format, numeric=numeric)


def refuse_shared_output(output: str | None, *, json: bool) -> None:
    """Refuse a summary and rows in one stream; before a file is read."""
    if json and output == "-":
        raise UsageError("--json and the rows cannot share standard output: -o FILE")


def rows_out(table: files.Table, o: Arguments, new: dict[str, str]) -> RowsOut:
    """Return the target of rows; refuse impossible ones before the work.

    `new` has the names of the columns that will be added, each with its option.
    """
    for name, option in new.items():
        if name in table.names:
            raise files.DataError(
                f"{table.source} already has a column {name!r}; "
                f"name the new one with {option}"
            )
    target = o.output if o.output is not None else "-"
    format = o.output_format or files.output_format(table, target)
    if format != table.format and format not in files.DELIMITERS:
        for name in table.names:  # readers would see one column of two
            if table.names.count(name) > 1:
                raise files.DataError(
                    f"cannot write {format}: {files.name_twice(table, name)}"
                )
    wanted = o.output is not None or not o.json
    if wanted and target == "-":
        files.refuse_terminal(format)
    return RowsOut(target if wanted else None, format)


LIMITS = "min_positives max_positives min_precision min_recall"


def check(verb: str, ways: set[str], given: Arguments) -> None:
    """Refuse the first option that has no meaning for one of the ways."""
    for way, options, message in refusals():
        absent = way.removeprefix("no ")
        if absent in ways if absent != way else not {*way.split("+")} <= ways:
            continue
        for name in options.split():
            command, _, option = name.rpartition(":")
            if command in ("", verb) and given.has(option):
                raise UsageError(message.format(flag_of(option)))


def check_options(verb: str, o: Arguments) -> None:
    """Refuse options that contradict each other or have nothing to act on."""
    is_map = is_saved(o.reference)
    if o.prior == "estimate" and (o.reference is None or is_map):
        raise UsageError(
            "--prior estimate compares the scores with those of labelled rows: pass "
            "--reference FILE"
        )
    if o.mean is not None and verb != "tune" and (o.reference is None or is_map):
        raise UsageError(
            "--mean needs labelled rows, which show how far the means are off: pass "
            "--reference FILE"
        )
    wide = o.scores is not None or o.labels is not None
    ways = {"classes" if o.one_label else "wide" if wide else "one"}
    beside = "rule map reference scores report confidence joint no_label normal parity "
    beside += "group amount one_label review"
    ways |= {name for name in beside.split() if o.has(name)}
    ways |= {"saved-map"} if is_map else set()
    ways |= {"weights of classes"} if o.one_label and "review" not in ways else set()
    check(verb, ways, o)
    if o.one_label and o.prior not in (None, "estimate"):
        raise UsageError(f"--prior {o.prior:g} is the prevalence of one class of two")


def exclude(given: Arguments, *names: str) -> None:
    """Refuse two of these options together."""
    found = [flag_of(name) for name in names if given.has(name)]
    if len(found) > 1:
        raise UsageError(f"{found[0]} and {found[1]} exclude each other")
