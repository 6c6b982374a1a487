"""The registry and its patterns -> docs/failures.md."""

import re
from collections.abc import Iterable, Mapping
from functools import partial

from controlplane.domain.failures.crash_evidence import CrashEvidence
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.pattern import Pattern
from controlplane.domain.failures.patterns.table import FAMILIES
from controlplane.domain.failures.registry.table import RAISED, Family
from controlplane.domain.runtimes import RUNTIMES

_BLAMES = {
    Blame.CONFIGURATION: "config",
    Blame.CHECKPOINT: "checkpoint",
    Blame.MACHINE: "machine",
    Blame.OURS: "Enginehouse",
}
_TABLE = "| Code | To change | What happened | What to do |\n|---|---|---|---|\n"
_HEAD = """\
# Failures

When a build or a replica ends, its page says what happened in one sentence with the values of your
config, who has to act, which setting to change and, where a change can help, shows the fix as a
difference before you press its button (*Use enginehouse/general and retry*). Each failure has a
permanent code; this page lists all of them, with their sentences as they stand in the registry:
`<name>` and *name* are values of the case. It is written by `manage.py write_failure_reference`.

**How a crash is explained.** A step that fails says so itself. When one dies instead (a traceback
of a library, a signal of the kernel), the last exception of its log is compared with a table of
patterns, each with an example as it was really printed, its source and date. The kernel's own count
of kills for want of memory tells such a kill from any other.

**Words that no pattern knows** are told by the family that they belong to where a library refuses
on purpose (`ENR-…`): its own sentence, and the settings of your config that it names, by argument,
value or number. Any other exception is answered by a guess, which says that it is one (`EHG-…`):
class and message, and the part of the library that raised it, thereby who has probably to act.

**What nothing points at** is `EHB-CRASHED`: the page shows its last lines, redacted, and offers a
support bundle: a zip with config, checks, plan, steps with their times, the end of each
log, versions and machines. Values of secrets and environment variables are not in it.

**Apply and retry.** The fix goes into the newest text of the config, also where someone saved it
since; the new build names the one that failed, and that one links to it. Pressing twice leads to
the same build.
"""
_OF_NOBODY = CrashEvidence(subject="The step", exit_code=1, log_tail="").words
_KNOWN = {name: _OF_NOBODY[name] for name in ("subject", "it", "repo", "dataset")}
_VALUE = re.compile(r"(?<!{){(\w+)(?::[^{}]*)?}(?!})")


def write_reference() -> str:
    return "\n".join((_HEAD, *(_section(family) for family in families() if family.kinds)))


def families() -> tuple[Family, ...]:
    """Return all kinds: what is raised by name, and what only logs tell of."""
    raised = {code for family in RAISED for kind in family.kinds for code in kind.codes}
    read = (
        Family(title=f"Read from logs: {title}", kinds=_others(patterns, raised))
        for title, patterns in FAMILIES.items()
    )
    logs = (
        Family(title=f"Read from {runtime.title}'s log", kinds=tuple(runtime.failures.LOG_PATTERNS))
        for runtime in RUNTIMES.values()
    )
    return (*RAISED, *read, *logs)


def _others(patterns: Iterable[Pattern], raised: set[str]) -> tuple[Pattern, ...]:
    return tuple(pattern for pattern in patterns if pattern.code not in raised)


def _section(family: Family) -> str:
    by_code: dict[tuple[str, ...], list[FailureKind]] = {}
    for kind in family.kinds:
        by_code.setdefault(kind.codes, []).append(kind)
    return f"## {family.title}\n\n{_TABLE}" + "".join(_row(same) for same in by_code.values())


def _row(same: list[FailureKind]) -> str:
    cells = (
        ", ".join(f"`{code}`" for code in same[0].codes),
        _BLAMES[same[0].blame],
        _lines(_meaning(kind) for kind in same),
        _lines(_shown(kind.hint, _known(kind)) for kind in same),
    )
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"


def _lines(texts: Iterable[str]) -> str:
    return "<br>".join(dict.fromkeys(texts))


def _meaning(kind: FailureKind) -> str:
    if kind.meaning:
        return kind.meaning
    more = f" {kind.more}" if isinstance(kind, Pattern) and kind.more else ""
    sentence = _shown(kind.sentence + more, _known(kind))
    return sentence.replace("the ", "The ", 1) if sentence.startswith("the ") else sentence


def _known(kind: FailureKind) -> Mapping[str, str]:
    return _KNOWN if isinstance(kind, Pattern) else {}


def _shown(words: str, known: Mapping[str, str]) -> str:
    """Return the words with each value by its name: `<name>` in code, *name* elsewhere."""
    parts = words.split("`")
    return (
        "`".join(
            _VALUE.sub(partial(_value, known, is_code=bool(index % 2)), part)
            for index, part in enumerate(parts)
        )
        .replace("{{", "{")
        .replace("}}", "}")
    )


def _value(known: Mapping[str, str], match: re.Match[str], *, is_code: bool) -> str:
    name = match[1]
    if name in known:
        return known[name]
    return f"<{name}>" if is_code else f"*{name.replace('_', ' ')}*"
