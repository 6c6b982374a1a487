from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.configs.form_fields import label_of
from apps.configs.form_values import text_data
from apps.configs.models import Revision
from apps.ui.formats import ABSENT, number, size

_MEMORY = (
    ("Weights", "weights_bytes"),
    ("KV cache", "kv_cache_bytes"),
    ("Activations", "activations_bytes"),
    ("Overhead", "overhead_bytes"),
    ("Free", "free_bytes"),
)
_CAPACITY = (
    ("Tokens in all", "kv_tokens"),
    ("Tokens of a request of full length", "sequence_tokens"),
    ("Requests of that length", "full_length_requests"),
)


@dataclass(frozen=True, kw_only=True)
class Difference:
    name: str
    before: str
    after: str

    @property
    def label(self) -> str:
        """What the form calls it, empty for what it does not show."""
        return label_of(self.name)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    before: Revision
    after: Revision
    settings: Sequence[Difference]
    gone: Sequence[Mapping[str, Any]]
    """Findings that only the older one has."""
    come: Sequence[Mapping[str, Any]]
    memory: Sequence[Difference]


def compared(before: Revision, after: Revision) -> Comparison:
    old, new = _findings_by_place(before), _findings_by_place(after)
    return Comparison(
        before=before,
        after=after,
        settings=_differences(_flat(before), _flat(after)),
        gone=[finding for key, finding in old.items() if key not in new],
        come=[finding for key, finding in new.items() if key not in old],
        memory=_differences(_memory(before), _memory(after)),
    )


def _differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[Difference]:
    return [
        Difference(name=name, before=old.get(name, ABSENT), after=new.get(name, ABSENT))
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name)
    ]


def _flat(revision: Revision) -> dict[str, str]:
    return dict(_leaves(text_data(revision.text) or {}, ""))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif path:
        yield path, str(value)


def _findings_by_place(revision: Revision) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(each["code"], each["message"]): each for each in revision.findings}


def _memory(revision: Revision) -> dict[str, str]:
    if not revision.plan:
        return {}
    per_gpu, capacity = revision.plan["per_gpu"], revision.plan["capacity"]
    shown = {label: size(per_gpu.get(key)) for label, key in _MEMORY}
    return shown | {label: number(capacity.get(key)) for label, key in _CAPACITY}
