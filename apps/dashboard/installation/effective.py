"""Each setting as this web process runs with it, and where its value came from."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings

from apps.ui import formats
from controlplane.domain.redaction import Redactor
from controlplane.process_settings.reference import Setting, settings_by_group
from controlplane.processes.running import running_services

_REDACTOR = Redactor()
_OF_DJANGO = frozenset({"web", "workers"})
"""Processes that read the same settings as this one, from their own environment."""
_ELSEWHERE = "each host"
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


@dataclass(frozen=True, kw_only=True)
class EffectiveSetting:
    """One setting; `value` is None where it is a secret, or belongs to another process."""

    setting: Setting
    value: str | None
    source: str
    """`environment`, `file`, `manage.py up`, `default`, or `each host` where it is read there."""

    @property
    def shown(self) -> str:
        """The value in words; of a secret only whether it is set."""
        if self.setting.is_secret and self.source != _ELSEWHERE:
            return "set" if self.source != "default" or not self.is_without else "not set"
        if self.value is None:
            return formats.ABSENT
        return self.value or self.setting.default.replace("`", "")

    @property
    def is_without(self) -> bool:
        return self.setting.default == "none"

    @property
    def says(self) -> str:
        return _LINK.sub(r"\1", self.setting.says)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.setting.name,
            "value": self.value,
            "shown": self.shown,
            "is_secret": self.setting.is_secret,
            "source": self.source,
            "default": self.setting.default,
            "read_by": self.setting.read_by.split(", "),
            "says": self.says,
        }


def effective_settings() -> Sequence[tuple[str, Sequence[EffectiveSetting]]]:
    notes = _noted()
    return [
        (group.title, [_effective(setting, notes) for setting in group.settings])
        for group in settings_by_group()
    ]


def _effective(setting: Setting, notes: Mapping[str, str]) -> EffectiveSetting:
    if not _OF_DJANGO & set(setting.read_by.split(", ")) and setting.read_by != "all":
        return EffectiveSetting(setting=setting, value=None, source=_ELSEWHERE)
    value = None if setting.is_secret else _value(setting)
    return EffectiveSetting(setting=setting, value=value, source=_source(setting, notes))


def _source(setting: Setting, notes: Mapping[str, str]) -> str:
    if setting.is_secret and os.environ.get(f"{setting.name}_FILE"):
        return "file"
    given = os.environ.get(setting.name, "").strip()
    if notes.get(setting.name) and given in ("", notes[setting.name]):
        return "manage.py up"
    return "environment" if given else "default"


def _noted() -> dict[str, str]:
    """Return what `manage.py up` has chosen, while it runs here."""
    running = running_services(settings.DATA_DIR)
    return {
        "DATABASE_URL": running.database_url,
        "BROKER_URL": running.broker_url,
        "PUBLIC_URL": running.public_url,
        "GATEWAY_URL": running.gateway_url,
    }


def _value(setting: Setting) -> str:
    value = getattr(settings, setting.name, None)
    return _words(os.environ.get(setting.name, "") if value is None else value)


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return _REDACTOR.text(_without_login(str(value)))


def _without_login(text: str) -> str:
    """Return an address without a name and password, and without what follows its `?`."""
    parts = urlsplit(text)
    if not parts.scheme or not parts.netloc:
        return text
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
