"""A page that people open: what was decided, what to expect, what would change it."""

from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:
    from argmetric._report._report import Report as Report
    from argmetric._report._verb import report as report

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {"_report": ("Report",), "_verb": ("report",)},
    for_other_rooms={
        "_report": ("format_of", "require_page"),
        "_stream": ("report_stream", "report_tags"),
        "_check": ("report_class_decision",),
        "_curves": ("require_scores",),
        "_verb": ("report_decision",),
    },
)
