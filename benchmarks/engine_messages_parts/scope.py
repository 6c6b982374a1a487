"""Which sources read what a user gives, and which of their messages are about a request or a slip.

Read of vLLM 0.25.1 to 0.33.0, ModelOpt 0.47 and transformers 5.24, 2026-11-30.
"""

import re

_READS_USERS = re.compile(
    r"vllm/(?:config|engine|lora|platforms|tool_parsers|reasoning|entrypoints|multimodal|renderers|"
    r"transformers_utils|tokenizers|distributed/(?:parallel_state|utils|eplb)|sampling_params|"
    r"pooling_params|v1/(?:worker|core|executor|engine|attention|structured_output|spec_decode|"
    r"kv_cache|pool)|model_executor|models|utils)|"
    r"modelopt/torch/(?:quantization|export|utils)|"
    r"transformers/(?:modeling_utils|configuration_utils|tokenization|models/auto|quantizers|"
    r"utils/(?:hub|loading)|dynamic_module|modeling_rope|core_model_loading|processing_utils|"
    r"integrations)"
)
_OTHER_PLATFORMS = re.compile(r"benchmark|third_party|xpu|tpu|rocm|amd/|aiter|cpu|/hpu")
_OF_REQUESTS = re.compile(
    r"vllm/(?:sampling_params|pooling_params|entrypoints/(?!.*cli|launchers|common/cli)|renderers|"
    r"multimodal|tool_parsers|reasoning|transformers_utils/processors|tokenizers/.*encoding|inputs|"
    r"v1/(?:engine/input_processor|structured_output|sample|pool))|"
    r"transformers/(?:processing_utils|tokenization)"
)
_INNER_FILES = re.compile(
    r"vllm/(?:model_executor/(?:kernels|warmup|layers/(?:fused_moe|mamba/ops|attention|"
    r"quantization/utils|fla))|v1/(?:attention/(?:ops|backends)|core/(?!kv_cache_(?:utils|plan))|"
    r"worker/(?:gpu/|ubatch)|kv_offload|spec_decode)|utils|models/)|"
    r"modelopt/torch/(?:quantization/(?:triton|nn|backends|plugins)|utils)|transformers/integrations"
)
_SLIPS = re.compile(
    r"should not (?:be called|happen)|must be (?:called|set by|initialized|contiguous|implemented)|"
    r"[Nn]ot (?:yet )?initialized|[Ss]ubclass|override|already (?:initialized|registered)|"
    r"\bbug\b|[Uu]nreachable|internal|callable|"
    r"[Tt]ensor|shape|\bdim(?:s|ension)?\b|[Mm]ismatch|ndim|contiguous|buffer|"
    r"[Gg]ot type|isinstance|[Uu]nexpected (?:type|number)|[Ii]nvalid (?:type|index)|"
    r"[Ii]mplement(?:ed)? (?:this|in|the)|not implemented|\bNone\b|\bcallback|\blen(?:gths?)?\b",
)
_WORDS = re.compile(r"[A-Za-z]{3,}")
_FEWEST_WORDS = 3


def is_read(path: str) -> bool:
    """Return whether a source is one of those that meet what a user gives."""
    return bool(_READS_USERS.match(path)) and not _OTHER_PLATFORMS.search(path)


def is_of_a_request(path: str) -> bool:
    """Return whether it is answered to the one who asked, and ends no engine."""
    return bool(_OF_REQUESTS.match(path))


def is_a_slip(path: str, kind: str, text: str) -> bool:
    """Return whether it guards the library's own code, and says nothing of a setting or a file."""
    if kind in ("AttributeError", "KeyError", "IndexError", "StopIteration", "InductorError"):
        return True
    if len(_WORDS.findall(text)) < _FEWEST_WORDS:
        return True
    return bool(_INNER_FILES.match(path)) or bool(_SLIPS.search(text))
