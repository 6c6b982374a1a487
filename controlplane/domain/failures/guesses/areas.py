"""Which part of which library raised -> who has probably to act, and at which setting.

Source: the folders of vLLM 0.25.1 to 0.33.0, TensorRT-LLM 1.2, ModelOpt 0.47 and transformers
5.24, checked 2026-11-30.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame

_ADAPTERS = f"{fields.BUILD}.lora_adapters"
_SPECULATOR = f"{fields.BUILD}.speculator"
_TENSOR_PARALLEL = f"{fields.BUILD}.tensor_parallel_count"


@dataclass(frozen=True, kw_only=True)
class Area:
    files: re.Pattern[str]
    about: str
    """Reads after "it comes from the part that"."""
    blame: Blame
    field: str | None = None
    is_optional: bool = False
    """Whether the model can be served without what it is about."""


def _area(
    files: str, about: str, blame: Blame, field: str | None = None, *, is_optional: bool = False
) -> Area:
    return Area(
        files=re.compile(files), about=about, blame=blame, field=field, is_optional=is_optional
    )


_CONFIG, _CHECKPOINT, _MACHINE = Blame.CONFIGURATION, Blame.CHECKPOINT, Blame.MACHINE
AREAS = (
    _area(r"/vllm/(?:config/speculative|v1/spec_decode|.*speculator)", "drafts tokens", _CONFIG,
          _SPECULATOR, is_optional=True),
    _area(r"/vllm/(?:lora/|config/lora)|/tensorrt_llm/.*lora|/peft/", "loads adapters",
          _CHECKPOINT, _ADAPTERS, is_optional=True),
    _area(r"/vllm/(?:tool_parsers|reasoning|parser|v1/structured_output)|"
          r"/(?:xgrammar|llguidance|outlines)/", "reads tool calls, reasoning and grammars",
          _CONFIG, fields.RUNTIME),
    _area(r"/vllm/(?:config|engine/arg_utils|entrypoints|plugins)|"
          r"/tensorrt_llm/(?:llmapi|commands|serve)", "reads the engine's settings", _CONFIG),
    _area(r"/vllm/.*(?:quantization|kernels/linear|fused_moe|marlin|_custom_ops)|"
          r"/tensorrt_llm/(?:quantization|_torch/modules|_torch/custom_ops)|/compressed_tensors/",
          "computes quantized weights", _CONFIG, fields.QUANTIZATION),
    _area(r"/vllm/.*attention|/vllm/v1/core|/tensorrt_llm/_torch/attention_backend|/flash_attn",
          "chooses attention and its KV cache", _CONFIG, fields.ACCELERATOR),
    _area(r"/modelopt/torch/export", "writes the quantized checkpoint", _CHECKPOINT,
          fields.QUANTIZATION),
    _area(r"/modelopt/torch/utils/dataset|/datasets/", "reads calibration data", _CONFIG,
          fields.DATASET),
    _area(r"/modelopt/", "quantizes weights", _CONFIG, fields.QUANTIZATION),
    _area(r"/vllm/(?:multimodal|renderers|assets|transformers_utils/processors)",
          "prepares images, sound and conversations", _CHECKPOINT, fields.REPO),
    _area(r"/vllm/(?:model_executor|models|transformers_utils|tokenizers)|"
          r"/tensorrt_llm/(?:_torch/models|models|inputs|tokenizer)|/(?:mistral_common|gguf)/",
          "builds the model from the checkpoint", _CHECKPOINT, fields.REPO),
    _area(r"/(?:transformers|tokenizers|safetensors|sentence_transformers|tiktoken|sentencepiece|"
          r"transformers_modules|jinja2|timm)/", "reads the checkpoint's files", _CHECKPOINT,
          fields.REPO),
    _area(r"/(?:huggingface_hub|requests|httpx|urllib3|aiohttp)/", "fetches from the hub",
          _MACHINE, fields.REPO),
    _area(r"/vllm/(?:distributed|v1/executor|ray)|/torch/distributed|/ray/|/mpi4py/",
          "brings several GPUs together", _MACHINE, _TENSOR_PARALLEL),
    _area(r"/tensorrt_llm/_torch/pyexecutor|/tensorrt_llm/executor|/vllm/v1/",
          "divides the GPU's memory and runs the model", _CONFIG, fields.ACCELERATOR),
    _area(r"/(?:triton|flashinfer|deep_gemm|tilelang|cutlass|bitsandbytes)/|"
          r"/torch/(?:cuda|_inductor|_dynamo|utils/cpp_extension)|"
          r"/vllm/(?:platforms|compilation|device_allocator|triton_utils|third_party|utils)",
          "compiles and starts kernels on the GPU", _MACHINE, fields.ACCELERATOR),
)  # fmt: skip
"""The first that names a file decides."""


def area_of(paths: Iterable[str]) -> Area | None:
    for path in paths:
        for area in AREAS:
            if area.files.search(path):
                return area
    return None
