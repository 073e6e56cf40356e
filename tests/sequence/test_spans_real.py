"""Spans on real data: what the docs say about 300 Spanish sentences."""

import numpy as np
import pytest

from argmetric.sequence import (
    LinearChainCRF,
    decode_spans,
    read_chunks,
    read_sentences,
    standard_features,
)


def entity_f(gold, predicted, beta):
    hits = size = there = 0
    for true, found in zip(gold, predicted, strict=True):
        true, found = set(read_chunks(true)), set(read_chunks(found))
        hits, size, there = (
            hits + len(true & found),
            size + len(found),
            there + len(true),
        )
    return (1 + beta**2) * hits / (size + beta**2 * there)


@pytest.mark.slow
@pytest.mark.data
def test_expected_f_beats_viterbi_on_300_spanish_sentences(data_folder, tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="trains with extra 'crf'")
    path = str(tmp_path / "esp.crfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    for sentence in read_sentences(data_folder / "conll2002" / "esp.train")[:300]:
        trainer.append(standard_features(sentence.columns), sentence.labels)
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 100})
    trainer.set("feature.possible_transitions", True)
    trainer.train(path)
    model = LinearChainCRF.from_crfsuite(path)
    test = read_sentences(data_folder / "conll2002" / "esp.testb")
    chains = model.sentences(standard_features(s.columns) for s in test)
    gold = [sentence.labels for sentence in test]
    names = np.array(model.labels)
    viterbi = [names[chain.viterbi()].tolist() for chain in chains]
    for beta in (1, 2):
        decision = decode_spans(chains, metric=f"f{beta}")
        assert decision.proven
        assert entity_f(gold, decision.labels, beta) > entity_f(gold, viterbi, beta)
