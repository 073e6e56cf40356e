"""Models and sentences from files, recalibration, and `argmetric spans`."""

import json
from pathlib import Path

import numpy as np
import pytest

from argmetric.sequence import (
    LinearChainCRF,
    Recalibration,
    Sentence,
    decode_spans,
    read_chunks,
    read_sentences,
    recalibrate,
    span_marginals,
    standard_features,
    token_model,
    write_labels,
    write_sentences,
)
from refusing import refuses

LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
FIRST, LAST = ("Ana", "Luz", "Juan", "Eva"), ("Ruiz", "Sol", "Vega")
PLACES, VERBS = ("Lima", "Roma", "Vega", "Sol"), ("visita", "deja", "ve", "sin")


def made_up_corpus(n, seed):
    """Sentences with people and places, some of whose words are shared."""
    rng = np.random.default_rng(seed)
    corpus = []
    for _ in range(n):
        words, tags, labels = [], [], []

        def put(word, tag, label, into=(words, tags, labels)):
            for target, value in zip(into, (word, tag, label), strict=True):
                target.append(value)

        put(rng.choice(FIRST), "NP", "B-PER")
        if rng.random() < 0.5:
            put(rng.choice(LAST), "NP", "I-PER")
        put(rng.choice(VERBS), "V", "O")
        if rng.random() < 0.8:
            put(rng.choice(PLACES), "NP", "B-LOC" if rng.random() < 0.8 else "B-PER")
            if rng.random() < 0.3:
                put("Norte", "NP", "I-LOC")
        corpus.append(([list(map(str, words)), tags], labels))
    return corpus


def conll_text(corpus):
    rows = (
        "".join(f"{w} {t} {y}\n" for w, t, y in zip(*columns, labels, strict=True))
        for columns, labels in corpus
    )
    return "\n".join(rows)


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="trains with extra 'crf'")
    path = tmp_path_factory.mktemp("model") / "tiny.crfsuite"
    trainer = pycrfsuite.Trainer(verbose=False)
    for columns, labels in made_up_corpus(60, 0):
        trainer.append(standard_features(columns), labels)
    trainer.set_params({"c1": 0.05, "c2": 0.1, "max_iterations": 60})
    trainer.train(str(path))
    return path


def test_a_crfsuite_model_gives_the_marginals_of_crfsuite(model_file):
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="compares with crfsuite")
    model = LinearChainCRF.from_crfsuite(model_file)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model_file))
    assert list(model.labels) == tagger.labels()
    corpus = made_up_corpus(30, 1)
    features = [standard_features(columns) for columns, _ in corpus]
    for chain, items in zip(model.sentences(features), features, strict=True):
        best = tagger.tag(items)
        assert [model.labels[y] for y in chain.viterbi()] == best
        theirs = [
            [tagger.marginal(label, t) for label in model.labels]
            for t in range(len(items))
        ]
        np.testing.assert_allclose(chain.marginals, theirs, rtol=0, atol=1e-12)
        log_p = chain.score(best) - chain.log_partition
        assert log_p == pytest.approx(np.log(tagger.probability(best)), abs=1e-10)


def test_other_files_are_no_models(tmp_path):
    for content in (b"", b"lCRF", b"not a model of anything" * 20):
        path = tmp_path / "bad.crfsuite"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"bad\.crfsuite is not a model"):
            LinearChainCRF.from_crfsuite(path)


def test_columns_come_back(tmp_path):
    path, copy = tmp_path / "a.conll", tmp_path / "b.conll"
    path.write_text("-DOCSTART- -X- O\n\nAna NP B-PER\nva V O\n\n\nSol NP O\n")
    sentences = read_sentences(path)
    assert [s.tokens for s in sentences] == [["Ana", "va"], ["Sol"]]
    assert [s.labels for s in sentences] == [["B-PER", "O"], ["O"]]
    assert [s.line for s in sentences] == [3, 7]
    assert sentences[0].columns[1] == ["NP", "V"]
    write_sentences(copy, sentences, [["O", "O"], ["B-LOC"]])
    assert copy.read_text() == "Ana NP B-PER O\nva V O O\n\nSol NP O B-LOC\n\n"
    plain = read_sentences(path, labels="no")
    assert plain[0].labels is None
    assert plain[0].columns[2] == ["B-PER", "O"]


def test_features_that_the_model_never_saw_are_refused(model_file):
    model = LinearChainCRF.from_crfsuite(model_file)
    corpus = made_up_corpus(20, 7)
    right = [standard_features(columns) for columns, _ in corpus]
    flat = [name for features in right for token in features for name in token]
    known = sum(name in model._attributes for name in flat) / len(flat)
    assert model.sentences_and_known(right)[1] == pytest.approx(known, rel=1e-12)
    assert known > 0.9
    wrong = [[[f"word.{name}" for name in token] for token in f] for f in right]
    dicts = [[{"word.lower()": words[0]} for words in f] for f in right]
    for features in (wrong, dicts):
        with pytest.raises(ValueError, match=r"knows 0\.0 % of the features") as caught:
            model.sentences(features)
        assert "One of the input is 'word." in str(caught.value)
        beside = str(caught.value).rpartition("of the model '")[2].rstrip("'")
        assert beside in model._attributes
    # A tenth is enough, and a few tokens may be anything
    mixed = [[["bias", *["new"] * 9]] * 10]
    assert model.sentences_and_known(mixed)[1] == pytest.approx(0.1)
    assert model.sentences_and_known([[["new"]] * 49])[1] == 0.0
    assert model.sentences_and_known([[]])[1] == 1.0
    refuses(ValueError, "trained with others", model.sentence, [["new"]] * 50)


@pytest.mark.parametrize("token", ["word=a", 3])
def test_features_of_a_token_are_no_text(model_file, token):
    model = LinearChainCRF.from_crfsuite(model_file)
    with pytest.raises(ValueError, match="sentence 1: the features of a token are"):
        model.sentences([[["a"]], [["a"], token]])


def test_json_lines_come_back(tmp_path):
    path, copy = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    row = {"tokens": ["Ana", "va"], "labels": ["B-PER", "O"], "id": 7, "document": "x"}
    path.write_text(json.dumps(row) + "\n\n" + json.dumps({"tokens": ["Sol"]}) + "\n")
    sentences = read_sentences(path)
    assert sentences[1].line == 3
    model = token_model([[0.1, 0.9], [0.9, 0.1]], ["O", "B-PER"])
    decision = decode_spans(model, sentences[0].tokens)
    write_sentences(copy, sentences[:1], [decision.labels], spans=[decision.spans])
    written = json.loads(copy.read_text())
    assert written["id"] == 7
    assert written["predicted"] == ["B-PER", "O"]
    assert written["spans"][0]["text"] == "Ana"
    assert read_sentences(copy)[0].labels == ["B-PER", "O"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.conll", b"a O\nb\n", r"line 2: 1 columns, but line 1 has 2: 'b'"),
        ("a.conll", b"a O\n\nb X-PER\n", r"line 3: label 'X-PER' is not of IOB2"),
        ("a.conll", b"a\t\tO\n", r"line 1: an empty column"),
        ("a.conll", b"a O\n\xff O\n", r"line 2: not UTF-8"),
        ("a.conll", b"\n\n", "has no sentences"),
        ("a.jsonl", b'{"tokens": ["a"]}\n{"tok', r"line 2: not JSON"),
        ("a.jsonl", b"[1]\n", r"line 1: not a JSON object"),
        ("a.jsonl", b'{"words": ["a"]}\n', r"line 1: 'tokens' must be a list"),
        ("a.jsonl", b'{"tokens": ["a"], "labels": []}', "line 1: 0 labels for 1"),
        ("a.jsonl", b'{"tokens": ["a"], "labels": ["Q"]}', "line 1: label 'Q'"),
        ("a.jsonl", b'{"tokens": ["a"], "features": 3}', "line 1: no features"),
    ],
)
def test_malformed_lines_are_named(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    refuses(ValueError, message, read_sentences, path)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("the cat sees a big dog\n", "line 1: 6 columns: 'the cat sees a big dog'"),
        ("\nAna va a casa .\n\nLuz va a Roma .\n", "line 2: 5 columns: 'Ana va a c"),
        ("the cat sees me\nit sees a dog too\n", "line 2: 5 columns, but line 1 has 4"),
    ],
)
def test_plain_text_is_told_from_columns(tmp_path, content, where):
    path = tmp_path / "text.txt"
    path.write_text(content)
    with pytest.raises(ValueError, match="one token on a line is needed") as caught:
        read_sentences(path)
    assert f"text.txt, {where}" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        "EU NNP B-NP B-ORG\n",
        "the DT B-NP\n\ndog NN B-NP\n",
        "cats cat NOUN\n",  # a lemma: half of the cells
        "hello uh\n",
        "alone\n",
        "cats cat noun plural\nsee see verb present\n",  # a sentence of two
        "das\tder\tArt\n",
    ],
)
def test_columns_are_not_taken_for_text(tmp_path, content):
    path = tmp_path / "columns.txt"
    path.write_text(content)
    assert sum(map(len, read_sentences(path))) == len(
        list(filter(None, content.split("\n")))
    )
    path.write_text(f"{content}cat NN\n{content}")
    if len(content.split("\n")[0].split()) > 2:
        refuses(ValueError, "2 columns, but line 1 has", read_sentences, path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("Ana NP O\n".encode("utf-16"), "is UTF-16 text"),
        (bytes(range(256)), "begins with zero bytes"),
    ],
)
def test_other_encodings_are_told(tmp_path, data, message):
    path = tmp_path / "text.conll"
    path.write_bytes(data)
    refuses(ValueError, message, read_sentences, path)


def calibrated_tokens(rng, n, sharpness=1.0):
    """Token models and labels drawn from them; sharpened models are overconfident."""
    models, gold = [], []
    for _ in range(n):
        p = rng.dirichlet([4.0, 0.6, 0.5], 8)
        true = token_model(p, LABELS[:3])
        labels, previous = [], None
        # ancestral sampling along the chain that the messages give
        backward = true._batch.messages[2]
        for t in range(8):
            logs = true.unary[t] + backward[t]
            logs = logs + (0 if previous is None else true.pairwise[previous])
            weights = np.exp(logs - logs.max())
            previous = int(rng.choice(3, p=weights / weights.sum()))
            labels.append(LABELS[previous])
        models.append(LinearChainCRF(sharpness * true.unary, true.pairwise, LABELS[:3]))
        gold.append(labels)
    return models, gold


def test_recalibration_finds_nothing_to_mend_and_mends_what_is_off():
    rng = np.random.default_rng(0)
    honest = recalibrate(*calibrated_tokens(rng, 1500))
    assert honest.slope == pytest.approx(1.0, abs=0.05)
    assert honest.intercept == pytest.approx(0.0, abs=0.08)
    assert 1.0 <= honest.missed < 1.05
    models, gold = calibrated_tokens(rng, 1500, sharpness=2.0)
    mended = recalibrate(models, gold)
    assert mended.slope < 0.7
    found = span_marginals(models, min_probability=mended.floor)
    n_gold = sum(len(read_chunks(labels)) for labels in gold)
    total = mended(found.probability).sum() * mended.missed
    assert total == pytest.approx(n_gold, rel=1e-6)  # the intercept's own equation
    plain, better = (
        decode_spans(models, reference=r, method="counts") for r in (None, mended)
    )
    assert better.expected_spans == pytest.approx(n_gold, rel=1e-6)
    assert real_f1(gold, better.labels) == pytest.approx(better.expected, abs=0.03)
    assert abs(real_f1(gold, plain.labels) - plain.expected) > 0.03


def real_f1(gold, predicted):
    hits = size = 0
    for true, found in zip(gold, predicted, strict=True):
        true, found = set(read_chunks(true)), set(read_chunks(found))
        hits, size = hits + len(true & found), size + len(true) + len(found)
    return 2 * hits / size


def test_recalibration_of_one_and_zero_changes_nothing():
    same = Recalibration(1.0, 0.0, 0.0, 1.0)
    p = np.array([1e-12, 0.3, 1 - 1e-9, 1.0])
    np.testing.assert_allclose(same(p), p, rtol=1e-9)
    models, _ = calibrated_tokens(np.random.default_rng(1), 20)
    one = decode_spans(models, method="counts", min_probability=0.0)
    other = decode_spans(models, reference=same, min_probability=0.0)
    assert one.labels == other.labels
    assert one.expected == pytest.approx(other.expected, rel=1e-9)


def test_a_bad_development_set_is_refused():
    model = token_model([[0.4, 0.6]] * 3, ["O", "B-X"])
    refuses(ValueError, "gold has 2 sentences", recalibrate, [model], [["O"], ["O"]])
    refuses(ValueError, "sentence 0: gold has 1 labels", recalibrate, [model], [["O"]])
    refuses(ValueError, "0 true ones of 3", recalibrate, [model], [["O", "O", "O"]])
    with pytest.raises(ValueError, match="0 true ones of 0"):
        recalibrate([model], [["O", "B-X", "O"]], floor=0.7)
    low = token_model([[0.9, 0.1], [0.1, 0.9]], ["O", "B-X"])
    with pytest.raises(ValueError, match="more probable spans are true less often"):
        recalibrate([low] * 9, [write_labels([(0, 1, "X")], 2)] * 8 + [["O", "B-X"]])


def test_what_is_wrong_is_said_with_its_sentence():
    model = token_model([[0.4, 0.6]] * 2, ["O", "B-X"])
    with pytest.raises(ValueError, match=r"gold\[1\]: label 'X' is not of IOB2"):
        recalibrate([model] * 2, [["O", "B-X"], ["X", "O"]])
    with pytest.raises(TypeError, match=r"tokens\[1\] .* not 5 at position 0"):
        decode_spans([model] * 2, [["a", "b"], [5, "b"]])
    with pytest.raises(TypeError, match=r"model .* not None at position 1"):
        span_marginals([model, None])
    with pytest.raises(ValueError, match="documents has a missing value at row 1"):
        decode_spans([model] * 2, level="document", documents=["a", None])
    with pytest.raises(ValueError, match=r"columns\[1\] has 1 values for 2 words"):
        standard_features([["a", "b"], ["X"]])


def test_labels_that_do_not_fit_the_tokens_are_not_written(tmp_path):
    sentence = Sentence((["a", "b"],))
    with pytest.raises(ValueError, match=r"predicted\[1\] has 1 labels for 2 tokens"):
        write_sentences(tmp_path / "out", [sentence] * 2, [["O", "O"], ["O"]])
    with pytest.raises(TypeError, match=r"spans\[0\] must be a list of Span, not 3"):
        write_sentences(tmp_path / "out", [sentence], [["O", "O"]], spans=[[3]])
    assert not (tmp_path / "out").exists()


def test_a_model_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"cannot read .*gone: No such file"):
        LinearChainCRF.from_crfsuite(tmp_path / "gone")


def test_values_of_features_are_finite_numbers(model_file):
    model = LinearChainCRF.from_crfsuite(model_file)
    for wrong in (None, np.nan, np.inf, 10**400):
        with pytest.raises(ValueError, match="sentence 0: features: the value of 'w'"):
            model.sentence([{"w": wrong}])
    with pytest.raises(ValueError, match="sentence 1: the features of a token are nam"):
        model.sentences([[["w=a"]], [[["w=a"]]]])


@pytest.fixture
def run(run):
    return lambda *arguments: run(*map(str, arguments))


def test_the_command_writes_spans_as_a_last_column(run, model_file):
    corpus = made_up_corpus(40, 5)
    Path("test.conll").write_text(conll_text(corpus))
    Path("dev.conll").write_text(conll_text(made_up_corpus(80, 6)))
    options = ("--model", model_file, "--metric", "f2", "--dev", "dev.conll")
    code, out, err = run("spans", "test.conll", *options, "-o", "out.conll")
    assert code == 0, err
    assert "f2 of spans" in err
    assert "recalibrated" in err
    assert out == ""
    written = read_sentences("out.conll")
    model = LinearChainCRF.from_crfsuite(model_file)
    chains = model.sentences(standard_features(columns) for columns, _ in corpus)
    dev = made_up_corpus(80, 6)
    fit = recalibrate(
        model.sentences(standard_features(c) for c, _ in dev), [y for _, y in dev]
    )
    expected = decode_spans(chains, metric="f2", reference=fit)
    assert [s.labels for s in written] == expected.labels
    assert [s.columns[2] for s in written] == [labels for _, labels in corpus]

    code, out, err = run("spans", "test.conll", "--model", model_file, "--json")
    assert code == 0, err
    summary = json.loads(out)
    plain = decode_spans(chains)
    assert summary["spans"] == plain.n_spans
    assert summary["expected"] == pytest.approx(plain.expected)
    gold = [labels for _, labels in corpus]
    assert summary["real"] == pytest.approx(real_f1(gold, plain.labels))


def test_the_command_takes_probabilities(run):
    row = {"tokens": ["Ana", "va"], "probabilities": [[0.6, 0.4], [0.9, 0.1]]}
    Path("p.jsonl").write_text(json.dumps(row) + "\n")
    code, out, err = run("spans", "p.jsonl", "--names", "O,B-PER", "-o", "q.jsonl")
    assert code == 0, err
    assert json.loads(Path("q.jsonl").read_text())["predicted"] == ["B-PER", "O"]
    assert "E[F]" in err
    code, out, err = run(
        "spans", "p.jsonl", "--names", "O,B-PER", "--output-format", "conll"
    )
    assert out == "Ana B-PER\nva O\n\n"


def test_the_command_tells_how_many_features_are_known(run, model_file):
    Path("test.conll").write_text(conll_text(made_up_corpus(40, 5)))
    code, out, err = run("spans", "test.conll", "--model", model_file, "--json")
    share = json.loads(out)["known_features"]
    assert 0.9 < share <= 1.0
    _, _, err = run("spans", "test.conll", "--model", model_file)
    assert f"{100 * share:.1f} % of them known to the model" in err
    row = {"tokens": ["a"] * 60, "features": [["W=a"]] * 60}
    Path("wrong.jsonl").write_text(json.dumps(row) + "\n")
    code, out, err = run("spans", "wrong.jsonl", "--model", model_file)
    assert (code, out) == (1, "")
    assert "the model knows 0.0 % of the features" in err
    assert "One of the input is 'W=a' and of the model '" in err


def test_the_command_tells_of_candidates_that_were_cut(run, monkeypatch):
    row = {"tokens": ["a"] * 9, "probabilities": [[0.5, 0.2, 0.3]] * 9}
    Path("p.jsonl").write_text(json.dumps(row) + "\n")
    options = ("p.jsonl", "--names", "O,B-X,I-X")
    code, _, err = run("spans", *options)
    assert (code, "candidates" in err) == (0, False)
    monkeypatch.setattr("argmetric.sequence._spans.MOST_SPANS", 20)
    code, _, err = run("spans", *options)
    assert code == 0
    assert (
        "note: 1 sentence with too many candidates: spans of more than 2 tokens were "
        "left out"
    ) in " ".join(err.split())
    found = json.loads(run("spans", *options, "--json")[1])
    assert (found["cut_sentences"], found["cut_length"]) == (1, 2)


def test_the_command_names_what_is_wrong(run):
    Path("bad.conll").write_text("a O\nb\n")
    Path("good.conll").write_text("a O\n")
    Path("p.jsonl").write_text('{"tokens": ["a"], "probabilities": [[0.5, 0.4]]}')
    for arguments, wanted, code in (
        (("bad.conll", "--model", "m"), "bad.conll, line 2: 1 columns", 1),
        (("none.conll", "--model", "m"), "cannot read none.conll", 1),
        (("good.conll", "--model", "m"), "cannot read m", 1),
        (("good.conll",), "pass --model", 2),
        (("good.conll", "--names", "O"), "line 1: no probabilities", 1),
        (("good.conll", "--model", "good.conll"), "is not a model of crfsuite", 1),
        (("p.jsonl", "--names", "O,B-X"), "line 1: p sums to 0.9", 1),
        (("p.jsonl", "--names", "O,B-X", "-m", "nope"), "unknown metric", 2),
        (("p.jsonl", "--names", "O", "--json", "-o", "-"), "cannot share", 2),
    ):
        ended, _, err = run("spans", *arguments)
        assert wanted in err
        assert ended == code, arguments


def test_features_with_values_are_read_as_crfsuite_reads_them(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite", reason="compares with crfsuite")
    rng = np.random.default_rng(0)
    path = str(tmp_path / "values.crfsuite")

    def item():
        return {
            "bias": 1.0,
            "size": float(rng.normal()),
            "upper": bool(rng.random() < 0.5),
            "word": str(rng.choice(["a", "b"])),
            "tags": [str(rng.choice(["t", "u"])), "v"],
            "next": {"word": str(rng.choice(["a", "b"])), "size": 0.5},
        }

    trainer = pycrfsuite.Trainer(verbose=False)
    data = [([item() for _ in range(5)], list("ABABA")) for _ in range(20)]
    for items, labels in data:
        rng.shuffle(labels)
        trainer.append(items, labels)
    trainer.set_params({"max_iterations": 20})
    trainer.train(path)
    model = LinearChainCRF.from_crfsuite(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    for items in [*(items for items, _ in data), [{"never seen": 2.0}]]:
        tagger.set(items)
        theirs = [
            [tagger.marginal(y, t) for y in model.labels] for t in range(len(items))
        ]
        mine = model.sentence(items).marginals
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-12)
    assert "2 labels" in repr(model)
    assert model.sentences([]) == []
