"""Which classes and stored formats TensorRT-LLM takes with what, as tables of docs/runtimes.md."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.facts.trtllm_class_features import CLASSES_WITH_A_ROW, features_of
from controlplane.domain.facts.trtllm_drafts import WITHOUT_DRAFTER, is_not_listed
from controlplane.domain.facts.trtllm_formats import lacks_attention, lacks_format

_HEAD = """
### TensorRT-LLM by class of model

Its PyTorch backend takes drafts, prompts in pieces, reuse of the KV cache and schemas by class.
**yes** and **no** are what its own matrix of models, or the class itself, says (EH120, EH458,
EH459); what it calls untested, or does not name, has a dash. Classes that it has not at all are
errors of EH669. The last column names GPUs on which its attention has no kernel (EH118). Source:
"Model-Feature Support Matrix (Key Models)" of its documentation and `_torch/models/`, 1.2 and the
1.3 line, 2026-11-30.

| Class | MTP | EAGLE-3 | chunked prefill | KV cache reuse | schemas | refused on |
|---|---|---|---|---|---|---|
"""
_FORMATS_HEAD = """
### TensorRT-LLM by stored format

What it makes of weights that are quantized already, as the checks judge it (EH104, EH105, EH117,
EH806). Source: `load_hf_quant_config` of `_torch/model_config.py`, `_torch/modules/` and "Hardware
Support Matrix" of its documentation, 1.2 and the 1.3 line, 2026-11-30.

| Stored weights |"""


def _compressed_fp8(weights: str, inputs: str) -> Mapping[str, Any]:
    number = {"num_bits": 8, "type": "float"}
    group = {
        "weights": {**number, "strategy": weights},
        "input_activations": {**number, "strategy": inputs, "dynamic": inputs == "token"},
    }
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}}


_FP8_BLOCKS = {"quant_method": "fp8", "weight_block_size": [128, 128]}
_FORMATS: Mapping[str, Mapping[str, Any]] = {
    "ModelOpt FP8": {"quant_method": "modelopt", "quant_algo": "FP8"},
    "FP8 in blocks": _FP8_BLOCKS,
    "ModelOpt NVFP4": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
    "ModelOpt INT4 AWQ": {"quant_method": "modelopt", "quant_algo": "W4A16_AWQ"},
    "ModelOpt SmoothQuant": {"quant_method": "modelopt", "quant_algo": "W8A8_SQ_PER_CHANNEL"},
    "MXFP4": {"quant_method": "mxfp4"},
    "compressed-tensors FP8, by channel": _compressed_fp8("channel", "token"),
    "compressed-tensors FP8, by tensor": _compressed_fp8("tensor", "tensor"),
    "compressed-tensors INT4": {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int"}}},
    },
    "GPTQ": {"quant_method": "gptq", "bits": 4},
    "AWQ": {"quant_method": "awq", "bits": 4},
    "bitsandbytes": {"quant_method": "bitsandbytes", "load_in_4bit": True},
}
_EXPERTS = {"num_experts": 128, "moe_intermediate_size": 768, "hidden_size": 2048}


def tables_by_class(devices: Sequence[str]) -> Iterator[str]:
    yield _HEAD
    yield from (
        _class_row(each, devices) for each in sorted({*CLASSES_WITH_A_ROW, *WITHOUT_DRAFTER})
    )
    yield f"{_FORMATS_HEAD} {' | '.join(devices)} |\n{'|---' * (len(devices) + 1)}|\n"
    for name, block in _FORMATS.items():
        yield _format_row(name, block, {}, devices)
        if block is _FP8_BLOCKS:
            yield _format_row(f"{name}, of experts", block, _EXPERTS, devices)


def _class_row(architecture: str, devices: Sequence[str]) -> str:
    row = features_of(architecture)
    features = (row.chunked_prefill, row.cache_reuse, row.schemas) if row else (None, None, None)
    cells = [*(_drafts(kind, architecture) for kind in ("MTP", "Eagle3")), *map(_word, features)]
    refused = [kind for kind in devices if lacks_attention(architecture, GPUS[kind])]
    return f"| `{architecture}` | {' | '.join(cells)} | {', '.join(refused) or '–'} |\n"


def _drafts(kind: str, architecture: str) -> str:
    row = features_of(architecture)
    if architecture in WITHOUT_DRAFTER or is_not_listed(kind, architecture):
        return "no"
    return "yes" if row and kind in row.drafters else "–"


def _word(is_supported: bool | None) -> str:
    return "–" if is_supported is None else "yes" if is_supported else "no"


def _format_row(
    name: str, block: Mapping[str, Any], shape: Mapping[str, Any], devices: Sequence[str]
) -> str:
    stored = checkpoints.read({"model_type": "qwen3", **shape, "quantization_config": block})
    cells = ("refused" if _is_refused(stored, kind) else "untested" for kind in devices)
    return f"| {name} | {' | '.join(cells)} |\n"


def _is_refused(stored: checkpoints.CheckpointFacts, kind: str) -> bool:
    gpu = GPUS[kind]
    return not gpu.has_capability(8, 0) or lacks_format(stored, gpu)
