"""What a runtime can do, in three values per card kind."""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.facts.sources import Source


class Support(StrEnum):
    """Native: as asked. Emulated: with the same result by other means. Refused: not at all."""

    NATIVE = "native"
    EMULATED = "emulated"
    REFUSED = "refused"


class Feature(StrEnum):
    """What a config or a request can ask of a runtime."""

    CHAT = "chat"
    COMPLETIONS = "completions"
    STRUCTURED_OUTPUT = "structured output"
    CHUNKED_PREFILL = "chunked prefill"
    TOOLS = "tool calls"
    LOOKAHEAD = "lookahead decoding"
    ADAPTERS = "LoRA adapters"
    TENSOR_PARALLEL = "tensor parallelism"
    PIPELINE_PARALLEL = "pipeline parallelism"
    POOLING = "embeddings, reranking and classification"
    MULTIMODAL = "image and audio inputs"
    FP8_WEIGHTS = "FP8 weights"
    FP8_KV_CACHE = "FP8 KV cache"
    FP4_WEIGHTS = "FP4 weights"
    ACCELERATOR = "accelerators"
    HOST_KV_CACHE = "KV cache in host memory"
    ENGINE_ARGUMENTS = "arguments passed to the engine as given"


@dataclass(frozen=True, kw_only=True)
class Capability:
    """Whether a feature is there, and how or why not."""

    support: Support
    how: str
    source: Source | None = None
    """Where it was read or measured; none where it is about our own engine."""

    @property
    def is_refused(self) -> bool:
        return self.support is Support.REFUSED


def native(how: str, source: Source | None = None) -> Capability:
    """Return a capability that is there as asked."""
    return Capability(support=Support.NATIVE, how=how, source=source)


def emulated(how: str, source: Source | None = None) -> Capability:
    """Return a capability that comes to the same by other means."""
    return Capability(support=Support.EMULATED, how=how, source=source)


def refused(why: str, source: Source | None = None) -> Capability:
    """Return a capability that is not there, with the reason."""
    return Capability(support=Support.REFUSED, how=why, source=source)
