"""EH3: how a model is divided over GPUs."""

from controlplane.domain.rules.parallelism import (
    attention_heads,
    degrees,
    divided_contexts,
    quantized_shares,
    share_of_a_rank,
    stages_and_experts,
    stages_of_classes,
    vision_heads,
    whole_shares,
)

RULES = (
    *attention_heads.RULES,
    *degrees.RULES,
    *divided_contexts.RULES,
    *quantized_shares.RULES,
    *share_of_a_rank.RULES,
    *stages_and_experts.RULES,
    *stages_of_classes.RULES,
    *vision_heads.RULES,
    *whole_shares.RULES,
)
