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
MOST_DRAFTED = 128
"""Tokens of a draft: with more the engine ends at the first request. Source: vLLM 0.25.1,
`MAX_SPEC_LEN` of v1/sample/rejection_sampler.py, and seen on an H200, 2026-11-30."""
_CUT_SHORT = " It verifies no more than {most} at once, of the {asked} that the sizes ask for."
_REASON = (
    "vLLM verifies drafts of one length fastest, so our drafter drafts {drafted} tokens wherever "
    "two tokens match, and none elsewhere; {runner}. Window and verification sizes count for that "
    "length alone."
)


def speculative_config(drafted: int) -> dict[str, Any]:
    most = min(drafted, MOST_DRAFTED)
    return {"method": "custom_class", "model": CLASS, "num_speculative_tokens": most}


def has_drafter_hook(version: str) -> bool:
    return HAS_DRAFTER_HOOK.get(version, False)


def reason(drafted: int) -> str:
    """Return in what our drafter differs there from the documented rule."""
    sentence = _REASON.format(drafted=min(drafted, MOST_DRAFTED), runner=ON_OLDER_RUNNER)
    return sentence + cut_short(drafted)


def cut_short(drafted: int) -> str:
    """Return the sentence on drafts that are longer than vLLM takes; empty for others."""
    return "" if drafted <= MOST_DRAFTED else _CUT_SHORT.format(most=MOST_DRAFTED, asked=drafted)


def lookahead_capability(version: str) -> Capability:
    if has_drafter_hook(version):
        return native(f"by our drafter (`custom_class`), {ON_OLDER_RUNNER}", HOOK_SOURCE)
    return emulated(
        "its own n-gram drafts of the same length, looked up in another way: this version has no "
        "place for our drafter",
        HOOK_SOURCE,
    )
