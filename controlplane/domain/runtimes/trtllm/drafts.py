"""The lookahead of a config -> the drafts that TensorRT-LLM's PyTorch backend makes instead."""

from typing import Any

from controlplane.domain.commands.command_writer import CommandWriter
from controlplane.domain.commands.lookahead import REASON, SPECULATOR, drafted_by, is_plain
from controlplane.domain.runtimes.trtllm.capabilities import VERSION, has_suffix_automaton


def say_lookahead(line: CommandWriter, version: str = VERSION) -> dict[str, Any]:
    speculator = line.spec.speculator
    drafted = drafted_by(speculator) if speculator else None
    if speculator is None or drafted is None:
        return {}
    more = "" if is_plain(speculator) else " Window and verification sizes have no counterpart."
    line.change(SPECULATOR, (), REASON + more)
    if has_suffix_automaton(version):
        return {"speculative_config": {"decoding_type": "SA", "max_draft_len": drafted,
                                       "max_matching_ngram_size": -1}}  # fmt: skip
    return {
        "speculative_config": {
            "decoding_type": "NGram",
            "max_draft_len": drafted,
            # 1.2.1 matches nothing unless the size is given.
            "max_matching_ngram_size": min(speculator.lookahead_ngram_size or 2, 8),
            "is_keep_all": True,
            "is_use_oldest": True,
            "is_public_pool": False,
        },
        "disable_overlap_scheduler": True,
    }
