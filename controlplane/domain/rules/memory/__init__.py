"""EH5: whether it fits, and whether what fits serves well."""

from controlplane.domain.rules.memory import (
    builder_gpus,
    fit,
    limits,
    recurrent_states,
    shared_kv_cache,
)

RULES = (
    *fit.RULES,
    *builder_gpus.RULES,
    *limits.RULES,
    *recurrent_states.RULES,
    *shared_kv_cache.RULES,
)
