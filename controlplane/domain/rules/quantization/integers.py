"""EH2: four-bit integers, and what loads them."""

from collections.abc import Iterator

from controlplane.domain.facts import sources
from controlplane.domain.facts.quantization import FP8_CAPABILITY, NO_QUANT, PRECISIONS
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, SMOLLM2_135M, Example, facts, on_trtllm
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.quantization.precision import QUANTIZATION
from controlplane.domain.rules.rule import GPU_RUNTIMES, VLLM, Fix, Patch, Rule, Severity, at
from controlplane.domain.runtimes.capability import Capability, weights_feature

_ACCELERATOR = "resources.accelerator"
_REPO = "trt_llm.build.checkpoint_repository.repo"
_ON_VLLM = {_ACCELERATOR: "H100", QUANTIZATION: "int4_awq", "enginehouse.runtime": "vllm"}
_MARLIN_WIDTH = 128
_EXPERTS = facts(
    architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", num_experts=128,
    num_experts_per_tok=8, moe_intermediate_size=768, head_dim=64,
)  # fmt: skip


def _is_packed(c: Context) -> bool:
    return c.spec.quantization_type.precision.weights.is_packed


def _cell(c: Context) -> Capability:
    feature = weights_feature(c.spec.quantization_type.precision.weights)
    assert feature is not None, "each number that is packed has its cell"
    return c.can(feature)


def _served_instead(c: Context) -> Patch:
    older = PRECISIONS[c.spec.quantization_type.precision.on_older_gpus]
    feature = weights_feature(older.weights)
    can = feature and not c.can(feature).is_refused
    return {QUANTIZATION: older.name} if can else _without_integers(c)


def _without_integers(c: Context) -> Patch:
    has_fp8 = c.gpu.has_capability(*FP8_CAPABILITY)
    return {QUANTIZATION: PRECISIONS["fp8"].name if has_fp8 else NO_QUANT}


def _odd_widths(c: Context) -> Iterator[tuple[str, int]]:
    """Yield the inputs that are no multiple of what the kernel takes, as each GPU has them."""
    checkpoint, ranks = c.checkpoint, c.spec.tensor_parallel
    heads = (checkpoint.attention_heads or 0) * (checkpoint.head_dim or 0)
    for name, width in (
        ("hidden_size", checkpoint.hidden_size or 0),
        ("intermediate_size", (checkpoint.intermediate_size or 0) // ranks),
        ("the width of all attention heads", heads // ranks),
    ):
        if width % _MARLIN_WIDTH:
            yield name, width


NOT_SERVED = Rule(
    code="EH240",
    name="four-bit-integers-that-are-not-served",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    fields=at(QUANTIZATION, _ACCELERATOR, "enginehouse.runtime"),
    concerns=lambda c: c.gpu.compute_capability is not None and _is_packed(c),
    when=lambda c: _cell(c).is_refused,
    message=lambda c: (
        f"`{c.spec.quantization_type}` on `{c.gpu.kind}` is not served by {c.engine.title}: "
        f"{_cell(c).how}."
    ),
    fix=Fix(
        label=lambda c: f"Use {_served_instead(c)[QUANTIZATION]}", patch=_served_instead, safe=False
    ),
    otherwise=other_engines,
    source=sources.vllm("model_executor/layers/quantization/compressed_tensors"),
    bad=on_trtllm(Example(config={_ACCELERATOR: "A100", QUANTIZATION: "int4_awq"})),
    good=Example(config={**_ON_VLLM, _ACCELERATOR: "A100"}),
)

OF_EXPERTS = Rule(
    code="EH241",
    name="four-bit-integers-of-experts",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(QUANTIZATION, _REPO),
    concerns=_is_packed,
    when=lambda c: bool(c.checkpoint.experts),
    message=lambda c: (
        f"`{c.spec.quantization_type}` is not built for experts, of which this checkpoint has "
        f"{c.checkpoint.experts} a layer: ModelOpt 0.47 cannot export INT4 experts."
    ),
    fix=Fix(label="Use what this GPU has instead", patch=_without_integers, safe=False),
    source=sources.enginehouse("quantization, experts in INT4"),
    bad=Example(config=_ON_VLLM, checkpoint=_EXPERTS),
    good=Example(config=_ON_VLLM, checkpoint=LLAMA_8B),
)

ODD_WIDTHS = Rule(
    code="EH245",
    name="widths-that-marlin-does-not-take",
    severity=Severity.WARNING,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(QUANTIZATION, _REPO),
    concerns=_is_packed,
    when=lambda c: any(True for _ in _odd_widths(c)),
    message=lambda c: (
        f"vLLM's Marlin kernel needs inputs of a multiple of {_MARLIN_WIDTH} on each GPU; here "
        + " and ".join(f"{name} is {width:,}" for name, width in _odd_widths(c))
        + ". It may find no other kernel for INT4 and fail to start."
    ),
    fix=Fix(label="Use what this GPU has instead", patch=_without_integers, safe=False),
    source=sources.vllm("model_executor/layers/quantization/utils/marlin_utils.py"),
    bad=Example(config=_ON_VLLM, checkpoint=SMOLLM2_135M),
    good=Example(config=_ON_VLLM, checkpoint=LLAMA_8B),
)
