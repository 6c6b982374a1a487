"""How many lines the product has, and how many fewer by the commits that only tidied it.

Python below `apps`, `controlplane` and `workers`, migrations aside. Commits that change no
behaviour have a subject of "House: …", or are named below; the bar is on what all of them took
away, less what they added: a protocol, a table or a type in place of what many places said.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import report  # noqa: E402

PRODUCT = ("apps", "controlplane", "workers")
ITS_SUBJECT = "House: "
SUBJECTS = frozenset(
    """\
Apps: import services from the modules that define them
Builds and deployments: rows are looked up by selectors
Builds: type what a job tells its step
Builds: type what the step `fetch` leaves
Commands: what an import says becomes JSON by dataclasses, not field by field
Editor: its text is read once per change
Failures: a pattern is written in one way, whichever process printed its words
Failures: code, blame and words stand once, in a registry
Failures: one way to write an entry, one list of setting paths
Failures: what is raised names its kind of the registry, without a function between
Failures: what only names its kind of the registry is raised by it
Leases: what kinds of work say alike stands once, and tasks keep a lease in one way
Lookahead: the rule in plain Python lies with the tests, which alone use it
Metrics: read engines' pages with prometheus_client
One time for one build: the forecast tells it, the plan no longer does
Quantization types: ask a row of one table, never the name
REST: count callers by a throttle of the framework, on Django's Redis cache
Rooms: rules by family, and builds, deployments and accounts by noun
Rules: what several rules ask of a config stands once
Runtimes: ask the runtime itself, never its name
Settings: declare each variable once, as a field that says what it does
Take out what nothing uses
""".splitlines()
)
BARS = {"lines_fewer_by_tidying": report.at_least(4000)}


def main() -> int:
    """Return the exit status: 0 where the bar is met."""
    options = report.parser(__doc__, full="the same").parse_args()
    lines = report.Report(as_json=options.json)
    texts = [path.read_text() for path in _product()]
    commits = _tidying()
    return lines.end(
        {
            "files": len(texts),
            "lines": sum(len(text.splitlines()) for text in texts),
            "blank_lines": sum(not line.strip() for text in texts for line in text.splitlines()),
            "docstring_lines": sum(sum(_docstrings(text)) for text in texts),
            "tidying_commits": len(commits),
            "lines_fewer_by_tidying": sum(commits.values()),
            "lines_fewer_by_commit": dict(sorted(commits.items(), key=lambda each: -each[1])),
        },
        BARS,
    )


def _product() -> Iterator[Path]:
    for folder in PRODUCT:
        for path in (ROOT / folder).rglob("*.py"):
            if "migrations" not in path.parts:
                yield path


def _docstrings(text: str) -> Iterator[int]:
    """Yield the lines of each text that stands alone: of files, classes, functions and fields."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield (node.end_lineno or node.lineno) - node.lineno + 1


def _tidying() -> dict[str, int]:
    """Return subject -> lines fewer, of each commit that left fewer or more."""
    log = _git("log", "--format=>%s", "--numstat", "--", *PRODUCT)
    fewer: dict[str, int] = {}
    subject = ""
    for line in filter(None, log.splitlines()):
        if line.startswith(">"):
            subject = line[1:]
            continue
        if not subject.startswith(ITS_SUBJECT) and subject not in SUBJECTS:
            continue
        added, deleted, path = line.split("\t")
        if path.endswith(".py") and "/migrations/" not in path:
            fewer[subject] = fewer.get(subject, 0) + int(deleted) - int(added)
    return {subject: count for subject, count in fewer.items() if count}


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
