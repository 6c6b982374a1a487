"""EH7: LoRA adapters."""

from controlplane.domain.rules.adapters import (
    adapter_places,
    classes_without_adapters,
    largest_rank,
    names_and_kinds,
    ranks_and_caches,
)

RULES = (
    *names_and_kinds.RULES,
    *ranks_and_caches.RULES,
    *adapter_places.RULES,
    *largest_rank.RULES,
    *classes_without_adapters.RULES,
)
