"""Settings that TensorRT-LLM has no counterpart for, and why."""

from collections.abc import Mapping
from types import MappingProxyType

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "trt_llm.build.base_model": "The checkpoint's architecture decides what is served.",
        "trt_llm.runtime.served_model_name": (
            "trtllm-serve lists its model under the folder's name; the gateway serves the wanted "
            "one."
        ),
        "trt_llm.runtime.request_default_max_tokens": (
            "trtllm-serve has no default length of answers; the gateway adds `max_tokens`."
        ),
    }
)
