"""What vLLM refuses of blocks that AutoRound and Quark wrote, by version.

Source: `inc/inc.py`, `inc/schemes/` and `quark/quark.py` in `model_executor/layers/quantization/`,
and `MARLIN_SUPPORTED_GROUP_SIZES`; vLLM 0.25.1 to 0.33.0, checked 2026-12-01.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.domain.facts.unread_block import UnreadBlock

Block = Mapping[str, Any]

_BITS = range(2, 9)
_NUMBERS = ("int", "mx_fp", "fp")
_PACKINGS = (
    "auto_round:auto_gptq", "auto_round:auto_awq", "auto_round:fp8", "auto_round:llm_compressor",
)  # fmt: skip
_BACKENDS = ("auto", "gptq", "gptq:marlin", "awq", "awq:marlin", "marlin")
_GROUPS = (-1, 32, 64, 128)
_SINCE: Mapping[str, str] = {
    "mx_fp": "0.27", "auto_round:llm_compressor": "0.27", "fp": "0.29", "auto_round:fp8": "0.29",
}  # fmt: skip
_OTHER_BITS_SINCE = "0.30"
_FOUR_BITS_OF_QUARK_SINCE = "0.31"
_PACKED = ("order", "reorder")


def unread_of_auto_round(block: Block) -> UnreadBlock:
    """Return what vLLM refuses of a block by AutoRound."""
    always = next(_of_auto_round(block), None)
    until, since = next(_of_older_versions(block), (None, None))
    return UnreadBlock(always=always, until=until, since=since)


def unread_of_quark(block: Block) -> UnreadBlock:
    """Return what vLLM refuses of a block by Quark."""
    export = block.get("export")
    if not isinstance(export, Mapping):
        return UnreadBlock(always="has no `export` in its block, which vLLM reads of Quark's")
    everywhere = block.get("global_quant_config")
    weights, inputs = (_part(everywhere, name) for name in ("weight", "input_tensors"))
    kind = str(weights.get("dtype"))
    if not weights or kind not in ("int4", "uint4", "int8", "fp8_e4m3"):
        return UnreadBlock()
    if kind in ("int4", "uint4"):
        return _four_bits_of_quark(inputs, str(export.get("pack_method")))
    if inputs or weights.get("qscheme") == "per_group":
        return UnreadBlock()
    return UnreadBlock(always=f"has weights in `{kind}` beside inputs in 16 bits")


def _of_auto_round(block: Block) -> Iterator[str]:
    bits, packing = block.get("bits"), block.get("packing_format")
    kind, backend = block.get("data_type"), block.get("backend", block.get("vllm_backend"))
    if isinstance(bits, int) and bits not in _BITS:
        yield f"has {bits} bits a weight, where 2 to 8 are read"
    if isinstance(kind, str) and not kind.startswith(_NUMBERS):
        yield f"has `data_type: {kind}`"
    if isinstance(packing, str) and packing not in _PACKINGS:
        yield f"is packed as `{packing}`"
    if isinstance(backend, str) and backend not in _BACKENDS:
        yield f"names `backend: {backend}`, where {', '.join(_BACKENDS)} are read"
    if _is_integer(block) and _is_packed_as_gptq(block) and bits in (4, 8):
        yield from _of_marlin(block)


def _of_marlin(block: Block) -> Iterator[str]:
    group = block.get("group_size")
    if block.get("sym") is False:
        yield "keeps zero points (`sym: false`), and vLLM reads symmetric weights only"
    if isinstance(group, int) and group not in _GROUPS:
        yield f"has groups of {group}, where 32, 64, 128 and whole rows are read"


def _of_older_versions(block: Block) -> Iterator[tuple[str, str]]:
    bits = block.get("bits")
    for key in ("data_type", "packing_format"):
        if since := _SINCE.get(str(block.get(key))):
            yield f"has `{key}: {block[key]}`", since
    if _is_integer(block) and isinstance(bits, int) and bits in _BITS and bits not in (4, 8):
        yield f"has {bits} bits a weight", _OTHER_BITS_SINCE


def _is_integer(block: Block) -> bool:
    return bool(block.get("data_type", "int") == "int")


def _is_packed_as_gptq(block: Block) -> bool:
    return "gptq" in str(block.get("packing_format") or _PACKINGS[0])


def _four_bits_of_quark(inputs: Block, packing: str) -> UnreadBlock:
    if inputs:
        return UnreadBlock(always="rounds the inputs of INT4 weights, which is not read of Quark's")
    if packing not in _PACKED:
        return UnreadBlock(always=f"is packed as `{packing}`")
    return UnreadBlock(until="has INT4 weights of Quark", since=_FOUR_BITS_OF_QUARK_SINCE)


def _part(everywhere: Any, name: str) -> Block:
    """Return the one setting of a part; nothing where it has several or none."""
    part = everywhere.get(name) if isinstance(everywhere, Mapping) else None
    if isinstance(part, list):
        part = part[0] if len(part) == 1 else None
    return part if isinstance(part, Mapping) else {}
