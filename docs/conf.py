"""The site made of these pages: `pip install -e '.[docs]' && sphinx-build -W docs site`."""

from __future__ import annotations

import os
from pathlib import Path

# Help texts as in a terminal of this width, on every machine.
os.environ["COLUMNS"] = "80"

from sphinx.application import Sphinx

import npu_target
from npu_target.cli.main import make_parser
from npu_target.cli.parsers import leaves

project = "npu_target"
version = release = npu_target.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
html_theme = "furo"
html_title = f"npu_target {version}"
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_use_ivar = True


def _write_commands(app: Sphinx) -> None:
    """The page of all commands, from their --help."""
    parts = [
        "# All commands and options",
        "What `--help` says. See also [the command line](command_line.md).",
    ]
    for parser in leaves(make_parser()):
        parts += [f"## {parser.prog}", f"```text\n{parser.format_help().rstrip()}\n```"]
    Path(app.srcdir, "commands.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", _write_commands)
