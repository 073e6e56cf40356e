"""What is typed and refused: exit codes, and one line that says why."""

import os
import re
import shlex
import shutil

import numpy as np
import pytest

import argmetric as am
from cli_scores import P, Y, write_csv

LAID_OUT = np.random.default_rng(2).dirichlet([1, 1, 1], 30).round(4)
LAID_OUT[:, 0] = (1 - LAID_OUT[:, 1:].sum(axis=1)).round(4)
NAMES = ("cat", "dog", "bird")
# Exit code, what is typed, and what the one line of the message holds
REFUSED = """
2 decid -> Unknown command "decid". Did you mean "decide"? Available commands: decide,
    forecast, monitor, compare, report, evaluate, tune, calibrate, ... See argmetric
    --help.
2 decide -> Name a file: argmetric decide FILE. See argmetric decide --help.
2 decide --scor x s.csv -> Unknown option: --scor. Did you mean --score? See argmetric
    decide --help.
2 decide s.csv --metric jacard -> unknown metric 'jacard'; did you mean 'jaccard'
2 decide s.csv --average groups -> --average groups needs groups: pass --group COLUMN
    too
2 summarize s.csv -o page.html -> -o writes plain text: pass --report page.html for a
    page
2 decide s.csv --zero-division 2 -> Invalid value "2" for --zero-division. Choose from:
    "0", "1", "nan". See argmetric decide --help.
2 decide s.csv --metric mcc --zero-division 1 -> --zero-division 1 would change nothing
    for mcc
2 decide s.csv --min-recall 1.5 -> Invalid value "1.5" for --min-recall. Must be <= 1.
    See
2 decide s.csv --max-positives 1 --min-positives 2 -> 1 is below --min-positives 2
2 decide s.csv - -> - is standard input, which goes alone: leave the files out
2 decide s.csv --jobs 0 -> Invalid value "0" for --jobs. Must not be 0. See argmetric
2 decide s.csv --score id --group id -> --score and --group both name column 'id': pass
    another column for one of them
2 monitor s.csv --reference s.csv --every 9 --score kind --time kind -> --score and
    --time both name column 'kind'
2 compare s.csv --threshold 2 -> --threshold 2: probabilities need one from 0 to 1; pass
    --logits if the scores are log-odds
1 decide s.csv --min-positives 100 -> --min-positives 100 is more than the 60 items
1 decide s.csv --min-recall 1 --min-precision 1 -> all limits: --min-recall or
    --min-positives needs 60
1 calibrate one.csv -> one.csv: every label is 1; rows of both classes are needed
1 calibrate equal.csv -> equal.csv: all 2 scores are equal (0.5)
2 compare s.csv --decisions d* --score id --group id -> --score and --group both name
2 evaluate s.csv --group y --label y -> --group and --label both name column 'y'
2 predict none s.csv --score-column a --decision-column a -> --score-column and
    --decision-column both name column 'a'
2 decide s.csv new.csv s.csv -> s.csv is named twice: leave one out
2 decide new.csv ./n*.csv -> ./new.csv is named twice, as new.csv and ./new.csv: leave
2 tune s.csv --label y -o 'r-{metric}.json' --report r-f1.json -> -o r-f1.json and
    --report r-f1.json are the same file
1 decide s.csv -o new.pdf -> new.pdf: unknown extension '.pdf'; use one of .csv, .tsv,
    .tab, .parquet, .pq, .arrow, .feather, .ipc, .arrows, .jsonl, .ndjson, .json, or
    pass --output-format
1 VERB folder --label y -> files has no Parquet, Arrow, CSV or JSON file: 'folder'
2 decide packed -> decisions of many files go to a folder: pass -o FOLDER
1 decide comment.csv -> comment.csv, line 2: 2 cells, but the header has 1: 'p,y'; lines
    that begin with # are not skipped: remove them
1 decide late.csv -> late.csv, line 3: 1 cell, but the header has 2: '# c'; lines that
    begin with # are not skipped: remove them
1 decide lone.csv -> lines that begin with # are not skipped: remove them
1 decide lone.csv --score p -> lines that begin with # are not skipped: remove them
1 stream late.csv -> late.csv, line 3: it has 1 cells, the header has 2; lines that
    begin with # are not skipped: remove them
1 stream returns.csv -> returns.csv: its lines end in CR alone; tr '\\r' '\\n' makes
    lines that end in LF
2 forecast s.csv --coverage 90 -> Invalid value "90.0" for --coverage. Must be < 1.
    Write 90 % as 0.9. See argmetric forecast --help.
2 forecast s.csv --fail-under high -> "high" for --fail-under. A number is needed. See
2 forecast s.csv --fail-under 90% -> A number is needed. Write 90% as 0.9. See argmetric
2 evaluate s.csv --threshold 0,3 -> A number is needed. Write 0,3 as 0.3. See argmetric
2 decide s.csv --metric f11 -> would be an F-measure with beta=11: commands take up to
    f10, Python also FBeta(11); did you mean 'f1'?
2 decide k.csv ONE --metric f11 -> commands take up to f10, Python also FBeta(11)
2 expect s.csv new.csv --utility f11 -> commands take up to f10, Python also FBeta(11)
2 tune s.csv --label y -m mcc -m balanced_accuracy --zero-division 1 ->
    --zero-division 1 would change nothing for mcc
2 decide s.csv --metric f1_score -> unknown metric 'f1_score'; did you mean 'f1'?
2 decide s.csv --metric 'F1 score' -> unknown metric 'F1 score'; did you mean 'f1'?
2 decide s.csv --metric fbeta -> unknown metric 'fbeta'; did you mean 'f1' or 'f2' or
2 decide s.csv --metric banana -> unknown metric 'banana'. Known names: f1
2 decide s.csv --metric f1_macro -> --metric f1_macro: pass --metric f1 --average macro,
    with --scores 'p_*' for a column per label
2 tune s.csv --metric 'Micro F1' -> pass --metric f1 --average micro, with --scores
    'p_*'
2 train s.csv --metric f1_macro -> pass --metric f1; with one label there is no macro
2 stream s.csv --metric jaccard_samples -> pass --metric jaccard; with one label there
    is
2 decide s.csv --metric f1_weighted -> pass --metric f1; there is no weighted average
2 decide s.csv --threshold 0.3 -> Unknown option: --threshold. To apply a fixed
    threshold, pass --rule FILE with a rule of argmetric tune; to score one, use
    argmetric evaluate --threshold 0.3. See argmetric decide --help.
2 decide s.csv --out new.csv -> Unknown option: --out. Did you mean --output? See
2 decide s.csv --column p -> Unknown option: --column. To name the column of
    probabilities, pass --score COLUMN. See argmetric decide --help.
2 evaluate s.csv --threshold 0.3 --decision-column id -> --threshold and
    --decision-column exclude each other
2 decide s.csv --metric '' -> --metric is empty: give it a value, or leave it out
2 tune s.csv --metric= -> --metric is empty
2 decide s.csv --decision-column '' -> --decision-column is empty: give it a value
2 decide s.csv -o '' --force -> -o is empty
2 decide s.csv --rule '' -> --rule is empty
2 decide s.csv --report '' -> --report is empty
2 decide s.csv --scores '' -> --scores is empty
2 decide s.csv --encoding '' -> --encoding is empty
2 decide '' -> the name of a file is empty
2 train s.csv -o '' -> -o is empty
2 VERB s.csv --memory 0 -> --memory must be a whole number ≥ 1, not 0
2 decide s.csv --memory 1 -> --memory must be at least 500 MB, not '1'
2 decide s.csv --memory much -> --memory must be a size such as '2GB', not 'much'
2 monitor s.csv --reference s.csv --every 4 --append /dev/full -> --append /dev/full is
    a device or a pipe: name a file, which may be new
2 monitor s.csv --reference s.csv --every 4 --append . -> --append . is a folder: name a
2 tag evaluate s.csv other.csv -> This command takes one file; leave 'other.csv' out.
    See argmetric tag evaluate --help.
2 BOTH s.csv --prior estimate -> pass --reference FILE
2 BOTH s.csv --prior 1 -> or estimate, is needed
2 BOTH s.csv --prior 0 -> or estimate, is needed
2 BOTH s.csv --prior auto -> or estimate, is needed
1 tune s.csv --label kind -> s.csv: column 'kind' holds 'ham', 'spam', not 0 and 1; pass
    --pos-label
1 tune s.csv --label kin -> no column 'kin' in s.csv; did you mean 'kind'?
1 tune s.csv --label y --weight we -> no column 'we' in s.csv
1 tune s.csv --label kind --pos-label egg -> never holds 'egg'
2 tune s.csv --label y --weight y -> --label and --weight both name
2 tune s.csv --label y --no-label -> --no-label and --label exclude each
2 tune s.csv --label y --max-positives 0.6 -> Invalid value for --max-positives: A whole
    number (500) or a percentage (5%) is needed, not '0.6'. See argmetric
1 tune s.csv --label y -o none/r.json -> cannot write none/r.json: there is no folder
    none
2 tune s.csv --label y -o - -> the output is a file, not standard output
2 tune s.csv --label y --average pooled -> --average pooled needs groups
1 tune s.csv --label y --min-recall 1 --max-positives 1 -> argmetric:
2 decide s.csv --rule r.json --metric f1 -> --metric has no effect beside it
2 decide s.csv --rule r.json --zero-division 0 -> --zero-division has no effect
2 decide s.csv --rule r.json --max-positives 3 -> --max-positives has no effect
2 decide s.csv --rule r.json --min-recall 0.5 -> --min-recall has no effect
2 decide s.csv --rule r.json --reference m.json -> a map as --reference has no effect
2 decide s.csv --rule r.json --logits -> --logits: the rule was tuned on probabilities
2 forecast s.csv --rule r.json --metric f1 -> --metric has no effect beside it
2 forecast s.csv --rule r.json --threshold 0.5 -> --threshold and --rule exclude
2 forecast s.csv --rule r.json --decision-column d -> --decision-column and --rule
1 decide s.csv --rule wide.json -> wide.json is a rule for several labels; here there is
    one column of scores: pass --scores
2 BOTH s.csv --reference m.json --reference-score p -> --reference-score needs labelled
2 BOTH s.csv --reference m.json --prior estimate -> those of labelled rows
2 BOTH s.csv --reference-score p -> --reference-score goes with --reference
1 BOTH s.csv --reference s.csv --reference-label k -> no column 'k' in s.csv
2 BOTH s.csv --reference s.csv --reference-label score -> --reference-score and
    --reference-label both name column 'score'
1 BOTH s.csv --reference one.csv -> one.csv: y has one class only
1 BOTH s.csv --reference new.csv -> new.csv has no label column
1 BOTH s.csv --reference none.csv -> none.csv: no such file
2 calibrate s.csv --map m.json --method platt -> --method has no effect
2 calibrate s.csv --map m.json --label y -> --label has no effect beside it
2 calibrate s.csv --map m.json --json -o - -> cannot share standard output
1 calibrate s.csv --map m.json --calibrated-column id -> already has a column 'id'; name
    the new one with --calibrated-column
2 calibrate s.csv --output-format csv -> --output-format is about rows
1 calibrate s.csv --label y -o . -> cannot write .: it is a folder
1 calibrate s.csv --label y --score id -> outside of [0, 1]
2 calibrate s.csv --label y --method magic -> Invalid value "magic" for --method. Choose
    from: "spline", "platt", "beta", "temperature", "isotonic", "identity", "auto",
    "matrix". See argmetric calibrate --help.
2 report s.csv --report page.pdf -> ends in .html, .md, .json or .txt: change it END
2 decide s.csv --report r.pdf -> ends in .html, .md, .json or .txt: change it END
2 demo --report r.pdf -> ends in .html, .md, .json or .txt: change it END
1 report s.csv --report none/page.html -> there is no folder none
1 report s.csv --report . -> it is a folder
1 decide s.csv --report none/page.html -> there is no folder none
2 decide s.csv --report page -> ends in .html, .md, .json or .txt
2 forecast s.csv --known y --report a.html -> --known
2 decide k.csv --one-label -> --one-label needs a column of probabilities for each
    class: pass them as --scores 'p_*'
2 decide k.csv ONE --labels y_* -> --labels is for several labels per row; with
    --one-label, --label names the column of true classes
2 decide k.csv ONE --max-positives 3 -> --one-label does not support --max-positives
2 decide k.csv ONE --pos-label cat -> --one-label does not support --pos-label: leave
    one
2 decide k.csv ONE --prior 0.3 -> --prior 0.3 is a share of positives, not of classes
2 decide k.csv ONE -m macro_f1 -> --metric macro_f1: pass --metric f1 --average macro
2 decide k.csv ONE --average micro -> --average micro: with --one-label it is macro or
2 decide k.csv --scores p_* --average weighted -> --average weighted is for one label
    per row: pass --one-label
1 decide k.csv --scores p_c* --one-label -> k.csv: only 'p_cat' matches --scores 'p_c*';
    --one-label needs a column for each of two classes or more
1 decide k.csv ONE --label photo -> k.csv: column 'photo', row 1: '0' is none of the
    classes ('cat', 'dog', 'bird') (30 such rows); rows are counted from 1
2 evaluate k.csv --one-label --label kind --decision-column kind -> --label and
    --decision-column both name column 'kind'
2 evaluate k.csv --one-label --threshold 0.5 -> --one-label does not support --threshold
2 forecast k.csv ONE --threshold 0.5 -> does not support --threshold
2 forecast k.csv ONE --known kind -> does not support --known
2 forecast k.csv ONE --prior 0.2 -> a share of positives, not of classes
2 tune k.csv ONE --logits --label kind -> takes probabilities
2 tune k.csv --one-label -> pass them as --scores 'p_*'
2 calibrate k.csv ONE --map m.json -> does not support --map
2 calibrate k.csv ONE --method platt -> matrix or temperature
2 calibrate k.csv --scores p_* -> need their true labels: pass --labels
2 calibrate k.csv --method matrix -> is for class probabilities
1 decide k.csv --scores p_* --labels y_c* -> k.csv: column 'p_cat' has no partner: there
    is no 'y_ccat'
1 decide k.csv --scores p_d* --labels y_* -> column 'p_dog' has no partner: there is no
    'y_og'
1 decide k.csv --scores q_* -> k.csv: no column matches --scores 'q_*' (columns: photo,
    p_cat, p_dog, p_bird, kind, …)
2 decide k.csv --scores p -> --scores 'p' must contain one *, which stands for the name
    of a label, as in 'p_*'
2 decide k.csv --labels y_* -> --labels goes with --scores: pass the pattern of both
2 decide s.csv --score p --labels y -> --labels goes with --scores: pass the pattern of
    both; --label names one column of labels
2 decide k.csv --group photo --labels y_* -> --labels goes with --scores
2 evaluate k.csv --score p_cat --labels y_* -> --score is about one column; --scores and
    --labels are about several
2 decide k.csv --scores p_* --score p_cat -> --score is about one column; --scores and
2 decide k.csv --scores p_* --label y_cat -> --label names one column: with --scores,
    pass --labels 'y_*' for several labels per row; if each row has one of several
    classes, add --one-label
2 decide k.csv --scores p_* --average pooled -> --average pooled is for groups; for
    several labels, pass macro, micro or samples
2 decide k.csv --score p_cat --average macro -> --average macro needs several labels
1 decide k.csv --scores p_* --decision-column y -> k.csv already has a column 'y_cat';
    name the new one with --decision-column
1 decide k.csv --scores p_c* --rule wide.json -> k.csv: label 'cat' is not among those
    of these rows
"""
CASES = [
    " ".join(one.split()).replace("VERB", verb).replace("BOTH", verb)
    for one in re.split(r"\n(?=\d)", REFUSED.strip())
    for verb in (
        ("decide", "forecast", "evaluate", "tune", "calibrate")
        if "VERB" in one
        else ("decide", "forecast")[: 1 + ("BOTH" in one)]
    )
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Rows of all layouts, rules and a map, to be copied for each case."""
    folder = tmp_path_factory.mktemp("files")
    write_csv(str(folder / "s.csv"), y=Y, kind=np.where(Y == 1, "spam", "ham"))
    write_csv(str(folder / "new.csv"))
    (folder / "one.csv").write_text("score,y\n0.5,1\n0.6,1\n")
    (folder / "equal.csv").write_text("score,y\n0.5,1\n0.5,0\n")
    (folder / "comment.csv").write_text("# c\np,y\n0.5,1\n")
    (folder / "late.csv").write_text("p,y\n0.5,1\n# c\n")
    (folder / "lone.csv").write_text("# c\np\n0.5\n")
    (folder / "returns.csv").write_text("p,y\r0.5,1\r")
    for name in ("folder/a.txt", "packed/a.csv.gz"):
        (folder / name).parent.mkdir()
        (folder / name).write_text("score,y\n0.5,1\n")
    y = np.eye(3, dtype=int)[LAID_OUT.argmax(axis=1)]
    columns = ["photo", *(f"p_{x}" for x in NAMES), "kind", *(f"y_{x}" for x in NAMES)]
    rows = [
        [i, *LAID_OUT[i], NAMES[LAID_OUT[i].argmax()], *y[i]] for i in range(len(y))
    ]
    lines = [",".join(map(str, row)) for row in [columns, *rows]]
    (folder / "k.csv").write_text("\n".join([*lines, ""]))
    am.tune(Y, P, "f1").save(folder / "r.json")
    wide = am.tune(y, LAID_OUT, "f1", average="macro")
    am.MultiLabelRule(wide.rules, NAMES, "macro").save(folder / "wide.json")
    am.calibrate(Y, P).save(folder / "m.json")
    return folder


@pytest.mark.parametrize("case", CASES)
def test_what_is_refused(run, files, case):
    typed, message = case.split(" -> ", 1)
    code, *arguments = shlex.split(typed.replace("ONE", "--scores p_* --one-label"))
    shutil.copytree(files, ".", dirs_exist_ok=True)
    before = sorted(os.listdir())
    ended = run(*arguments)
    assert (ended.code, ended.out) == (int(code), "")
    assert ended.err.startswith("argmetric: ")
    assert message.replace(" END", "\n") in ended.err
    assert ended.err.count("\n") == 1
    assert sorted(os.listdir()) == before
