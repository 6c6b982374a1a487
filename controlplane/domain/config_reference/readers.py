"""Who reads a field: the tables by which drivers account for settings, read for every field."""

from collections.abc import Mapping

from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.choice import NAMES
from controlplane.domain.runtimes.native.reasons import READ
from controlplane.domain.runtimes.native.reasons import REASONS as OF_NATIVE
from controlplane.domain.runtimes.outside_engine import OUTSIDE
from controlplane.domain.runtimes.trtllm.reasons import REASONS as OF_TRTLLM
from controlplane.domain.runtimes.vllm.reasons import REASONS as OF_VLLM

_SPECULATOR = "trt_llm.build.speculator"
_OUTSIDE = {path: reason for path, reason in OUTSIDE.items() if path != _SPECULATOR}
"""Its reason there is for drafts that are not sized, not for the block."""
_BY_BUILDS = {
    "trt_llm.build.checkpoint_repository": "The build fetches it; the engine serves the artifact."
}
_REASONS = {"native": OF_NATIVE, "vllm": OF_VLLM, "trtllm": OF_TRTLLM}
_OF_RUNTIME: Mapping[str, Mapping[str, str]] = {
    runtime: _REASONS.get(runtime, {}) for runtime in RUNTIMES
}
"""A runtime without a list of its own is told all that engines are told."""


def not_told(path: str, runtime: str) -> str:
    """Return why a runtime's engine is not told a setting; empty where it is."""
    if runtime == "native" and _nearest(path, READ):
        return ""
    return _nearest(path, {**_OUTSIDE, **_BY_BUILDS, **_OF_RUNTIME[runtime]})


def read_by(path: str) -> str:
    """Return in words which engines are told a setting, and what becomes of it elsewhere."""
    reasons = {runtime: not_told(path, runtime) for runtime in _OF_RUNTIME}
    told = [NAMES[runtime] for runtime, reason in reasons.items() if not reason]
    if len(told) == len(reasons):
        return "Every runtime."
    left: dict[str, list[str]] = {}
    for runtime, reason in reasons.items():
        if reason:
            left.setdefault(reason, []).append(NAMES[runtime])
    if not told and len(left) == 1:
        return next(iter(left))
    parts = [f"{_listed(told)}."] if told else []
    parts += [f"{_listed(names)}: {reason}" for reason, names in left.items()]
    return " ".join(_sentence(part) for part in parts)


def _sentence(text: str) -> str:
    # vLLM keeps its small letter.
    return text.replace("the", "The", 1) if text.startswith("the ") else text


def _nearest(path: str, reasons: Mapping[str, str]) -> str:
    steps = path.split(".")
    beginnings = (".".join(steps[:length]) for length in range(len(steps), 0, -1))
    return next((reasons[each] for each in beginnings if each in reasons), "")


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
