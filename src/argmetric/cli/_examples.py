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

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "argmetric demo",
        "argmetric decide scores.csv --metric f1 -o decided.csv",
        "argmetric decide --help",
    ),
    "decide": (
        "argmetric decide scores.csv --metric f1 -o decided.csv",
        "argmetric decide orders.parquet --group order --max-positives 5 -o out.csv",
        "argmetric decide photos.csv --scores 'p_*' --one-label -o chosen.csv",
    ),
    "forecast": (
        "argmetric forecast decided.csv --fail-under 0.7",
        "argmetric forecast scores.csv --threshold 0.5 --reference val.csv",
    ),
    "monitor": (
        "argmetric monitor 'scores/*.parquet' --reference val.parquet --time scored_at",
        "argmetric monitor new.csv --reference val.csv --every 1000 --floor 0.6",
    ),
    "report": (
        "argmetric report scores.csv --metric f1 -o report.html",
        "argmetric report scores.csv --group order --reference val.csv -o report.md",
    ),
    "evaluate": (
        "argmetric evaluate decided.csv --label bought --fail-under 0.7",
        "argmetric evaluate chosen.csv --labels 'y_*' --average macro",
    ),
    "tune": (
        "argmetric tune val.csv --label bought --metric f1 -o rule.json",
        "argmetric tune val.csv -m f1 -m mcc -o 'rule-{metric}.json'",
        "argmetric tune val.csv --cost-fp 1 --cost-fn 20",
    ),
    "calibrate": (
        "argmetric calibrate val.csv --label bought -o map.json",
        "argmetric calibrate new.csv --map map.json -o mended.csv",
    ),
    "export": (
        "argmetric export rule.json --to sql --column score",
        "argmetric export rule.json --to python -o label.py",
    ),
    "train": (
        "argmetric train table.csv --label bought --drop id -o model.skops",
        "argmetric train table.csv --label bought --model logistic -o model.skops",
    ),
    "predict": (
        "argmetric predict model.skops new.csv -o predicted.csv",
        "argmetric predict model.skops new.csv --joint --group order -o out.csv",
    ),
    "expect": ("argmetric expect borders.csv guess.csv --utility windowdiff",),
    "stream": (
        "argmetric stream train.svm --metric f1 -o predictions.jsonl",
        "argmetric stream - --format csv --label y --checkpoint kept --resume",
    ),
    "stream predict": ("argmetric stream predict kept new.csv -o predicted.jsonl",),
    "spans": (
        "argmetric spans tagged.jsonl --names O,B-PER,I-PER -o chosen.jsonl",
        "argmetric spans text.conll --model text.crfsuite --dev dev.conll",
    ),
    "tag": ("argmetric tag train chunks.train --task chunk --model chunks.tag",),
    "tag train": (
        "argmetric tag train chunks.train --task chunk --model chunks.tag",
        "argmetric tag train ner.train --task ner --dev ner.dev --model ner.tag",
    ),
    "tag predict": (
        "argmetric tag predict chunks.tag chunks.test -o tagged.txt",
        "argmetric tag predict names.tag letter.txt --raw -o names.jsonl",
    ),
    "tag evaluate": ("argmetric tag evaluate tagged.txt --fail-under 0.9",),
    "tag templates": ("argmetric tag templates chunk",),
    "parse": ("argmetric parse train trees.conllu --model trees.parser",),
    "parse train": (
        "argmetric parse train trees.conllu --model trees.parser --learn-tagger",
    ),
    "parse predict": (
        "argmetric parse predict trees.parser new.conllu -o parsed.conllu",
    ),
    "parse evaluate": ("argmetric parse evaluate gold.conllu parsed.conllu --worst 3",),
    "summarize": (
        "argmetric summarize reviews --words 60",
        "argmetric summarize a.txt b.txt --chars 280 --html page.html",
    ),
    "summarize train": (
        "argmetric summarize train clusters.jsonl --words 60 --out model",
    ),
    "summarize evaluate": (
        "argmetric summarize evaluate clusters.jsonl --model model --words 60",
    ),
    "metrics": ("argmetric metrics", "argmetric metrics --json"),
    "demo": ("argmetric demo", "argmetric demo --report demo.html"),
    "--install-completion": (
        "argmetric --install-completion",
        "argmetric --install-completion --shell zsh",
    ),
}


def epilogue(command: str, ending: str) -> str:
    """Return what the help of a command ends with: examples, and how it may end."""
    examples = "\n".join(f"    {line}" for line in EXAMPLES.get(command, ()))
    return f"Examples:\n\n{examples}\n\n{ending}" if examples else ending
