from controlplane.domain.rules import (
    adapters,
    checkpoint,
    hardware,
    memory,
    parallelism,
    quantization,
    serving,
    speculation,
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
WITHDRAWN_CODES: frozenset[str] = frozenset({"EH290", "EH407", "EH418", "EH610", "EH890"})
"""Codes of rules that are gone; never given again."""

ALL_RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *hardware.RULES,
            *quantization.RULES,
            *parallelism.RULES,
            *speculation.RULES,
            *memory.RULES,
            *serving.RULES,
            *adapters.RULES,
            *checkpoint.RULES,
            *withdrawn.RULES,
        ),
        key=lambda rule: rule.code,
    )
)
