"""Lookahead under vLLM: our drafter where a version has a place for it, else vLLM's own n-gram."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from controlplane.domain.facts import sources
from controlplane.domain.runtimes.capability import Capability, emulated, native

CLASS = "workers.lookahead.vllm_proposer.LookaheadProposer"
HAS_DRAFTER_HOOK: Mapping[str, bool] = MappingProxyType(
    {f"0.{minor}": True for minor in range(25, 34)}
)
"""Version -> whether `custom_class` is there and calls as recorded in `tests/workers/lookahead`."""
HOOK_SOURCE = sources.vllm(
    "v1/spec_decode/custom_class_proposer.py and v1/worker/gpu_model_runner.py, "
    "propose_draft_token_ids, of each version",
    checked="2026-11-30",
)
ON_OLDER_RUNNER = (
    "on vLLM's older model runner, without async scheduling, as for every drafter of this kind"
)
_REASON = (
    "vLLM verifies drafts of one length fastest, so our drafter drafts {drafted} tokens wherever "
    "two tokens match, and none elsewhere; {runner}. Window and verification sizes count for that "
    "length alone."
)


def speculative_config(drafted: int) -> dict[str, Any]:
    """Return what vLLM is told to draft with our class, so many tokens at most."""
    return {"method": "custom_class", "model": CLASS, "num_speculative_tokens": drafted}


def has_drafter_hook(version: str) -> bool:
    return HAS_DRAFTER_HOOK.get(version, False)


def reason(drafted: int) -> str:
    """Return in what our drafter differs there from the documented rule."""
    return _REASON.format(drafted=drafted, runner=ON_OLDER_RUNNER)


def lookahead_capability(version: str) -> Capability:
    """Return how this version looks ahead."""
    if has_drafter_hook(version):
        return native(f"by our drafter (`custom_class`), {ON_OLDER_RUNNER}", HOOK_SOURCE)
    return emulated(
        "its own n-gram drafts of the same length, looked up in another way: this version has no "
        "place for our drafter",
        HOOK_SOURCE,
    )
