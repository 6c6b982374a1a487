from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from controlplane.domain.spec.choices import RerankTemplate
from workers.engine.drafts import MakeDrafter


class Policy(StrEnum):
    """What a row is given when it is admitted: `batch_scheduler_policy` of a config."""

    GUARANTEED_NO_EVICT = "guaranteed_no_evict"
    """Room for prompt and answer together: whoever runs runs to the end."""
    MAX_UTILIZATION = "max_utilization"
    """Room for what is there; when the cache is full, the youngest gives way and starts again."""


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """Everything the engine may be told, with the defaults of a bare command line."""

    model_dir: Path
    """Folder of a Hugging Face checkpoint: config.json, *.safetensors, tokenizer.json."""

    served_model_name: str
    """The name that /v1/models and every answer carry."""

    pools: bool | None = None
    """Whether vectors and scores are served instead of text. Absent: as the checkpoint says."""

    max_batch_size: int = 8
    """Rows computed together."""

    max_seq_len: int | None = None
    """Prompt and answer together, in tokens. Absent: what checkpoint and KV cache allow."""

    max_num_tokens: int = 8192
    """Tokens fed in one step, decoding rows and pieces of prompts together."""

    kv_cache_bytes: int = 1 << 30
    """Budget of the KV cache; the number of tokens it holds follows from the checkpoint."""

    threads: int = 1
    """Threads of one matrix product. More than the cores really free is slower, not faster."""

    dtype: str = "auto"
    """`float32`, `bfloat16`, or `auto`: bfloat16 only where the processor multiplies it."""

    device: str = "cpu"
    """A torch device, `cpu` or `cuda`."""

    default_max_tokens: int | None = None
    """Answer length for a request that names none. Absent: up to the sequence limit."""

    generic_tools: bool = False
    """Whether tools are offered by a prompt of ours where the template renders none."""

    max_waiting_requests: int = 256
    """Requests that may wait for a row; one more is answered 429."""

    total_token_limit: int = 500_000
    """Prompt and longest answer of all running requests together, in tokens."""

    scheduler_policy: Policy = Policy.GUARANTEED_NO_EVICT

    make_drafter: MakeDrafter | None = None
    """Begins the drafter of a row. Absent: nothing is drafted."""
    undrafted_share: float = 0.0
    """Of requests that have none all the same, so that speeds can be compared."""

    adapters: Mapping[str, Path] = field(default_factory=dict)
    """Folders of LoRA adapters in PEFT's form, by the model name that asks for them."""

    max_adapter_rank: int | None = None
    """Largest rank that an adapter may have. Absent: any."""

    rerank_template: RerankTemplate | None = None
    """Pooling: how a language model is asked to rank. Absent: as the checkpoint's files say."""

    max_client_batch_size: int = 128
    """Pooling: texts of one request."""

    max_concurrent_requests: int = 2048
    """Pooling: requests under way; one more is answered 429."""
