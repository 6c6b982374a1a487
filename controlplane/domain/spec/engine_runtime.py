"""`trt_llm.runtime` of both stacks: how the engine serves."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, Field, StrictFloat, StrictInt

from controlplane.domain.spec.choices import BatchSchedulerPolicy
from controlplane.domain.spec.section import BatchSize, PositiveInt, Section, SequenceLength

EncoderRoute = Literal["/v1/embeddings", "/v1/systemone", "/rerank", "/predict", "/predict_tokens"]


class RuntimeV1(Section):
    """Serving settings of the v1 stack."""

    kv_cache_free_gpu_mem_fraction: float = 0.9
    """Share of the memory that weights and activations leave free; not of the whole GPU."""
    kv_cache_host_memory_bytes: PositiveInt | None = None
    """Host memory for keys and values that the GPU has no room for; none when absent."""
    enable_chunked_context: bool = True
    """Let a prompt longer than `max_num_tokens` enter in pieces."""
    batch_scheduler_policy: BatchSchedulerPolicy = BatchSchedulerPolicy.GUARANTEED_NO_EVICT
    """Admit what fits now, or what fits to its end."""
    request_default_max_tokens: PositiveInt | None = None
    """Answer length of a request that names none; up to the limit when absent."""
    served_model_name: str | None = None
    """The name that `/v1/models` lists; `model_name` when absent."""
    total_token_limit: int = 500_000
    """Tokens of all admitted requests together."""
    webserver_default_route: EncoderRoute | None = None
    """Of an encoder: the route that `predict` goes to; by the checkpoint when absent."""
    lora_cache_max_adapter_size: PositiveInt | None = None
    """The largest rank that the cache of adapters accepts."""
    lora_cache_optimal_adapter_size: PositiveInt | None = None
    """The rank that pages of that cache are sized for."""
    lora_cache_gpu_memory_fraction: Annotated[StrictFloat, Field(gt=0, le=1)] | None = None
    """Share of the GPU memory left after loading that adapters may take."""
    lora_cache_host_memory_bytes: PositiveInt | None = None
    """Host memory for adapters."""


class RuntimeV2(Section):
    """Serving settings of the v2 stack."""

    ABSENCE_MATTERS: ClassVar[frozenset[str]] = frozenset({"max_batch_size"})

    max_seq_len: SequenceLength | None = None
    """Tokens of prompt and answer together; what the checkpoint knows when absent."""
    max_batch_size: BatchSize = 256
    """Requests that run together."""
    max_num_tokens: Annotated[StrictInt, Field(gt=64, le=131_072)] = 8192
    """Tokens that one engine step may process."""
    tensor_parallel_size: PositiveInt = 1
    """GPUs that each layer is divided over."""
    enable_chunked_prefill: bool = True
    """Let a prompt longer than `max_num_tokens` enter in pieces."""
    served_model_name: str | None = None
    """The name that `/v1/models` lists; `model_name` when absent."""
    patch_kwargs: dict[str, bool | str | int | float | dict[str, Any] | list[Any] | None] = Field(
        default={}, validation_alias=AliasChoices("patch_kwargs", "gated_features")
    )
    """Passed to the engine as given."""
