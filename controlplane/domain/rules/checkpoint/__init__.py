"""EH8: the checkpoint, its files and sources, and the secrets that open it."""

from controlplane.domain.rules.checkpoint import (
    access,
    drafters,
    files,
    remote_code,
    secret_expiry,
    sources,
    vllm_formats,
    vllm_schemes,
)

RULES = (
    *access.RULES,
    *drafters.RULES,
    *files.RULES,
    *remote_code.RULES,
    *secret_expiry.RULES,
    *sources.RULES,
    *vllm_formats.RULES,
    *vllm_schemes.RULES,
)
