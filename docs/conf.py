"""The documentation's site: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import notebooks  # noqa: E402 (needs the path)
from generate import write  # noqa: E402

write(HERE / "reference")
notebooks.write(HERE / "reference" / "notebooks")

project = "retx"
author = "The retx authors"
copyright = "The retx authors"  # noqa: A001 (Sphinx's name)
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "retx"
exclude_patterns = ["images", "examples", "notebooks"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# Links to files beside the documentation; python/tests/test_readme.py checks that they are there.
suppress_warnings = ["myst.xref_missing"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
