"""How Sphinx builds these pages: `make docs` writes them to build/docs."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "alloykit"
author = "alloykit developers"
copyright = author
version = release = installed("alloykit")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "docstrings", "generated", "results"]
exclude_patterns = ["_ext"]
html_theme = "furo"
html_title = "alloykit"
html_copy_source = False

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4  # links to headings, as code hosts make them
suppress_warnings = ["myst.header"]  # a result page may begin with a second-level heading

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
