"""One draft in the editor: the text, the form that shows it, and what the checks say of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from apps.configs.findings import FindingGroup, FindingView, finding_groups, finding_views
from apps.configs.form_controls import FieldView, GroupView
from apps.configs.form_fields import Field, Kind
from apps.configs.form_settings import form_groups
from apps.configs.form_values import (
    accelerator_count,
    field_text,
    model_name_in,
    stack_of,
)
from apps.ui.formats import first_sentence
from controlplane.domain.dotted import value_at
from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.facts.gpus import CPU, GPUS
from controlplane.domain.facts.quantization import quantizes

_EVERY_GPU = {"gpus": "every"}
"""The GPU that is asked for may be nobody's here."""
_FACT_WORDS = {
    "checkpoint": "the checkpoint's files",
    "devices": "the GPUs that hosts offer",
    "calibration_sets": "the team's calibration sets",
    "secret_names": "the stored secrets",
    "plan": "the memory plan",
}
_BINDING_WORDS = {
    "weights": "the weights: they do not fit",
    "activations": "the activations: they leave no room",
    "kv_cache": "the KV cache",
    "max_batch_size": "the batch size",
}


@dataclass(frozen=True, kw_only=True)
class WaitView:
    """What has not arrived yet, and the checks that need it."""

    facts: str
    checks: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A text with everything the editor shows of it; `checked` is an examination's JSON."""

    text: str
    data: Mapping[str, Any] | None
    """What the text says as plain data, None while it is not one mapping."""
    checked: Mapping[str, Any]
    might_get: bool = True
    """Whether kinds of GPU are offered that no host has."""
    owned: Sequence[DeviceOffer] = ()

    @property
    def is_readable(self) -> bool:
        return self.data is not None

    @property
    def findings(self) -> Sequence[Mapping[str, Any]]:
        findings: Sequence[Mapping[str, Any]] = self.checked["findings"]
        return findings

    @cached_property
    def finding_views(self) -> Sequence[FindingView]:
        return finding_views(self.findings)

    @property
    def finding_groups(self) -> Sequence[FindingGroup]:
        return finding_groups(self.finding_views)

    @property
    def errors(self) -> int:
        return sum(finding["severity"] == "error" for finding in self.findings)

    @property
    def warnings(self) -> int:
        return sum(finding["severity"] == "warning" for finding in self.findings)

    @property
    def blocking_words(self) -> str:
        return f"{self.errors} blocking"

    @property
    def tab_title(self) -> str:
        """What the tab says first where something blocks."""
        return f"✕ {self.blocking_words} · " if self.errors else ""

    @property
    def runtime(self) -> str:
        """The runtime that the checks were made for, else the one that the text names."""
        named = value_at(self.data or {}, "enginehouse.runtime")
        return str(self.checked.get("runtime") or named or "")

    @property
    def runtime_query(self) -> str:
        """The address of the table that the checks read, within the page of runtimes."""
        parameters = {"runtime": self.runtime, "version": self.checked.get("runtime_version")}
        return urlencode({name: value for name, value in parameters.items() if value} | _EVERY_GPU)

    @property
    def is_on_cpu(self) -> bool:
        """Whether memory is an engine's share of the host and not a GPU's."""
        return value_at(self.data or {}, "resources.accelerator") is None

    @property
    def quantizes(self) -> bool:
        return quantizes(value_at(self.data or {}, "trt_llm.build.quantization_type"))

    @property
    def groups(self) -> Sequence[GroupView]:
        data = self.data or {}
        return [
            GroupView(
                label=group.label,
                fields=self._views(data, group.fields),
                more=self._views(data, group.more),
            )
            for group in form_groups()
        ]

    @property
    def model_name(self) -> str:
        return model_name_in(self.data)

    @property
    def reason(self) -> str:
        """Why no build can start from this text, empty where one can."""
        if self.errors:
            what = "finding blocks" if self.errors == 1 else "findings block"
            if absent := self.absent_devices:
                return f"{self.errors} {what} the build, and no host here has {absent}."
            return f"{self.errors} {what} the build. {first_sentence(self.findings[0]['message'])}"
        if waiting := self.checked["waiting"]:
            what = "check waits" if len(waiting) == 1 else "checks wait"
            return f"{len(waiting)} {what} for {', '.join(self.waited_for)}."
        if absent := self.absent_devices:
            return f"no host here has {absent}. The plan stands; only the build needs the GPU."
        return ""

    @property
    def absent_devices(self) -> str:
        kind = str(value_at(self.data or {}, "resources.accelerator") or "").partition(":")[0]
        count = accelerator_count(self.data or {})
        devices = int(count) if count.isdecimal() else 1
        if kind not in GPUS or any(o.kind == kind and o.count >= devices for o in self.owned):
            return ""
        return f"{devices} × {kind}" if devices > 1 else f"a GPU of the kind `{kind}`"

    @property
    def waits(self) -> Sequence[WaitView]:
        by_reason: dict[str, list[Mapping[str, Any]]] = {}
        for waiting in self.checked["waiting"]:
            words = " and ".join(_FACT_WORDS.get(fact, fact) for fact in waiting["facts"])
            by_reason.setdefault(words, []).append(waiting)
        return [WaitView(facts=facts, checks=checks) for facts, checks in by_reason.items()]

    @property
    def waited_for(self) -> Sequence[str]:
        """The facts that checks wait for, each once."""
        facts = [fact for waiting in self.checked["waiting"] for fact in waiting["facts"]]
        return list(dict.fromkeys(_FACT_WORDS.get(fact, fact) for fact in facts))

    @property
    def binding_words(self) -> str:
        """Which limit the plan meets first."""
        binding = str((self.checked["plan"] or {})["capacity"]["binding"])
        return _BINDING_WORDS.get(binding, binding)

    @property
    def lines(self) -> str:
        """The numbers beside the text."""
        return "\n".join(str(number) for number in range(1, self.text.count("\n") + 2))

    def _kinds(self) -> Sequence[str]:
        owned = {offer.kind for offer in self.owned}
        return [kind for kind in GPUS if kind != CPU and (self.might_get or kind in owned)]

    def _views(self, data: Mapping[str, Any], fields: Sequence[Field]) -> Sequence[FieldView]:
        stack = stack_of(data)
        paths = ((field, field.path_in(stack)) for field in fields)
        return [self._view(data, field, path) for field, path in paths if path]

    def _view(self, data: Mapping[str, Any], field: Field, path: str) -> FieldView:
        is_accelerator = field.kind is Kind.ACCELERATOR
        marked = [view for view in self.finding_views if path in view.finding["fields"]]
        return FieldView(
            field=field,
            value=field_text(data, field),
            findings=[view.finding for view in marked],
            fix=next((view for view in marked if view.finding["fix"]), None),
            count=accelerator_count(data) if is_accelerator else "",
            choices=self._kinds() if is_accelerator else field.choices,
        )
