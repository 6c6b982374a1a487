"""The page of settings as `docs/settings.md` has it."""

from collections.abc import Iterable

from controlplane.domain.settings_catalogue.setting import Group, Setting

_HEAD = """\
# Settings

<!-- Written by `manage.py write_settings_reference`; the rows are in
controlplane/domain/settings_catalogue. -->

Everything is an environment variable. A wrong value stops the start and names the variable. For a
secret `X`, the variable `X_FILE` may name a file that holds it instead. What an installation runs
with, and where each value came from, is on its page **Settings** and under `GET /v1/settings`, for
admins of the organisation.

"Read by": **web** (pages and REST), **workers** (control and build workers and the scheduler),
**agent** (one per GPU host), **gateway**, **up** (`manage.py up`, which runs them all on one
machine and sets what they need to find each other). A new value reaches a process when it starts
again.
"""


def write_reference(groups: Iterable[Group]) -> str:
    """Return the whole page."""
    return "\n".join([_HEAD, *map(_section, groups)])


def _section(group: Group) -> str:
    return "\n".join(
        [
            f"## {group.title}",
            "",
            "| Variable | Default | Read by | What it says |",
            "|---|---|---|---|",
            *map(_row, group.settings),
            "",
        ]
    )


def _row(setting: Setting) -> str:
    also = f"Also `{setting.name}_FILE`." if setting.may_be_a_file else ""
    says = " ".join(filter(None, (setting.says, also)))
    return f"| `{setting.name}` | {setting.default} | {setting.read_by} | {says} |"
