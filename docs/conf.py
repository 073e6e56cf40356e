"""Sphinx configuration; nothing but argmetric is imported, so that tests can load it."""

from __future__ import annotations

import argmetric

project = "argmetric"
author = "The argmetric developers"
copyright = "The argmetric developers"
version = release = argmetric.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "sg_execution_times.rst"]
nitpicky = True

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say the types in words
autodoc_member_order = "bysource"
add_module_names = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# Every public name has a docstring with a summary, and all its parameters in it.
numpydoc_validation_checks = {"GL08", "SS01", "PR01", "PR02", "PR10"}

html_theme = "pydata_sphinx_theme"
html_title = "argmetric"
html_static_path = ["_static"]
html_css_files = ["argmetric.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "argmetric"},
    "navbar_end": ["theme-switcher"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"quickstart": [], "api": [], "api/*": []}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
}
