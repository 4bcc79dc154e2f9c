"""How Sphinx builds the documentation; nothing here needs a network."""

from protoglot import __version__

project = "protoglot"
author = "The protoglot developers"
project_copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
# Examples in docstrings need the names of their module; pytest runs them (tests/test_doctests.py).
doctest_test_doctest_blocks = ""
exclude_patterns = ["_build", "*-table.md"]
html_theme = "furo"
html_title = f"protoglot {release}"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
napoleon_numpy_docstring = False
python_use_unqualified_type_names = True
