"""The model of a stream, and the lines of its predictions."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from argmetric import _files as files
from argmetric._files import (
    float_array,
    integer_array,
    text_array,
    text_bytes,
    text_scalar,
)
from argmetric._files.blocks import RowFormat
from argmetric._results.saving import parsed
from argmetric._results.whole_files import writing
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric.stream import OnlineClassifier

STANDARD_STREAM = "-"


def new_model(
    metric: Metric, options: dict[str, Any], format: RowFormat, seed: int
) -> OnlineClassifier:
    """Return a model that has learned nothing yet."""
    from argmetric.stream import OnlineClassifier

    return OnlineClassifier(
        metric,
        rule=options["rule"] or "histogram",
        learner=options["learner"],
        step=options["step"],
        memory=options["memory"],
        # names are hashed by the reader of JSONL
        hash_bits=options["hash_bits"] if format == "svmlight" else None,
        random_state=seed,
    )


def class_names(pos_label: str | None, neg_label: str | None) -> tuple[str, str]:
    """Return the classes as JSON: 0 and 1, unless both were named.

    A class that is found on the way may be needed before it is known.
    """
    if pos_label is None or neg_label is None:
        return "0", "1"
    return _as_json(neg_label), _as_json(pos_label)


def _as_json(label: str) -> str:
    try:
        number = parsed(label, rows=True)
    except ValueError:
        number = label
    return json.dumps(label if isinstance(number, list | dict) else number)


class Predictions:
    """A file of predictions, or nothing.

    Parameters
    ----------
    target : str or None
        The file, "-" for standard output, None for nothing.
    names : pair of str
        The negative and the positive class as JSON.
    length : int or None
        Go on with a file that has this length, or more: what is behind it is removed.
    """

    def __init__(
        self, target: str | None, names: tuple[str, str], length: int | None = None
    ) -> None:
        self.target = target
        self._names = names
        self.length = length or 0
        self._file = self._opened(length)

    def _opened(self, length: int | None) -> IO[bytes] | None:
        if self.target is None:
            return None
        if self.target == STANDARD_STREAM:
            return sys.stdout.buffer
        if length is None:
            return open(self.target, "wb")
        try:
            file = open(self.target, "r+b")  # noqa: SIM115 -- closed by `close`
        except FileNotFoundError:
            raise files.DataError(
                f"{self.target} is gone: the checkpoint goes on with it at byte "
                f"{length:,}"
            ) from None
        size = os.fstat(file.fileno()).st_size
        if size < length:
            file.close()
            raise files.DataError(
                f"{self.target} has {size:,} bytes, the checkpoint goes on at byte "
                f"{length:,}: it is another file, or was changed"
            )
        file.truncate(length)
        file.seek(length)
        return file

    def write(
        self,
        numbers: npt.NDArray[np.int64],
        scores: npt.NDArray[np.float64],
        decisions: npt.NDArray[Any],
        labels: npt.NDArray[Any],
    ) -> None:
        """Write one object for each row."""
        if self._file is None or not numbers.size:
            return
        data = prediction_lines(self._names, numbers, scores, decisions, labels)
        with self._named():
            self._file.write(data)
        self.length += len(data)

    def sync(self) -> None:
        """Bring all that was written to the disk."""
        if self._file is None:
            return
        with self._named():
            self._file.flush()
        if self.target != STANDARD_STREAM:
            with contextlib.suppress(OSError):  # a pipe has no disk
                os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        if self._file is None:
            return
        with self._named():
            if self.target == STANDARD_STREAM:
                self._file.flush()
            else:
                self._file.close()

    def _named(self) -> contextlib.AbstractContextManager[None]:
        """Let an error tell which file it is about; of a pipe the caller knows."""
        if self.target == STANDARD_STREAM:
            return contextlib.nullcontext()
        return writing(self.target)


def prediction_lines(
    names: tuple[str, str],
    numbers: npt.NDArray[np.int64],
    scores: npt.NDArray[np.float64],
    decisions: npt.NDArray[Any],
    labels: npt.NDArray[Any] | None = None,
) -> memoryview:
    """Return a JSON object for each row, as bytes.

    Parameters
    ----------
    names : pair of str
        The negative and the positive class as JSON.
    numbers, scores, decisions : ndarray
        The rows.
    labels : ndarray, optional
        Their labels, where they are known.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.large_string()
    known = [""] if labels is None else [f',"label":{name}' for name in names]
    ends = [f',"decision":{name}{label}}}\n' for name in names for label in known]
    place = decisions.astype(np.int64)
    if labels is not None:
        place = 2 * place + labels
    lines = pc.binary_join_element_wise(
        text_scalar('{"row":'),
        pc.cast(integer_array(numbers), text),
        text_scalar(',"score":'),
        pc.cast(float_array(scores), text),
        text_array(ends).take(integer_array(place)),
        text_scalar(""),
    )
    return text_bytes(lines)
