"""Every variable as words: for `docs/settings.md` and for the page of settings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic.fields import FieldInfo

from controlplane.domain.field_docstrings import own_docstrings
from controlplane.process_settings.addresses import AddressSettings
from controlplane.process_settings.agent import AgentVariables
from controlplane.process_settings.alerts import AlertSettings
from controlplane.process_settings.base import ProcessSettings, extra_of, is_secret
from controlplane.process_settings.builds import BuildSettings
from controlplane.process_settings.common import (
    GROUPS,
    CommonSettings,
    EnrolledSettings,
    MeasuredSettings,
    NodeSettings,
    TracedSettings,
)
from controlplane.process_settings.control_plane import (
    AsyncRequestSettings,
    LogSettings,
    SeriesSettings,
    UpSettings,
)
from controlplane.process_settings.engines import EngineHostSettings, RuntimeSettings
from controlplane.process_settings.gateway import GatewayVariables
from controlplane.process_settings.sign_in import SignInSettings
from controlplane.process_settings.store import StoreSettings

DECLARING: tuple[type[ProcessSettings], ...] = (
    CommonSettings, TracedSettings, MeasuredSettings, AddressSettings, StoreSettings, UpSettings,
    SignInSettings, BuildSettings, NodeSettings, EnrolledSettings, GatewayVariables, AgentVariables,
    RuntimeSettings, EngineHostSettings, AlertSettings, AsyncRequestSettings,
    LogSettings, SeriesSettings,
)  # fmt: skip
"""Every class that declares variables, in the order in which they are told."""

_HEAD = """\
# Settings

<!-- Written by `manage.py write_settings_reference` from the fields in
controlplane/process_settings. -->

Everything is an environment variable. A wrong value stops the start and names the variable. For a
secret `X`, the variable `X_FILE` may name a file that holds it instead. What an installation runs
with, and where each value came from, is on its page **Settings** and under `GET /v1/settings`, for
admins of the organisation.

"Read by": **web** (pages and REST), **workers** (control and build workers and the scheduler),
**agent** (one per GPU host), **gateway**, **up** (`manage.py up`, which runs them all on one
machine and sets what they need to find each other). A new value reaches a process when it starts
again.
"""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One environment variable. `default` and `says` are words, with literals in backticks."""

    name: str
    default: str
    read_by: str
    """The processes that read it, which a new value reaches when they start again."""
    says: str
    is_secret: bool
    """Its value is never shown, and `<name>_FILE` may name a file that holds it."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Settings that belong together, in the order in which they are told."""

    title: str
    settings: tuple[Setting, ...]


@cache
def settings_by_group() -> tuple[Group, ...]:
    """Return every variable once, below the heading of who first declares it."""
    settings = list(_grouped_settings())
    return tuple(
        Group(title=title, settings=tuple(each for group, each in settings if group == title))
        for title in GROUPS
    )


def write_reference(groups: Iterable[Group]) -> str:
    return "\n".join([_HEAD, *map(_section, groups)])


def _grouped_settings() -> Iterator[tuple[str, Setting]]:
    for settings in DECLARING:
        # Who reads a variable with a default of its own says nothing of it again.
        for name, says in _described(settings):
            field = settings.model_fields[name]
            yield extra_of(field)["group"] or settings.group, _setting(settings, field, says)


def _described(settings: type[ProcessSettings]) -> Iterable[tuple[str, str]]:
    fields = settings.model_fields.items()
    return [(name, field.description) for name, field in fields if field.description] or (
        own_docstrings(settings)
    )


def _setting(settings: type[ProcessSettings], field: FieldInfo, says: str) -> Setting:
    extra = extra_of(field)
    return Setting(
        name=str(field.validation_alias),
        default=extra["shown"] or _words(field.default),
        read_by=extra["read_by"] or settings.read_by,
        says=says,
        is_secret=is_secret(field),
    )


def _words(default: Any) -> str:
    if isinstance(default, bool):
        return f"`{default:d}`"
    if isinstance(default, list):
        default = ",".join(default)
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`" if default else "none"


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
    also = f" Also `{setting.name}_FILE`." if setting.is_secret else ""
    return f"| `{setting.name}` | {setting.default} | {setting.read_by} | {setting.says}{also} |"
