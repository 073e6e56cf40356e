"""Sources and references from files, and what is told about bad ones."""

from pathlib import Path

import pytest

from argmetric._text.summaries.read import read_labelled, read_sources


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def put(path, text, encoding="utf-8"):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(text.encode(encoding))


def names_and_words(found):
    return [(one.name, one.document_names, one.words) for one in found.clusters]


def test_the_files_of_a_folder_are_one_cluster():
    put("rev/b.txt", "Two.")
    put("rev/a.txt", "\ufeffOne.")
    put("rev/empty.txt", " \n")
    put("rev/.hidden", "no")
    put("rev/more/c.txt", "no")
    found = read_sources(["rev/"])
    assert names_and_words(found) == [
        ("rev", ["rev/a.txt", "rev/b.txt"], ["One.", "Two."])
    ]
    assert found.notes == [
        "rev/more is a folder: it is left out",
        "rev/empty.txt is empty: it is left out",
    ]


def test_files_are_taken_in_the_order_given():
    put("a.txt", "One.")
    put("b.txt", "Zwei für uns.", "latin-1")
    found = read_sources(["b.txt", "a.txt"], encoding="latin-1")
    words = ["Zwei", "für", "uns.", "One."]
    assert names_and_words(found) == [("2 files", ["b.txt", "a.txt"], words)]


def test_a_file_that_is_given_twice_is_read_once():
    put("rev/a.txt", "One.")
    put("rev/b.txt", "Two.")
    found = read_sources(["rev/b.txt", "rev", "./rev/b.txt"])
    names = ["rev/b.txt", "rev/a.txt"]
    assert names_and_words(found) == [("2 files", names, ["Two.", "One."])]
    assert found.notes == ["2 of the files are given twice"]


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["latin"], r"latin/a.txt, line 2: not UTF-8 text \(byte 6 is 0x..\); pass X"),
        (["nix.txt"], "cannot read nix.txt: No such file or directory"),
        (["outer"], "outer has no files, only folders such as outer/empty"),
        (["outer/empty"], "outer/empty/a.txt is empty: there is nothing to summarise"),
        (["outer/two"], "every file of outer/two is empty: there is nothing"),
        (["bare"], "^bare has no files$"),
        ([], "there are no files to summarise"),
    ],
)
def test_what_cannot_be_read_is_told(paths, message):
    put("latin/a.txt", "one\nZüge", "latin-1")
    put("outer/empty/a.txt", "")
    put("outer/two/a.txt", "\n")
    put("outer/two/b.txt", " ")
    Path("bare").mkdir()
    with pytest.raises(ValueError, match=message):
        read_sources(paths, otherwise="pass X")


def test_json_lines_have_documents_and_references():
    put(
        "data.jsonl",
        '{"documents": ["a b", ["c d", "e"]], "references": ["a"], "name": "hotel"}\n\n'
        '{"documents": ["x"], "references": ["y", "z"]}\n',
    )
    found = read_labelled("data.jsonl")
    first, second = found.clusters
    assert (first.name, second.name) == ("hotel", "cluster 2")
    assert first.sentence_starts.tolist() == [0, 2, 4, 5]
    assert found.references == [["a"], ["y", "z"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nope", "not JSON: Expecting value; needed: a folder with a folder or a file"),
        ("[1]", r"not a JSON object: \[1\]; needed"),
        ('{"documents": ["a"]}', "'references' is missing; needed"),
        ('{"documents": "a", "references": ["a"]}', "'documents' is no list"),
        ('{"documents": [], "references": ["a"]}', "cluster 1 has no document"),
        (
            '{"documents": ["a", ""], "references": ["a"]}',
            "cluster 1, document 1 is empty",
        ),
        ('{"documents": ["a"], "references": []}', "cluster 1 has no reference"),
        (
            '{"documents": ["a"], "references": ["b", "?"], "name": "h"}',
            "h: reference 1 is empty",
        ),
        ('{"documents": ["a"], "references": [3]}', "references of cluster 1 must be"),
    ],
)
def test_what_is_wrong_with_a_line_is_told_with_its_number(line, message):
    put("data.jsonl", '{"documents": ["a"], "references": ["b"]}\n' + line + "\n")
    with pytest.raises(ValueError, match=f"^data.jsonl, line 2: {message}"):
        read_labelled("data.jsonl")


def test_folders_of_clusters_and_folders_of_references():
    put("topics/food.txt.data", "Nice food. Good.")
    put("topics/rooms/1.txt", "Big room.")
    put("topics/rooms/2.txt", "Small room.")
    put("topics/v2.1.txt", "New.")
    put("gold/food/food.1.gold", "good food")
    put("gold/food/food.2.gold", "nice")
    put("gold/rooms.1.txt", "rooms")
    put("gold/rooms.2.txt", "big and small")
    put("gold/v2.1.txt", "new")
    put("gold/other.txt", "nobody's")
    found = read_labelled("topics", "gold")
    assert names_and_words(found) == [
        ("food", ["topics/food.txt.data"], ["Nice", "food.", "Good."]),
        (
            "rooms",
            ["topics/rooms/1.txt", "topics/rooms/2.txt"],
            ["Big", "room.", "Small", "room."],
        ),
        ("v2.1.txt", ["topics/v2.1.txt"], ["New."]),
    ]
    assert found.references == [
        ["good food", "nice"],
        ["rooms", "big and small"],
        ["new"],
    ]
    assert found.notes == ["gold: 1 entry belongs to no cluster"]


def test_what_is_wrong_with_references_is_told():
    put("topics/a/1.txt", "one")
    put("topics/b.txt", "two")
    put("gold/a.txt", "x")
    put("line.jsonl", '{"documents": ["a"], "references": ["b"]}')
    Path("bare").mkdir()
    missing = "topics/b.txt has no reference: there is neither gold/b nor a file"
    for arguments, message in (
        (("topics", "gold"), missing),
        (("topics",), "topics is a folder: name that of its references"),
        (("topics", "line.jsonl"), "line.jsonl must be a folder of references"),
        (("line.jsonl", "gold"), "line.jsonl is a file of JSON lines, which have"),
        (("bare", "gold"), "bare has no files; needed: a folder"),
        (("nix.jsonl",), "cannot read nix.jsonl"),
    ):
        with pytest.raises(ValueError, match=message):
            read_labelled(*arguments)
    put("gold/b/1.txt", " ...")
    with pytest.raises(ValueError, match=r"gold/b/1.txt: reference 0 is empty"):
        read_labelled("topics", "gold")
    Path("gold/b/1.txt").unlink()
    with pytest.raises(ValueError, match="gold/b has no files: references are missing"):
        read_labelled("topics", "gold")


@pytest.mark.data
def test_opinosis_is_read_as_it_is_published(data_folder):
    root = data_folder / "summ" / "opinosis"
    topics, gold = str(root / "topics"), str(root / "summaries-gold")
    found = read_labelled(topics, gold, encoding="latin-1")
    assert len(found.clusters) == 51
    assert sum(map(len, found.references)) == 238
    assert found.notes == []
    with pytest.raises(
        ValueError, match=r"line \d+: not UTF-8 text \(byte [\d,]+ is 0x"
    ):
        read_labelled(topics, gold)
