"""Sources cut into words and sentences, and what a summary of them shows."""

import html
import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric.search import Summarizer, Summary, Tree
from reviews import read, sentences_of

# --------------------------------------------------------------------- sentences


@pytest.mark.parametrize(
    "split",
    [
        "Mr. Smith paid $4.50. | He left!! | Why?",
        "I live in the U.S. | It is big. | The U.S. Army is too.",
        "See e.g. this one. | J. R. R. Tolkien wrote it, i.e. all of it.",
        "the size and the material. | its a decent shoe",
        "Well... that is that. | Come on.... | Staff properly! | But… why? | no idea",
        '"Really?" he said. | "Yes." | They left. | (I was there.) | Fine [ok.] and so',
        "1. Cheap. | 2. Light. | No. 5 is best. | No. | I do not. | I got 5. | Ok.",
        "Wow ! ! ! | ok . | fine .",
        "Up at 7 a.m. or so. | Open till 9 p.m. | Great. | A 12oz. cup, etc. | Yes.",
        "So do I. | Vol. 3 is by Acme Inc. | It sells vitamin B. Smith knows",
        "Size 6.5 fits.But this does not split |\n\na blank line does",
        "great price |\nlove it |\nwould buy again",
        "One. |\r\nTwo |\r\n\r\nThree",
        ", and is very, very accurate . |\n but it ends here |\n1 inch . |\n",
        "… what can I say but.. | Awesome!",
        "word",
    ],
)
def test_sentences_as_people_write_them(split):
    text = re.sub(r" \|(?=\s|$)", "", split)
    assert sentences_of(text) == [
        " ".join(part.split())
        for part in re.split(r" \|(?=\s|$)", split)
        if part.strip()
    ]


@given(
    st.lists(st.text() | st.sampled_from([". ", "! ", "\n", "\n\n", " Mr. ", "\u2003"]))
)
def test_words_are_where_the_spans_say(parts):
    text = re.sub(r"[-*+#>|`~_=^\[\"•‣◦]|[0-9]+[.)]", "", "".join(parts))  # no markup
    if not re.search("[a-z0-9]", text.lower()):
        with pytest.raises(ValueError, match=r"document 0 is empty|no letter of a-z"):
            read([text])
        return
    cluster = read([text, text])
    assert cluster.words == text.split() * 2
    spans, half = cluster.word_spans.tolist(), len(text.split())
    assert [text[a:b] for a, b in spans[:half]] == text.split()
    assert spans[half:] == spans[:half]
    starts = cluster.sentence_starts
    assert starts[0] == 0
    assert starts[-1] == cluster.n_words
    assert (np.diff(starts) > 0).all()
    assert half in starts  # no sentence runs over the end of a document


@pytest.mark.data
def test_one_sentence_a_line_stays_one(data_folder):
    for path in sorted((data_folder / "summ" / "opinosis" / "topics").iterdir())[::4]:
        text = path.read_text("latin-1")
        lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
        marked = [line.lstrip("> ").replace("_more_", "more") for line in lines]
        assert sentences_of(text) == marked


# ---------------------------------------------------------------------- clusters


SWIM = Tree(["fish", "swim", "."], None, [2, 0, 2])


def test_a_document_may_be_text_sentences_or_trees():
    cluster = read(["One. Two!", ["A b. C", " d "], [SWIM, SWIM]])
    assert cluster.documents == ["One. Two!", "A b. C\n d ", "fish swim . fish swim ."]
    assert cluster.sentence_starts.tolist() == [0, 1, 2, 5, 6, 9, 12]
    assert cluster.sentence_documents.tolist() == [0, 0, 1, 1, 2, 2]
    assert cluster.document_starts.tolist() == [0, 2, 4, 6]
    assert cluster.trees == [None] * 4 + [SWIM] * 2
    assert cluster.word_spans[5:7].tolist() == [[8, 9], [0, 4]]
    assert cluster.document_names == ["document 0", "document 1", "document 2"]
    assert read(["One."]).trees is None
    [found] = Summarizer().predict([cluster])  # one that was read is taken as it is
    assert found.cluster is cluster


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        ("text", r"clusters must be a list of clusters.*pass \[\[text\]\]"),
        (["one", "two"], r"cluster 0 must be a list of documents, not text: pass \[\["),
        (3, "clusters must be a list of lists of documents, not 3"),
        ([["a"], []], "cluster 1 has no document"),
        ([["a", " \n"]], "cluster 0, document 1 is empty: leave it out"),
        ([["a", []]], "cluster 0, document 1 is empty"),
        ([["a", ["b", " "]]], "cluster 0, document 1: sentence 1 is empty"),
        ([["a", None]], "cluster 0, document 1 must be text, a list of sentences"),
        (
            [["a", ["b", ["c"]]]],
            r"document 1: sentence 1 must be text or a Tree, not \[",
        ),
        ([[SWIM]], "cluster 0, document 0 must be .* put the tree into a list"),
        ([[[SWIM, "b"]]], "document 0: sentence 1 must be a Tree as the first one is"),
        ([[[Tree(["a b"], None, [0])]]], "sentence 0, word 0 must be .* not 'a b'"),
        ([[[SWIM, Tree([], None, [])]]], "document 0: sentence 1 is empty"),
        ([[[Tree(["a", "b"], None, [0, 0])]]], "sentence 0, token 2 .* a second root"),
        ([[[Tree(["a", "b"], None, [2, 1])]]], "sentence 0, token 1 .*: its heads go"),
        ([[[SWIM, Tree(["a"], None, [7])]]], "sentence 1, token 1 .*head 7 is outside"),
    ],
)
def test_what_is_no_cluster_is_told_with_its_place(clusters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Summarizer().predict(clusters)


# ----------------------------------------------------------------------- summary


SOURCES = [
    "The <b>bed</b> is not soft. We slept well & long.",
    "No lift.\nStaff was, as ever, kind.",
    "Untouched.",
]
# The <b>bed</b> is not soft. | We slept well & long. | No lift. | Staff was, ...
STEPS = [1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, 0, 2, -1, -1, 0, -1]


def summary(**changed):
    names = ["a.txt", "<i>.txt", "c.txt"]
    cluster = replace(read(SOURCES), name="a & b", document_names=names)
    given = {"mode": "compressed", "policy": "searn", "limit": 10, "unit": "words"}
    return Summary(
        cluster,
        np.array(STEPS),
        np.array([0.5, 0.25, 0.0625]),
        **{**given, "size": 8, **changed},
    )


def test_a_summary_is_words_of_the_sources():
    found = summary()
    assert found.sentences == ["The <b>bed</b> is not soft.", "Staff was, kind."]
    assert found.text == "The <b>bed</b> is not soft. Staff was, kind."
    done = subprocess.run(
        ["wc", "-w"], input=found.text, capture_output=True, text=True, check=True
    )
    assert found.n_words == int(done.stdout) == 8
    places = found.positions
    words = [SOURCES[d][a:b] for d, _, a, b in places.tolist()]
    assert words == found.text.split()
    assert places["document"].tolist() == [0] * 5 + [1] * 3
    assert places["sentence"].tolist() == [0] * 5 + [1] * 3
    assert found.steps == [
        (["Staff", "kind."], 0.5),
        (["The", "<b>bed</b>", "is", "not", "soft."], 0.25),
        (["was,"], 0.0625),
    ]


def test_a_summary_as_text():
    assert repr(summary()).splitlines() == [
        "Summary of a & b",
        "  size       8 of 10 words",
        "  sentences  2 of 5",
        "  documents  2 of 3",
        "  chosen     compressed, by searn, in 3 steps",
        "",
        "  The <b>bed</b> is not soft.",
        "  Staff was, kind.",
    ]
    whole = repr(summary(mode="sentences")).splitlines()
    assert whole[6:] == ["  The <b>bed</b> is not soft. Staff was, kind."]
    in_characters = repr(summary(unit="characters", size=44, limit=60))
    assert "44 of 60 characters (8 words)" in in_characters


def test_nothing_is_a_summary_too():
    nothing = replace(summary(size=0), step_of_word=np.full(18, -1), gains=np.zeros(0))
    assert (nothing.text, nothing.sentences, nothing.steps) == ("", [], [])
    assert nothing.positions.shape == (0,)
    assert repr(nothing).endswith("(nothing)")
    assert "(nothing)" in nothing.to_html()
    assert "<mark" not in nothing._repr_html_()


def plain(markup):
    return html.unescape(re.sub("<[^>]*>", "", markup))


@pytest.mark.parametrize("shown", [Summary.to_html, Summary._repr_html_])
def test_sources_stand_in_the_markup_as_they_are(shown):
    markup = shown(summary())
    assert "<b>" not in markup
    assert "<i>" not in markup
    bodies = re.findall(r'<p class="source">(.*?)</p>', markup, re.DOTALL)
    assert [plain(body) for body in bodies] == SOURCES
    kept = [plain(one) for one in re.findall("<mark.*?</mark>", markup, re.DOTALL)]
    assert kept == ["The <b>bed</b> is not soft.", "Staff", "was,", "kind."]
    dropped = [plain(one) for one in re.findall("<del>.*?</del>", "".join(bodies))]
    assert dropped == ["as ever,"]
    assert 'title="step 1 of 3, expected gain 0.5">Staff<' in markup


def test_the_page_needs_nothing_from_elsewhere():
    page = summary().to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert "<script" not in page
    assert "http" not in page
    assert "@import" not in page
    assert "prefers-color-scheme: dark" in page
    assert "8 of 10 words" in page
    for number in (1, 2, 3):  # from a step to its first words
        assert page.count(f'href="#step-{number}"') == 1
        assert page.count(f'<mark id="step-{number}"') == 1


def test_steps_are_drawn_over_their_words():
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = summary().plot()
    bars = [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in ax.patches]
    assert bars == [(0, 2, 0.5), (2, 5, 0.25), (7, 1, 0.0625)]
    assert ax.get_legend().texts[0].get_text() == "3 steps by searn"
    plt.close(ax.figure)
