"""Files are written whole, and read with care."""

import json
import os

import numpy as np
import pytest

import argmetric as am
from argmetric.search import Summarizer, Tagger
from processes import run_program
from refusing import refuses

RULE = am.tune([1, 0, 1, 0], [0.8, 0.3, 0.6, 0.4], n_bootstrap=0, cv=0)


def test_a_file_is_replaced_whole_with_its_mode_and_a_link_stays_a_link(tmp_path):
    path, link = tmp_path / "a.json", tmp_path / "link"
    path.write_bytes(b"old")
    os.chmod(path, 0o640)
    link.symlink_to("a.json")
    RULE.save(link)
    assert link.is_symlink()
    assert am.Rule.from_dict(json.loads(path.read_text())) == RULE
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["a.json", "link"]


def test_damaged_json_is_told_with_the_place(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"a": 1,\n "b": }')
    message = rf"^{path} is no rule, .*: Expecting value \(line 2, column 7\)$"
    refuses(ValueError, message, am.Rule.load, path)


@pytest.mark.parametrize("found", [0, -1, "1", 1.0, True, None, [1]])
def test_odd_formats(found):
    with pytest.raises(ValueError, match=r"has the odd format "):
        am.Rule.from_dict(RULE.to_dict() | {"format": found})


def test_a_newer_format_names_its_version():
    newer = RULE.to_dict() | {"format": 99, "versions": {"argmetric": "9.9"}}
    refuses(ValueError, r"version 99 .* newer argmetric", am.Rule.from_dict, newer)


def test_families_are_apart():
    with pytest.raises(ValueError, match="no calibrator of the kind 'rule'"):
        am.Calibrator.from_dict({"calibrator": "rule", "format": 1})
    with pytest.raises(ValueError, match="no rule of the kind 'platt'"):
        am.Rule.from_dict(RULE.to_dict() | {"kind": "platt"})


def test_a_fresh_process_knows_every_kind_of_map_and_loads_nothing_heavy(tmp_path):
    """Which are in several modules, none of which the family has to load."""
    shift = am.adjust_prior([0.1, 0.6], prevalence=0.1, reference_prevalence=0.2)
    shift.save(tmp_path / "shift.json")
    code = (
        "import sys, argmetric as am; print(am.Calibrator.load('shift.json').kind)\n"
        "heavy = {'pyarrow', 'pandas', 'scipy', 'sklearn', 'numba', 'narwhals'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = run_program(code, folder=tmp_path)
    assert (done.stdout.split(), done.stderr) == ([shift.kind, "[]"], "")


def test_archives_come_back_and_nothing_in_them_is_run(tmp_path):
    path, sentences = tmp_path / "a.npz", [[("it", "PRP"), ("is", "VBZ")]] * 3
    made = Tagger("chunk", epochs=1, hash_bits=10).fit(sentences, [["B-X", "O"]] * 3)
    made.save(path)
    assert Tagger.load(path).predict(sentences) == made.predict(sentences)
    refuses(ValueError, r"holds '.*', not '", Summarizer.load, path)
    np.savez(path, x=np.array([object()]))
    refuses(ValueError, r"is damaged: the .* in it", Tagger.load, path)


@pytest.mark.parametrize("path", [1, True, None, 0.5, [], b"a", "a\0b", "\ud800"])
def test_only_names_of_files_are_written_to_and_read_as_archives(path):
    for call in (RULE.save, am.report(RULE).save, Tagger.load, Summarizer.load):
        refuses((TypeError, ValueError), "path must be the name", call, path)
    os.fstat(1)  # a file descriptor would have been closed


def test_a_folder_is_named_where_a_file_should_be_written(tmp_path):
    with pytest.raises(IsADirectoryError) as found:
        am.calibrate([1, 0, 1, 0], [0.8, 0.3, 0.6, 0.4], "platt").save(tmp_path)
    assert found.value.filename == str(tmp_path)


def test_whatever_a_saved_rule_is_damaged_by_is_one_error():
    nested = []
    for _ in range(5000):
        nested = [nested]
    for name, value in (("constraints", "abc"), ("n", 10**400), ("threshold", nested)):
        with pytest.raises(ValueError, match="a saved rule is"):
            am.Rule.from_dict(RULE.to_dict() | {name: value})
