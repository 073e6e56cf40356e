"""Summaries within a budget, from words of the sources."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from argmetric._input.arguments import (
    check_choice,
    check_count,
    check_number,
    shown,
)
from argmetric._results.archives import Arrays
from argmetric._text.learning import SavedEstimator
from argmetric._text.summaries.cluster import read_clusters
from argmetric._text.summaries.growth import (
    Growth,
    SummaryOptions,
    SummaryPolicy,
    best_path,
    grow,
    numbers_of,
    read_budget,
    refuse_tight,
    refuse_unknown,
    take_whole,
)
from argmetric._text.summaries.material import (
    Budget,
    Mode,
    make_material,
)
from argmetric._text.summaries.pieces import Parse
from argmetric._text.summaries.policies import (
    ByFrequency,
    ByReferences,
    ByWeights,
    LearnedPolicy,
    SummaryIteration,
    learn_searn,
    make_lesson,
    pack_policy,
    unpack_policy,
)
from argmetric._text.summaries.rouge import (
    SummaryScores,
    read_references,
    score_summaries,
)
from argmetric._text.summaries.summary import Summary
from argmetric._text.summaries.weights import learn_weights, share_of_references

PolicyName = Literal["searn", "weights", "frequency"]

_USUAL_WORDS = 60
_SMALL = 5_000  # words of one cluster that need not wait for compiled kernels
_MOST_BEAM = 1024
_MOST_ITERATIONS = 1000


class Summarizer(SavedEstimator):
    """Summaries of documents on one subject, within a hard budget.

    A summary is made of words of the sources in their order: whole sentences, or parts
    of them that hang together in their parses. It grows step by step: each adds the
    sentence, or the span of at most five words with all that it needs, that is expected
    to bring the most for its length. Without `fit` that is judged by how many documents
    have the same pairs of words; with it, by what the user's own references took up.

    Parameters
    ----------
    mode : {"sentences", "compressed"}, default="sentences"
        Whole sentences, or parts of them. "compressed" needs trees: a `parser`, or
        documents given as lists of `Tree`. A word is kept with its head in the tree;
        negations, determiners, comparatives, subjects, complements of verbs and
        objects of prepositions are kept with theirs.
    policy : {"searn", "weights", "frequency"}, optional
        What chooses. "weights": pairs of words by the recall that they are expected to
        bring, learned from references. "searn": a function of these and of the summary
        so far, learned on the states that policies come to. "frequency": pairs that
        many documents have; nothing is learned. By default "weights" after `fit`, and
        "frequency" before it.
    parser : Parser or str, optional
        A fitted parser that tags its own words, or the path of one.
    min_words : int, default=1
        No sentence of a summary has fewer words.
    redundancy : float, default=1.0
        The largest share of the words of a new sentence, words of grammar aside, that
        the summary may have already.
    iterations : int, default=3
        Of SEARN.
    oracle_beam : int, default=1
        Width of the beam of the initial policy of SEARN, which knows the references.
    verbose : int, default=0
        1 writes a line for each iteration to standard error.

    Attributes
    ----------
    policy_ : str
        What chooses now.
    words_ : int
        The budget that was learned for.
    history_ : list of dict
        For SEARN: iteration (0 is the initial policy), loss (1 - ROUGE-2 recall,
        averaged over references and clusters), regret (mean cost of a choice), steps
        (choices in a summary) on the clusters learned from.
    interrupted_ : bool
        Whether an interrupt ended the learning.

    Examples
    --------
    >>> from argmetric.search import Summarizer
    >>> cluster = [
    ...     "The room was clean. We ate at a bar nearby.",
    ...     "Parking is hard to find. The room was clean and quiet.",
    ... ]
    >>> [summary] = Summarizer().predict([cluster], words=6)
    >>> summary.text
    'The room was clean.'
    """

    _kind = "summarizer"

    def __init__(
        self,
        mode: Mode = "sentences",
        *,
        policy: PolicyName | None = None,
        parser: Any = None,
        min_words: int = 1,
        redundancy: float = 1.0,
        iterations: int = 3,
        oracle_beam: int = 1,
        verbose: int = 0,
    ) -> None:
        self.mode = mode
        self.policy = policy
        self.parser = parser
        self.min_words = min_words
        self.redundancy = redundancy
        self.iterations = iterations
        self.oracle_beam = oracle_beam
        self.verbose = verbose

    def __sklearn_clone__(self) -> Summarizer:
        return Summarizer(**self.get_params())  # with a parser that has learned

    def _options(self) -> SummaryOptions:
        """The arguments, checked and as Python's own."""
        check_choice(self.mode, "mode", get_args(Mode))
        if self.policy is not None:
            check_choice(self.policy, "policy", get_args(PolicyName))
        return SummaryOptions(
            check_count(self.min_words, "min_words", low=1),
            check_number(self.redundancy, "redundancy", low=0.0, high=1.0),
            check_count(self.iterations, "iterations", low=1, high=_MOST_ITERATIONS),
            check_count(self.oracle_beam, "oracle_beam", low=1, high=_MOST_BEAM),
            check_count(self.verbose, "verbose"),
        )

    # -- learning ---------------------------------------------------------------------

    def fit(self, clusters: Any, references: Any, *, words: int = 60) -> Summarizer:
        """Learn what references take up.

        Parameters
        ----------
        clusters : list of clusters
            Each a list of documents: text, lists of sentences, or lists of `Tree`.
        references : list of lists of str
            Summaries by people, at least one for each cluster.
        words : int, default=60
            The budget of the summaries to learn.

        Returns
        -------
        Summarizer
            Itself. An interrupt ends the learning of "searn" with the policy so far
            and a warning.
        """
        options = self._options()
        name = self.policy or "weights"
        if name == "frequency":
            raise ValueError("policy='frequency' learns nothing: call predict as it is")
        limit = check_count(words, "words", low=1)
        known = read_clusters(clusters)
        if not known:
            raise ValueError("clusters is empty: there is nothing to learn from")
        texts = read_references(references, [one.name for one in known])
        parse = self._parse()
        materials = [
            make_material(cluster, self.mode, parse, own)
            for cluster, own in zip(known, texts, strict=True)
        ]
        shares = [share_of_references(material) for material in materials]
        weights = learn_weights(materials, shares)
        history: list[dict[str, Any]] = []
        interrupted = False
        policy: LearnedPolicy = ByWeights(weights)
        if name == "searn":
            lessons = [
                make_lesson(material, own, weights)
                for material, own in zip(materials, shares, strict=True)
            ]
            learned = learn_searn(
                lessons,
                weights,
                partial(options.start, budget=Budget(limit, "words")),
                iterations=options.iterations,
                beam=options.oracle_beam,
            )
            try:
                for row, found in learned:
                    policy = found
                    history.append(asdict(row))
                    if options.verbose:
                        _tell(row)
            except KeyboardInterrupt:
                if not history:
                    raise
                interrupted = True
                warnings.warn(
                    "learning was interrupted: the policy so far is kept",
                    UserWarning,
                    stacklevel=2,
                )
        self.words_ = limit
        self.history_ = history
        self.interrupted_ = interrupted
        self._learned: tuple[str, LearnedPolicy] = name, policy
        return self

    def _parse(self) -> Parse | None:
        if self.mode != "compressed" or self.parser is None:
            return None
        if isinstance(self.parser, str | os.PathLike):
            from argmetric._text.parser import Parser

            return Parser.load(self.parser).parse
        if not hasattr(self.parser, "parse"):
            raise TypeError(
                f"parser must be a fitted Parser or a path, not {shown(self.parser)}"
            )
        parse: Parse = self.parser.parse
        return parse

    def _summary(self, growth: Growth, policy: str) -> Summary:
        return Summary(
            growth.material.cluster,
            growth.step_of_word,
            np.array(growth.gains),
            mode=self.mode,
            policy=policy,
            limit=growth.budget.limit,
            unit=growth.budget.unit,
            size=growth.size,
        )

    @property
    def policy_(self) -> str:
        """What chooses now."""
        return self._present()[0]

    def _usual(self) -> int:
        return getattr(self, "words_", _USUAL_WORDS)

    def _present(self) -> tuple[str, SummaryPolicy]:
        if self.policy == "frequency":
            return "frequency", ByFrequency()
        if hasattr(self, "_learned") and self.policy in (None, self._learned[0]):
            return self._learned
        if self.policy is None:
            return "frequency", ByFrequency()
        raise ValueError(
            f"policy={self.policy!r} has learned nothing yet: call fit with references "
            "first, or use policy='frequency'"
        )

    # -- summaries --------------------------------------------------------------------

    def predict(
        self,
        clusters: Any,
        *,
        words: int | None = None,
        characters: int | None = None,
        budget: int | None = None,
        count: Callable[[str], int] | None = None,
        must: Any = None,
        never: Any = None,
    ) -> list[Summary]:
        """Summaries of clusters.

        Parameters
        ----------
        clusters : list of clusters
            Each a list of documents: text, lists of sentences, or lists of `Tree`.
        words : int, optional
            At most so many white-space words; by default those of `fit`, or 60.
        characters : int, optional
            At most so many characters, in place of words.
        budget : int, optional
            At most so much of what `count` counts, in place of words.
        count : callable, optional
            The user's own count of a text, such as the number of tokens of a model.
        must : list, optional
            For each cluster a list of (document, sentence), counted from 0, that are
            taken first and whole.
        never : list, optional
            For each cluster a list of (document, sentence) of which nothing is taken.

        Returns
        -------
        list of Summary
        """
        options = self._options()
        name, policy = self._present()
        limit = read_budget(words, characters, budget, count, self._usual())
        known = read_clusters(clusters)
        wanted = numbers_of(must, known, "must")
        unwanted = numbers_of(never, known, "never")
        parse = self._parse()
        found = []
        for cluster, first, out in zip(known, wanted, unwanted, strict=True):
            material = make_material(cluster, self.mode, parse)
            refuse_unknown(material)
            chooser = policy.chooser(material)
            is_open = ~np.isin(material.pieces.sentences, out)
            small = len(known) == 1 and material.needs is None
            growth = options.start(
                material,
                chooser.steps,
                limit,
                is_open,
                small=small and cluster.n_words <= _SMALL,
            )
            for sentence in first:
                if sentence in out:
                    raise ValueError(
                        f"{cluster.name}: a sentence is in both must and never"
                    )
                take_whole(growth, sentence)
            grow(growth, chooser)
            refuse_tight(growth)
            found.append(self._summary(growth, name))
        return found

    def oracle(
        self, clusters: Any, references: Any, *, words: int | None = None
    ) -> list[Summary]:
        """Summaries by a policy that knows the references: what could be reached.

        Parameters
        ----------
        clusters : list of clusters
            As in `predict`.
        references : list of lists of str
            As in `fit`.
        words : int, optional
            As in `predict`.

        Returns
        -------
        list of Summary
            Found by a beam of `oracle_beam` summaries. Gains are those in ROUGE-2
            recall, averaged over references.
        """
        options = self._options()
        known = read_clusters(clusters)
        texts = read_references(references, [one.name for one in known])
        limit = read_budget(words, None, None, None, self._usual())
        parse = self._parse()
        found = []
        for cluster, own in zip(known, texts, strict=True):
            material = make_material(cluster, self.mode, parse, own)
            steps = ByReferences().chooser(material).steps
            growth = options.start(material, steps, limit)
            path = best_path(options.start(material, steps, limit), options.oracle_beam)
            for piece in path:
                growth.measure()
                growth.take(piece, float(growth.values[piece, 0]))
            refuse_tight(growth)
            found.append(self._summary(growth, "oracle"))
        return found

    def evaluate(
        self, clusters: Any, references: Any, *, words: int | None = None
    ) -> SummaryScores:
        """ROUGE recall of the summaries that `predict` makes.

        Parameters
        ----------
        clusters : list of clusters
            As in `predict`.
        references : list of lists of str
            As in `fit`.
        words : int, optional
            As in `predict`.
        """
        known = read_clusters(clusters)
        texts = read_references(references, [one.name for one in known])
        return score_summaries(self.predict(known, words=words), texts)

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        if not hasattr(self, "_learned"):
            raise ValueError("the summarizer has learned nothing yet: call fit first")
        name, policy = self._learned
        arrays = pack_policy(policy)
        if self.parser is not None:
            arrays["parser"] = np.frombuffer(_parser_file(self.parser), dtype=np.uint8)
        header = {
            "arguments": self.get_params() | {"parser": None},
            "policy": name,
            "words": self.words_,
            "n_clusters": policy.weights.rates.n_clusters,
        }
        return header, arrays

    def _unpack(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        kind = header["policy"]
        self.words_ = header["words"]
        self._learned = kind, unpack_policy(kind, header["n_clusters"], arrays)
        if "parser" in arrays:
            self.parser = _parser(arrays["parser"].tobytes())


def _parser_file(parser: Any) -> bytes:
    if isinstance(parser, str | os.PathLike):
        return Path(parser).read_bytes()
    if not hasattr(parser, "save"):
        raise ValueError(
            "the parser cannot be saved: pass a Parser, or set parser=None before save"
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "parser"
        parser.save(file)
        return file.read_bytes()


def _parser(data: bytes) -> Any:
    from argmetric._text.parser import Parser

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "parser"
        file.write_bytes(data)
        return Parser.load(file)


def _tell(row: SummaryIteration) -> None:
    what = f"iteration {row.iteration}" if row.iteration else "initial"
    sys.stderr.write(
        f"{what} policy: loss {row.loss:.4f}, regret {row.regret:.4f}, "
        f"{row.steps:.1f} steps\n"
    )
