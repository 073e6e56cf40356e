"""Where a run works, and how its output appears: all at once, or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from argmetric._files import DataError, marked
from argmetric._results.whole_files import held_alone, remove_folder, replaced_whole

MARKER = "_argmetric.json"  # in a folder that a run has written
PLAN = "plan.json"


class UnfinishedError(DataError):
    """Work of an earlier run is in the way, and is kept."""

    keeps_work = True


@dataclass(frozen=True)
class Places:
    """Folders of a run."""

    output: str  # what is written in the end, by one rename
    fresh: str  # the output while it grows, beside its place
    work: str  # pieces, labels, and what tasks have found

    def inside(self, *parts: str) -> str:
        """A path in the working folder."""
        return os.path.join(self.work, *parts)

    def made(self, *parts: str) -> str:
        """A folder in the working folder, which is there afterwards."""
        folder = self.inside(*parts)
        os.makedirs(folder, exist_ok=True)
        return folder


def places_of(output: str, work_dir: str | None) -> Places:
    """Folders of the run that writes an output."""
    output = os.path.abspath(output)
    if work_dir is None:
        return Places(output, _beside(output, "fresh"), _beside(output, "work"))
    # A folder of its own: what else lies in the one that was given is not ours
    name = hashlib.sha256(output.encode()).hexdigest()[:16]
    work = os.path.join(os.path.abspath(work_dir), f"argmetric-{name}")
    return Places(output, _beside(output, "fresh"), work)


def _beside(path: str, word: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{word}")


def temporary(path: str) -> str:
    """A name beside a path that no other attempt at the same task has."""
    return f"{path}.{uuid.uuid4().hex}.tmp"


def moved_folder(made: str, path: str) -> None:
    """Give a folder its name; where another attempt was first, that one stays."""
    try:
        os.rename(made, path)
    except OSError:
        if not os.path.isdir(path):
            raise
        shutil.rmtree(made, ignore_errors=True)


@contextlib.contextmanager
def claimed(places: Places) -> Iterator[None]:
    """Refuse a second run into the same output; one that was killed claims nothing."""
    folder = os.path.dirname(places.output)
    if not os.path.isdir(folder):
        raise DataError(f"cannot write {places.output}: there is no folder {folder}")
    path = _beside(places.output, "lock")
    with held_alone(path, f"another run is writing {places.output}"):
        _undo_half_commit(places)
        _refuse_foreign(places.output)
        yield


def _refuse_foreign(output: str) -> None:
    """Refuse to replace what no run has written."""
    if not os.path.exists(output):
        return
    if not os.path.isdir(output):
        raise DataError(f"cannot write {output}: it is a file, and many are written")
    names = os.listdir(output)
    if names and MARKER not in names:
        raise DataError(
            f"cannot write {output}: it holds files that are not of an earlier run; "
            "choose another folder, or empty it"
        )


def begin(places: Places, plan: dict[str, Any], *, resume: bool) -> dict[str, Any]:
    """Set up the working folder; the plan is that of the run that goes on, if any.

    How the rows are divided is that of the first run; all else must be the same.
    """
    path = places.inside(PLAN)
    plan = json.loads(json.dumps({**plan, "run": uuid.uuid4().hex}))
    if os.path.exists(path) and not _has_ended(places):
        if not resume:
            raise UnfinishedError(
                f"a run into {places.output} has not ended: {marked('resume')} goes on "
                f"with it; or remove {places.work}"
            )
        before = _loaded(path)
        changed = [key for key in plan if plan[key] != before.get(key)]
        changed = sorted(set(changed) - {"division", "run"})
        if changed:
            raise UnfinishedError(
                f"cannot go on with the run in {places.work}: {', '.join(changed)} "
                "changed since; remove that folder to begin again"
            )
        return before
    for folder in (places.work, places.fresh):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    save(path, plan)
    return plan


def _has_ended(places: Places) -> bool:
    """Whether a run was killed after its output had its name, in the clean-up."""
    marker = os.path.join(places.output, MARKER)
    if not os.path.exists(marker):
        return False
    return bool(_loaded(marker)["run"] == _loaded(places.inside(PLAN))["run"])


def _loaded(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        values: dict[str, Any] = json.load(file)
    return values


def save(path: str, values: Any) -> None:
    """Write JSON, whole or not at all."""
    with replaced_whole(path) as file:
        file.write(json.dumps(values).encode())


def commit(places: Places, about: dict[str, Any]) -> None:
    """Give the output its name, in place of that of an earlier run."""
    save(os.path.join(places.fresh, MARKER), about)
    old = _beside(places.output, "old")
    if os.path.isdir(places.output):
        os.rename(places.output, old)
    os.rename(places.fresh, places.output)
    shutil.rmtree(old, ignore_errors=True)


def _undo_half_commit(places: Places) -> None:
    """Put an earlier output back where a run was killed between two renames."""
    old = _beside(places.output, "old")
    if os.path.isdir(old):
        if os.path.isdir(places.output):
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(old, places.output)


def clean_up(places: Places) -> None:
    """Remove all that a run leaves besides its output."""
    for folder in (places.work, places.fresh):
        remove_folder(folder)  # workers of a cluster may be at it
