"""What rows are read from: compressed files, other encodings, several files, Excel."""

import errno
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import argmetric as am

N = 24
RNG = np.random.default_rng(5)
P = RNG.beta(0.7, 1.4, N).round(3).clip(0.001, 0.999)
LABELS = np.asarray(am.decide(P).labels)


def csv_text(rows=slice(None), header="id,p"):
    lines = [f"{i:03d},{p}" for i, p in list(enumerate(P))[rows]]
    return "\n".join([header, *lines, ""])


def plain(path):
    data = Path(path).read_bytes()
    if path.endswith(".zst"):
        packed = pa.CompressedInputStream(pa.BufferReader(data), "zstd")
        return str(packed.read().decode())
    return (gzip.decompress(data) if path.endswith(".gz") else data).decode()


DECIDED = "".join(
    f"{line},{end}\n"
    for line, end in zip(csv_text().splitlines(), ["decision", *LABELS], strict=True)
)


@pytest.mark.parametrize("end", [".gz", ".zst"])
def test_compressed_files_are_read_and_written(run, answer, end):
    codec = {".gz": "gzip", ".zst": "zstd"}[end]
    with pa.CompressedOutputStream(f"scores.csv{end}", codec) as file:
        file.write(csv_text().encode())
    assert run("decide", f"scores.csv{end}", "-o", f"out.csv{end}").code == 0
    assert plain(f"out.csv{end}") == DECIDED
    assert run("decide", f"out.csv{end}", "--decision-column", "d").out.startswith(
        "id,p,decision,d\n"
    )
    for kind in ("tsv", "jsonl"):
        assert run("decide", "scores.csv" + end, "-o", f"o.{kind}{end}").code == 0
        found = answer("forecast", f"o.{kind}{end}")
        assert found["forecast"]["n_positives"] == LABELS.sum()
        assert found["format"] == kind


def test_a_compressed_file_that_is_cut_short(run):
    packed = gzip.compress(csv_text().encode())
    Path("scores.csv.gz").write_bytes(packed[:-12])
    run("decide", "scores.csv.gz", "-o", "out.csv").failed(
        1,
        exactly="scores.csv.gz is not a whole gzip file, perhaps cut short: "
        "Truncated compressed stream",
    )
    assert not Path("out.csv").exists()
    ended = run("decide", "-", stdin=packed)
    assert ended.out == DECIDED


def test_text_in_another_encoding(run):
    text = csv_text(header="café,p")
    Path("latin.csv").write_bytes(text.encode("latin-1"))
    ended = run("decide", "latin.csv")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        "argmetric: latin.csv, line 1: not utf-8 text (byte 4 is 0xE9); pass "
        "--encoding, for instance latin-1\n"
    )
    ended = run("decide", "latin.csv", "--encoding", "latin-1", "-o", "out.csv")
    assert ended.code == 0
    assert Path("out.csv").read_text("utf-8") == DECIDED.replace("id,", "café,", 1)
    Path("wide.csv").write_bytes(text.encode("utf-16"))
    assert run("decide", "wide.csv").err == (
        "argmetric: wide.csv is UTF-16 text; pass --encoding utf-16\n"
    )
    run("decide", "wide.csv", "--encoding", "utf-16", "-o", "again.csv")
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()
    assert run("decide", "latin.csv", "--encoding", "latin-99").err == (
        "argmetric: --encoding latin-99: there is no such encoding\n"
    )


def test_several_files_are_taken_one_after_the_other(run, answer):
    Path("part-1.csv").write_text(csv_text(slice(0, 9)))
    swapped = [f"{p},{i + 9:03d}" for i, p in enumerate(P[9:])]
    Path("part-2.csv").write_text("\n".join(["p,id", *swapped, ""]))
    for given in (["part-1.csv", "part-2.csv"], ["part-*.csv"]):
        assert run("decide", *given, "-o", "out.csv").code == 0
        assert Path("out.csv").read_text() == DECIDED
    found = answer("decide part-*.csv")
    assert found["file"] == "part-1.csv and part-2.csv"
    assert found["rows"] == N
    for i, rows in enumerate((slice(0, 9), slice(9, None))):
        lines = [json.dumps({"p": p, "i": j}) for j, p in enumerate(P[rows].tolist())]
        Path(f"{i}.jsonl").write_text("\n".join(lines))
    run("decide", "0.jsonl", "1.jsonl", "-o", "out.jsonl")
    written = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [row["decision"] for row in written] == LABELS.tolist()
    found = answer("forecast part-*.csv")
    assert found["forecast"]["expected_positives"] == pytest.approx(P.sum())


@pytest.mark.parametrize("output", ["out.csv.gz", "out.jsonl.zst"])
def test_a_full_disk_leaves_no_part_of_a_compressed_file(run, output, monkeypatch):
    Path("scores.csv").write_text(csv_text())

    def full(file, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("argmetric.scale.files._write._OpenFile.write", full)
    run("decide", "scores.csv", "-o", output).failed(
        1, exactly=f"cannot write {output}: No space left on device"
    )
    assert [path.name for path in Path(".").iterdir()] == ["scores.csv"]


def test_a_folder_that_may_not_be_written_to(run, monkeypatch):
    Path("scores.csv").write_text(csv_text())

    def forbidden(**options):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "temporary")

    monkeypatch.setattr("tempfile.mkstemp", forbidden)
    run("decide", "scores.csv", "-o", "out.csv").failed(
        1, exactly="cannot write out.csv: Permission denied"
    )
    assert [path.name for path in Path(".").iterdir()] == ["scores.csv"]
