"""`trt_llm.runtime` of both stacks: how the engine serves."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, Field, StrictFloat, StrictInt

from controlplane.domain.spec.choices import BatchSchedulerPolicy
from controlplane.domain.spec.section import BatchSize, PositiveInt, Section, SequenceLength

EncoderRoute = Literal["/v1/embeddings", "/v1/systemone", "/rerank", "/predict", "/predict_tokens"]


class RuntimeV1(Section):
    """Serving settings of the v1 stack."""

    kv_cache_free_gpu_mem_fraction: float = 0.9
    """Share of the memory that is FREE after weights and activations; not of the whole GPU."""
    kv_cache_host_memory_bytes: PositiveInt | None = None
    enable_chunked_context: bool = True
    batch_scheduler_policy: BatchSchedulerPolicy = BatchSchedulerPolicy.GUARANTEED_NO_EVICT
    request_default_max_tokens: PositiveInt | None = None
    served_model_name: str | None = None
    total_token_limit: int = 500_000
    webserver_default_route: EncoderRoute | None = None
    lora_cache_max_adapter_size: PositiveInt | None = None
    lora_cache_optimal_adapter_size: PositiveInt | None = None
    lora_cache_gpu_memory_fraction: Annotated[StrictFloat, Field(gt=0, le=1)] | None = None
    lora_cache_host_memory_bytes: PositiveInt | None = None


class RuntimeV2(Section):
    """Serving settings of the v2 stack."""

    ABSENCE_MATTERS: ClassVar[frozenset[str]] = frozenset({"max_batch_size"})

    max_seq_len: SequenceLength | None = None
    max_batch_size: BatchSize = 256
    max_num_tokens: Annotated[StrictInt, Field(gt=64, le=131_072)] = 8192
    tensor_parallel_size: PositiveInt = 1
    enable_chunked_prefill: bool = True
    served_model_name: str | None = None
    patch_kwargs: dict[str, bool | str | int | float | dict[str, Any] | list[Any] | None] = Field(
        default={}, validation_alias=AliasChoices("patch_kwargs", "gated_features")
    )
    """Passed to the engine as given."""
