"""A page that people open: what was decided, what to expect, what would change it."""

from typing import TYPE_CHECKING

from argmetric._lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.report._report import Report as Report
    from argmetric.report._summarize import summarize as summarize
    from argmetric.report._summary import Summary as Summary

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_report": ("Report",),
        "_summarize": ("summarize",),
        "_summary": ("Summary",),
    },
    for_other_rooms={
        "_report": ("format_of", "require_page"),
        "_summarize": ("summarize_file",),
        "_stream": ("Look", "StreamHistory", "summarize_stream"),
        "_tags": ("summarize_tags",),
        "_classes": ("report_class_check", "report_class_decision"),
        "_watched": ("report_monitoring",),
        "_of_results": (
            "report_check",
            "report_decision",
            "report_rule",
        ),
    },
)
