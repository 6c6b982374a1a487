"""Messages whose cause a rule sees in config, files and GPU before anything is fetched."""

import re
from collections.abc import Mapping

_CODES: Mapping[str, tuple[str, ...]] = {
    r"attention heads .{0,40}divisible|total_num_heads.{0,30}divisible|"
    r"num_(?:attention_|kv_)?heads.{0,40}divisible.{0,20}tp": ("EH304", "EH305"),
    r"divisible by weight quantization block|block_[nk] ?=": ("EH320", "EH323", "EH326"),
    r"divisible by min_thread|group_size.{0,60}(?:divisible|tp_size)|size_k must": (
        "EH330", "EH332",
    ),
    r"BitsAndBytes .{0,60}(?:tensor parallel|TP)": ("EH331",),
    r"BlockQuant|FP8_PB_WO requires (?:in|out)|block-?wise.{0,60}divisible": ("EH250", "EH251"),
    r"[Ss]peculative.{0,60}pipeline|pipeline.{0,60}[Ss]peculative": ("EH310",),
    r"[Pp]ipeline parallel\w* is (?:not|only) supported|does not support pipeline|"
    r"PP is not supported": ("EH333",),
    r"does not support LoRA|not supported for LoRA|LoRA is not supported for": ("EH718",),
    r"LoRA rank .{0,40}greater than max_lora_rank": ("EH702", "EH717"),
    r"[Ii]nvalid quantization method|Unknown quantization method": ("EH833",),
    r"Unsupported quantization config: bits|Unsupported num_bits": ("EH834",),
    r"does not support float16": ("EH667",),
    r"Unknown RoPE scaling|rope_type.{0,40}(?:[Uu]nknown|not supported)": ("EH668",),
    r"Bfloat16 is only supported": ("EH656", "EH679"),
    r"Minimum capability|Min capability": ("EH116", "EH657"),
    r"requires a Blackwell|nvfp4.{0,60}(?:SM100|[Bb]lackwell)": ("EH105",),
    r"greater than the derived max_model_len": ("EH601",),
    r"max seq len .{0,80}KV cache|KV cache is needed|maximum number of tokens that can be stored": (
        "EH502", "EH519",
    ),
    r"max_num_batched_tokens.{0,60}(?:max_num_seqs|max_model_len)": ("EH510", "EH602"),
    r"exceeds available Mamba cache blocks": ("EH521",),
    r"larger than the number of available GPUs|World size": ("EH103", "EH301"),
    r"architectures? .{0,60}(?:not supported|was supported)|has no vLLM implementation": (
        "EH616", "EH617", "EH666",
    ),
    r"No model architectures are specified": ("EH662",),
    r"does not support `?--runner|Embedding models do not support": ("EH607", "EH608"),
    r"default chat template is no longer allowed": ("EH605",),
    r"--enable-auto-tool-choice requires|invalid (?:tool call|reasoning) parser|"
    r"(?:[Tt]ool|[Rr]easoning) parser '.{0,20}' not found": ("EH670", "EH674"),
    r"num_speculative_tokens.{0,60}n_predict|Unsupported speculative method": ("EH450", "EH454"),
    r"trust_remote_code=True": ("EH808", "EH830"),
    r"Cannot pack weight|partial blocks": ("EH251", "EH252"),
    r"moe_backend=.{0,40}is not supported for|MegaMoE requires SM100": ("EH696",),
    r"is not valid for this configuration": ("EH685",),
    r"Online transforms with tensor": ("EH335",),
    r"Currently supported kv cache quantization|strategy for compressed-tensors KV|"
    r"For NVFP4 weights, input quantization|[Uu]nsupported activation scheme|"
    r"quantization block size of weight must|block-wise quantization only supports|"
    r"require channelwise|Unsupported (?:weight_bits|data_type|packing_format)|"
    r"requires a non-empty 'quantized_layers'|ModelOpt currently only supports|"
    r"Sparsity support has been removed": ("EH837",),
    r"was supported in vLLM until": ("EH666",),
    r"not compatible with vLLM": ("EH697",),
    r"for custom op|custom_ops c(?:an|annot)|Invalid compilation mode|"
    r"cudagraph_capture_sizes should contain": ("EH675",),
    r"enable_expert_parallel must be True to use EPLB|EPLB requires|num_redundant_experts is set|"
    r"Mamba SSU algorithm selection|mm_shm_cache_max_object_size_mb|offload_prefetch_step|"
    r"are mutually exclusive|must be >= max_loras|disable_any_whitespace|"
    r"disable_additional_properties|per-request-spec-decode-metrics requires|"
    r"long_prefill_token_threshold|logprobs_mode='processed_logprobs'|"
    r"only be set with --enable-prefix-caching|Microbatching currently only|"
    r"(?:dp_shared_memory|use_thp) requires|enable-batch-sharded-sampling flag": ("EH694",),
    r"only supports MoE models|use-replayssm is not supported|EngramConfig requires a model|"
    r"language-model-only is incompatible": ("EH698",),
    r"kv_cache_dtype=.{0,60}is incompatible with": ("EH628",),
    r"Stochastic rounding for Mamba": ("EH686",),
    r"method %s is deprecated|--allow-deprecated-quantization": ("EH836",),
    r"is not supported for quantization method": ("EH838",),
}  # fmt: skip
"""A part of the message -> the codes of the rules that decide it."""


def codes_of(message: str) -> tuple[str, ...]:
    """Return the rules that decide a message before a fetch, none where only its log tells."""
    found = (codes for words, codes in _CODES.items() if re.search(words, message))
    return tuple(dict.fromkeys(code for codes in found for code in codes))


def every_code() -> frozenset[str]:
    """Return all rules that are named here."""
    return frozenset(code for codes in _CODES.values() for code in codes)
