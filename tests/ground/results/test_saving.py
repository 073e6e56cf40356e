"""Files are written whole, and read with care."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any, ClassVar

import numpy as np
import pytest

import argmetric as am
from argmetric._ground import saving, whole_files
from argmetric._ground.saving import Saved
from argmetric.search import Parser, Tagger


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    os.chmod(path, 0o640)

    def fail():
        with whole_files.replaced_whole(path) as file:
            file.write(b"new")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert path.read_bytes() == b"old"
    with whole_files.replaced_whole(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "link").symlink_to("a")
    saving.save_json(tmp_path / "link", {"x": 1})
    assert (tmp_path / "link").is_symlink()
    assert json.loads((tmp_path / "a").read_text()) == {"x": 1}


def test_where_writing_fails_the_file_is_named(tmp_path):
    with (
        pytest.raises(
            whole_files.DataError, match=f"cannot write {tmp_path}: .* folder"
        ),
        whole_files.written_whole(tmp_path),
    ):
        pass
    with pytest.raises(FileNotFoundError):
        saving.save_json(tmp_path / "none" / "a.json", {})


def test_unfinished_files_are_removed(tmp_path):
    def interrupted():
        with whole_files.replaced_whole(tmp_path / "a") as file:
            file.write(b"new")
            whole_files.remove_unfinished()
            assert os.listdir(tmp_path) == []

    with pytest.raises(FileNotFoundError):
        interrupted()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.array([[1.0, np.inf], [0.25, np.nan]]), [[1.0, "inf"], [0.25, "nan"]]),
        (np.array([1.0, 2.0]), [1.0, 2.0]),
        (np.array([True, False]), [True, False]),
        ((1, "a", None, True), [1, "a", None, True]),
        ({"a": (math.inf,)}, {"a": ["inf"]}),
    ],
)
def test_plain_values(value, expected):
    found = saving.plain(value)
    assert found == expected
    assert json.loads(json.dumps(found, allow_nan=False)) == expected


def test_what_is_not_plain_is_named():
    with pytest.raises(TypeError, match="a label of type set cannot be saved"):
        saving.plain([{1}], "a label")


def test_plain_numbers_come_back():
    values = (0.5, math.inf, -math.inf, (1.0, "text"))
    assert saving.restored(saving.plain(values)) == values
    assert math.isnan(saving.restored(saving.plain(math.nan)))


def test_numbers_that_are_only_looked_at():
    shown = saving.plain([math.nan, math.inf, np.float64(2.0)], nan=None)
    assert shown == [None, "inf", 2.0]
    assert type(shown[2]) is float


def test_damaged_json_is_told_with_the_place(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"a": 1,\n "b": }')
    message = rf"^{path} is no thing, .*: Expecting value \(line 2, column 7\)$"
    with pytest.raises(ValueError, match=message):
        saving.load_json(path, "thing")


@pytest.mark.parametrize("found", [0, -1, "1", 1.0, True, None, [1]])
def test_odd_formats(found):
    with pytest.raises(ValueError, match=r"^it has the odd format "):
        saving.check_version(found, 2, "it")


def test_newer_formats():
    saving.check_version(1, 2, "it")
    saving.check_version(2, 2, "it")
    message = r"^it has version 3 .* newer argmetric \(9\.9\), .* up to version 2;"
    with pytest.raises(ValueError, match=message):
        saving.check_version(3, 2, "it", "9.9")


class Shape(Saved["Shape"]):
    _what: ClassVar[str] = "shape"

    @classmethod
    def _kind_of(cls, values: Any) -> str:
        return values["kind"]


class Square(Shape):
    kind: ClassVar[str] = "square"

    def __init__(self, side):
        self.side = side

    def to_dict(self):
        return {"kind": self.kind, "side": self.side}

    @classmethod
    def _from_plain(cls, values):
        return cls(values["side"] + 0)


class RedSquare(Square):
    """No kind of its own: it does not take the place of a square."""


def test_a_new_kind_is_one_class(tmp_path):
    Square(2).save(tmp_path / "a.json")
    again = Shape.load(tmp_path / "a.json")
    assert type(again) is Square
    assert again.side == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "line"}, "no shape of the kind 'line'; known are square"),
        ({"kind": "square"}, "a saved shape lacks 'side'"),
        ({"kind": "square", "side": "a"}, "a saved shape is damaged: "),
    ],
)
def test_damaged_objects(tmp_path, values, message):
    saving.save_json(tmp_path / "a.json", values)
    with pytest.raises(ValueError, match=rf"a\.json: {message}"):
        Shape.load(tmp_path / "a.json")


def test_families_are_apart():
    from argmetric._calibrate.calibrator import Calibrator
    from argmetric._verbs.tune import Rule

    assert set(Rule._kinds) == {"rule", "multilabel", "multiclass"}
    with pytest.raises(ValueError, match="no calibrator of the kind 'rule'"):
        Calibrator.from_dict({"calibrator": "rule", "format": 1})
    assert {"platt", "spline", "chain"} <= set(Calibrator._kinds)
    assert not set(Rule._kinds) & set(Calibrator._kinds)


def test_a_fresh_process_knows_every_kind_of_map(tmp_path):
    """Which are in several modules, none of which the family has to load."""
    p = [0.1, 0.2, 0.6]
    shift = am.adjust_prior(p, prevalence=0.1, reference_prevalence=0.2)
    shift.save(tmp_path / "shift.json")
    code = "import argmetric as am; print(am.Calibrator.load('shift.json').kind)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.stdout.strip(), done.stderr) == (shift.kind, "")


def test_archives_come_back(tmp_path):
    path = tmp_path / "a.npz"
    header = {"z": np.float64(0.5), "a": [1, None], "text": "é"}
    saving.write_archive(path, "thing", 2, header, {"x": np.arange(3)})
    again, arrays = saving.read_archive(path, "thing", 2, "thing")
    assert again == {
        "format": "thing",
        "version": 2,
        "z": 0.5,
        "a": [1, None],
        "text": "é",
    }
    assert arrays["x"].tolist() == [0, 1, 2]
    for kind, version, message in (
        ("other", 2, "holds 'thing', not 'other'"),
        ("thing", 1, "newer argmetric"),
    ):
        with pytest.raises(whole_files.DataError, match=message):
            saving.read_archive(path, kind, version, "thing")


def test_nothing_in_an_archive_is_run(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.array([object()]))
    with pytest.raises(whole_files.DataError, match="is damaged: the thing in it"):
        saving.read_archive(path, "thing", 1, "thing")


def test_nothing_heavy_is_loaded():
    code = (
        "import sys, argmetric._ground.saving\n"
        "heavy = {'pyarrow', 'pandas', 'scipy', 'sklearn', 'numba', 'narwhals'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("path", [1, True, None, 0.5, [], b"a", "a\0b", "\ud800"])
def test_only_names_of_files_are_written_to_and_read_as_archives(path):
    rule = am.tune([1, 0, 1, 0], [0.8, 0.3, 0.6, 0.4], n_bootstrap=0, cv=0)
    for call in (rule.save, am.report(rule).save, Tagger.load, Parser.load):
        with pytest.raises((TypeError, ValueError), match="path must be the name"):
            call(path)
    os.fstat(1)  # a file descriptor would have been closed


def test_a_folder_is_named_where_a_file_should_be_written(tmp_path):
    with pytest.raises(IsADirectoryError) as found:
        am.calibrate([1, 0, 1, 0], [0.8, 0.3, 0.6, 0.4], "platt").save(tmp_path)
    assert found.value.filename == str(tmp_path)


def test_whatever_a_saved_rule_is_damaged_by_is_one_error():
    values = am.tune([1, 0, 1, 0], [0.8, 0.3, 0.6, 0.4], n_bootstrap=0, cv=0).to_dict()
    nested: list[Any] = []
    for _ in range(5000):
        nested = [nested]
    for name, value in (("constraints", "abc"), ("n", 10**400), ("threshold", nested)):
        with pytest.raises(ValueError, match="a saved rule is"):
            am.Rule.from_dict(values | {name: value})
