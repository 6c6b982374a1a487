"""Changes of a config that a failure can offer; each returns None where it changes nothing."""

from controlplane.domain.facts.quantization import NO_QUANT, quantizes
from controlplane.domain.failures import fields
from controlplane.domain.failures.crash_evidence import CrashEvidence
from controlplane.domain.failures.pattern import Fix

_MOST_DEVICES = 8
_DEFAULT_SAMPLE_TOKENS = 1536
_SHORTEST_SAMPLE_TOKENS = 256
GENERAL_DATASET = "enginehouse/general"


def more_devices(evidence: CrashEvidence) -> Fix | None:
    """Twice as many GPUs for the build."""
    now = int(evidence.configured(fields.BUILDER_GPUS) or 1)
    return {fields.BUILDER_GPUS: min(2 * now, _MOST_DEVICES)} if now < _MOST_DEVICES else None


def shorter_samples(evidence: CrashEvidence) -> Fix | None:
    """Calibration samples of half the length."""
    if not _quantizes(evidence):
        return None
    field = fields.SAMPLE_LENGTH
    now = int(evidence.configured(field) or _DEFAULT_SAMPLE_TOKENS)
    shorter = max(now // 2, _SHORTEST_SAMPLE_TOKENS)
    return {field: shorter} if shorter < now else None


def plain_fp8(evidence: CrashEvidence) -> Fix | None:
    """FP8 weights, the type that most models bear."""
    now = evidence.configured(fields.QUANTIZATION)
    return {fields.QUANTIZATION: "fp8"} if _quantizes(evidence) and now != "fp8" else None


def unquantized(evidence: CrashEvidence) -> Fix | None:
    return {fields.QUANTIZATION: NO_QUANT} if _quantizes(evidence) else None


def default_branch(evidence: CrashEvidence) -> Fix | None:
    """The repository's main branch in place of a revision that is not there."""
    field = fields.REVISION
    return {field: None} if evidence.configured(field) else None


def general_dataset(evidence: CrashEvidence) -> Fix | None:
    """The calibration set that ships here, which needs no network and no template."""
    field = fields.DATASET
    if not _quantizes(evidence) or evidence.configured(field) == GENERAL_DATASET:
        return None
    return {field: GENERAL_DATASET}


def _quantizes(evidence: CrashEvidence) -> bool:
    return quantizes(evidence.configured(fields.QUANTIZATION))
