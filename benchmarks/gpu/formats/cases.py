"""The checkpoints that are made, and the configs that they are served by."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

DECODER, ENCODER = "decoder", "encoder"
TOOLS_TEMPLATE = (
    "{% if tools %}<|im_start|>system\nFunctions: {{ tools | tojson }}\nAnswer with "
    '<tool_call>\n{"name": <name>, "arguments": <arguments>}\n</tool_call><|im_end|>\n{% endif %}'
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "{% for call in message.tool_calls or [] %}<tool_call>\n{{ call.function | tojson }}\n"
    "</tool_call>{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Teaches calls as Hermes does."""
SERVED_NAME = "tiny"
_CONFIG = """\
model_name: {name}
resources: {{accelerator: {accelerator}}}
trt_llm:
  build:
    base_model: {base_model}
    checkpoint_repository: {{source: LOCAL, repo: tiny}}
    max_seq_len: 256
    max_num_tokens: 1024
    max_batch_size: 8
    quantization_type: {quantization}
    quantization_config: {quantization_config}
  runtime: {{served_model_name: tiny, kv_cache_free_gpu_mem_fraction: 0.05{route}}}
enginehouse:
  runtime: vllm
  vllm_args: {vllm_args}
"""
_EAGER = {"enforce_eager": True}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One checkpoint and what is asked of the engine that serves it."""

    quantization: str
    kind: str = DECODER
    quantization_config: Mapping[str, Any] = field(default_factory=dict)
    vllm_args: Mapping[str, Any] = field(default_factory=lambda: _EAGER)
    calls_tools: bool = False

    def config(self, name: str, accelerator: str) -> str:
        """Return the text of its config; YAML reads the mappings as JSON."""
        is_encoder = self.kind == ENCODER
        return _CONFIG.format(
            name=name.replace("_", "-"),
            accelerator=accelerator,
            base_model="encoder_bert" if is_encoder else DECODER,
            quantization=self.quantization,
            quantization_config=json.dumps(dict(self.quantization_config)),
            route=", webserver_default_route: /v1/embeddings" if is_encoder else "",
            vllm_args=json.dumps(dict(self.vllm_args)),
        )


CASES: Mapping[str, Case] = MappingProxyType(
    {
        "int4_awq": Case(quantization="int4_awq"),
        "w4a8_awq": Case(quantization="w4a8_awq"),
        "fp8_block": Case(quantization="fp8_block"),
        "fp8": Case(quantization="fp8"),
        "fp8_kv": Case(quantization="fp8_kv"),
        "fp4": Case(quantization="fp4"),
        "mixed": Case(quantization="fp4", quantization_config={"effective_bits": 7}),
        "no_quant": Case(quantization="no_quant"),
        "excluded": Case(
            quantization="fp8",
            quantization_config={"exclude_modules": ["model.layers.0.*", "*.down_proj"]},
        ),
        "tools": Case(quantization="fp8", calls_tools=True),
        "vllm_args": Case(
            quantization="no_quant",
            vllm_args={**_EAGER, "max_logprobs": 7, "enable_prefix_caching": False, "seed": 3},
        ),
        "encoder": Case(quantization="no_quant", kind=ENCODER),
        "encoder_fp8": Case(quantization="fp8", kind=ENCODER),
    }
)
