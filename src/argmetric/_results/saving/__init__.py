"""What is kept in files: written whole or not at all, and read with care.

At the bottom of the house: every room that keeps something uses this, and it knows
none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._lazy import lazy_names

if TYPE_CHECKING:
    from argmetric._results.saving._archive import DAMAGE as DAMAGE
    from argmetric._results.saving._archive import Arrays as Arrays
    from argmetric._results.saving._archive import json_array as json_array
    from argmetric._results.saving._archive import read_archive as read_archive
    from argmetric._results.saving._archive import read_arrays as read_arrays
    from argmetric._results.saving._archive import whole as whole
    from argmetric._results.saving._archive import write_archive as write_archive
    from argmetric._results.saving._decode import decoded as decoded
    from argmetric._results.saving._decode import is_utf8 as is_utf8
    from argmetric._results.saving._json import MAX_NESTING as MAX_NESTING
    from argmetric._results.saving._json import check_version as check_version
    from argmetric._results.saving._json import is_too_deep as is_too_deep
    from argmetric._results.saving._json import load_json as load_json
    from argmetric._results.saving._json import parsed as parsed
    from argmetric._results.saving._json import plain as plain
    from argmetric._results.saving._json import plain_number as plain_number
    from argmetric._results.saving._json import (
        refuse_other_encodings as refuse_other_encodings,
    )
    from argmetric._results.saving._json import restored as restored
    from argmetric._results.saving._json import save_json as save_json
    from argmetric._results.saving._json import shown_number as shown_number
    from argmetric._results.saving._kinds import Saved as Saved
    from argmetric._results.saving._whole import DataError as DataError
    from argmetric._results.saving._whole import FilePath as FilePath
    from argmetric._results.saving._whole import is_special as is_special
    from argmetric._results.saving._whole import remove_folder as remove_folder
    from argmetric._results.saving._whole import remove_unfinished as remove_unfinished
    from argmetric._results.saving._whole import replaced_whole as replaced_whole
    from argmetric._results.saving._whole import unfinished as unfinished
    from argmetric._results.saving._whole import writing as writing
    from argmetric._results.saving._whole import written_whole as written_whole

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_archive": (
            "DAMAGE",
            "Arrays",
            "json_array",
            "read_archive",
            "read_arrays",
            "whole",
            "write_archive",
        ),
        "_decode": (
            "decoded",
            "is_utf8",
        ),
        "_json": (
            "MAX_NESTING",
            "check_version",
            "is_too_deep",
            "load_json",
            "parsed",
            "plain",
            "plain_number",
            "refuse_other_encodings",
            "restored",
            "save_json",
            "shown_number",
        ),
        "_kinds": ("Saved",),
        "_whole": (
            "DataError",
            "FilePath",
            "is_special",
            "remove_folder",
            "remove_unfinished",
            "replaced_whole",
            "unfinished",
            "writing",
            "written_whole",
        ),
    },
)
