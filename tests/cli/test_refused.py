"""What is typed and refused: exit codes, and one line that says why."""

import csv
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import argmetric as am
from argmetric.cli import main
from cli_files import QUICK, TEXTS, write_models, write_texts
from cli_scores import P, Y, write_csv

LAID_OUT = np.random.default_rng(2).dirichlet([1, 1, 1], 30).round(4)
LAID_OUT[:, 0] = (1 - LAID_OUT[:, 1:].sum(axis=1)).round(4)
NAMES = ("cat", "dog", "bird")
# Words that stand for several in the table
SEVERAL = {
    "VERB": ("decide", "forecast", "evaluate", "tune", "calibrate"),
    "BOTH": ("decide", "forecast"),
    "NUMBER": ("many", "inf", "nan", "1e400"),
    "COUNT": ("many", "inf", "nan", "1e400", "9" * 30),
    "LIMIT": ("0.1", "2.9", "3.0", "-1", "'5 pct'", "101%", "%", "1e1"),
}
FILES = {
    "one.csv": "score,y\n0.5,1\n0.6,1\n",
    "equal.csv": "score,y\n0.5,1\n0.5,0\n",
    "comment.csv": "# c\np,y\n0.5,1\n",
    "late.csv": "p,y\n0.5,1\n# c\n",
    "lone.csv": "# c\np\n0.5\n",
    "returns.csv": "p,y\r0.5,1\r",
    "folder/a.txt": "score,y\n0.5,1\n",
    "packed/a.csv.gz": "score,y\n0.5,1\n",
    "twice.csv": "row,y\n4,0\n4,1\n",
    "odd.csv": "row,y\n0,1\n",
    "far.csv": "row,y\n5000,1\n",
    "t.txt": "w[0]\nsound[0]\n",
    "e.txt": "# nothing\n",
    "empty.txt": "\n",
    "out.txt": "old",
    "m.tag": "old",
    "outer/empty/a.txt": "",
    "outer/two/a.txt": "\n",
    "outer/two/b.txt": " ",
    "tops/b.txt": "two",
    "said/b.txt": " ...",
    "bare/": "",
    "vacant/b/": "",
}


def cases():
    """Exit code, files of the case, what is typed, and a part of the message."""
    files = {}
    for line in Path(__file__).with_name("refused.txt").read_text().splitlines():
        if " <- " in line and " -> " not in line:
            name, content = line.split(" <- ")
            files[name] = content.encode().decode("unicode_escape")
        elif line and line[0] != "#":
            typed, message = line.split(" -> ", 1)
            code, typed = typed.split(" ", 1)
            word = next((one for one in SEVERAL if one in typed.split()), "")
            for one in SEVERAL.get(word, [""]):
                words = typed.replace(word, one) if word else typed
                said = message.replace(word, one) if word else message
                yield pytest.param(int(code), files, words, said, id=words)
            files = {}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of all kinds, rules, a calibrator and a tagger, copied for each case."""
    folder = tmp_path_factory.mktemp("files")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_csv("s.csv", y=Y, kind=np.where(Y == 1, "spam", "ham"))
        write_csv("new.csv")
        write_models("old2.csv", "new2.csv")
        write_texts()
        for name, text in {**FILES, **TEXTS}.items():
            path = Path(name)
            (path if name[-1] == "/" else path.parent).mkdir(
                parents=True, exist_ok=True
            )
            if name[-1] != "/":
                path.write_text(text, "utf-8", newline="")
        y = np.eye(3, dtype=int)[LAID_OUT.argmax(axis=1)]
        kinds = np.array(NAMES)[LAID_OUT.argmax(axis=1)]
        with open("k.csv", "w", newline="") as file:
            rows = csv.writer(file)
            scores, labels = ([f"{x}_{one}" for one in NAMES] for x in "py")
            rows.writerow(["photo", *scores, "kind", *labels])
            rows.writerows(
                [i, *LAID_OUT[i], kinds[i], *y[i]] for i in range(len(LAID_OUT))
            )
        am.tune(Y, P, "f1").save("r.json")
        wide = am.tune(y, LAID_OUT, "f1", average="macro")
        am.MultiLabelRule(wide.rules, NAMES, "macro").save("wide.json")
        am.calibrate(Y, P).save("m.json")
        am.tune(Y, 5 * P - 2, "f1").save("raw.json")
        trained = "tag train train.txt --task chunk --model chunk.tag"
        assert main([*trained.split(), *QUICK]) == 0
        return folder


@pytest.mark.parametrize(("code", "written", "typed", "message"), [*cases()])
def test_what_is_refused(run, files, code, written, typed, message):
    shutil.copytree(files, ".", dirs_exist_ok=True)
    for name, content in written.items():
        Path(name).write_bytes(content.encode("latin-1"))
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    typed = typed.replace("ONE", "--scores p_* --one-label")
    ended = run(*shlex.split(typed))
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith("argmetric: ")
    assert message.replace(" END", "\n") in ended.err
    assert ended.err.count("\n") == 1
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == before
