"""Every rule, in the order of their codes."""

from controlplane.domain.rules import (
    adapters,
    attention_heads,
    checkpoint,
    checkpoint_sources,
    hardware,
    memory_fit,
    native_limits,
    parallelism,
    quantization,
    quantized_models,
    serving,
    speculation,
    this_release,
    withdrawn,
)
from controlplane.domain.rules.rule import Rule

FAMILIES = {
    "EH0": "Schema",
    "EH1": "Hardware",
    "EH2": "Quantization",
    "EH3": "Parallelism",
    "EH4": "Speculation",
    "EH5": "Memory",
    "EH6": "Serving",
    "EH7": "Adapters",
    "EH8": "Checkpoint and secrets",
    "EH9": "Withdrawn settings",
}
WITHDRAWN_CODES: frozenset[str] = frozenset({"EH890"})
"""Codes of rules that are gone; never given again."""

ALL_RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *hardware.RULES,
            *quantization.RULES,
            *quantized_models.RULES,
            *parallelism.RULES,
            *attention_heads.RULES,
            *speculation.RULES,
            *memory_fit.RULES,
            *serving.RULES,
            *native_limits.RULES,
            *adapters.RULES,
            *checkpoint.RULES,
            *checkpoint_sources.RULES,
            *withdrawn.RULES,
            *this_release.RULES,
        ),
        key=lambda rule: rule.code,
    )
)
