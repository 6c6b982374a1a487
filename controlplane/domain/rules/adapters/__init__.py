"""EH7: LoRA adapters."""

from controlplane.domain.rules.adapters import (
    names_and_kinds,
    ranks_and_sources,
)

RULES = (
    *names_and_kinds.RULES,
    *ranks_and_sources.RULES,
)
