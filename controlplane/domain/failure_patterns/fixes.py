"""Changes of a config that a failure can offer; each returns None where it changes nothing."""

from controlplane.domain.facts.quantization import NO_QUANT, quantizes
from controlplane.domain.failure_patterns.crash_evidence import (
    BUILD,
    CALIBRATION,
    REPOSITORY,
    CrashEvidence,
)
from controlplane.domain.failure_patterns.pattern import Fix

TYPE_FIELD = f"{BUILD}.quantization_type"
_MOST_DEVICES = 8
_DEFAULT_SAMPLE_TOKENS = 1536
_SHORTEST_SAMPLE_TOKENS = 256
GENERAL_DATASET = "enginehouse/general"


def more_devices(evidence: CrashEvidence) -> Fix | None:
    """Twice as many GPUs for the build."""
    now = int(evidence.asked(f"{BUILD}.num_builder_gpus") or 1)
    return (
        {f"{BUILD}.num_builder_gpus": min(2 * now, _MOST_DEVICES)} if now < _MOST_DEVICES else None
    )


def shorter_samples(evidence: CrashEvidence) -> Fix | None:
    """Calibration samples of half the length."""
    if not _quantizes(evidence):
        return None
    field = f"{CALIBRATION}.calib_max_seq_length"
    now = int(evidence.asked(field) or _DEFAULT_SAMPLE_TOKENS)
    shorter = max(now // 2, _SHORTEST_SAMPLE_TOKENS)
    return {field: shorter} if shorter < now else None


def plain_fp8(evidence: CrashEvidence) -> Fix | None:
    """FP8 weights, the type that most models bear."""
    now = evidence.asked(TYPE_FIELD)
    return {TYPE_FIELD: "fp8"} if _quantizes(evidence) and now != "fp8" else None


def unquantized(evidence: CrashEvidence) -> Fix | None:
    """The checkpoint as it is."""
    return {TYPE_FIELD: NO_QUANT} if _quantizes(evidence) else None


def default_branch(evidence: CrashEvidence) -> Fix | None:
    """The repository's main branch in place of a revision that is not there."""
    field = f"{REPOSITORY}.revision"
    return {field: None} if evidence.asked(field) else None


def general_dataset(evidence: CrashEvidence) -> Fix | None:
    """The calibration set that ships here, which needs no network and no template."""
    field = f"{CALIBRATION}.calib_dataset"
    if not _quantizes(evidence) or evidence.asked(field) == GENERAL_DATASET:
        return None
    return {field: GENERAL_DATASET}


def _quantizes(evidence: CrashEvidence) -> bool:
    return quantizes(evidence.asked(TYPE_FIELD))
