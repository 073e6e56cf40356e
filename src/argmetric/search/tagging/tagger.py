"""Tag text and sequences of feature vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_count, check_verbose, renamed_keyword
from argmetric._ground.saving import Arrays
from argmetric._ground.types import ArrayLike, Features
from argmetric.search.learning import Log, Recipe, RollIn, SavedEstimator, dense, sparse
from argmetric.search.tagging._model import (
    BeamScores,
    BeamSearch,
    TaggerPolicy,
    TaggerSide,
    TextModel,
    label_lists,
)
from argmetric.search.tagging._recipes import (
    DEFAULTS,
    SAVED,
    Direction,
    Tables,
    TaggerOptions,
    TaskName,
    fill_arguments,
    resolve,
)
from argmetric.search.tagging._training import (
    MatrixModel,
    learn_matrix,
    learn_text,
    matrix_labels,
    without_memory,
)
from argmetric.search.tagging.labels import (
    Codec,
    Evaluation,
    RightLabels,
    Tier,
    make_choices,
    read_training,
)
from argmetric.search.tagging.sentences import Corpus, read_corpus, read_labelled
from argmetric.search.tagging.templates import (
    Extractor,
    Memory,
    Template,
    read_templates,
)

_BLOCK = 200_000  # tokens labelled at a time
MOST_LISTS = 100_000  # label sequences of a sentence; a table of them is held


@dataclass(eq=False, repr=False)
class Tagger(SavedEstimator):
    """Label the tokens of a sentence one after another.

    Options that are None take the default of the task.

    Parameters
    ----------
    task : {"chunk", "ner", "pos", "label", "joint"}, default="chunk"
        Chunks and named entities (labels of IOB2, judged by strict F1 of whole
        chunks), parts of speech or any other labels (judged by accuracy), or a part of
        speech and a chunk label for each token.
    templates : str, list of str, or dict, optional
        The table of templates, one a line; see `default_templates`. A dict with the
        keys "tag" and "chunk" for the joint task.
    direction : {"left", "right", "both"}, optional
        The end from which sentences are read. "both" learns two policies and takes the
        candidate of either with the highest product of probabilities.
    beam : int, optional
        Width of the beam; 1 is greedy search.
    roll_in : {"mixed", "gold", "own", "none"}, optional
        Histories to learn from. "mixed": the true labels in the first epoch, half of
        them in the second, then the tagger's own. "gold": the true labels. "own": the
        tagger's. "none": no history.
    epochs : int, optional
        Passes over the sentences.
    step : float, optional
        Step size.
    dropout : float, optional
        Share of the static features that are left out at random in training.
    hash_bits : int, optional
        Features are hashed to 2**hash_bits rows of weights.
    memory : {"none", "past", "both"}, optional
        Whether a second pass sees the labels that the first one gave to the same word,
        at most 2000 tokens away: not at all, in earlier sentences, or on both sides.
        With "both", labels depend on the text that follows.
    beam_scores : {"log", "raw"}, optional
        Whether a beam adds log probabilities or raw scores.
    history_value : float, default=1.0
        Value of a history feature, relative to static ones.
    random_state : int, default=0
        Seed.
    verbose : int, default=0
        1 writes a line for each epoch to standard error.

    Attributes
    ----------
    history_ : list of dict
        Stage, epoch, share of wrong decisions in training, score on `dev`, seconds.
    labels_ : tuple
        The labels, or one tuple for each of the two tiers of the joint task.
    direction_ : {"left", "right", "both"}
        From which end sentences are read; Ctrl-C may leave one direction of two.
    n_columns_ : int
        Number of columns that the templates read, words first.
    interrupted_ : bool
        Whether Ctrl-C ended the training.

    Examples
    --------
    >>> from argmetric.search import Tagger
    >>> sentence = [("the", "DT"), ("cat", "NN"), ("sleeps", "VBZ")]
    >>> tagger = Tagger("chunk", hash_bits=12)
    >>> tagger.fit([sentence] * 5, [["B-NP", "I-NP", "B-VP"]] * 5)
    Tagger(task='chunk', hash_bits=12)
    >>> tagger.predict([sentence])
    [['B-NP', 'I-NP', 'B-VP']]
    """

    _kind = "tagger"
    task: TaskName = "chunk"
    _: KW_ONLY
    templates: Tables | None = None
    direction: Direction | None = None
    beam: int | None = None
    roll_in: RollIn | None = None
    epochs: int | None = None
    step: float | None = None
    dropout: float | None = None
    hash_bits: int | None = None
    memory: Memory | None = None
    beam_scores: BeamScores | None = None
    history_value: float = 1.0
    random_state: int = 0
    verbose: int = 0
    _model: TextModel | MatrixModel = field(init=False)

    def _learned_model(self) -> TextModel | MatrixModel:
        if not hasattr(self, "_model"):
            raise ValueError("the tagger has learned nothing yet: call fit first")
        return self._model

    @property
    def labels_(self) -> tuple[Any, ...]:
        """Return the labels, or a tuple for each of the two tiers of the joint task."""
        found = tuple(codec.labels for codec in self._learned_model().codecs)
        return found[0] if len(found) == 1 else found

    @property
    def direction_(self) -> Direction:
        """Return the end from which sentences are read; Ctrl-C may leave one of two."""
        first, *more = [side.reverse for side in self._learned_model().sides]
        return "both" if more else "right" if first else "left"

    @property
    def n_columns_(self) -> int:
        """Return the number of columns that the templates read, words first."""
        return self._text_model().extractor.n_columns

    def recipe(self) -> dict[str, Any]:
        """Return all arguments, with the task's defaults in place of None.

        After `fit` on words alone, only templates of words are left. Contradictory
        options and invalid templates are refused, as in `fit`.

        Returns
        -------
        dict
            Values by name.
        """
        is_of_text = isinstance(getattr(self, "_model", None), TextModel)
        return fill_arguments(
            self.get_params(), self.n_columns_ if is_of_text else None
        )

    def fit(
        self,
        sentences: Sequence[Any],
        labels: Sequence[Any] | None = None,
        *,
        dev: object = None,
        on_epoch: Callable[[dict[str, Any]], None] | None = None,
        tags: Sequence[Any] | None = None,
    ) -> Tagger:
        """Learn from sentences.

        Parameters
        ----------
        sentences : list of sentences
            Lists of words, of tuples of columns, or `Sentence` objects read from a
            file; lines of -DOCSTART- are left out. Default templates that read a
            missing column, such as parts of speech, are left out.
        labels : list of lists, optional
            A label for each token (a pair of labels for the joint task); by default
            the last column (the last two).
        dev : sentences, or (sentences, labels) as a tuple, optional
            The epoch with the best score on them is kept.
        on_epoch : callable, optional
            Called with every new row of `history_`.
        tags : list of lists, optional
            The old name of `labels`.

        Returns
        -------
        Tagger
            Itself. Ctrl-C ends the training, keeps the best policy so far and warns.
        """
        labels = renamed_keyword(labels, tags, old="tags", new="labels")
        options = resolve(self.get_params())
        tiers = list(zip(options.defaults.tiers, options.defaults.spans, strict=True))
        corpus, codecs, gold = read_training(sentences, labels, tiers)
        options = resolve(self.get_params(), len(corpus.columns))
        held = None
        if dev is not None:
            text, right = dev if isinstance(dev, tuple) else (dev, None)
            held, _ = read_labelled(text, right, len(tiers))
        log = Log(on_epoch, check_verbose(self.verbose))
        plan = replace(options, codecs=codecs)
        model = learn_text(plan, corpus, gold, log, held)
        return self._learn(options, model, log)

    def fit_matrix(
        self,
        X: Features,
        y: ArrayLike,
        lengths: object,
        *,
        dev: tuple[Any, Any, Any] | None = None,
        on_epoch: Callable[[dict[str, Any]], None] | None = None,
    ) -> Tagger:
        """Learn from sequences of feature vectors (task "label").

        Parameters
        ----------
        X : array or sparse matrix of shape (n, columns)
            The features of all decisions; sequences one behind the other.
        y : array of shape (n,)
            Labels: text or integers.
        lengths : array of int
            Lengths of the sequences.
        dev : (X, y, lengths), optional
            The epoch with the best score on it is kept.
        on_epoch : callable, optional
            Called with every new row of `history_`.

        Returns
        -------
        Tagger
            Itself.
        """
        options = resolve(self.get_params())
        if self.task != "label":
            raise ValueError(f"a matrix needs task='label', not {self.task!r}")
        log = Log(on_epoch, check_verbose(self.verbose))
        model = learn_matrix(options, X, y, lengths, log, dev=dev)
        return self._learn(options, model, log)

    def _learn(
        self, options: TaggerOptions, model: TextModel | MatrixModel, log: Log
    ) -> Tagger:
        """Keep a trained model with its options and history."""
        self._options, self._model = options, model
        self.history_ = log.rows
        self.interrupted_ = log.interrupted
        log.warn_of_interrupt(4)
        return self

    def _text_model(self) -> TextModel:
        model = self._learned_model()
        if not isinstance(model, TextModel):
            raise ValueError("the tagger learned from a matrix: call predict_matrix")
        return model

    def _search(self) -> BeamSearch:
        # Where an interrupt left one side, `combine` and so the weight play no part
        options = self._options
        weight = options.defaults.right_weight
        return BeamSearch(options.beam, options.beam_scores, weight)

    def predict(self, sentences: Sequence[Any]) -> list[list[Any]]:
        """Return the labels of the tokens of each sentence.

        Parameters
        ----------
        sentences : list of sentences
            As in `fit`; columns beyond those that the templates read are ignored. A
            line of -DOCSTART- is outside of every chunk.

        Returns
        -------
        list of lists of str
            For the joint task, of pairs of labels.
        """
        model = self._text_model()
        found: list[list[Any]] = []
        for part in self._parts(sentences):
            best = model.lists(part, self._search())[0][0]
            found += label_lists(best, model.codecs, part.sentences)
        return found

    def _parts(self, sentences: Sequence[Any]) -> Iterator[Corpus]:
        """Yield sentences in portions, or all of them at once if that is needed."""
        model = self._text_model()
        corpus = read_corpus(sentences, None, len(model.codecs), labelled=False)
        if model.first is not None:
            yield corpus
            return
        edges = np.flatnonzero(np.diff(corpus.sentences[1:] // _BLOCK)) + 1
        bounds = [0, *edges.tolist(), len(corpus.sentences) - 1]
        for low, high in pairwise(bounds):
            if low < high:
                yield corpus.part(low, high)

    def evaluate(
        self,
        sentences: Sequence[Any],
        labels: Sequence[Any] | None = None,
        *,
        tags: Sequence[Any] | None = None,
    ) -> dict[str, Evaluation]:
        """Compare predicted with right labels, tier by tier.

        Labels that the tagger never saw count as missed.

        Parameters
        ----------
        sentences : list of sentences
            As in `fit`.
        labels : list of lists, optional
            The right labels; by default the last column (the last two).
        tags : list of lists, optional
            The old name of `labels`.

        Returns
        -------
        dict of str to Evaluation
            "tag" and "chunk" for the joint task; one tier, "t", for all others.
        """
        labels = renamed_keyword(labels, tags, old="tags", new="labels")
        model, found = self._text_model(), {}
        corpus, right = read_labelled(sentences, labels, len(model.codecs))
        lists, _ = model.lists(corpus, self._search())
        columns = lists[0].reshape(-1, len(model.codecs)).T
        for codec, own, column in zip(model.codecs, right, columns, strict=True):
            judge = RightLabels(codec, own, corpus.sentences)
            found[codec.tier.name] = judge.evaluate(column)
        return found

    def score(
        self,
        sentences: Sequence[Any],
        labels: Sequence[Any] | None = None,
        *,
        tags: Sequence[Any] | None = None,
    ) -> float:
        """Return strict F1 of chunks, or accuracy if labels are no chunks.

        The joint task is scored by the F1 of its chunks; `evaluate` has the rest.

        Parameters
        ----------
        sentences : list of sentences
            As in `fit`.
        labels : list of lists, optional
            The right labels; by default the last column (the last two).
        tags : list of lists, optional
            The old name of `labels`.

        Returns
        -------
        float
            The score.
        """
        labels = renamed_keyword(labels, tags, old="tags", new="labels")
        return list(self.evaluate(sentences, labels).values())[-1].score

    def predict_nbest(
        self, sentences: Sequence[Any], n: int = 5
    ) -> list[list[tuple[list[Any], float]]]:
        """Return the best label sequences of each sentence with their scores.

        Parameters
        ----------
        sentences : list of sentences
            As in `predict`.
        n : int, default=5
            How many; fewer where a sentence has fewer.

        Returns
        -------
        list of lists of (labels, score)
            Scores are log probabilities, sums of them for two directions, or sums of
            raw scores.
        """
        n = check_count(n, "n", low=1, high=MOST_LISTS)
        model = self._text_model()
        found: list[list[tuple[list[Any], float]]] = []
        for part in self._parts(sentences):
            # An n of 1 asks for a score too, which greedy search alone does not give
            labels, totals = model.lists(part, self._search(), max(n, 2))
            ranks = [label_lists(row, model.codecs, part.sentences) for row in labels]
            # Of a line of -DOCSTART-, all are made alike
            most = np.where(part.documents, 1, n).tolist()
            for s, scores in enumerate(totals.tolist()):
                pairs = zip([rank[s] for rank in ranks], scores, strict=True)
                found.append([p for p in pairs if p[1] > -np.inf][: most[s]])
        return found

    def predict_matrix(self, X: Features, lengths: object) -> npt.NDArray[Any]:
        """Return the labels of sequences of feature vectors, one per row of X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, columns)
            The features of all decisions; sequences one behind the other.
        lengths : array of int
            Lengths of the sequences.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        model = self._learned_model()
        if not isinstance(model, MatrixModel):
            raise ValueError("the tagger learned from text: call predict")
        return model.predict(X, lengths, self._search())

    def score_matrix(self, X: Features, y: ArrayLike, lengths: object) -> float:
        """Return the accuracy on sequences of feature vectors.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, columns)
            The features of all decisions; sequences one behind the other.
        y : array of shape (n,)
            The right labels.
        lengths : array of int
            Lengths of the sequences.

        Returns
        -------
        float
            Share of right labels; 1 where there is none.
        """
        found = self.predict_matrix(X, lengths)
        right = matrix_labels(y, len(found))
        return float(np.mean(found == right)) if len(found) else 1.0

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        """Return the header and the arrays of a file."""
        model, options = self._learned_model(), self._options
        first = getattr(model, "first", None)
        sides = [*model.sides, *([first[1]] if first else [])]
        arrays: Arrays = {}
        for number, side in enumerate(sides):
            arrays |= sparse(f"side{number}", side.policy.weights)
        header = {
            "streams": [asdict(codec.tier) for codec in model.codecs],
            "tables": [[template.text for template in t] for t in options.tables],
            "options": {name: getattr(options, name) for name in SAVED},
            "right_weight": options.defaults.right_weight,
            "recipe": asdict(options.recipe),
            "reverse": [side.reverse for side in model.sides],
            "first_pass": first is not None,
            "n_columns": model.n_columns if isinstance(model, MatrixModel) else None,
        }
        return header, arrays

    def _unpack(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Restore the learned model from what `_pack` returned."""
        tiers = [
            Tier(s["name"], tuple(s["labels"]), s["spans"]) for s in header["streams"]
        ]
        names = tuple(tier.name for tier in tiers)
        defaults = replace(
            DEFAULTS[self.task],
            tiers=names,
            spans=tuple(tier.spans for tier in tiers),
            right_weight=header["right_weight"],
        )
        options = self._options = TaggerOptions(
            defaults,
            Recipe(**header["recipe"]),
            tuple(read_templates(table, names) for table in header["tables"]),
            tuple(header["reverse"]),
            **header["options"],
        )
        codecs = tuple(Codec(tier) for tier in tiers)
        base = header["n_columns"] or 0
        tables, plain = options.tables, without_memory(options.tables)
        if header["n_columns"] is None and not header["first_pass"]:
            tables = plain

        def side(
            number: int, reverse: bool, own: tuple[tuple[Template, ...], ...]
        ) -> TaggerSide:
            how = {"hash_bits": options.hash_bits, "base": base}
            choices = make_choices(tiers, own, **how, value=options.history_value)
            weights = dense(f"side{number}", arrays, int(choices.starts[-1]))
            return TaggerSide(reverse, TaggerPolicy(choices, weights))

        sides = tuple(side(n, r, tables) for n, r in enumerate(header["reverse"]))
        if header["n_columns"] is not None:
            self._model = MatrixModel(codecs, sides, options.tables[0], base)
            return
        extractor = Extractor(tables, options.hash_bits)
        if not header["first_pass"]:
            self._model = TextModel(codecs, extractor, sides)
            return
        first = Extractor(plain, options.hash_bits), side(len(sides), False, plain)
        self._model = TextModel(codecs, extractor, sides, options.memory, first)
