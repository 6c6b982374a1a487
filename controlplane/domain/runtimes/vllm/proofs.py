"""Where vLLM was seen to do what its table says, started by the product on a build's artifact."""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.runtimes.capability import HOPPER, Feature, Proof


def _run(
    stage: str, shows: str, *, date: str = "2026-11-28", device: str = "h200"
) -> tuple[Proof, ...]:
    kept = f"benchmarks/results/{stage}-{device}-{date}.json"
    return (Proof(kept=kept, shows=shows, version="0.25", compute_capability=HOPPER),)


def _format(case: str) -> tuple[Proof, ...]:
    """Return the run of what builds write in a precision, whose answers the native engine gave."""
    return _run("formats", f"cases.{case}.same", date="2026-11-30")


PROOFS: Mapping[Feature, tuple[Proof, ...]] = MappingProxyType(
    {
        Feature.CHAT: _run("ask", "streamed.answer"),
        Feature.POOLING: (
            *_run("embedder", "cosines_to_transformers", date="2026-11-29"),
            *_run("reranker", "answer.results", date="2026-11-29"),
            *_run("classifier", "answer.data", date="2026-11-29"),
        ),
        Feature.STRUCTURED_OUTPUT: _run("ask", "json_schema.holds_the_schema"),
        Feature.FP8_WEIGHTS: _run("build", "smoke_test.answer"),
        Feature.FP8_KV_CACHE: _run("build", "smoke_test.answer"),
        Feature.FP8_BLOCK_WEIGHTS: _format("fp8_block"),
        Feature.FP4_WEIGHTS: _format("fp4"),
        Feature.MIXED_WEIGHTS: _format("mixed"),
        Feature.INT4_WEIGHTS: _format("int4_awq"),
        Feature.INT4_WEIGHTS_FP8_INPUTS: _format("w4a8_awq"),
        Feature.ACCELERATOR: _run("no_quant", "smoke_test.answer"),
        Feature.TENSOR_PARALLEL: _run(
            "two_devices", "asked.tokens", date="2026-11-30", device="h200x2"
        ),
    }
)
