"""A copy of the tree to follow a page of `contributing/` in, and what became of the copy."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests import migrated_postgres

ROOT = Path(__file__).resolve().parents[2]
_COPIED = ("apps", "benchmarks", "contributing", "controlplane", "docs", "static", "templates",
           "tests", "workers")  # fmt: skip
_LEFT_OUT = shutil.ignore_patterns("*.pyc.*", "screenshots", "raw")
"""Compiled modules come along, but for those that somebody is writing: a copy keeps their times."""
_PASSED_ON = ("PATH", "HOME", *migrated_postgres.LOCALE)
_LISTED = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
_PATIENCE_SECONDS = 540
"""Less than a test has: that it ran out is then told with what was run."""
_IGNORED = re.compile(r"\.|.*/__pycache__/")
_PLACEHOLDER = re.compile(r"<[a-z_ ]+>")


@dataclass(frozen=True)
class Copy:
    """The tree as it is, with a change of which nothing stays."""

    root: Path
    before: dict[str, str]
    """The digest of each file as it was copied."""

    def write(self, path: str, text: str) -> None:
        """Write a file that is not there yet."""
        file = self.root / path
        assert not file.exists(), path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def put(self, path: str, text: str, *, after: str = "", before: str = "") -> None:
        """Put the text into a file, behind or in front of what stands there once."""
        file, anchor = self.root / path, after or before
        whole = file.read_text()
        assert whole.count(anchor) == 1, f"{path} has {anchor!r} {whole.count(anchor)} times"
        file.write_text(whole.replace(anchor, f"{after}{text}{before}"))

    def run(self, *arguments: str) -> None:
        """Run this Python in the copy; what it prints is told where it fails."""
        ran = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
        assert ran.returncode == 0, f"{arguments}\n{ran.stdout[-6000:]}\n{ran.stderr[-3000:]}"

    def manage(self, *arguments: str) -> None:
        """Run a command of `manage.py` that needs no server."""
        self.run("manage.py", *arguments)

    def test(self, *arguments: str) -> None:
        """Run tests of the copy."""
        self.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not long", *arguments)

    def changed(self) -> set[str]:
        """Return the paths of what differs from what was copied, or is new."""
        return {path for path, digest in _digests(self.root).items()
                if self.before.get(path) != digest}  # fmt: skip


def copy_tree(to: Path) -> Copy:
    """Return a copy of what a change may touch."""
    for folder in _COPIED:
        shutil.copytree(ROOT / folder, to / folder, ignore=_LEFT_OUT)
    for file in ROOT.iterdir():
        if file.is_file() and not file.name.startswith("."):
            shutil.copy(file, to / file.name)
    migrated_postgres.copy_kept(to)
    return Copy(to, _digests(to))


def listed(page: str) -> list[str]:
    """Return the files of the tables of a page, `<name>` where it stands for any name."""
    return _LISTED.findall((ROOT / "contributing" / f"{page}.md").read_text())


def not_as_listed(page: str, changed: set[str]) -> list[str]:
    """Return the files that were changed and are not on the page, and the other way round."""
    patterns = {each: _pattern(each) for each in listed(page)}
    unlisted = [path for path in changed
                if not any(each.fullmatch(path) for each in patterns.values())]  # fmt: skip
    untouched = [name for name, each in patterns.items() if not any(map(each.fullmatch, changed))]
    return sorted([*unlisted, *untouched])


def _pattern(path: str) -> re.Pattern[str]:
    parts = _PLACEHOLDER.split(path)
    return re.compile("[^/]+".join(map(re.escape, parts)))


def _digests(root: Path) -> dict[str, str]:
    files = {str(each.relative_to(root)): each for each in root.rglob("*") if each.is_file()}
    return {
        path: hashlib.sha256(file.read_bytes()).hexdigest()
        for path, file in files.items()
        if not _IGNORED.match(path)
    }
