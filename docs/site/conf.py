"""The documentation as a site: the Markdown of this repository as it stands, and nothing else."""

import re
from typing import Any

project = "Enginehouse"
author = "the Enginehouse contributors"
root_doc = "docs/index"
extensions = ["myst_parser"]
include_patterns = [
    "docs/**",
    "contributing/*",
    "benchmarks/README.md",
    "examples/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
# What holds no page: else Sphinx walks through environments and data, too.
exclude_patterns = [
    ".*",
    "apps",
    "benchmarks/[!R]*",
    "controlplane",
    "docker",
    "docs/site",
    "site",
    "static",
    "templates",
    "tests",
    "workers",
]
myst_heading_anchors = 4
suppress_warnings = [
    "misc.highlighting_failure"
]  # a block may hold `…` where something is left out

html_theme = "furo"
html_title = "Enginehouse"
html_extra_path = ["root"]
html_copy_source = False
html_show_sphinx = False
templates_path: list[str] = []

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)#]+)\.md\)", re.MULTILINE)


def setup(app: Any) -> None:
    """Let the index name the order of the pages."""
    app.connect("source-read", _add_navigation)


def _add_navigation(_app: Any, document: str, source: list[str]) -> None:
    if document == root_doc:
        source[0] += "".join(_navigation(source[0]))


def _navigation(index: str) -> list[str]:
    """Return a hidden table of contents for each section of the index, out of its table."""
    _, *parts = _SECTION.split(index)
    return [
        _contents(title, _ROW.findall(text))
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    ]


def _contents(title: str, pages: list[tuple[str, str]]) -> str:
    listed = "\n".join(f"{name} <{path}>" for name, path in pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n:titlesonly:\n\n{listed}\n```\n"
