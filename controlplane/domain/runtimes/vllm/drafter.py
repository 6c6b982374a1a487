"""Lookahead under vLLM: our drafter where a version has a place for it, else vLLM's own n-gram."""

from typing import Any

CLASS = "workers.lookahead.vllm_proposer.LookaheadProposer"


def speculative_config(drafted: int) -> dict[str, Any]:
    """Return what vLLM is told to draft with our class, so many tokens at most."""
    return {"method": "custom_class", "model": CLASS, "num_speculative_tokens": drafted}
