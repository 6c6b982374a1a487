"""The tests of `make test-fast`: which they are, and which of them mirror what has changed.

`python -m tests.tiers` runs them all, with `--changed` those that mirror changed paths; what else
it is given goes to pytest.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "tests/domain",
    "tests/seeds",
    "tests/sources",
    "tests/artifacts",
    "tests/calibration_files",
    "tests/apps",
    "tests/workers/gateway",
    "tests/workers/tasks",
)
SLOW_MARKS = ("process", "long", "browser", "engine", "e2e", "wide")
SELECTION = " and ".join(f"not {mark}" for mark in SLOW_MARKS)
MIRRORED = {
    "controlplane/domain": "tests/domain",
    "controlplane/sources": "tests/sources",
    "controlplane/artifacts": "tests/artifacts",
    "controlplane/calibration_files": "tests/calibration_files",
    "apps": "tests/apps",
    "templates": "tests/apps",
    "workers/gateway": "tests/workers/gateway",
    "workers/tasks": "tests/workers/tasks",
    **{folder: folder for folder in FOLDERS},
}
"""Where the tests of what lies in a folder are."""
SHARED = re.compile(
    r"pyproject\.toml|constraints[^/]*\.txt|controlplane/[^/]+\.py|controlplane/domain/spec/.*"
    r"|tests/(?!test_)[^/]+\.py"
)
"""What every test of the tier may stand on."""
SIDE_BY_SIDE = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
_OF_EACH_CORE = ("-n", "2", *SIDE_BY_SIDE[2:])
"""A third process costs ten CPU seconds to collect and serve, and few of these tests wait."""
NO_TESTS_COLLECTED = 5
_FILES_OF_ONE_PROCESS = 40
"""Fewer end sooner in one process than several have started."""
_MARKS_OF_A_FILE = re.compile(r"^pytestmark = .*(?:\n[ \])].*)*", re.MULTILINE)


def main(arguments: Sequence[str]) -> int:
    """Run the tier, or what mirrors the changes, and return pytest's exit status."""
    if "--changed" not in arguments:
        return _run(files_of([*FOLDERS, *_of_the_top(ROOT)]), arguments)
    tests = files_of(mirror(changed_paths(ROOT)))
    if not tests:
        print("No changed path has tests in this tier.")  # noqa: T201
        return 0
    status = _run(tests, [each for each in arguments if each != "--changed"])
    return 0 if status == NO_TESTS_COLLECTED else status


def mirror(changed: Iterable[str], root: Path = ROOT) -> list[str]:
    """Return the folders and files of tests that mirror the paths; all where one is shared."""
    names: set[str] = set()
    for path in changed:
        if SHARED.fullmatch(path):
            return [*FOLDERS, *_of_the_top(root)]
        names.update(_mirrored(path, root))
    return sorted(names)


def files_of(places: Iterable[str], root: Path = ROOT) -> list[str]:
    """Return the files with tests of this tier: those that are slow as a whole are not imported."""
    files = sorted({file for place in places for file in _files(root / place)})
    return [str(file.relative_to(root)) for file in files if not _is_slow(file.read_text())]


def changed_paths(root: Path) -> list[str]:
    """Return what differs from where this branch left main, committed or not, or is new."""
    base = next(filter(None, (_merge_base(root, name) for name in ("origin/main", "main"))), "HEAD")
    listed = _git(root, "diff", "--name-only", "--no-renames", base)
    new = _git(root, "ls-files", "--others", "--exclude-standard")
    return sorted({*listed, *new})


def _mirrored(path: str, root: Path) -> Iterator[str]:
    if re.fullmatch(r"tests/test_[^/]+\.py", path):
        yield path
        return
    source = next((each for each in PurePosixPath(path).parents if str(each) in MIRRORED), None)
    if source is None:
        return
    if PurePosixPath(path).name.startswith("test_") and (root / path).is_file():
        yield path
        return
    top = PurePosixPath(MIRRORED[str(source)])
    folder = top / PurePosixPath(path).parent.relative_to(source)
    while folder != top and not (root / folder).is_dir():
        folder = folder.parent
    yield str(folder)


def _files(place: Path) -> Iterable[Path]:
    return place.rglob("test_*.py") if place.is_dir() else [place] if place.is_file() else []


def _of_the_top(root: Path) -> list[str]:
    return [str(each.relative_to(root)) for each in (root / "tests").glob("test_*.py")]


def _is_slow(text: str) -> bool:
    marks = "".join(_MARKS_OF_A_FILE.findall(text))
    return any(re.search(rf"pytest\.mark\.{mark}\b", marks) for mark in SLOW_MARKS)


def _merge_base(root: Path, name: str) -> str | None:
    return next(iter(_git(root, "merge-base", "HEAD", name)), None)


def _git(root: Path, *arguments: str) -> list[str]:
    ran = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
    )
    return ran.stdout.splitlines()


def _run(tests: Sequence[str], more: Sequence[str]) -> int:
    side_by_side = () if len(tests) <= _FILES_OF_ONE_PROCESS else _OF_EACH_CORE
    command = [sys.executable, "-m", "pytest", "-q", "-m", SELECTION, *side_by_side]
    return subprocess.run([*command, *tests, *more], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
