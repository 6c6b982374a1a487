"""A copy of the tree to follow the pages of `contributing/` in, and what became of the copy."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
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
_PLACEHOLDER = re.compile(r"<[a-z_ ]+>")
_COMMANDS = """\
import os, sys
from django.core.management import execute_from_command_line
os.environ["DJANGO_SETTINGS_MODULE"] = "controlplane.settings"
for command in sys.argv[1:]:
    execute_from_command_line(["manage.py", command])
"""
_PYTEST = ("-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", "-m", "not long")
_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s:]+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Change:
    """What a page says, done for something that nobody needs."""

    page: str
    of: str
    follow: "Callable[[Copy], None]"
    tests: tuple[str, ...]
    """What the page says proves it, in the copy."""
    commands: tuple[str, ...] = ()
    """Of `manage.py`, which write what is generated."""
    test_of_its_own: tuple[str, str] | None = None
    """A file that no page names, and its text."""
    most_files: int | None = None
    """Beside those that commands write."""


@dataclass
class Copy:
    """The tree as it is, with changes of which nothing stays."""

    root: Path
    before: dict[str, str]
    """The digest of each file before the change that is being made."""

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

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Return how this Python ran in the copy."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )

    def manage(self, *commands: str) -> None:
        """Run commands of `manage.py` that need no server, all in one process."""
        ran = self.run("-c", _COMMANDS, *commands)
        assert ran.returncode == 0, f"{commands}\n{ran.stdout[-6000:]}\n{ran.stderr[-3000:]}"

    def changed(self) -> set[str]:
        """Return the paths of what differs from what was copied, or is new."""
        return {path for path, digest in _digests(self.root).items()
                if self.before.get(path) != digest}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Followed:
    """What became of a copy in which all changes were made, one upon the other."""

    copy: Copy
    changed: dict[str, set[str]]
    """By what each change was of."""
    changed_by_hand: dict[str, set[str]]

    def tested(self, changes: Sequence[Change]) -> "Tested":
        """Return how all tests ran in the copy that pages name for these changes."""
        proofs = sorted({path for each in changes for path in _proofs(each)})
        ran = self.copy.run(*_PYTEST, *proofs)
        return Tested(f"{ran.stdout[-6000:]}\n{ran.stderr[-3000:]}", ran.returncode)


@dataclass(frozen=True)
class Tested:
    """One run of tests in the copy."""

    said: str
    status: int

    def failed(self, change: Change) -> list[str]:
        """Return the files that failed of those that are to prove the change; all without a run."""
        if self.status not in (0, 1):
            return [*_proofs(change)]
        failed = set(_FAILED.findall(self.said))
        return sorted(each for each in failed if each.startswith(_proofs(change)))


def follow(changes: Sequence[Change], to: Path) -> Followed:
    """Return what came of all changes in one copy: each stands on those before."""
    copy = copy_tree(to)
    changed, changed_by_hand = {}, {}
    for change in changes:
        copy.before = _digests(to)
        change.follow(copy)
        changed_by_hand[change.of] = copy.changed()
        if change.commands:
            copy.manage(*change.commands)
        changed[change.of] = copy.changed()
        if change.test_of_its_own:
            copy.write(*change.test_of_its_own)
    return Followed(copy=copy, changed=changed, changed_by_hand=changed_by_hand)


def copy_tree(to: Path) -> Copy:
    """Return a copy of what a change may touch."""
    for folder in _COPIED:
        shutil.copytree(ROOT / folder, to / folder, ignore=_LEFT_OUT)
    for file in ROOT.iterdir():
        if file.is_file() and not file.name.startswith("."):
            shutil.copy(file, to / file.name)
    migrated_postgres.copy_kept(to)
    return Copy(to, {})


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


def _proofs(change: Change) -> tuple[str, ...]:
    return (*change.tests, *(change.test_of_its_own or ())[:1])


def _pattern(path: str) -> re.Pattern[str]:
    parts = _PLACEHOLDER.split(path)
    return re.compile("[^/]+".join(map(re.escape, parts)))


def _digests(root: Path) -> dict[str, str]:
    return {
        path: _digest(file, os.stat(file).st_mtime_ns)  # noqa: PTH116  # thousands, many times
        for file in _files(root)
        if not (path := file.removeprefix(f"{root}/")).startswith(".")
    }


def _files(root: Path) -> Iterator[str]:
    """Yield every file but compiled modules, which are as many again to look at."""
    for folder, folders, names in os.walk(root):
        folders[:] = [each for each in folders if each != "__pycache__"]
        yield from (f"{folder}/{name}" for name in names)


@cache
def _digest(file: str, _changed_at: int) -> str:
    """Return that of its content, which is read again once it was written to."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()
