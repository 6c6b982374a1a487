"""The catalogue -> docs/failures.md."""

from controlplane.domain.failure_catalogue.catalogue import CATALOGUE, Family
from controlplane.domain.failure_catalogue.entry import Entry
from controlplane.domain.failures import Blame

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
difference before you press *Apply and build again*. Each failure has a permanent code; this page
lists all of them. It is written by `manage.py write_failure_reference`.

**How a crash is explained.** A step that fails says so itself. When one dies instead (a traceback
of a library, a signal of the kernel), the last exception of its log is compared with a table of
patterns, each with an example as it was really printed, its source and date. The kernel's own count
of kills for want of memory tells such a kill from any other.

**What nobody has explained yet** is `EHB-CRASHED`: the page shows its last lines, redacted, and
offers a support bundle: a zip with config, checks, plan, steps with their times, the end of each
log, versions and machines. Values of secrets and environment variables are not in it.

**Apply and retry.** The fix goes into the newest text of the config, also where somebody saved it
since; the new build names the one that failed, and that one links to it. Pressing twice leads to
the same build.
"""


def write_reference() -> str:
    """Return the page."""
    return "\n".join((_HEAD, *(_section(family) for family in CATALOGUE if family.entries)))


def _section(family: Family) -> str:
    head = f"## {family.title}\n\n{_TABLE}"
    return head + "".join(_row(each) for each in family.entries)


def _row(entry: Entry) -> str:
    codes = ", ".join(f"`{code}`" for code in entry.codes)
    cells = (codes, _BLAMES[entry.blame], entry.meaning, entry.remedy)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"
