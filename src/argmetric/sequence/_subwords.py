"""Turn the outputs of a network for sub-words into label probabilities of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from argmetric._ground.types import Floats, Integers
from argmetric._ground.validation import check_choice, to_floats

Subwords = Literal["first", "mean"]
SUBWORDS: tuple[Subwords, ...] = ("first", "mean")


@dataclass(frozen=True, eq=False)
class Words:
    """Words of some sentences, concatenated."""

    p: Floats  # (words, labels): label probabilities
    indptr: Integers  # where the words of each sentence begin, and their number
    # first, last: the first and the last sub-word of every word, counted over all
    # sentences
    first: Integers
    last: Integers


def read_words(
    p: object,
    n_labels: int,
    *,
    logits: bool = False,
    word_ids: object = None,
    mask: object = None,
    subwords: Subwords = "first",
    single: bool = False,
) -> Words:
    """Return label probabilities of words, from p of shape (batch, tokens, labels).

    Parameters
    ----------
    word_ids : array-like of shape (batch, tokens), optional
        Word of each token; None for tokens that belong to no word.
    mask : array-like of shape (batch, tokens), optional
        Whether a token counts.
    single : bool
        Whether the batch is one sentence, so that messages name rows.
    """
    check_choice(subwords, "subwords", SUBWORDS)
    values = to_floats(on_host(p), "p")
    if values.ndim != 3 or values.shape[2] != n_labels:
        raise ValueError(
            f"p has shape {values.shape}, not (batch, tokens, {n_labels}), as there "
            f"are {n_labels} labels"
        )
    n, length = values.shape[:2]
    kept = np.ones((n, length), dtype=bool)
    if mask is not None:
        kept &= _per_token(mask, "mask", (n, length)) > 0
    word = np.broadcast_to(np.arange(float(length)), (n, length))
    if word_ids is not None:
        word = _per_token(word_ids, "word_ids", (n, length))
        kept &= word >= 0  # which nan is not
    token = np.flatnonzero(kept)
    sentence = token // max(length, 1)
    number = word.ravel()[token]
    new = np.ones(token.size, dtype=bool)
    new[1:] = (sentence[1:] != sentence[:-1]) | (number[1:] != number[:-1])
    back = np.flatnonzero(
        (number[1:] < number[:-1]) & (sentence[1:] == sentence[:-1]) & new[1:]
    )
    if back.size:
        i = int(back[0]) + 1
        raise ValueError(
            f"word_ids falls from {number[i - 1]:g} to {number[i]:g} in sentence "
            f"{sentence[i]}: words must be in order, one text a sentence"
        )
    at = np.flatnonzero(new)
    rows = values.reshape(-1, n_labels)[token]
    _check_rows(rows, token, length, logits=logits, single=single)
    if logits:
        rows = np.exp(rows - rows.max(axis=1, keepdims=True))
        rows /= rows.sum(axis=1, keepdims=True)
    if subwords == "mean" and at.size:
        sizes = np.diff(np.append(at, token.size))
        of_words = np.add.reduceat(rows, at, axis=0) / sizes[:, None]
    else:
        of_words = rows[at]
    last = token[np.append(at[1:], token.size) - 1] if at.size else token
    counts = np.bincount(sentence[at], minlength=n)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return Words(of_words, indptr, token[at], last)


def _check_rows(
    rows: Floats, token: Integers, length: int, *, logits: bool, single: bool
) -> None:
    """Refuse rows that are no probabilities, or not finite.

    Parameters
    ----------
    rows : ndarray of shape (n_tokens, n_labels)
    token : ndarray of shape (n_tokens,)
        Place of the token among all of the batch.
    length : int
        Tokens of a sentence of the batch.
    logits, single : bool
        As for `read_words`.
    """
    wrong = ~np.isfinite(rows).all(axis=1)
    if not logits:
        wrong |= (np.abs(rows.sum(axis=1) - 1.0) > 1e-4) | (rows < 0.0).any(axis=1)
    if not wrong.any():
        return
    i = int(np.argmax(wrong))
    sentence, row = divmod(int(token[i]), length)
    place = f"row {row}" if single else f"sentence {sentence}, token {row}"
    hint = ": pass logits=True if these are logits"
    if not np.isfinite(rows[i]).all():
        raise ValueError(f"p is not finite at {place}")
    if (rows[i] < 0.0).any():
        raise ValueError(f"p is negative at {place}{hint}")
    raise ValueError(f"p sums to {rows[i].sum():g} at {place}, not to 1{hint}")


def on_host(values: object) -> Any:
    """Return a tensor as an array of 64-bit floats; anything else unchanged."""
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        return values.detach().cpu().double().numpy()
    return values


def _per_token(values: object, name: str, shape: tuple[int, int]) -> Floats:
    """Return a number for every token, nan for None."""
    array = to_floats(on_host(values), name)
    if array.shape != shape:
        raise ValueError(
            f"{name} has shape {array.shape}, but p has {shape[0]} sentences of "
            f"{shape[1]} tokens"
        )
    return array


def label_names(labels: Any) -> Sequence[str]:
    """Return names of labels in the order of columns, also from a dict."""
    if not isinstance(labels, dict):
        return labels  # type: ignore[no-any-return]
    try:
        by_number = {int(number): name for number, name in labels.items()}
    except (TypeError, ValueError):
        raise ValueError(
            "labels must map the numbers of columns to names, as id2label does"
        ) from None
    if sorted(by_number) != list(range(len(by_number))):
        raise ValueError(
            f"labels must name the columns 0 to {len(by_number) - 1}, not "
            f"{sorted(by_number)}"
        )
    return [by_number[number] for number in range(len(by_number))]
