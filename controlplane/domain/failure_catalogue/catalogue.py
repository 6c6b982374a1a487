"""The whole catalogue: what is raised by name, and what is read from logs."""

from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.domain.failure_catalogue import quality, running, sources
from controlplane.domain.failure_catalogue.entry import Entry
from controlplane.domain.failure_patterns.crash_evidence import CrashEvidence
from controlplane.domain.failure_patterns.table import FAMILIES
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.runtime import LogPattern


@dataclass(frozen=True, kw_only=True)
class Family:
    """Failures of one kind, under one heading."""

    title: str
    entries: tuple[Entry, ...]


_NOBODY = CrashEvidence(subject="The step", exit_code=1, log_tail="")
_RAISED = (
    Family(title="Checkpoints of any source", entries=sources.OF_ANY),
    Family(title="Local folders", entries=sources.LOCAL),
    Family(title="The Hugging Face hub", entries=sources.HUB),
    Family(title="S3, Google Cloud Storage, Azure", entries=sources.IN_BUCKETS),
    Family(title="Archives behind an address", entries=sources.ARCHIVES),
    Family(title="Calibration data", entries=quality.CALIBRATION),
    Family(title="Quantization", entries=quality.QUANTIZATION),
    Family(title="The quality gate", entries=quality.GATE),
    Family(title="The build", entries=running.BUILD),
    Family(title="The artifact store", entries=running.ARTIFACTS),
    Family(title="Serving", entries=running.SERVING),
)


def _families() -> tuple[Family, ...]:
    named = {code for family in _RAISED for each in family.entries for code in each.codes}
    read = (
        Family(title=f"Read from logs: {title}", entries=tuple(_of_patterns(patterns, named)))
        for title, patterns in FAMILIES.items()
    )
    logs = (
        Family(
            title=f"Read from {runtime.title}'s log",
            entries=tuple(_of_patterns(runtime.failures.LOG_PATTERNS, set())),
        )
        for runtime in RUNTIMES.values()
    )
    return (*_RAISED, *read, *logs)


def _of_patterns(patterns: Iterable[LogPattern], named: set[str]) -> Iterable[Entry]:
    words = _NOBODY.words | {"repo": "the checkpoint"}
    for pattern in patterns:
        if pattern.code not in named:
            groups = dict.fromkeys(pattern.expression.groupindex, "…") if pattern.expression else {}
            yield Entry(
                codes=(pattern.code,),
                blame=pattern.blame,
                meaning=pattern.say({**words, **groups}),
                remedy=pattern.hint.format_map({**words, **groups}),
            )


CATALOGUE: tuple[Family, ...] = _families()
