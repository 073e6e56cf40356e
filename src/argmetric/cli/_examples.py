"""Calls that the help of each command ends with; a test parses them all."""

from __future__ import annotations

_RESULTS = "Exit codes: 0 done, 1 failure, 2 wrong usage, 3 gate not met"
_STREAMS = (
    "`-` is standard input or output. `--force` lets an output overwrite a file that "
    "is read. `--debug` (or `ARGMETRIC_DEBUG=1`) shows the traceback of a failure."
)
ENDINGS = f"{_RESULTS}. {_STREAMS}"
TRAINING_ENDINGS = f"{_RESULTS}, 130 interrupted. {_STREAMS}"
ROWS_ENDINGS = (
    f"{_RESULTS}.\n\nFiles: CSV, TSV and JSONL (also .gz, .zst), Parquet, Arrow "
    f"(Feather), Excel; {_STREAMS}"
)

# What is typed after each command, and after argmetric alone
_TYPED = """
: demo
: decide scores.csv --metric f1 -o decided.csv
: decide --help
decide: scores.csv --metric f1 -o decided.csv
decide: orders.parquet --group order --max-positives 5 -o out.csv
decide: photos.csv --scores 'p_*' --one-label -o chosen.csv
forecast: decided.csv --fail-under 0.7
forecast: scores.csv --threshold 0.5 --reference val.csv
monitor: 'scores/*.parquet' --reference val.parquet --time scored_at
monitor: new.csv --reference val.csv --every 1000 --floor 0.6
compare: new.csv --scores 'p_*' --reference val.csv
compare: new.csv --score judge --decisions 'd_*' --label human
report: scores.csv --metric f1 -o report.html
report: scores.csv --group order --reference val.csv -o report.md
evaluate: decided.csv --label bought --fail-under 0.7
evaluate: chosen.csv --labels 'y_*' --average macro
tune: val.csv --label bought --metric f1 -o rule.json
tune: val.csv -m f1 -m mcc -o 'rule-{metric}.json'
tune: val.csv --cost-fp 1 --cost-fn 20
calibrate: val.csv --label bought -o map.json
calibrate: new.csv --map map.json -o mended.csv
export: rule.json --to sql --column score
export: rule.json --to python -o label.py
train: table.csv --label bought --drop id -o model.skops
train: table.csv --label bought --model logistic -o model.skops
predict: model.skops new.csv -o predicted.csv
predict: model.skops new.csv --joint --group order -o out.csv
expect: borders.csv guess.csv --utility windowdiff
stream: train.svm --metric f1 -o predictions.jsonl
stream: - --format csv --label y --checkpoint kept --resume
stream predict: kept new.csv -o predicted.jsonl
spans: tagged.jsonl --names O,B-PER,I-PER -o chosen.jsonl
spans: text.conll --model text.crfsuite --dev dev.conll
tag: train chunks.train --task chunk --model chunks.tag
tag train: chunks.train --task chunk --model chunks.tag
tag train: ner.train --task ner --dev ner.dev --model ner.tag
tag predict: chunks.tag chunks.test -o tagged.txt
tag predict: names.tag letter.txt --raw -o names.jsonl
tag evaluate: tagged.txt --fail-under 0.9
tag templates: chunk
parse: train trees.conllu --model trees.parser
parse train: trees.conllu --model trees.parser --learn-tagger
parse predict: trees.parser new.conllu -o parsed.conllu
parse evaluate: gold.conllu parsed.conllu --worst 3
summarize: reviews --words 60
summarize: a.txt b.txt --chars 280 --html page.html
summarize train: clusters.jsonl --words 60 --out model
summarize evaluate: clusters.jsonl --model model --words 60
metrics:
metrics: --json
demo:
demo: --report demo.html
--install-completion:
--install-completion: --shell zsh
"""
EXAMPLES: dict[str, list[str]] = {}
for _line in _TYPED.strip().splitlines():
    _typed = f"argmetric {_line.replace(':', '', 1).strip()}"
    EXAMPLES.setdefault(_line.partition(":")[0], []).append(_typed)


def epilogue(command: str, ending: str) -> str:
    """Return what the help of a command ends with: examples, and how it may end."""
    examples = "\n".join(f"    {line}" for line in EXAMPLES.get(command, ()))
    return f"Examples:\n\n{examples}\n\n{ending}" if examples else ending
