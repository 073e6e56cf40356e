"""A small tagger of named entities: characters, words and a BiLSTM of two layers.

It needs torch and numpy alone, so that it can be trained where the package's other
requirements are not installed. Nothing is chosen on the test sets: the number of epochs
is fixed and the learning rate falls to zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

IGNORED = -100
PIECE = 4  # characters of a sub-word
LONGEST = 150  # tokens of a training sentence; the rest of it is cut off
EPOCHS = 20
BATCH = 40
RATE = 2e-3
WIDTHS = {"word": 100, "character": 30, "shapes": 60, "hidden": 200}

Sentences = list[tuple[list[str], list[str]]]  # words and labels


def read_conll(path: Path, most: int | None = None) -> Sentences:
    """Words and labels of a file with a token on every line."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")[:most]
    rows = [[line.split() for line in block.splitlines()] for block in blocks]
    return [([r[0] for r in one], [r[-1] for r in one]) for one in rows if one]


def in_pieces(words: list[str]) -> tuple[list[str], list[int]]:
    """Sub-words of at most four characters, and the word of each."""
    pieces, numbers = [], []
    for number, word in enumerate(words):
        for at in range(0, len(word), PIECE):
            pieces.append(("##" if at else "") + word[at : at + PIECE])
            numbers.append(number)
    return pieces, numbers


class Units:
    """Words (or pieces) and characters by number; 0 is nothing, 1 is unknown."""

    def __init__(self, sentences: list[list[str]]) -> None:
        counts = Counter(unit.lower() for one in sentences for unit in one)
        often = sorted(unit for unit, count in counts.items() if count > 1)
        self.words = {unit: at for at, unit in enumerate(often, 2)}
        letters = sorted({letter for one in sentences for letter in "".join(one)})
        self.letters = {letter: at for at, letter in enumerate(letters, 2)}

    def numbers(self, units: list[str]) -> tuple[Any, Any]:
        words = np.array([self.words.get(unit.lower(), 1) for unit in units])
        letters = np.zeros((len(units), 20), dtype=np.int64)
        for at, unit in enumerate(units):
            found = [self.letters.get(letter, 1) for letter in unit[:19]]
            letters[at, 1 : 1 + len(found)] = found
        return words, letters


def network(torch: Any, units: Units, n_labels: int) -> Any:
    nn, width = torch.nn, WIDTHS

    class Tagger(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(len(units.words) + 2, width["word"])
            self.letters = nn.Embedding(len(units.letters) + 2, width["character"])
            self.shapes = nn.Conv1d(width["character"], width["shapes"], 3, padding=1)
            self.dropout = nn.Dropout(0.5)
            self.chain = nn.LSTM(
                width["word"] + width["shapes"],
                width["hidden"],
                num_layers=2,
                bidirectional=True,
                batch_first=True,
                dropout=0.5,
            )
            self.output = nn.Linear(2 * width["hidden"], n_labels)

        def forward(self, words: Any, letters: Any, lengths: Any) -> Any:
            if self.training:  # some words are unknown, as in new texts
                lost = torch.rand(words.shape, device=words.device) < 0.1
                words = torch.where(lost, torch.ones_like(words), words)
            n, length = words.shape
            seen = self.letters(letters.flatten(0, 1)).transpose(1, 2)
            shapes = self.shapes(seen).amax(2).relu().reshape(n, length, -1)
            x = self.dropout(torch.cat([self.words(words), shapes], 2))
            packed = nn.utils.rnn.pack_padded_sequence(
                x, lengths, batch_first=True, enforce_sorted=False
            )
            found, _ = nn.utils.rnn.pad_packed_sequence(
                self.chain(packed)[0], batch_first=True, total_length=length
            )
            return self.output(self.dropout(found))

    return Tagger()


def padded(torch: Any, units: Units, some: list[list[str]]) -> tuple[Any, Any, Any]:
    lengths = torch.tensor([len(one) for one in some])
    found = [units.numbers(one) for one in some]
    words = np.zeros((len(some), int(lengths.max())), dtype=np.int64)
    letters = np.zeros((*words.shape, 20), dtype=np.int64)
    for at, (of_words, of_letters) in enumerate(found):
        words[at, : len(of_words)] = of_words
        letters[at, : len(of_words)] = of_letters
    return torch.from_numpy(words), torch.from_numpy(letters), lengths


def train(
    torch: Any,
    sentences: list[list[str]],
    gold: list[list[int]],
    n_labels: int,
    *,
    seed: int,
    epochs: int = EPOCHS,
    device: str = "cpu",
    told: Callable[..., None] = lambda **line: None,
) -> Callable[[list[list[str]]], Any]:
    """Fit a tagger; the function it gives has the logits of new sentences."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    sentences = [one[:LONGEST] for one in sentences]
    units = Units(sentences)
    model = network(torch, units, n_labels).to(device)
    # sentences of like length together; the order of batches is drawn
    order = np.argsort([len(one) for one in sentences], kind="stable")
    batches = []
    for first in range(0, len(order), BATCH):
        some = order[first : first + BATCH]
        words, letters, lengths = padded(torch, units, [sentences[i] for i in some])
        target = np.full(words.shape, IGNORED)
        for at, i in enumerate(some):
            target[at, : lengths[at]] = gold[i][:LONGEST]
        on_device = (words.to(device), letters.to(device), lengths)
        batches.append((on_device, torch.from_numpy(target).to(device)))
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, total_steps=epochs * len(batches), pct_start=0.1
    )
    cost = torch.nn.CrossEntropyLoss(ignore_index=IGNORED)
    for epoch in range(epochs):
        model.train()
        total = torch.zeros((), device=device)
        for at in rng.permutation(len(batches)):
            inputs, target = batches[at]
            optimizer.zero_grad()
            loss = cost(model(*inputs).flatten(0, 1), target.flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            schedule.step()
            total += loss.detach()
        told(seed=seed, epoch=epoch, loss=round(float(total) / len(batches), 4))

    def logits(new: list[list[str]]) -> Any:
        """Logits of all tokens, one sentence behind the other."""
        model.eval()
        found = []
        with torch.no_grad():
            for first in range(0, len(new), BATCH):
                some = new[first : first + BATCH]
                words, letters, lengths = padded(torch, units, some)
                out = model(words.to(device), letters.to(device), lengths).cpu()
                rows = zip(out, lengths.tolist(), strict=True)
                found += [one[:n].numpy() for one, n in rows]
        return np.concatenate(found).astype(np.float16)

    return logits
