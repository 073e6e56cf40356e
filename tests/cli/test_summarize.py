"""``argmetric summarize``: files, train, evaluate, bad input."""

import functools
import json
import os
import re
from pathlib import Path

import pytest

from argmetric.search import score_summaries
from cli_files import REFERENCES, put, write_texts


@pytest.fixture
def run(run):
    """Run `argmetric summarize` in a folder with small files."""
    write_texts()
    return functools.partial(run, "summarize")


# -- files ---------------------------------------------------------------------


def test_sentences_that_must_be_in_or_out(run):
    wanted = run("reviews", "--words", "12", "--must", "LIFT  did")
    assert "The lift did not work." in wanted.out
    without = run("reviews", "--never", "clean", "--never", "breakfast was")
    assert "lift did not" in without.out
    assert "clean" not in without.out
    assert "Breakfast" not in without.out


def test_a_page_and_a_file(run):
    ended = run("reviews", "--words", "12", "--report", "p.html", "-o", "s.txt")
    assert (ended.code, ended.out) == (0, "")
    assert "written: s.txt\nwritten: p.html\n" in ended.err
    text = Path("s.txt").read_text("utf-8").removesuffix("\n")
    page = Path("p.html").read_text("utf-8")
    assert len(text.split()) <= 12
    assert page.startswith("<!DOCTYPE html>")
    assert "kind &amp; helpful" in page
    kept = "".join(re.findall(r"<mark[^>]*>(.*?)</mark>", page, re.DOTALL))
    assert kept.split()[0] == text.split()[0]


def test_a_summary_is_scored_by_references(run):
    ended = run("reviews", "--references", "gold", "--words", "12")
    own = score_summaries([ended.out], [REFERENCES]).by_cluster[0]
    mean, best = own["rouge_1"], own["rouge_1_best"]
    told = rf"ROUGE-1 +recall {mean:.4f}, with the best reference {best:.4f}"
    assert re.search(told, ended.err)
    options = "--references", "gold", "--words", "12", "--json"
    scores = json.loads(run("reviews", *options).out)["scores"]
    mean, best = own["rouge_2"], own["rouge_2_best"]
    assert 0 < scores["rouge_2"]["mean"] == mean < best == scores["rouge_2"]["best"]
    assert run("reviews", "--references", "gold/1.txt").code == 0


def test_other_encodings(run):
    put("latin/a.txt", "Très bien. Voilà tout.", "latin-1")
    ended = run("latin", "--words", "5")
    assert (ended.code, ended.out) == (1, "")
    message = "latin/a.txt, line 1: not utf-8 text (byte 3 is 0xE8); pass --encoding"
    assert message in ended.err
    ended = run("latin", "--words", "4", "--encoding", "latin-1")
    assert (ended.code, ended.out) == (0, "Très bien. Voilà tout.\n")


# -- train and evaluate --------------------------------------------------------


def test_train_and_use(run, answer):
    ended = run("train", "data.jsonl", "--words", "12", "--out", "m")
    assert ended.code == 0
    sizes = "4 clusters, 12 documents, 8 references of data.jsonl"
    assert re.search(rf"learned +{sizes}", ended.out)
    assert re.search(r"written: m \(.* kB\)", ended.out)
    ended = run("reviews", "--words", "12", "--model", "m")
    assert ended.code == 0
    assert 0 < len(ended.out.split()) <= 12
    assert re.search(r"model +m\b", ended.err)
    # The length that was learned is the usual one
    assert answer("reviews --model m")["limit"] == 12
    evaluated = answer("evaluate data.jsonl --model m")
    assert (evaluated["limit"], evaluated["policy"]) == (12, "weights")


@pytest.mark.parametrize("policy", ["dagger", "vine", "searn"])
def test_what_iterates_tells_of_its_policies(run, answer, policy):
    options = "--policy", policy, "--iterations", "2", "--words", "12", "-o", "m"
    ended = run("train", "data.jsonl", *options)
    assert ended.code == 0
    table = ended.out[ended.out.index("policy  ") :].splitlines()
    names = [line.split("  ")[0] for line in table[2:5]]
    assert names == ["initial", "iteration 1", "iteration 2"]
    found = answer("train data.jsonl", *options)
    assert [row["iteration"] for row in found["history"]] == [0, 1, 2]
    assert table[2].split()[1] == f"{found['history'][0]['loss']:.4f}"


def test_a_query_says_what_a_summary_is_about(run, answer):
    found = answer("reviews --words 6 --query lifts")
    assert found["text"] == "The lift did not work."
    assert found["query"] == "lifts"
    run("reviews", "--words", "6", "--query", "what is it").failed(
        1, "has only words of grammar"
    )
    rows = [json.loads(line) for line in Path("data.jsonl").read_text().splitlines()]
    put("asked.jsonl", "\n".join(json.dumps(row | {"query": "room"}) for row in rows))
    assert run("train", "asked.jsonl", "--words", "8", "-o", "m").code == 0
    run("reviews", "--model", "m").failed(1, "has learned with queries")
    assert run("reviews", "--model", "m", "--query", "lift").code == 0
    assert run("evaluate", "asked.jsonl", "--model", "m").code == 0
    put("some.jsonl", "\n".join(map(json.dumps, [rows[0] | {"query": "a b"}, rows[1]])))
    ended = run("train", "some.jsonl", "-o", "m")
    assert "line 2: 'query' is missing: all lines have one, or none" in ended.err


def test_evaluate_tells_scores_words_and_the_convention(run, answer):
    ended = run("evaluate", "data.jsonl", "--words", "12")
    assert ended.code == 0
    assert "averaged over the references of a cluster, then over clusters" in ended.out
    assert re.search(r"chosen +sentences, by frequency", ended.out)
    assert re.search(r"budget +12 words", ended.out)
    found = answer("evaluate data.jsonl --words 12")
    first, *others = found["clusters"]
    assert [one["name"] for one in found["clusters"]] == [
        f"hotel {i}" for i in range(4)
    ]
    assert {one["rouge_2"] for one in others} == {first["rouge_2"]}
    assert found["rouge_2"]["mean"] == pytest.approx(first["rouge_2"])
    assert found["rouge_2"]["interval"] == pytest.approx([first["rouge_2"]] * 2)
    assert f"{first['rouge_2']:.4f}" in ended.out
    ended = run("evaluate", "data.jsonl", "--words", "12", "--fail-under", "1")
    assert ended.code == 3
    assert "gate not met: the mean ROUGE-2 recall is" in ended.err
    assert run("evaluate", "data.jsonl", "--fail-under", "0.01").code == 0
    text = run("reviews", "--words", "12").out
    assert found["words"] == first["words"] == len(text.split())


TREES = """The DT 2
room NN 3
was VBD 0
clean JJ 3
. . 3

The DT 2
lift NN 4
did VBD 4
work VB 0
. . 4

"""


def test_parts_of_sentences_with_trees(run, answer):
    os.mkdir("parsed")
    for name in ("parsed/a.dp", "parsed/b.dp"):
        put(name, TREES.replace(" ", "\t"))
    compressed = "parsed", "--words", "8", "--mode", "compressed"
    found = answer(*compressed)
    assert found["mode"] == "compressed"
    ended = run(*compressed)
    assert ended.out.splitlines() == found["sentences"]  # a line each
    assert 0 < len(ended.out.split()) == found["words"] <= 8
    refused = run("reviews", "--mode", "compressed")
    assert refused.code == 1
    assert "files .conllu or .dp" in " ".join(refused.err.split())


@pytest.mark.data
def test_opinosis_by_its_folders(run, data_folder):
    root = data_folder / "summ" / "opinosis"
    options = "--references", str(root / "summaries-gold"), "--encoding", "latin-1"
    ended = run("evaluate", str(root / "topics"), *options, "--words", "25", "--json")
    found = json.loads(ended.out)
    assert len(found["clusters"]) == 51
    assert max(one["words"] for one in found["clusters"]) <= 25
    assert found["rouge_2"]["mean"] > 0.11  # SumBasic is at .116


# -- files of sources and references --------------------------------------------


def read_as(run, *files, **given):
    found = json.loads(run(*files, "--json", **given).out)
    return found["name"], found["documents"], found["notes"]


def test_files_and_folders_are_documents_of_one_summary(run):
    put("rev/b.txt", "Two dogs.")
    put("rev/a.txt", "\ufeffOne dog.")
    put("rev/empty.txt", " \n")
    put("rev/.hidden", "no")
    put("rev/more/c.txt", "no")
    left = ["rev/more is a folder: it is left out", "rev/empty.txt is empty: it is "]
    left[1] += "left out"
    assert read_as(run, "rev/") == ("rev", ["rev/a.txt", "rev/b.txt"], left)
    both = ["rev/b.txt", "rev/a.txt"]
    assert read_as(run, *both) == ("2 files", both, [])
    name, documents, notes = read_as(run, "rev/b.txt", "rev", "./rev/b.txt")
    assert (name, documents) == ("3 files", both)
    assert "2 of the files are given twice" in notes


def test_folders_and_lines_are_clusters_with_references(run, answer):
    put(
        "lines.jsonl",
        '{"documents": ["a b", ["c d", "e"]], "references": ["a"], "name": "hotel"}\n\n'
        '{"documents": ["x"], "references": ["y", "z"]}\n',
    )
    found = answer("evaluate lines.jsonl")
    assert [one["name"] for one in found["clusters"]] == ["hotel", "cluster 2"]
    put("sorts/food.txt.data", "Nice food. Good.")
    put("sorts/rooms/1.txt", "Big room.")
    put("sorts/rooms/2.txt", "Small room.")
    put("sorts/v2.1.txt", "New.")
    for name in ("food/food.1.gold", "food/food.2.gold", "rooms.1.txt", "rooms.2.txt"):
        put(f"right/{name}", "good food")
    put("right/v2.1.txt", "new")
    options = "--references", "right", "--json"
    found = json.loads(run("evaluate", "sorts", *options).out)
    names = [one["name"] for one in found["clusters"]]
    assert names == ["food", "rooms", "v2.1.txt"]
    found = json.loads(run("train", "sorts", *options, "-o", "m").out)
    assert (found["documents"], found["reference_count"], found["notes"]) == (4, 5, [])
