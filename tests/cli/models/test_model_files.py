"""Files of models: foreign, damaged, interrupted."""

import errno
import io
import json
import os
import pickle
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import argmetric as am
from command import Ended

skops = pytest.importorskip("skops.io")


class Trap:
    """What a pickle of it would run."""

    def __reduce__(self):
        return os.mkdir, ("trapped",)


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, change, **files):
    """Change the description of a model, as someone with bad intent would."""
    parts = contents(path) | files
    schema = json.loads(parts["schema.json"])
    change(schema)
    parts["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile("bad.skops", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def nodes_of(schema, name):
    found, waiting = [], [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if node.get("__class__") == name:
                found.append(node)
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return found


def test_a_pickle_is_refused_unopened(run):
    for protocol in (0, 4):
        Path("bad.skops").write_bytes(pickle.dumps(Trap(), protocol))
        run("predict", "bad.skops", "data.csv").failed(
            1, "A pickle is never opened: that would run whatever code"
        )
        assert not Path("trapped").exists()


def test_a_call_hidden_in_a_model_is_refused(run):
    """A function of another module, put where the model keeps an object of its own."""
    text = {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "__id__": 3,
        "content": '"trapped"',
        "is_json": True,
    }
    call = {
        "__class__": "mkdir",
        "__module__": "os",
        "__loader__": "ConstructorFromReduceNode",
        "__id__": 1,
        "content": {
            "__class__": "tuple",
            "__module__": "builtins",
            "__loader__": "TupleNode",
            "__id__": 2,
            "content": [text],
        },
    }

    def change(schema):
        schema["content"]["target"] = call

    rewrite("boosting.skops", change)
    ended = run("predict", "bad.skops", "data.csv")
    assert ended == Ended(
        1,
        "",
        "argmetric: bad.skops holds types that no model of argmetric train has: "
        "os.mkdir; nothing in it was run\n",
    )
    assert not Path("trapped").exists()
    # The same file does make the folder for whoever trusts all that is in it
    data = Path("bad.skops").read_bytes()
    skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    assert Path("trapped").exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("subprocess", "Popen"),
        (am.CustomMetric.__module__, "CustomMetric"),
        ("sklearn.ensemble._forest", "RandomForestClassifier"),
        ("sklearn.tree._tree", "Tree"),
    ],
)
def test_foreign_types_are_named(run, module, name):
    def change(schema):
        (node,) = nodes_of(schema, "HistGradientBoostingClassifier")[:1]
        node["__module__"], node["__class__"] = module, name

    rewrite("boosting.skops", change)
    run("predict", "bad.skops", "data.csv").failed(
        1,
        f"bad.skops holds types that no model of argmetric train has: {module}.{name}",
    )


@pytest.mark.parametrize("field", ["left", "right", "feature_idx", "is_categorical"])
def test_trees_that_lead_astray_are_refused(run, field):
    """Compiled code follows these numbers without looking, and would crash."""
    parts = contents("boosting.skops")
    schema = json.loads(parts["schema.json"])
    nodes = nodes_of(nodes_of(schema, "TreePredictor")[0], "ndarray")
    for node in nodes:
        array = np.load(io.BytesIO(parts[node["file"]]))
        if array.dtype.names and (array["is_leaf"] == 0).any():
            break
    inner = int(np.flatnonzero(array["is_leaf"] == 0)[0])
    array[field][inner] = {"left": 0, "right": 60_000, "feature_idx": 10**6}.get(
        field, 1
    )
    stream = io.BytesIO()
    np.save(stream, array)
    rewrite("boosting.skops", lambda schema: None, **{node["file"]: stream.getvalue()})
    ended = run("predict", "bad.skops", "data.csv")
    assert ended == Ended(
        1,
        "",
        "argmetric: bad.skops is not a whole model of argmetric train: its trees are "
        "damaged\n",
    )


def test_other_files_are_no_models(run):
    Path("empty.skops").write_bytes(b"")
    Path("zip.skops").write_bytes(b"PK\x05\x06" + bytes(18))
    Path("other.skops").write_bytes(skops.dumps({"a": 1}))
    whole = Path("boosting.skops").read_bytes()
    Path("half.skops").write_bytes(whole[: len(whole) // 2])
    for name in ("empty", "zip", "other", "half"):
        run("predict", f"{name}.skops", "data.csv").failed(1, f"{name}.skops is not a ")
    ended = run("predict", "none.skops", "data.csv")
    assert ended.err == "argmetric: cannot read none.skops: No such file or directory\n"


def test_without_skops(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    message = "argmetric: models are kept in files of skops: pip install "
    for arguments in (
        ["train", "data.csv", "-o", "m.skops"],
        ["predict", "boosting.skops", "data.csv"],
    ):
        ended = run(*arguments)
        assert ended == Ended(1, "", f"{message}'argmetric[models]'\n")


def test_models_of_other_versions(run):
    def older(schema):
        versions = [schema["content"]["made_by"]]
        for node in nodes_of(schema, "Pipeline"):
            versions.append(node["content"]["content"]["_sklearn_version"])
        for version in versions:  # equal texts have equal ids, and are read once
            version |= {"content": '"1.6.0"', "__id__": 1}

    rewrite("logistic.skops", older)
    ended = run("predict", "bad.skops", "data.csv", "-o", "out.csv")
    assert ended.code == 0
    assert "note: trained with scikit-learn 1.6.0, read with " in ended.err
    assert "Warning" not in ended.err

    def later(schema):
        schema["content"]["format"] |= {"content": "2", "__id__": 1}

    rewrite("logistic.skops", later)
    run("predict", "bad.skops", "data.csv").failed(
        1, "it has version 2 of its format: it was written by a newer"
    )


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "argmetric: interrupted\n"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 1,
         "argmetric: cannot write m.skops: No space left on device\n"),
    ],
)  # fmt: skip
def test_a_model_is_replaced_whole_or_not_at_all(
    run, monkeypatch, error, code, message
):
    Path("m.skops").write_text("old")
    before = sorted(os.listdir())

    def fail(handle):
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    ended = run("train", "data.csv", "--model", "logistic", "-o", "m.skops")
    assert (ended.code, ended.err) == (code, message)
    assert Path("m.skops").read_text() == "old"
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("target", ["fit", "decide"])
def test_interrupted_work_leaves_nothing(run, monkeypatch, target):
    before = sorted(os.listdir())

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(am.MetricClassifier, target, interrupted)
    command = {
        "fit": ["train", "data.csv", "-o", "m.skops"],
        "decide": ["predict", "boosting.skops", "data.csv", "--joint", "-o", "out.csv"],
    }[target]
    assert run(*command) == Ended(130, "", "argmetric: interrupted\n")
    assert sorted(os.listdir()) == before
