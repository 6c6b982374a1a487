"""Who reads a field: the tables by which drivers account for settings, read for every field."""

from collections.abc import Mapping

from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.outside_engine import OUTSIDE

_SPECULATOR = "trt_llm.build.speculator"
_OUTSIDE = {path: reason for path, reason in OUTSIDE.items() if path != _SPECULATOR}
"""Its reason there is for drafts that are not sized, not for the block."""
_BY_BUILDS = {
    "trt_llm.build.checkpoint_repository": "The build fetches it; the engine serves the artifact."
}


def not_told(path: str, runtime: str) -> str:
    """Return why a runtime's engine is not told a setting; empty where it is."""
    engine = RUNTIMES[runtime]
    if _nearest(path, engine.told_alone):
        return ""
    return _nearest(path, {**_OUTSIDE, **_BY_BUILDS, **engine.not_told})


def read_by(path: str) -> str:
    reasons = {runtime: not_told(path, runtime) for runtime in RUNTIMES}
    readers = [RUNTIMES[runtime].title for runtime, reason in reasons.items() if not reason]
    if len(readers) == len(reasons):
        return "Every runtime."
    left: dict[str, list[str]] = {}
    for runtime, reason in reasons.items():
        if reason:
            left.setdefault(reason, []).append(RUNTIMES[runtime].title)
    if not readers and len(left) == 1:
        return next(iter(left))
    parts = [f"{_listed(readers)}."] if readers else []
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
