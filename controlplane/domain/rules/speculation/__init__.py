"""EH4: lookahead decoding, and drafts of the v2 stack."""

from controlplane.domain.rules.speculation import (
    drafts_of_classes,
    lookahead,
    lookahead_exclusions,
    lookahead_sizes,
    lookahead_under_vllm,
    v2_drafts,
)

RULES = (
    *drafts_of_classes.RULES,
    *lookahead.RULES,
    *lookahead_exclusions.RULES,
    *lookahead_sizes.RULES,
    *lookahead_under_vllm.RULES,
    *v2_drafts.RULES,
)
