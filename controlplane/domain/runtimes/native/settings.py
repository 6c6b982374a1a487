from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """What the command line of `workers.runtimes.native` carries."""

    model_dir: str
    host: str
    port: int
    served_model_name: str
    max_batch_size: int
    max_seq_len: int
    max_num_tokens: int
    kv_cache_bytes: int
    """0 where vectors and scores are made."""
    threads: int
    dtype: str
    """`float32` or `bfloat16`."""
    default_max_tokens: int | None
    device: str | None = None
    """`cuda`, the one GPU that is visible; the CPU where none is named."""
    total_token_limit: int | None = None
    batch_scheduler_policy: str | None = None
    lookahead_ngram_size: int | None = None
    draft_factor: int | None = None
    undrafted_share: float | None = None
    adapters: tuple[tuple[str, str], ...] = ()
    """Model name and folder of each adapter."""
    max_adapter_rank: int | None = None
    generic_tools: bool = False
    rerank_template: str | None = None
    pools: bool = False
    """Whether vectors and scores are made instead of text."""
