"""EH6: what an engine serves, by which routes and settings, and which engine can."""

from controlplane.domain.rules.serving import (
    architectures,
    encoders,
    engine_arguments,
    extra_routes,
    features_together,
    lengths_and_chat,
    names_and_lengths,
    native_limits,
    recognised_models,
    rerankers,
    runtime_capabilities,
    this_release,
    tools_and_reasoning,
    vllm_arguments,
)

RULES = (
    *architectures.RULES,
    *encoders.RULES,
    *engine_arguments.RULES,
    *extra_routes.RULES,
    *features_together.RULES,
    *lengths_and_chat.RULES,
    *names_and_lengths.RULES,
    *native_limits.RULES,
    *recognised_models.RULES,
    *rerankers.RULES,
    *runtime_capabilities.RULES,
    *this_release.RULES,
    *tools_and_reasoning.RULES,
    *vllm_arguments.RULES,
)
