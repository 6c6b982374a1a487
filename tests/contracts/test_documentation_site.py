"""`make docs` builds a site of the documents that is whole and asks no other host."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = re.compile(r'<(?:script|link|img)\b[^>]*(?:src|href)="(?:https?:)?//[^>]*>')


def test_it_is_built_without_a_warning_is_searchable_and_loads_nothing_from_elsewhere(
    tmp_path: Path,
) -> None:
    site = tmp_path / "site"
    ran = subprocess.run(
        [_python_with_sphinx(), "-m", "sphinx", *_options(tmp_path), ".", str(site)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    pages = {str(each.relative_to(site)): each.read_text() for each in site.rglob("*.html")}
    assert {name for name, text in pages.items() if ELSEWHERE.search(text)} == set()
    assert {"index.html", "docs/index.html", "search.html", "docs/rules.html"} <= pages.keys()
    assert "fp8_kv" in (site / "searchindex.js").read_text()


def _options(folder: Path) -> list[str]:
    strict = ["--fail-on-warning", "--keep-going", "--quiet"]
    return [*strict, "--conf-dir", "docs/site", "--doctree-dir", str(folder / "doctrees")]


def _python_with_sphinx() -> str:
    if find_spec("sphinx"):
        return sys.executable
    own = ROOT / ".venv-docs" / "bin" / "python"
    if not own.exists():
        pytest.skip("Sphinx is not installed; `make docs` makes an environment that has it")
    return str(own)
