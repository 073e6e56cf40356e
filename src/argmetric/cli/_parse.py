"""``argmetric parse``: train, predict, evaluate."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal

from argmetric._ground.display import Field
from argmetric._ground.whole_files import DataError
from argmetric.cli import _learning as learning
from argmetric.cli import _options as opt
from argmetric.cli._command import TRAINING_ENDINGS, Given, command
from argmetric.cli._errors import gate
from argmetric.cli._progress import progress, reading
from argmetric.cli._report import Values, console, count, number, tell
from argmetric.cli.scores._rows import exclude
from argmetric.metrics import get_metric
from argmetric.search.corpus.heads import draw_tree
from argmetric.search.corpus.tree_scores import N_WORST, check_trees, score_trees
from argmetric.search.corpus.tree_writing import write_trees
from argmetric.search.corpus.trees import Tree, TreeFormat, read_trees

if TYPE_CHECKING:
    from argmetric.search import Tagger, TreeScores


_NO_TAGS = "pass a tagger of them, --tagger FILE (`argmetric tag train --task pos`)"
_UNTAGGED = "the parser has no tagger of its own: pass --tagger FILE"
_BETWEEN = "   "
# Key of JSON: name in the scores, and in words
_SHARES = {
    "uas": ("heads", "UAS"),
    "uas_without_punctuation": ("without_punctuation", "without punctuation"),
    "las": ("labelled", "LAS"),
    "exact_match": ("sentences", "exact match"),
    "roots": ("roots", "roots"),
}
_CHANGED: dict[str, Any] = {
    **learning.OF_TEXTS,
    "format": opt.option(
        TreeFormat | None,
        help="The format of the input, if neither its name nor its content shows it.",
    ),
}


@command(
    "model dev tagger learn_tagger format direction beam roll_in epochs hash_bits seed "
    "json",
    files={"file": opt.FilePath},
    changed={
        **_CHANGED,
        "direction": (learning.OF_TEXTS["direction"][0], "both"),
        "beam": (learning.OF_TEXTS["beam"][0], 8),
        "roll_in": opt.option(Literal["static", "own"], learning.RECIPE, "own"),
    },
)
def train(o: Given) -> int:
    """Train a parser and save it to a file.

    The answer goes to standard output, a line for each epoch to standard error. Ctrl-C
    ends the training and keeps the best parser so far (exit code 130).

    Parameters
    ----------
    file
        Sentences with their trees; - is standard input. Relations are learned if the
        trees have them. A tree with crossing arcs is replaced by the nearest one
        without.
    model
        The file for the parser, and its tagger if it has one; replaced whole or not at
        all.
    dev
        Development trees; the epoch that scores best on them is kept.
    learn_tagger
        Also train a tagger on the tags of the file; the parser can then parse words
        alone.
    roll_in
        The states to learn from: those of the true trees, or the parser's own as well.
    epochs
        Passes over the sentences, those of --learn-tagger too. [default: those of the
        recipe]
    hash_bits
        Features are hashed to 2^B rows of weights, those of --learn-tagger too.
        [default: those of the recipe]
    """
    learning.refuse_target("parser", o.model)
    exclude(o, "tagger", "learn_tagger")
    learning.refuse_two_streams(o.file, o.dev)
    from argmetric.search import Parser, Tagger

    sizes = {name: v for name, v in o.only("epochs", "hash_bits").items() if v}
    sizes["random_state"] = o.seed
    used = Tagger("pos", **sizes) if o.learn_tagger else _tagger(o.tagger)
    trees = _read(o.file, o.format, _NO_TAGS if o.tagger is None else "")
    check_trees(trees)
    held = None
    if o.dev is not None:
        held = _read(o.dev, o.format, _NO_TAGS if used is None else "")
        check_trees(held)
    parser = Parser(**o.only("direction", "beam", "roll_in"), **sizes)

    def answer(learned: Values) -> list[Field]:
        source, tags = "file", "of the file"
        if o.learn_tagger:
            source = "learned"
            tags = "by a tagger that was learned beside, which the parser keeps"
        elif used is not None:
            source, tags = "tagger", f"by {o.tagger}, which the parser keeps"
        n = len(parser.relations_)
        search = f"direction {parser.direction_}, beam {parser.beam}"
        fields = [
            *_sizes(trees),
            Field("relations", n, "relations", count(n) if n else "none"),
            Field("crossing", parser.n_lifted_),
            Field("tags", source, "tags", tags),
            Field("tagger", o.tagger),
            Field("direction", parser.direction_, "search", search),
            *learning.learned_fields(parser.get_params(), learned),
        ]
        if held is None:
            return [*fields, Field("dev"), Field("dev_scores")]
        name = held[0].file
        dev = Field("dev", name, "dev", f"scores on {name}:")
        return [*fields, dev, *_scores("dev_scores", parser.evaluate(held))]

    return learning.train(
        *("parse train", "parser", parser, o, answer, trees),
        notes=[],
        tagger=used,
        dev=held,
        on_epoch=learning.tell_epoch,
    )


def _read(path: str, format: TreeFormat | None, untagged: str = "") -> list[Tree]:
    """Read trees; those without parts of speech are refused with what to do, if any."""
    with reading(path):
        trees = read_trees(path, format=format)
    bare = next((tree for tree in trees if tree.tags is None), None)
    if untagged and bare is not None:
        raise DataError(f"{bare.file} has no parts of speech: {untagged}")
    return trees


def _tagger(path: str | None) -> Tagger | None:
    """Read a tagger of parts of speech, where one is named."""
    if path is None:
        return None
    from argmetric.search import Tagger

    tagger: Tagger = learning.load_learned(Tagger, "tagger", path)
    if tagger.task != "pos":
        raise DataError(
            f"{path} is a tagger of the task {tagger.task}: parts of speech are needed "
            "(--task pos)"
        )
    return tagger


def _sizes(trees: list[Tree]) -> list[Field]:
    return learning.sizes(trees[0].file, len(trees), sum(map(len, trees)))


@command(
    "tagger format output json",
    files={"model": opt.FilePath, "file": opt.FilePath},
    changed={**_CHANGED, "json": (opt.JsonSummary, False)},
)
def predict(o: Given) -> int:
    """Parse sentences with a parser from `argmetric parse train`.

    The output has the input lines with the predicted heads, and relations if the parser
    knows them. Tags are added only if the file has none. Comments, multi-word tokens,
    empty nodes and all other columns stay as they are. A summary goes to standard
    error.

    Parameters
    ----------
    model
        The file of the parser. It holds data only; no code is run.
    file
        The sentences; - is standard input. Existing heads are ignored. A parser with
        its own tagger also adds tags.
    """
    target = learning.text_target(o)
    from argmetric.search import Parser

    parser = learning.load_learned(Parser, "parser", o.model)
    tagger, source, tags = _tagger(o.tagger), "parser", "by the parser's own tagger"
    if tagger is not None:
        source, tags = "tagger", f"by {o.tagger}"
    elif parser.tagger_ is None:
        source, tags = "file", "of the file"
    trees = _read(o.file, o.format, _UNTAGGED if source == "file" else "")
    doing = f"parsing {len(trees):,} sentences"
    found, seconds = learning.timed(doing, parser.parse, trees, tagger=tagger)
    if target is not None:
        write_trees(target, found)
    labels = "heads and relations" if parser.relations_ else "heads"
    fields = [
        *_sizes(trees),
        Field("model", o.model, "model", f"{o.model}, {labels}"),
        Field("tags", source, "tags", tags),
        Field("tagger", o.tagger),
        Field("relations", bool(parser.relations_)),
        Field("seconds", seconds),
        Field("output", target),
    ]
    return learning.tell_predicted("parse predict", o, fields)


@command(
    "format worst fail_under json",
    files={"file": opt.FilePath, "predicted": opt.FilePath},
    changed={**_CHANGED, "worst": opt.option(int, None, N_WORST, gte=0, lte=N_WORST)},
)
def evaluate(o: Given) -> int:
    """Compare predicted with true trees.

    UAS is the share of words with the right head, LAS the share with the right head and
    relation. The tags of the true trees define punctuation. The sentences with the most
    wrong heads are drawn, the true tree to the left of the predicted one. The answer
    goes to standard output.

    Parameters
    ----------
    file
        The true trees; - is standard input.
    predicted
        The same sentences with predicted heads, as `argmetric parse predict` wrote
        them.
    worst
        How many of the worst sentences are drawn.
    fail_under
        Exit with 3 if the UAS is under this.
    """
    learning.refuse_two_streams(o.file, o.predicted)
    gold, found = _read(o.file, o.format), _read(o.predicted, o.format)
    with progress(f"comparing {len(gold):,} sentences"):
        scores = score_trees(gold, found)
    worst = {
        i: int((gold[i].heads != found[i].heads).sum()) for i in scores.worst[: o.worst]
    }
    lengths = [one for one in scores.by_length if one.heads.total]
    values, facts = learning.values_and_lines(
        [
            *_sizes(gold),
            Field("predicted", found[0].file, "predicted", found[0].file),
            *_scores("scores", scores),
        ]
    )
    values["lengths"] = [
        {"length": length, "uas": _share(heads), "exact_match": _share(sentences)}
        for length, heads, sentences in lengths
    ]
    values["worst"] = [
        {
            "sentence": i + 1,
            "line": gold[i].line,
            "wrong": wrong,
            "words": gold[i].words,
            "heads": gold[i].heads.tolist(),
            "predicted": found[i].heads.tolist(),
        }
        for i, wrong in worst.items()
    ]
    rows = [
        [length, f"{whole.total:,}", *map(number, (heads.value, whole.value))]
        for length, heads, whole in lengths
    ]
    table = ("words", "sentences", "UAS", "exact match"), rows
    tell("parse evaluate", values, facts, json=o.json, table=table)
    if not o.json:
        from rich.text import Text

        target = console(stderr=False)
        for i, wrong in worst.items():
            said = f"{wrong} of {count(len(gold[i]), 'head')} wrong"
            title = f"\nsentence {i + 1}, line {gold[i].line}: {said}"
            target.print(Text(title, style="bold"))
            for line in _drawn(gold[i], found[i], target.width):
                target.print(Text(line), no_wrap=True, crop=True)
    return gate(scores.uas, o.fail_under, get_metric("accuracy"), "the UAS")


def _share(found: Any) -> Values:
    return {"share": found.value, "right": found.right, "total": found.total}


def _scores(key: str, found: TreeScores) -> list[Field]:
    """All scores that are no table, and a line for each."""
    values, fields = {}, []
    for own, (name, words) in _SHARES.items():
        one = getattr(found, name)
        values[own] = None if one is None else _share(one)
        if one is not None:
            total = f"{one.total:,} words"
            if name in ("sentences", "roots"):
                total = count(one.total, "sentence")
            text = f"{number(one.value)}, {one.right:,} of {total}"
            fields.append(Field(words=words, text=text))
    return [*fields, Field(key, values)]


def _drawn(gold: Tree, found: Tree, width: int) -> list[str]:
    """The right tree, and beside it the predicted one with its wrong heads marked."""
    each = max((min(width, 160) - len(_BETWEEN)) // 2, 20)
    try:
        right = draw_tree(
            found.words, found.heads, found.relations, gold.heads, width=each
        )
    except ValueError:  # another parser's heads may be none of a tree
        right = "no tree"
    left = draw_tree(gold.words, gold.heads, gold.relations, width=each).split("\n")
    left = ["right", *left]
    column = max(map(len, left))
    pairs = zip_longest(left, ["predicted", *right.split("\n")], fillvalue="")
    return [f"{one:<{column}}{_BETWEEN}{other}".rstrip() for one, other in pairs]


parse = learning.command_group(
    "parse",
    "Parse sentences: the head of each word, and its relation to it.\n\n"
    "Files are CoNLL-U (.conllu), or have word, tag and head on a line (.dp), with an "
    "empty line behind each sentence; UTF-8.",
    TRAINING_ENDINGS,
    train,
    predict,
    evaluate,
)
