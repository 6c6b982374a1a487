"""Controls of a config's form: each with its value, its choices and what findings say of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.configs.findings import FindingView
from apps.configs.form_fields import Field, Kind

_ALWAYS_OPEN = ("Model", "Hardware", "Precision", "Context and batching")
_CPU_ONLY = "none: the CPU does the work"


@dataclass(frozen=True, kw_only=True)
class Option:
    value: str
    label: str


@dataclass(frozen=True, kw_only=True)
class FieldView:
    field: Field
    value: str
    findings: Sequence[Mapping[str, Any]] = ()
    count: str = ""
    """Of an accelerator."""
    choices: Sequence[str] = ()
    fix: FindingView | None = None
    """The first of its findings that a press mends."""

    @property
    def id(self) -> str:
        return f"field-{self.field.name}"

    @property
    def described_by(self) -> str:
        """The id of the note that a screen reader reads with the control."""
        if self.findings:
            return f"{self.id}-said"
        return f"{self.id}-help" if self.field.help else ""

    @property
    def is_plain(self) -> bool:
        """Whether it says nothing of its own: it looks the same in every config."""
        is_set = bool(self.value or self.count or self.findings)
        return not is_set and self.field.kind is not Kind.ACCELERATOR

    @property
    def is_wrong(self) -> bool:
        return any(finding["severity"] == "error" for finding in self.findings)

    @property
    def is_select(self) -> bool:
        return self.field.kind in (Kind.CHOICE, Kind.SWITCH, Kind.ACCELERATOR)

    @property
    def input_mode(self) -> str:
        return {Kind.NUMBER: "numeric", Kind.DECIMAL: "decimal"}.get(self.field.kind, "text")

    @property
    def options(self) -> Sequence[Option]:
        """The default first, then every choice; what the text says is among them even if wrong."""
        choices = [str(choice) for choice in self.choices]
        if self.field.kind is Kind.ACCELERATOR:
            absent = _CPU_ONLY
        else:
            absent = f"{self.field.default} (default)" if self.field.default else "choose"
        options = [Option(value="", label=absent)]
        options += [Option(value=choice, label=choice) for choice in choices]
        if self.value and self.value not in choices:
            note = "not here" if self.value in self.field.choices else "unknown"
            options.append(Option(value=self.value, label=f"{self.value} ({note})"))
        return options


@dataclass(frozen=True, kw_only=True)
class GroupView:
    label: str
    fields: Sequence[FieldView]
    more: Sequence[FieldView] = ()
    """Those that few configs name."""

    @property
    def slug(self) -> str:
        return self.label.lower().replace(" ", "-")

    @property
    def has_more_open(self) -> bool:
        return any(not view.is_plain for view in self.more)

    @property
    def is_open(self) -> bool:
        """Whether it is seen at first: what every config decides, and what this one names."""
        used = any(not view.is_plain for view in self.fields)
        return self.label in _ALWAYS_OPEN or used or self.has_more_open
