"""Which quantized checkpoints vLLM reads, by version, and which numbers each method computes in.

Source: `QuantizationMethods` and `DEPRECATED_QUANTIZATION_METHODS` of
`model_executor/layers/quantization/__init__.py`, `_normalize_quantization_config` of
`transformers_utils/model_arch_config_convertor.py`, each method's
`override_quantization_method`, the `TYPE_MAP`s, `QUANT_ALGOS` of `modelopt.py`,
`_get_scheme_from_parts` and `_parse_sparsity_config` of `compressed_tensors.py`, and
`get_supported_act_dtypes`; vLLM 0.25.1 to 0.33.0, checked 2026-11-30.
"""

from collections.abc import Mapping

from controlplane.domain.facts.existing_quantization import ExistingQuantization

_METHODS = frozenset(
    {
        "auto_awq", "auto_gptq", "awq", "awq_marlin", "compressed-tensors", "deepseek_v4_fp8",
        "experts_int8", "fbgemm_fp8", "fp8", "fp8_per_block", "fp8_per_channel", "fp8_per_tensor",
        "fp_quant", "gpt_oss_mxfp4", "gptq", "gptq_marlin", "humming", "inc",
        "int8_per_channel_weight_only", "modelopt", "modelopt_fp4", "modelopt_mixed",
        "modelopt_mxfp8", "moe_wna16", "mxfp4", "mxfp8", "online", "quark", "torchao",
    }
)  # fmt: skip
"""Of every version from 0.25 to 0.33."""
_SINCE: Mapping[str, str] = {"nvfp4_per_token": "0.26"}
"""Method -> the first version with it."""
_GIVEN_UP: Mapping[str, str] = {"bitsandbytes": "0.28"}
"""Method -> the first version without it."""
_ALIASES: Mapping[str, str] = {
    "auto-round": "inc", "compressed_tensors": "compressed-tensors",
}  # fmt: skip
"""What a checkpoint may call a method, and what vLLM takes it for."""
_DEPRECATED = frozenset({"fbgemm_fp8", "fp_quant"})
"""Refused unless `--allow-deprecated-quantization` is given."""
_MODELOPT_ALGORITHMS = frozenset(
    {"FP8", "FP8_PB_WO", "FP8_PER_CHANNEL_PER_TOKEN", "MIXED_PRECISION", "MXFP8", "NVFP4",
     "W4A16_NVFP4"}
)  # fmt: skip
_UNREAD_LAYOUTS = frozenset({"marlin-24", "sparse-24-bitmask", "sparse-bitmask"})
"""Of compressed-tensors, whose numbers are half zeros: no scheme takes them any more."""
_IN_FLOAT32 = frozenset({"bitsandbytes", "compressed-tensors", "torchao"})
"""Methods that compute in float32 where that is the model's type; the others end at the start."""
_BFLOAT16_ALONE = frozenset({"fp_quant", "gpt_oss_mxfp4", "mxfp4"})
_BITS: Mapping[str, tuple[int, ...]] = {"gptq": (4, 8), "awq": (4,)}


def lacks_method(existing: ExistingQuantization, version: str) -> bool:
    method = _ALIASES.get(existing.method.lower(), existing.method.lower())
    if since := _SINCE.get(method):
        return _number(version) < _number(since)
    if until := _GIVEN_UP.get(method):
        return _number(version) >= _number(until)
    return method not in _METHODS


def is_deprecated(existing: ExistingQuantization) -> bool:
    """Return whether vLLM asks for a word of consent before it loads that method."""
    return existing.method.lower() in _DEPRECATED


def odd_bits(existing: ExistingQuantization) -> str | None:
    """Return what of a GPTQ or AWQ checkpoint no kernel takes, in words; None where all is well."""
    takes = _BITS.get(existing.method.lower())
    if takes is None:
        return None
    if existing.bits is not None and existing.bits not in takes:
        listed = " or ".join(map(str, takes))
        return f"has {existing.bits} bits a weight, and vLLM reads {listed}"
    if existing.is_symmetric is False and existing.method.lower() != "awq":
        return "keeps zero points (`sym: false`), and vLLM reads symmetric weights only"
    return None


def unread_scheme(
    existing: ExistingQuantization, version: str, *, has_experts: bool = False
) -> str | None:
    """Return what of the stored numbers no loader takes, in words; None where all is well."""
    algorithm, block = existing.algorithm or "", existing.unread
    if unread := block.always or (block.of_experts if has_experts else None):
        return unread
    if block.until and block.since and _number(version) < _number(block.since):
        return f"{block.until} (vLLM reads that from {block.since} on)"
    if existing.method.lower().startswith("modelopt"):
        is_known = not algorithm or algorithm.upper() in _MODELOPT_ALGORITHMS
        return None if is_known else f"is in ModelOpt's `{algorithm}`"
    if existing.is_sparse or existing.layout in _UNREAD_LAYOUTS:
        return "leaves out zeros of its weights (2:4 sparsity)"
    return None


def computes_in(existing: ExistingQuantization, number_type: str) -> bool:
    """Return whether the method's layers compute in `float16`, `bfloat16` or `float32`."""
    method = existing.method.lower()
    if number_type == "float32":
        return _ALIASES.get(method, method) in _IN_FLOAT32
    is_mxfp8 = method.startswith("modelopt") and (existing.algorithm or "").upper() == "MXFP8"
    return number_type == "bfloat16" or not (method in _BFLOAT16_ALONE or is_mxfp8)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
