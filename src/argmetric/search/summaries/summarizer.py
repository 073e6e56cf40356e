"""Summarise documents within a budget, with words of the sources."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from argmetric._ground.arguments import (
    check_choice,
    check_count,
    check_number,
    check_verbose,
)
from argmetric._ground.saving import Arrays
from argmetric.search.learning import SavedEstimator
from argmetric.search.summaries.cluster import read_clusters
from argmetric.search.summaries.growth import (
    Growth,
    SummaryOptions,
    SummaryPolicy,
    best_path,
    grow,
    numbers_of,
    read_budget,
    refuse_tight,
    take_whole,
)
from argmetric.search.summaries.learned import (
    RENAMED,
    LearnedPolicy,
    learn_policies,
    n_clusters_of,
    pack_policy,
    parse_of,
    present_name,
    unpack_policy,
)
from argmetric.search.summaries.material import (
    Budget,
    Mode,
    make_material,
    read_queries,
)
from argmetric.search.summaries.pieces import Parse
from argmetric.search.summaries.policies import ByFrequency, ByReferences, ByWeights
from argmetric.search.summaries.rouge import (
    SummaryScores,
    read_references,
    score_summaries,
)
from argmetric.search.summaries.summary import Summary
from argmetric.search.summaries.vines import Completions
from argmetric.search.summaries.weights import learn_weights, share_of_references

PolicyName = Literal["frequency", "weights", "dagger", "vine"]

_USUAL_WORDS = 60
_MOST_BEAM = 1024
_PUBLISHED_BEAM = 20  # of section 6.2.3
_MOST_ITERATIONS = 1000


@dataclass(eq=False, repr=False)
class Summarizer(SavedEstimator):
    """Summarise documents on one subject, within a word limit.

    A summary consists of words of the documents in their order: whole sentences, or
    parts of sentences. Each step adds the sentence, or the span of at most five words,
    with the highest expected gain for its length. Without `fit` the gain is the number
    of documents that share a pair of words; after `fit` it is learned from your
    reference summaries.

    Parameters
    ----------
    mode : {"sentences", "compressed"}, default="sentences"
        Whole sentences, or parts of them. "compressed" needs trees: a `parser`, or
        documents given as lists of `Tree`. A word is kept only with its head. A head is
        kept only with its negations, determiners, comparatives, subjects, verb
        complements and prepositional objects.
    policy : {"frequency", "weights", "dagger", "vine"}, optional
        How the gain is estimated. "frequency": pairs of words that many documents
        share; nothing is learned. "weights": the expected recall of each pair of words,
        learned from references. "dagger": also a function of the summary so far,
        learned on the states of all policies. "vine": SEARN as Daumé, Langford and
        Marcu (2009) published it. When compressing, it adds the root of a sentence or a
        child of a word that is in (vine growth), and may drop negations. The default is
        "weights" after `fit`, and "frequency" before it.
    parser : object with a method ``parse``, optional
        ``parse(sentences)`` takes lists of words and returns a :class:`Tree` for each.
        It is not saved with the summarizer: set it again after `load`.
    min_words : int, default=1
        The least number of words of a sentence in the summary.
    redundancy : float, default=1.0
        The largest share of a new sentence's content words that the summary may already
        have.
    iterations : int, default=3
        Number of iterations of "dagger" and "vine".
    oracle_beam : int, optional
        Width of the beam of the initial policy, which knows the references. For "vine"
        it is also the width of the search for the best completion. By default 20 for
        "vine", as published, and 1 otherwise.
    beta : float, default=0.5
        For "vine": the share of decisions that a new policy gets in the mixture.
    random_state : int, default=0
        For "vine": the seed of the draws from the mixture and of states to learn from.
    verbose : int, default=0
        1 writes a line for each iteration to standard error.

    Attributes
    ----------
    policy_ : str
        The policy in use.
    words_ : int
        The word limit of the training.
    history_ : list of dict
        For "dagger" and "vine": iteration (0 is the initial policy), loss (1 - ROUGE-2
        recall, averaged over references and clusters), regret (mean cost of a choice),
        steps (choices in a summary) on the clusters learned from. The loss of "vine" is
        that of the mixture, in the last row without the initial policy.
    interrupted_ : bool
        Whether Ctrl-C ended the training.

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

    mode: Mode = "sentences"
    _: KW_ONLY
    policy: PolicyName | None = None
    parser: object = None
    min_words: int = 1
    redundancy: float = 1.0
    iterations: int = 3
    oracle_beam: int | None = None
    beta: float = 0.5
    random_state: int = 0
    verbose: int = 0

    def __sklearn_clone__(self) -> Summarizer:
        return Summarizer(**self.get_params())  # with a parser that has learned

    def _options(self) -> SummaryOptions:
        """Return the checked arguments as plain Python values."""
        check_choice(self.mode, "mode", get_args(Mode))
        name = present_name(self.policy)
        if name is not None:
            check_choice(name, "policy", get_args(PolicyName))
        beam = self.oracle_beam
        if beam is None:
            beam = _PUBLISHED_BEAM if name == "vine" else 1
        beta = check_number(self.beta, "beta", low=0.0, high=1.0)
        if beta == 0.0:
            raise ValueError("beta must be above 0: a new policy needs a share")
        least = check_count(self.min_words, "min_words", low=1)
        learned = self._learned[0] if hasattr(self, "_learned") else None
        is_vine = self.mode == "compressed" and (self.policy or learned) == "vine"
        if least > 1 and is_vine:
            raise ValueError(
                "min_words is not for vine growth, which adds one word at a time"
            )
        return SummaryOptions(
            least,
            check_number(self.redundancy, "redundancy", low=0.0, high=1.0),
            check_count(self.iterations, "iterations", low=1, high=_MOST_ITERATIONS),
            check_count(beam, "oracle_beam", low=1, high=_MOST_BEAM),
            beta,
            check_count(self.random_state, "random_state", low=0),
            check_verbose(self.verbose),
        )

    # -- learning ---------------------------------------------------------------------

    def fit(
        self,
        clusters: object,
        references: object,
        *,
        words: int = 60,
        queries: object = None,
    ) -> Summarizer:
        """Learn from documents and reference summaries.

        Parameters
        ----------
        clusters : list of clusters
            Each a list of documents: text, lists of sentences, or lists of `Tree`.
        references : list of lists of str
            Summaries that people wrote, at least one for each cluster.
        words : int, default=60
            The budget of the summaries to learn.
        queries : list of str, optional
            The topic of each summary. A model trained with queries needs them in
            `predict`.

        Returns
        -------
        Summarizer
            Itself. Ctrl-C ends the training of "dagger" and "vine", keeps the policy so
            far and warns.
        """
        options = self._options()
        name = RENAMED.get(self.policy or "", self.policy) or "weights"
        if name == "frequency":
            raise ValueError("policy='frequency' learns nothing: call predict as it is")
        limit = check_count(words, "words", low=1)
        known = read_clusters(clusters)
        if not known:
            raise ValueError("clusters is empty: there is nothing to learn from")
        texts = read_references(references, [one.name for one in known])
        asked = read_queries(queries, [one.name for one in known])
        parse = self._parse()
        materials = [
            make_material(cluster, self.mode, parse, own, vine=name == "vine", query=q)
            for cluster, own, q in zip(known, texts, asked, strict=True)
        ]
        shares = [share_of_references(material) for material in materials]
        history: list[dict[str, Any]] = []
        interrupted = False
        weights = learn_weights(materials, shares)
        policy: LearnedPolicy = ByWeights(weights)
        budget = Budget(limit, "words")
        data = materials, shares
        learned = learn_policies(name, *data, weights, budget, options=options)
        try:
            for row, found in learned:
                policy = found
                history.append(asdict(row))
                if options.verbose:
                    sys.stderr.write(f"{row}\n")
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
        self._asks = queries is not None
        return self

    def _parse(self) -> Parse | None:
        return None if self.mode != "compressed" else parse_of(self.parser)

    def _summary(
        self, growth: Growth, policy: str, query: str | None = None
    ) -> Summary:
        """Return the summary that has grown, as a result."""
        return Summary(
            growth.material.cluster,
            growth.step_of_word,
            np.array(growth.gains),
            mode=self.mode,
            policy=policy,
            limit=growth.budget.limit,
            unit=growth.budget.unit,
            size=growth.size,
            query=query,
        )

    @property
    def policy_(self) -> str:
        """Return the policy in use."""
        return self._present()[0]

    def _present(self) -> tuple[str, SummaryPolicy]:
        """Return the name of the policy that decides, and the policy."""
        if self.policy == "frequency":
            return "frequency", ByFrequency()
        name = RENAMED.get(self.policy or "", self.policy)
        if hasattr(self, "_learned") and name in (None, self._learned[0]):
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
        clusters: object,
        *,
        words: int | None = None,
        characters: int | None = None,
        budget: int | None = None,
        count: Callable[[str], int] | None = None,
        must: object = None,
        never: object = None,
        queries: Sequence[str] | None = None,
    ) -> list[Summary]:
        """Return summaries of clusters.

        Parameters
        ----------
        clusters : list of clusters
            Each a list of documents: text, lists of sentences, or lists of `Tree`.
        words : int, optional
            The largest number of words; by default that of `fit`, or 60.
        characters : int, optional
            The largest number of characters, instead of words.
        budget : int, optional
            The largest value of `count`, instead of words.
        count : callable, optional
            Your own function that measures a text, such as its number of tokens.
        must : list, optional
            For each cluster a list of (document, sentence), counted from 0, that are
            taken first and whole.
        never : list, optional
            For each cluster a list of (document, sentence) to leave out.
        queries : list of str, optional
            For each cluster the topic of its summary, in words of the documents.
            "rooms" finds "room", but no synonyms. A trained model must have been
            trained with queries.

        Returns
        -------
        list of Summary
            One for each cluster.
        """
        options = self._options()
        name, policy = self._present()
        limit = read_budget(
            words, characters, budget, count, getattr(self, "words_", _USUAL_WORDS)
        )
        known = read_clusters(clusters)
        wanted = numbers_of(must, known, "must")
        unwanted = numbers_of(never, known, "never")
        asked = read_queries(queries, [one.name for one in known])
        # What learned without queries knows nothing of them, and the reverse
        if name != "frequency" and (queries is not None) != self._asks:
            how = "with queries: pass queries"
            if queries is not None:
                how = "without queries: pass queries to fit, too"
            raise ValueError(f"policy={name!r} has learned {how}")
        parse = self._parse()
        found = []
        rows = zip(known, wanted, unwanted, asked, strict=True)
        for i, (cluster, first, out, query) in enumerate(rows):
            material = make_material(
                cluster, self.mode, parse, vine=name == "vine", query=query
            )
            if not material.grams.types:
                raise ValueError(
                    f"{cluster.name} has no letter of a-z and no digit: words are "
                    "compared as ROUGE does, which knows no others"
                )
            chooser = policy.chooser(material)
            is_open = ~np.isin(material.pieces.sentences, out)
            growth = options.start(material, chooser.steps, limit, is_open)
            for sentence in first:
                if sentence in out:
                    raise ValueError(
                        f"{cluster.name}: a sentence is in both must and never"
                    )
                take_whole(growth, sentence)
            grow(growth, chooser)
            refuse_tight(growth)
            text = None if queries is None else list(queries)[i]
            found.append(self._summary(growth, name, text))
        return found

    def oracle(
        self, clusters: object, references: object, *, words: int | None = None
    ) -> list[Summary]:
        """Return summaries by a policy that knows the references, to bound recall.

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
            Found by a beam of `oracle_beam` summaries; of the vines that can grow for
            policy="vine". Gains are those in ROUGE-2
            recall, averaged over references.
        """
        options = self._options()
        known = read_clusters(clusters)
        texts = read_references(references, [one.name for one in known])
        limit = read_budget(
            words, None, None, None, getattr(self, "words_", _USUAL_WORDS)
        )
        parse = self._parse()
        found = []
        for cluster, own in zip(known, texts, strict=True):
            vine = self.policy == "vine"
            material = make_material(cluster, self.mode, parse, own, vine=vine)
            steps = ByReferences().chooser(material).steps
            growth = options.start(material, steps, limit)
            if vine:
                nothing = np.zeros(len(material.pieces), dtype=np.uint8)
                completions = Completions(material, limit, options.oracle_beam)
                path = completions.best(nothing, limit.room)[1]
            else:
                other = options.start(material, steps, limit)
                path = best_path(other, options.oracle_beam)
            for piece in path:
                growth.measure()
                growth.take(piece, float(growth.values[piece, 0]))
            refuse_tight(growth)
            found.append(self._summary(growth, "oracle"))
        return found

    def evaluate(
        self,
        clusters: object,
        references: object,
        *,
        words: int | None = None,
        queries: Sequence[str] | None = None,
    ) -> SummaryScores:
        """Return ROUGE recall of the summaries of `predict`.

        Parameters
        ----------
        clusters : list of clusters
            As in `predict`.
        references : list of lists of str
            As in `fit`.
        words : int, optional
            As in `predict`.
        queries : list of str, optional
            As in `predict`.

        Returns
        -------
        SummaryScores
            Means, and the recall of each cluster.
        """
        known = read_clusters(clusters)
        texts = read_references(references, [one.name for one in known])
        found = self.predict(known, words=words, queries=queries)
        return score_summaries(found, texts)

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        """Return the header and the arrays of a file."""
        if not hasattr(self, "_learned"):
            raise ValueError("the summarizer has learned nothing yet: call fit first")
        name, policy = self._learned
        arrays = pack_policy(policy)
        header = {
            "arguments": self.get_params() | {"parser": None},
            "policy": name,
            "words": self.words_,
            "n_clusters": n_clusters_of(policy),
            "queries": self._asks,
        }
        return header, arrays

    def _unpack(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Take the state from the header and the arrays of a file."""
        kind = RENAMED.get(header["policy"], header["policy"])
        if self.policy in RENAMED:
            self.policy = kind
        self.words_ = header["words"]
        self._asks = bool(header.get("queries", False))
        seed = self.random_state
        self._learned = kind, unpack_policy(kind, header["n_clusters"], arrays, seed)
