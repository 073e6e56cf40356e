"""What is kept in files: written whole or not at all, and read with care.

At the bottom of the house: every room that keeps something uses this, and it knows
none of them.
"""

from argmetric._saving._archive import (
    DAMAGE,
    Arrays,
    json_array,
    read_archive,
    read_arrays,
    whole,
    write_archive,
)
from argmetric._saving._decode import decoded, is_utf8
from argmetric._saving._json import (
    check_version,
    load_json,
    parsed,
    plain,
    plain_number,
    refuse_other_encodings,
    restored,
    save_json,
    shown_number,
)
from argmetric._saving._kinds import Saved
from argmetric._saving._whole import (
    DataError,
    FilePath,
    is_special,
    remove_folder,
    remove_unfinished,
    replaced_whole,
    unfinished,
    writing,
    written_whole,
)

__all__ = [
    "DAMAGE",
    "Arrays",
    "DataError",
    "FilePath",
    "Saved",
    "check_version",
    "decoded",
    "is_special",
    "is_utf8",
    "json_array",
    "load_json",
    "parsed",
    "plain",
    "plain_number",
    "read_archive",
    "read_arrays",
    "refuse_other_encodings",
    "remove_folder",
    "remove_unfinished",
    "replaced_whole",
    "restored",
    "save_json",
    "shown_number",
    "unfinished",
    "whole",
    "write_archive",
    "writing",
    "written_whole",
]
