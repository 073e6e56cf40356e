"""Sentences of texts with paragraphs, lists, Markdown, and other languages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric.search import Summarizer
from reviews import read, sentences_of

# ------------------------------------------------------------------- paragraphs

WRAPPED_WITH_A_LIST = """\
The committee met on Tuesday to look at what the storm has done
to the harbour and to the houses along the northern shore of the
island. It found that three things have to be repaired at once:

- The pier has lost its last ten metres, and no ship can land
  there before it is rebuilt.
- Two of the four pumps stand still.
- electricity in the old town
- The road to the lighthouse is blocked by trees that nobody
could remove so far.

The repairs will cost more than the island earns in a year, said
Mrs. Holm. She asked the government for help, and the answer of
Minister Berg is expected before the end of the week.

Short lines that are no sentences
Stay lines of their own
"""


def test_a_wrapped_text_with_a_list_is_cut_paragraph_by_paragraph():
    assert sentences_of(WRAPPED_WITH_A_LIST) == [
        "The committee met on Tuesday to look at what the storm has done to the "
        "harbour and to the houses along the northern shore of the island.",
        "It found that three things have to be repaired at once:",
        "The pier has lost its last ten metres, and no ship can land there before it "
        "is rebuilt.",
        "Two of the four pumps stand still.",
        "The road to the lighthouse is blocked by trees that nobody could remove so "
        "far.",
        "The repairs will cost more than the island earns in a year, said Mrs. Holm.",
        "She asked the government for help, and the answer of Minister Berg is "
        "expected before the end of the week.",
        "Short lines that are no sentences",
        "Stay lines of their own",
    ]
    [summary] = Summarizer().predict([[WRAPPED_WITH_A_LIST]], words=45)
    assert set(summary.sentences) <= set(sentences_of(WRAPPED_WITH_A_LIST))
    assert summary.sentences[0].endswith("northern shore of the island.")


# --------------------------------------------------------------------- Markdown

MARKDOWN = """\
Release notes
=============

# Version 2 #

This release **changes the default** of `fit` and makes it *much*
faster. See the [user guide](https://example.org/guide "Guide") and
the [list of changes][log], or ask __us__.

![a plot](plot.png)

| metric | before | after |
|--------|-------:|------:|
| time   | 12 s.  | 3 s.  |

name | value
--- | ---
speed | fast.
memory | low.

```python
model = fit(data)  # This is code. It is not a sentence.
print(model.score)
```

What is new
-----------

1. The parser reads files of any size.
2. [ ] Faster start
3. Errors name the line. They say what to do, too.

***

* All functions take `weights`.
* snake_case_names and 2*3*4 stay as they are.

> Somebody wrote to us that it works well and
> quickly on all of their machines.

~~~
More code. Not a sentence.
~~~

+------+------+
| a b. | c d. |
+======+======+

[log]: https://example.org/log
The end of the page has a sentence that ends here.
"""


def test_markdown_is_read_for_its_sentences():
    assert sentences_of(MARKDOWN) == [
        "This release changes the default of fit and makes it much faster.",
        "See the user guide and the list of changes, or ask us.",
        "The parser reads files of any size.",
        "Errors name the line.",
        "They say what to do, too.",
        "All functions take weights.",
        "snake_case_names and 2*3*4 stay as they are.",
        "Somebody wrote to us that it works well and quickly on all of their machines.",
        "The end of the page has a sentence that ends here.",
    ]


def test_words_of_markdown_have_their_places():
    cluster = read([MARKDOWN])
    pieces = [MARKDOWN[a:b] for a, b in cluster.word_spans.tolist()]
    pairs = zip(cluster.words, pieces, strict=True)
    assert {word: piece for word, piece in pairs if word != piece} == {
        "changes,": "changes][log],",
        "us.": "us__.",
        "weights.": "weights`.",
    }
    [summary] = Summarizer().predict([[MARKDOWN]], words=30)
    assert set(summary.sentences) <= set(sentences_of(MARKDOWN))
    assert "Release notes" in summary.to_html()  # the source is shown as it is


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Of nothing but markup, all is text
        ("# A title", ["# A title"]),
        ("- milk\n- bread", ["- milk", "- bread"]),
        ("| a | b |\n|---|---|", ["| a | b |", "|---|---|"]),
        # Fragments of a list are left out, what follows it is not
        ("I like:\n- price\n- size\nBuy it", ["I like:", "Buy it"]),
        ("- Cheap. also light\n- Fine!", ["Cheap.", "Fine!"]),
        # One number makes no list
        ("1. Cheap. 2. Light.", ["1. Cheap.", "2. Light."]),
        ("1. Cheap.\n2. Light.", ["Cheap.", "Light."]),
        ("1) It is cheap\n2) It is light.", ["It is light."]),
        # A fence that is never closed hides itself alone
        ("It runs.\n```\nIt stops.", ["It runs.", "It stops."]),
        # Marks that are no markup
        ("5 * 3 is * not bold *.", ["5 * 3 is * not bold *."]),
        ("#1 in sales! C# is fine.", ["#1 in sales!", "C# is fine."]),
        ("``Yes,'' he said, ``we can.''", ["``Yes,'' he said, ``we can.''"]),
        ("Choose a|b. It is [1] here.", ["Choose a|b.", "It is [1] here."]),
        ("f***ing good *and* **cheap**!", ["f***ing good and cheap!"]),
        ("A sentence.\n---\nAnother one.", ["A sentence.", "Another one."]),
        ("=====\nTitle\n=====\nText here.", ["Text here."]),
        ("It is **bold\nand wrapped**.", ["It is bold", "and wrapped."]),
    ],
)
def test_small_pieces_of_markdown(text, expected):
    assert sentences_of(text) == expected


MARKS = ["# ", "- ", "|", "```\n", "**", "[a](b)", "---\n", "1. ", "> ", ". ", "\n"]


@given(st.lists(st.sampled_from([*MARKS, "x", "Y", " ", "é"]), max_size=30))
def test_any_mixture_of_marks_is_cut(parts):
    text = "".join(parts)
    try:
        cluster = read([text])
    except ValueError:  # nothing is left but headings, code and marks
        with pytest.raises(ValueError, match=r"has no letter|is empty"):
            read([text])
        return
    starts, spans = cluster.sentence_starts, cluster.word_spans
    assert starts[0] == 0
    assert starts[-1] == len(cluster.words) == len(spans) > 0
    assert (np.diff(starts) > 0).all()
    assert (spans[:, 0] < spans[:, 1]).all()
    assert (spans[1:, 0] >= spans[:-1, 1]).all()
    for word, (a, b) in zip(cluster.words, spans.tolist(), strict=True):
        left = iter(text[a:b])
        assert all(letter in left for letter in word)  # in this order


# ---------------------------------------------------------------- abbreviations

SPACED = [
    "Obst, z. B. Äpfel und z. B. in Berlin, ist teuer. | Das ist so.",
    "Er kommt, d. h. Anna kommt auch. | Sie bleiben i. d. R. Tage lang.",
    "Dort waren u. a. Peter und Ana. | Es regnet z. T. stark.",
    "Use a tool, e. g. Python, or i. e. This one. | It works.",
    "Hay ciudades, p. ej. Madrid o p. ej. sus barrios. | Son grandes.",
    "Rom wurde 753 v. Chr. gegründet. | So heißt es.",
    "We open at 9 a. m. every day. | We close at 5 p. m. | Then we rest.",
    "It is plan b. | Then came J. R. R. Tolkien. | So do I. | U. S. troops left.",
]


@pytest.mark.parametrize("split", SPACED)
def test_abbreviations_with_blanks_end_no_sentence(split):
    assert sentences_of(split.replace(" |", "")) == split.split(" | ")


# ------------------------------------------------------------------------- leads

NEWS = [
    (
        "The city council voted on Tuesday to close the Harbour Bridge to cars for two "
        "years while engineers replace its rusting cables.",
        " The work will cost 48 million euros and is due to begin in March. Engineers "
        "found cracks in eleven of the cables during an inspection last autumn. Buses "
        'and bicycles will still be allowed to cross. "We had no choice," said Anna '
        "Petersen, who heads the transport committee. Shop owners on the east bank "
        "said they feared for their trade. The council promised the shop owners a "
        "fund of two million euros. The bridge was opened in 1931. It carried 34,000 "
        "cars a day last year. A ferry will run every ten minutes at rush hour. The "
        "committee will meet the shop owners again next week.",
    ),
    (
        "BERLIN (Reuters) - Germany's largest steelmaker said on Monday it would cut "
        "3,000 jobs by the end of next year as cheap imports and high energy prices "
        "weigh on profits.",
        "\n\nShares in the company fell 4 percent after the announcement. The company "
        "employs 27,000 people, most of them in the Ruhr area.\n\nThe works council "
        "said it would fight the job cuts. Energy prices have doubled since 2021. The "
        "company said energy prices in Germany were three times those in the United "
        "States.\n\nCheap imports from Asia have pushed steel prices down. Steel "
        "prices are at their lowest in six years. The government has offered talks. "
        "The talks will begin on Thursday.",
    ),
]


@pytest.mark.parametrize("words", [30, 40, 60, 80])
@pytest.mark.parametrize("title", ["", "# Bad news\n\n", "Bad news today\n\n"])
@pytest.mark.parametrize(("lead", "rest"), NEWS)
def test_the_lead_of_a_news_text_is_in_its_summary(lead, rest, title, words):
    [summary] = Summarizer().predict([[title + lead + rest]], words=words)
    assert lead in summary.sentences
    assert summary.n_words <= words
