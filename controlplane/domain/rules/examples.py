"""The smallest configs that show a rule: what differs from a base that has no findings."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.calibration_sets import CalibrationSet
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.facts.secret_expiries import SecretExpiry
from controlplane.domain.failures import Failure
from controlplane.domain.rules.context import CodeGrant, Known, every_kind

Config = dict[str, Any]

_CHECKPOINT = {"source": "LOCAL", "repo": "/checkpoints/example"}
BASE_CONFIG: Config = {
    "model_name": "example",
    "trt_llm": {"build": {"checkpoint_repository": _CHECKPOINT, "max_seq_len": 4096}},
}

_SMOLLM2: Config = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16",
    "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9,
    "num_key_value_heads": 3, "intermediate_size": 1536, "vocab_size": 49_152,
    "max_position_embeddings": 8192, "tie_word_embeddings": True,
}  # fmt: skip
_LLAMA_8B: Config = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16",
    "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14_336, "vocab_size": 128_256,
    "max_position_embeddings": 131_072, "tie_word_embeddings": False,
}  # fmt: skip


def facts(base: Config = _SMOLLM2, **changes: Any) -> CheckpointFacts:
    """Return the facts of a checkpoint whose `config.json` differs from `base` by `changes`."""
    config = {**base, **changes}
    return checkpoints.read(config, has_chat_template=config.pop("chat_template", True))


SMOLLM2_135M = facts()
LLAMA_8B = facts(_LLAMA_8B)
LLAMA_70B = facts(
    _LLAMA_8B, hidden_size=8192, num_hidden_layers=80, num_attention_heads=64,
    intermediate_size=28_672,
)  # fmt: skip
QWEN2_7B = facts(
    _LLAMA_8B, architectures=["Qwen2ForCausalLM"], model_type="qwen2", hidden_size=3584,
    num_hidden_layers=28, num_attention_heads=28, num_key_value_heads=4,
    intermediate_size=18_944, vocab_size=152_064, max_position_embeddings=32_768,
)  # fmt: skip
BERT = facts(
    {"architectures": ["BertModel"], "model_type": "bert", "hidden_size": 384,
     "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536,
     "vocab_size": 30_522, "max_position_embeddings": 512, "dtype": "float32"},
    chat_template=None,
)  # fmt: skip

EVERY_KIND = every_kind(cpu_memory_bytes=24 * GIB)
CPU_ONLY = EVERY_KIND[:1]


@dataclass(frozen=True, kw_only=True)
class Example:
    config: Mapping[str, Any] = field(default_factory=dict)
    """Dotted path -> value, over the base; None removes."""
    checkpoint: CheckpointFacts | None = SMOLLM2_135M
    checkpoint_failure: Failure | None = None
    secret_names: frozenset[str] = frozenset()
    secret_expiries: tuple[SecretExpiry, ...] = ()
    devices: tuple[DeviceOffer, ...] = EVERY_KIND
    calibration_sets: tuple[CalibrationSet, ...] = ()
    runtimes: frozenset[str] | None = None
    versions: frozenset[tuple[str, str]] = frozenset()
    replicas: int | None = None
    code_grants: tuple[CodeGrant, ...] = ()

    @property
    def content(self) -> Config:
        content = deepcopy(BASE_CONFIG)
        for path, value in self.config.items():
            _put(content, path.split("."), value)
        return content

    @property
    def known(self) -> Known:
        return Known(
            checkpoint=self.checkpoint,
            checkpoint_failure=self.checkpoint_failure,
            secret_names=self.secret_names,
            secret_expiries=self.secret_expiries,
            devices=self.devices,
            calibration_sets=self.calibration_sets,
            runtimes=self.runtimes,
            versions=self.versions,
            replicas=self.replicas,
            code_grants=self.code_grants,
        )


def on_trtllm(example: Example) -> Example:
    """Return the example with TensorRT-LLM named, where it names no runtime."""
    return _on(example, "trtllm")


def on_vllm(example: Example, *, version: str = "") -> Example:
    """Return the example with vLLM named, where it names no runtime, and its version."""
    versions = frozenset({("vllm", version)}) if version else example.versions
    return replace(_on(example, "vllm"), versions=versions)


def _on(example: Example, runtime: str) -> Example:
    return replace(example, config={"enginehouse.runtime": runtime, **example.config})


def _put(block: Config, steps: list[str], value: Any) -> None:
    *parents, last = steps
    for step in parents:
        block = block.setdefault(step, {})
    if value is None:
        block.pop(last, None)
    else:
        block[last] = deepcopy(value)
