"""EH2: FP8 with a scale per block of weights, and what its blocks divide."""

from collections.abc import Iterator

from controlplane.domain.facts import sources
from controlplane.domain.facts.matrices import is_matched
from controlplane.domain.facts.quantization import FP8_CAPABILITY, NO_QUANT, PRECISIONS
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, SMOLLM2_135M, Example, facts, on_trtllm
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.quantization.precision import QUANTIZATION
from controlplane.domain.rules.rule import GPU_RUNTIMES, VLLM, Fix, Patch, Rule, Severity, at
from controlplane.domain.runtimes.capability import Capability, Feature

_ACCELERATOR = "resources.accelerator"
_TENSOR = "trt_llm.build.tensor_parallel_count"
_REPO = "trt_llm.build.checkpoint_repository.repo"
_ON_VLLM = {_ACCELERATOR: "H100", QUANTIZATION: "fp8_block", "enginehouse.runtime": "vllm"}
_SMALL_KEYS = facts(
    hidden_size=2048, num_attention_heads=32, num_key_value_heads=1, head_dim=64,
    intermediate_size=8192,
)  # fmt: skip


def _block(c: Context) -> int:
    return c.spec.quantization_type.precision.weights.block


def _is_by_block(c: Context) -> bool:
    return bool(_block(c))


def _cell(c: Context) -> Capability:
    return c.can(Feature.FP8_BLOCK_WEIGHTS)


def _without_blocks(c: Context) -> Patch:
    has_fp8 = c.gpu.is_cpu or c.gpu.has_capability(*FP8_CAPABILITY)
    return {QUANTIZATION: PRECISIONS["fp8"].name if has_fp8 else NO_QUANT}


def _stays(c: Context, ending: str) -> bool:
    """Return whether the config keeps every matrix of this name in 16 bits."""
    patterns = c.spec.engine_build.quantization_config.exclude_modules
    matrices = [each for each in c.checkpoint.matrices if each.name.endswith(ending)]
    return bool(matrices) and all(
        is_matched(m, patterns) for each in matrices for m in each.modules
    )


def _mlp(c: Context) -> int:
    checkpoint = c.checkpoint
    width = checkpoint.moe_intermediate_size if checkpoint.experts else None
    return 0 if _stays(c, "down_proj") else width or checkpoint.intermediate_size or 0


def _odd_inputs(c: Context) -> Iterator[tuple[str, int]]:
    checkpoint = c.checkpoint
    heads = (checkpoint.attention_heads or 0) * (checkpoint.head_dim or 0)
    is_plain = not (checkpoint.kv_lora_rank or _stays(c, "o_proj"))
    for name, width in (
        ("hidden_size", checkpoint.hidden_size or 0),
        ("the width of the MLP", _mlp(c)),
        ("the width of all attention heads", heads if is_plain else 0),
    ):
        if width % _block(c):
            yield name, width


def _odd_rows(c: Context) -> Iterator[tuple[str, int]]:
    """Yield the rows of layers that engines compute as one, as each GPU has them."""
    checkpoint, ranks = c.checkpoint, c.spec.tensor_parallel
    head = 0 if checkpoint.kv_lora_rank or _stays(c, "k_proj") else checkpoint.head_dim or 0
    heads = checkpoint.attention_heads or 0
    keys = max(1, (checkpoint.kv_heads or heads) // ranks)
    for name, rows in (
        ("queries", heads // ranks * head),
        ("keys", keys * head),
        ("the MLP", _mlp(c) // ranks),
    ):
        if rows % _block(c):
            yield name, rows


def _listed(sizes: Iterator[tuple[str, int]], words: str) -> str:
    return " and ".join(f"{name} {words} {width:,}" for name, width in sizes)


NOT_SERVED = Rule(
    code="EH250",
    name="fp8-blocks-that-are-not-served",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    fields=at(QUANTIZATION, _ACCELERATOR, "enginehouse.runtime"),
    concerns=lambda c: c.gpu.compute_capability is not None and _is_by_block(c),
    when=lambda c: _cell(c).is_refused,
    message=lambda c: (
        f"`{c.spec.quantization_type}` on `{c.gpu.kind}` is not served by {c.engine.title}: "
        f"{_cell(c).how}."
    ),
    fix=Fix(label="Use what this GPU has instead", patch=_without_blocks, safe=False),
    otherwise=other_engines,
    source=sources.tensorrt_llm("quantization, hardware support matrix, FP8 block scaling"),
    bad=on_trtllm(Example(config={_ACCELERATOR: "L4", QUANTIZATION: "fp8_block"})),
    good=on_trtllm(Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8_block"})),
)

ODD_INPUTS = Rule(
    code="EH251",
    name="widths-that-fp8-blocks-do-not-divide",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(QUANTIZATION, _REPO),
    concerns=_is_by_block,
    when=lambda c: any(True for _ in _odd_inputs(c)),
    message=lambda c: (
        f"`{c.spec.quantization_type}` gives each {_block(c)} numbers of a layer's input a scale, "
        f"and here {_listed(_odd_inputs(c), 'is')}, which is not a multiple of that."
    ),
    fix=Fix(label="Use what this GPU has instead", patch=_without_blocks, safe=False),
    source=sources.vllm("fp8_utils.py, per_token_group_quant_fp8", checked="2026-11-30"),
    bad=Example(config=_ON_VLLM, checkpoint=SMOLLM2_135M),
    good=Example(config=_ON_VLLM, checkpoint=LLAMA_8B),
)

CUT_ROWS = Rule(
    code="EH252",
    name="rows-that-fp8-blocks-do-not-divide",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=lambda c: (QUANTIZATION, c.spec.tensor_parallel_path),
    concerns=_is_by_block,
    when=lambda c: not any(_odd_inputs(c)) and any(_odd_rows(c)),
    message=lambda c: (
        f"`{c.spec.quantization_type}` keeps a scale for each {_block(c)} rows of weights, and on "
        f"each GPU {_listed(_odd_rows(c), 'have')}, which is not a multiple of that: vLLM fails "
        "to start."
    ),
    fix=Fix(label="Use what this GPU has instead", patch=_without_blocks, safe=False),
    source=sources.vllm("fp8_utils.py, validate_fp8_block_shape", checked="2026-11-30"),
    bad=Example(config=_ON_VLLM, checkpoint=_SMALL_KEYS),
    good=Example(config={**_ON_VLLM, _ACCELERATOR: "H100:2", _TENSOR: 2}, checkpoint=LLAMA_8B),
)
