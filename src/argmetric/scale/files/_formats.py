"""Which kind of file is this: by name, or by its first bytes."""

from __future__ import annotations

from pathlib import PurePath
from typing import Literal, get_args

from argmetric._ground.whole_files import DataError as DataError

Format = Literal["csv", "tsv", "parquet", "arrow", "arrow-stream", "jsonl", "xlsx"]
Written = Literal["csv", "tsv", "parquet", "arrow", "arrow-stream", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)
DELIMITERS: dict[Format, str] = {"csv": ",", "tsv": "\t"}

STANDARD_STREAM = "-"

EXTENSIONS: dict[str, Format] = {
    **{".csv": "csv", ".tsv": "tsv", ".tab": "tsv"},
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **{".arrows": "arrow-stream"},
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
    **dict.fromkeys((".xlsx", ".xlsm"), "xlsx"),
}

_MAGIC: tuple[tuple[bytes, Format], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "arrow-stream"),
    (b"PK\x03\x04", "xlsx"),
)

_CODECS = {".gz": "gzip", ".zst": "zstd"}
MAX_LINE_BYTES = 1 << 26
UTF8_MARK = b"\xef\xbb\xbf"
_SNIFFED_BYTES = 65_536

Role = Literal[
    "decimal",
    "decision_column",
    "drop",
    "encoding",
    "features",
    "format",
    "hash_bits",
    "label",
    "logits",
    "max_line",
    "memory",
    "missing_groups",
    "one_label",
    "neg_label",
    "output",
    "output_format",
    "pos_label",
    "reference_label",
    "reference_score",
    "resume",
    "score",
    "work_dir",
    "zero_based",
]
ROLES: tuple[Role, ...] = get_args(Role)


def marked(role: Role, value: str | None = None) -> str:
    """Return what the user may choose as a message names it, with a value for it."""
    return f"`{role}`" if value is None else f"`{role}={value}`"


OTHER_ENCODING = f"pass {marked('encoding')}, for instance latin-1"


def format_by_name(path: str, *, role: Role) -> Format:
    """Return the format of an extension; `role` is how a user names it instead."""
    extension = PurePath(path).suffix.lower()
    try:
        return EXTENSIONS[extension]
    except KeyError:
        shown = f"unknown extension {extension!r}" if extension else "no extension"
        known = ", ".join(EXTENSIONS)
        raise DataError(
            f"{path}: {shown}; use one of {known}, or pass {marked(role)}"
        ) from None


def codec_by_name(path: str) -> str | None:
    """Return the codec that the end of a name stands for, None for a plain file."""
    return _CODECS.get(PurePath(path).suffix.lower())


def without_codec(path: str) -> str:
    """Return a name without the end that says how it is compressed."""
    return path if codec_by_name(path) is None else str(PurePath(path).with_suffix(""))


def binary_format(head: bytes) -> Format | None:
    """Return the binary format that the first bytes announce, None for text."""
    return next((kind for mark, kind in _MAGIC if head.startswith(mark)), None)


def sniff(head: bytes) -> Format | None:
    """Return the format that the first bytes of a stream show, None if none does.

    Text that is not JSON is CSV, or TSV where its first line has tabs and no comma.

    Examples
    --------
    >>> sniff(b'{"score": 0.5}')
    'jsonl'
    """
    if kind := binary_format(head):
        return kind
    text = head[:_SNIFFED_BYTES].removeprefix(UTF8_MARK).lstrip()
    if not text or b"\0" in text:
        return None
    if text.startswith((b"{", b"[")):
        return "jsonl"
    first_line = text.splitlines()[0]
    return "tsv" if b"\t" in first_line and b"," not in first_line else "csv"


# Columns that are taken without being named
SCORE_NAMES = (
    "score", "scores", "prob", "probs", "proba", "probability", "probabilities", "p",
    "y_score", "y_prob", "y_proba", "pred_prob", "pred_proba", "predicted_probability",
)  # fmt: skip
LOGIT_NAMES = ("logit", "logits", "log_odds")
LABEL_NAMES = ("label", "labels", "y", "y_true", "target")
DECISION_NAMES = ("decision", "prediction", "predicted", "pred", "y_pred")
