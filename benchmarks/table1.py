"""Repeat Table 1 of the SEARN paper, some cells at a time.

    python benchmarks/table1.py FILE.jsonl               # all cells: hours
    python benchmarks/table1.py FILE.jsonl --task chunks --group searn lols --seed 0
    python benchmarks/table1.py FILE.jsonl --task chunks --sentences 1000
    python benchmarks/table1.py FILE.jsonl --task "handwriting, small" --group quadratic
                                   --seed 0 --words 8    # fold 0, every 8th test word
    python benchmarks/table1.py FILE.jsonl --summary     # means over seeds, as JSON;
                                                         # and what is not run, and why
    python benchmarks/table1.py FILE.jsonl --quick       # few and small: mean nothing

Each line of the file is one cell for one seed (a fold, of letters): the score, the
share of sequences that are right as a whole, CPU seconds of learning, and the numbers
of inputs to learn from and to judge by. Cells that the file has are not run again.
`--keep FOLDER` keeps the features of chunks that were read there, for the next run.
`--sentences N` learns from the first N sentences of text; these are tasks of their own
in the file. `--words N` judges handwriting by every N-th test word.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from search_parts import table1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--task", nargs="*", choices=table1.TASKS, default=table1.TASKS)
    parser.add_argument("--group", nargs="*", choices=list(table1.GROUPS))
    parser.add_argument("--seed", nargs="*", type=int, default=table1.SEEDS)
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--words", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--summary", action="store_true")
    given = parser.parse_args()
    text = given.file.read_text(encoding="utf-8") if given.file.exists() else ""
    rows = [json.loads(line) for line in text.splitlines()]
    if given.summary:
        means = table1.summary([row for row in rows if "system" in row])
        for line in [*means, *table1.not_run()]:
            print(json.dumps(line, ensure_ascii=False))
        return 0
    done = {(row["task"], row["group"], row["seed"]) for row in rows}
    names = ("quick", "keep", "sentences", "words")
    options = {name: getattr(given, name) for name in names}
    for task in given.task:
        few = given.sentences is not None and task not in table1.LETTERS
        name = f"{task}, {given.sentences:,} sentences" if few else task
        for seed in given.seed:
            for group in table1.groups_of(task):
                wanted = given.group is None or group in given.group
                if not wanted or (name, group, seed) in done:
                    continue
                what = {"task": name, "group": group, "seed": seed}
                found = list(table1.cells(task, group, seed, **options))
                with given.file.open("a", encoding="utf-8") as file:
                    for row in found:
                        line = json.dumps({**what, **row}, ensure_ascii=False)
                        print(line, flush=True)
                        file.write(line + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
