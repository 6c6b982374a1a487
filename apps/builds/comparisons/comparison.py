"""Two builds side by side: what was asked, what the checks said, what came out and how fast."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.builds.comparisons.names import row_name
from apps.builds.models import Build, BuildStep
from apps.builds.passports.passport import short_digest
from apps.builds.step_labels import LABELS
from apps.builds.values import value_words
from apps.ui import formats
from controlplane.domain.reuse import leaves

_PLAN_PARTS = ("model", "per_gpu", "capacity", "builder")
_LONGEST_WORDS = 300
_SMOKE_FIELDS = ("first_token_seconds", "tokens_per_second", "finish_reason", "answer")
_DIGEST = re.compile(r"(sha256:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class ComparedRow:
    """One thing of both builds; None where a build does not have it."""

    label: str
    name: str
    """What pages call it, empty where that is its label."""
    left: Any
    right: Any

    @property
    def is_digest(self) -> bool:
        """Whether it is a digest or a commit, of which pages show the beginning."""
        return any(_is_digest(each) for each in (self.left, self.right))

    @property
    def differs(self) -> bool:
        return bool(self.left != self.right)

    @property
    def left_words(self) -> str:
        return _words(self.label, self.left)

    @property
    def right_words(self) -> str:
        return _words(self.label, self.right)

    @property
    def change(self) -> str:
        """The right one over the left one, of two amounts: `× 0.5`."""
        if not (_is_amount(self.left) and _is_amount(self.right)) or not self.left:
            return ""
        return f"×{formats.THIN_SPACE}{self.right / self.left:.3g}" if self.differs else ""

    def to_json(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "left": self.left,
            "right": self.right,
            "differs": self.differs,
        }


@dataclass(frozen=True, kw_only=True)
class ComparedPart:
    """One group of rows; of some only those that differ are told."""

    name: str
    title: str
    rows: Sequence[ComparedRow]
    only_differences: bool = False

    @property
    def differing(self) -> Sequence[ComparedRow]:
        return [row for row in self.rows if row.differs]

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "only_differences": self.only_differences,
            "rows": [row.to_json() for row in self.rows],
        }


def compare_builds(left: Build, right: Build) -> Sequence[ComparedPart]:
    config, plan = compare_settings(left, right)
    return [
        config,
        _part("inputs", "Checkpoint and calibration data", left, right, _inputs),
        _part("tools", "Tools", left, right, _tools),
        _part("findings", "Findings", left, right, _findings, only=True),
        plan,
        _part("gate", "Quality gate", left, right, _gate),
        _part("size", "Artifact", left, right, _size),
        _part("time", "Time and memory of each step", left, right, _steps),
        _part("smoke_test", "Smoke test", left, right, _smoke_test),
    ]


def compare_settings(left: Build, right: Build) -> tuple[ComparedPart, ComparedPart]:
    return (
        _part("config", "Config", left, right, lambda each: each.revision.spec, only=True),
        _part("plan", "Memory plan", left, right, _plan, only=True),
    )


def _part(
    name: str,
    title: str,
    left: Build,
    right: Build,
    read: Callable[[Build], Mapping[str, Any]],
    *,
    only: bool = False,
) -> ComparedPart:
    one, other = dict(leaves(read(left))), dict(leaves(read(right)))
    rows = [
        ComparedRow(
            label=label,
            name=row_name(name, label),
            left=one.get(label),
            right=other.get(label),
        )
        for label in dict.fromkeys([*one, *other])
    ]
    kept = [row for row in rows if row.differs or not only]
    return ComparedPart(name=name, title=title, rows=kept, only_differences=only)


def _inputs(build: Build) -> Mapping[str, Any]:
    known = (build.reuse or {}).get("inputs") or {}
    if known:
        return {"commit": known["commit"], "calibration": known.get("calibration") or {}}
    passport = build.artifact.passport if build.artifact else {}
    return {"commit": (passport.get("checkpoint") or {}).get("commit")}


def _tools(build: Build) -> Mapping[str, Any]:
    known = (build.reuse or {}).get("inputs") or {}
    passport = build.artifact.passport if build.artifact else {}
    tools: Mapping[str, Any] = known.get("tool_versions") or passport.get("tools") or {}
    return tools


def _findings(build: Build) -> Mapping[str, Any]:
    return {
        f"{each['code']} on {', '.join(each['fields']) or 'the config'}": each["message"]
        for each in build.revision.findings
    }


def _plan(build: Build) -> Mapping[str, Any]:
    plan = build.revision.plan or {}
    return {part: plan[part] for part in _PLAN_PARTS if plan.get(part)}


def _gate(build: Build) -> Mapping[str, Any]:
    gate = _result(build, "gate")
    tasks = {each["task"]: {each["metric"]: each["quantized"]} for each in gate.get("tasks") or ()}
    gate_parts = {
        key: gate[key] for key in ("state", "figures", "limits") if gate.get(key) is not None
    }
    return gate_parts | ({"tasks": tasks} if tasks else {})


def _size(build: Build) -> Mapping[str, Any]:
    if build.artifact is None:
        return {}
    return {
        "content_digest": build.artifact.content_digest,
        "size_bytes": build.artifact.size_bytes,
        "files": len(build.artifact.files),
    }


def _steps(build: Build) -> Mapping[str, Any]:
    return {LABELS.get(step.name, step.name): dict(_step(step)) for step in build.steps.all()}


def _step(step: BuildStep) -> Iterator[tuple[str, Any]]:
    yield "state", step.state
    measured = step.measured or {}
    for key in ("seconds", "peak_host_bytes", "peak_device_bytes", "disk_bytes"):
        if measured.get(key) is not None:
            yield key, measured[key]


def _smoke_test(build: Build) -> Mapping[str, Any]:
    result = _result(build, "smoke_test")
    return {key: result[key] for key in _SMOKE_FIELDS if key in result}


def _result(build: Build, name: str) -> Mapping[str, Any]:
    step_result = next((step.result for step in build.steps.all() if step.name == name), None)
    result: Mapping[str, Any] = step_result or {}
    return result


def _words(label: str, value: Any) -> str:
    """Return the value as a page writes it, in the unit that its name ends with."""
    if _is_digest(value):
        return short_digest(value)
    if not _is_amount(value):
        return formats.ABSENT if value is None else value_words(value)[:_LONGEST_WORDS]
    if label.endswith("_bytes"):
        return formats.size(value)
    if label.endswith("seconds"):
        return formats.duration(value)
    return formats.number(value) if isinstance(value, int) else f"{value:.4g}"


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _is_amount(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
