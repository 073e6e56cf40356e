"""Sphinx configuration; loads argmetric alone, so that the tests can load it."""

from __future__ import annotations

import os
import runpy
from functools import partial
from pathlib import Path
from typing import Any

import argmetric
from argmetric._ground.stability import is_stable

project = "argmetric"
author = "The argmetric developers"
copyright = "The argmetric developers"
version = release = argmetric.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "sg_execution_times.rst"]
nitpicky = True
# Attributes that numpydoc links, though they are set by `fit` or documented elsewhere.
nitpick_ignore = [("py:obj", name) for name in ("history_", "labels_", "n_seen_")]

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say the types in words
autodoc_member_order = "bysource"
autodoc_mock_imports = ["torch"]  # of losses and masks; it is not installed for docs
add_module_names = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# Every public name has a docstring, with a summary and without parameters of old.
numpydoc_validation_checks = {"GL08", "SS01", "PR02"}
numpydoc_validation_exclude = {r"\.fields$"}  # `Result` says what they are

html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"  # formulas without a script from elsewhere
html_title = "argmetric"
html_static_path = ["_static"]
html_css_files = ["argmetric.css"]
html_js_files = ["argmetric.js"]
html_show_sourcelink = False
html_copy_source = False
html_search_scorer = str(Path(__file__).parent / "_static/scorer.js")
html_use_index = False  # the API pages and the search find every name
html_theme_options = {
    "logo": {"text": "argmetric"},
    "navbar_end": ["theme-switcher"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
if ref := os.environ.get("ARGMETRIC_DOCS_REF"):  # where they lie beside other versions
    folder_of = runpy.run_path(str(Path(__file__).parent / "publish.py"))["folder_of"]
    html_theme_options |= {
        "navbar_end": ["version-switcher", "theme-switcher"],
        "switcher": {"json_url": "../versions.json", "version_match": folder_of(ref)},
        "check_switcher": False,
    }
html_sidebars = {
    page: [] for page in ("quickstart", "coming_from", "api", "api_rooms", "api/*")
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "ignore_pattern": r"parsing_by_search\.py",  # has a page of its own
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 3600,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
}

# Tutorials: the build runs their code and draws what stands in them.
plot_include_source = True
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = ["svg"]
plot_apply_rcparams = True
plot_rcparams = {
    "svg.hashsalt": "argmetric",  # the same bytes whenever the same picture is drawn
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "path.simplify": True,
}

RESULTS = {
    "argmetric.CalibrationCheck",
    "argmetric.Calibrator",
    "argmetric.Decision",
    "argmetric.Forecast",
    "argmetric.MultiLabelRule",
    "argmetric.ParityMonitoring",
    "argmetric.ParityPeriod",
    "argmetric.ParityRule",
    "argmetric.RankingPrinciple",
    "argmetric.ReviewMonitoring",
    "argmetric.ReviewPeriod",
    "argmetric.ReviewRule",
    "argmetric.classes.ClassReviewMonitoring",
    "argmetric.classes.ClassReviewRule",
    "argmetric.classes.MultiClassRule",
}


def hide_constructor(
    app: object, what: str, name: str, *_: object
) -> tuple[str, None] | None:
    """Nobody makes a result by hand: its attributes say what it holds."""
    return ("", None) if name in RESULTS else None


def skip_requests(app: object, what: str, name: str, *_: object) -> bool | None:
    """Metadata requests come from scikit-learn, with links into its own pages."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def mark_experimental(
    app: object, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Say below the summary of a function or class that it is experimental."""
    module, _, public = name.rpartition(".")
    is_ours = what in ("function", "class") and not is_stable(module, public)
    if is_ours and not any("Experimental: " in line for line in lines):
        note = "*Experimental*: may change in any release, see :doc:`/stable`."
        end = lines.index("") if "" in lines else len(lines)
        lines[end:end] = ["", note]


def to_mathml(translator: Any, node: Any, *, as_block: bool) -> None:
    from docutils.nodes import SkipNode
    from docutils.utils.math.latex2mathml import tex2mathml

    mathml = tex2mathml(node.astext(), as_block=as_block)
    start, end = ('<div class="math">', "</div>\n") if as_block else ("", "")
    translator.body.append(start + mathml + end)
    raise SkipNode


def folded(name: str, line: list[Any], inside: list[Any]) -> list[Any]:
    """A line that opens to what is inside."""
    from docutils import nodes

    tags = f'<details class="{name}"><summary>', "</summary>", "</details>"
    start, middle, end = (nodes.raw("", x, format="html") for x in tags)
    return [start, *line, middle, *inside, end]


def claim_directive() -> Any:
    """`.. claim:: VERDICT; PLACE; TEXT` opens to its content, for papers.rst.

    `.. folded:: TEXT` does so on other pages.
    """
    from docutils import nodes
    from docutils.parsers.rst import Directive

    class Claim(Directive):
        required_arguments = 1
        final_argument_whitespace = True
        has_content = True

        def run(self) -> list[Any]:
            inside = nodes.container()
            self.state.nested_parse(self.content, self.content_offset, inside)
            line, problems = [], []
            for part in self.arguments[0].split("; ", 2):
                said, wrong = self.state.inline_text(part, self.lineno)
                line.append(nodes.paragraph("", "", *said))
                problems += wrong
            return [*folded(self.name, line, inside.children), *problems]

    return Claim


def keys_directive() -> Any:
    """`.. keys:: NAME, with OTHERS`: the keys of an object of JSON, for results.rst."""
    from docutils import nodes
    from docutils.parsers.rst.directives.tables import CSVTable

    class Keys(CSVTable):
        def run(self) -> list[Any]:
            name, _, others = self.arguments[0].partition(", with ")
            shared = ", ".join(f"``{other}``" for other in others.split(", ") if other)
            self.arguments = [f"``{name}``" + (shared and f", with {shared}")]
            if not self.content:
                said, wrong = self.state.inline_text(self.arguments[0], self.lineno)
                return [nodes.paragraph("", "", *said), *wrong]
            for i, line in enumerate(self.content):
                keys, kind, meaning = line.split(":", 2)
                named = ", ".join(f"``{key}``" for key in keys.split(", "))
                self.content[i] = f"{named}|{kind}|{meaning}"
            self.options |= {"delim": "|", "stub-columns": 1}
            self.options |= {"widths": [22, 30, 48], "class": ["compact", "keys"]}
            return list(super().run())

    return Keys


def setup(app: Any) -> None:
    for name in ("claim", "folded"):
        app.add_directive(name, claim_directive())
    app.add_directive("keys", keys_directive())
    app.connect("autodoc-process-signature", hide_constructor)
    app.connect("autodoc-skip-member", skip_requests)
    app.connect("autodoc-process-docstring", mark_experimental, priority=400)
    app.add_html_math_renderer(
        "mathml",
        (partial(to_mathml, as_block=False), None),
        (partial(to_mathml, as_block=True), None),
    )
