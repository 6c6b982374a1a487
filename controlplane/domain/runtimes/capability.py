"""What a runtime can do per GPU kind, and whether it was seen to."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.domain.facts.quantization import (
    FP8,
    FP8_BLOCKS,
    INT4_AWQ,
    INT4_AWQ_FP8,
    NVFP4,
    Number,
)
from controlplane.domain.facts.sources import Source


class Support(StrEnum):
    """Native: as asked. Emulated: with the same result by other means. Refused: not at all.

    Untested: either of the first two by its source and documents, and not seen to run by us.
    """

    NATIVE = "native"
    EMULATED = "emulated"
    UNTESTED = "untested"
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
    FP8_BLOCK_WEIGHTS = "FP8 weights in blocks"
    FP8_KV_CACHE = "FP8 KV cache"
    FP4_WEIGHTS = "FP4 weights"
    MIXED_WEIGHTS = "FP8 and FP4 weights mixed"
    INT4_WEIGHTS = "INT4 weights"
    INT4_WEIGHTS_FP8_INPUTS = "INT4 weights with FP8 inputs"
    ACCELERATOR = "accelerators"
    HOST_KV_CACHE = "KV cache in host memory"
    ENGINE_ARGUMENTS = "arguments passed to the engine as given"


_WEIGHTS = {
    FP8.label: Feature.FP8_WEIGHTS,
    FP8_BLOCKS.label: Feature.FP8_BLOCK_WEIGHTS,
    NVFP4.label: Feature.FP4_WEIGHTS,
    INT4_AWQ.label: Feature.INT4_WEIGHTS,
    INT4_AWQ_FP8.label: Feature.INT4_WEIGHTS_FP8_INPUTS,
}


def weights_feature(number: Number) -> Feature | None:
    """Return what a runtime is asked by weights in this number; None where they need nothing."""
    return _WEIGHTS.get(number.label)


HOPPER = (9, 0)
"""Compute capability of an H100 and an H200."""


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Where a feature was seen to work: a kept run, or a test that runs it."""

    kept: str
    """A file of `benchmarks/results`, or a test as `file::name`."""
    version: str
    shows: str = ""
    """Dotted path of the value in that file; empty for a test."""
    compute_capability: tuple[int, int] | None = None
    """Of the GPU that it was seen on; None for a CPU."""


@dataclass(frozen=True, kw_only=True)
class Capability:
    support: Support
    how: str
    source: Source | None = None
    """Where it was read or measured; none where it is about our own engine."""

    claimed: Support | None = None
    """What sources and documents say of an untested one."""
    proofs: tuple[Proof, ...] = ()

    @property
    def is_emulated(self) -> bool:
        """Whether it comes to the same by other means, seen or not."""
        return (self.claimed or self.support) is Support.EMULATED

    @property
    def is_refused(self) -> bool:
        return self.support is Support.REFUSED


def native(how: str, source: Source | None = None) -> Capability:
    return Capability(support=Support.NATIVE, how=how, source=source)


def emulated(how: str, source: Source | None = None) -> Capability:
    return Capability(support=Support.EMULATED, how=how, source=source)


def refused(why: str, source: Source | None = None) -> Capability:
    return Capability(support=Support.REFUSED, how=why, source=source)


def seen(
    capability: Capability,
    proofs: Iterable[Proof],
    *,
    version: str,
    compute_capability: tuple[int, int] | None,
) -> Capability:
    """Return the capability with what proves it there, untested where nothing does."""
    if capability.is_refused:
        return capability
    fitting = tuple(
        proof
        for proof in proofs
        if proof.version == version and proof.compute_capability == compute_capability
    )
    if fitting:
        return replace(capability, proofs=fitting)
    return replace(capability, support=Support.UNTESTED, claimed=capability.support)
