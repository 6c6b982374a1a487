"""EH3: attention heads and the GPUs that share them."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.rank_shares import divides_heads
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.division import (
    accelerator,
    division_label,
    divisions,
    is_served_on,
)
from controlplane.domain.rules.examples import LLAMA_8B, SMOLLM2_135M, Example
from controlplane.domain.rules.parallelism.share_of_a_rank import ranks_and_devices
from controlplane.domain.rules.rule import GPU_RUNTIMES, Fix, Patch, Rule, Severity

_ACCELERATOR = "resources.accelerator"
_TENSOR = "trt_llm.build.tensor_parallel_count"
_LARGEST = 64


def _valid_counts(c: Context) -> list[int]:
    heads = c.checkpoint.attention_heads or 1
    return [n for n in range(1, min(heads, _LARGEST) + 1) if divides_heads(c.checkpoint, n)]


def _nearest_counts(c: Context) -> str:
    count, valid = c.spec.tensor_parallel, _valid_counts(c)
    below = [n for n in valid if n < count][-1:]
    above = [n for n in valid if n > count][:1]
    return " or ".join(f"{n}" for n in below + above) or "1"


def _nearest_below(c: Context) -> int:
    return max((n for n in _valid_counts(c) if n <= c.spec.tensor_parallel), default=1)


def _use_nearest_below(c: Context) -> Patch | None:
    if not is_served_on(c):
        return None
    count = _nearest_below(c)
    patch: dict[str, object] = {c.spec.tensor_parallel_path: count}
    if c.spec.accelerator is not None:
        patch[_ACCELERATOR] = accelerator(c.gpu.kind, count * _stages(c))
    return patch


def _stages(c: Context) -> int:
    return c.spec.accelerator_count // c.spec.tensor_parallel or 1


def _nearest_label(c: Context) -> str:
    """Return what the patch does, in the words of the other rules' divisions."""
    ranks = _nearest_below(c)
    if c.spec.accelerator is None:
        return f"Use tensor parallel {ranks}"
    return division_label(ranks * _stages(c), ranks)


def _heads_do_not_divide(c: Context) -> bool:
    heads = c.checkpoint.attention_heads
    return heads is not None and heads % c.spec.tensor_parallel != 0


def _kv_heads_do_not_divide(c: Context) -> bool:
    return not _heads_do_not_divide(c) and not divides_heads(c.checkpoint, c.spec.tensor_parallel)


HEADS = Rule(
    code="EH304",
    name="ranks-that-do-not-divide-the-heads",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=lambda c: c.spec.tensor_parallel > 1,
    when=_heads_do_not_divide,
    message=lambda c: (
        f"Tensor parallelism gives each GPU whole attention heads, and "
        f"{c.checkpoint.attention_heads} heads do not divide by {c.spec.tensor_parallel}. "
        f"{_nearest_counts(c)} would; pipeline parallelism divides by layers instead."
    ),
    fix=Fix(label=_nearest_label, patch=_use_nearest_below, safe=True),
    otherwise=divisions,
    source=sources.tensorrt_llm("num_attention_heads must be divisible by tp_size"),
    bad=Example(config={_ACCELERATOR: "L4:2", _TENSOR: 2}, checkpoint=SMOLLM2_135M),
    good=Example(config={_ACCELERATOR: "L4:3", _TENSOR: 3}, checkpoint=SMOLLM2_135M),
)


KV_HEADS = Rule(
    code="EH305",
    name="ranks-that-do-not-divide-the-kv-heads",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=lambda c: c.spec.tensor_parallel > 1,
    when=_kv_heads_do_not_divide,
    message=lambda c: (
        f"{c.checkpoint.kv_heads} KV heads can be neither divided over nor copied to "
        f"{c.spec.tensor_parallel} GPUs evenly. {_nearest_counts(c)} would work."
    ),
    fix=Fix(label=_nearest_label, patch=_use_nearest_below, safe=True),
    otherwise=divisions,
    source=sources.tensorrt_llm("attention, KV head mapping"),
    bad=Example(
        config={_ACCELERATOR: "H100:4", _TENSOR: 4},
        checkpoint=LLAMA_8B.model_copy(update={"kv_heads": 6, "attention_heads": 24}),
    ),
    good=Example(config={_ACCELERATOR: "H100:4", _TENSOR: 4}, checkpoint=LLAMA_8B),
)


COPIED_KV_HEADS = Rule(
    code="EH306",
    name="more-ranks-than-kv-heads",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=lambda c: c.spec.tensor_parallel > 1,
    when=lambda c: (
        divides_heads(c.checkpoint, c.spec.tensor_parallel)
        and 0 < (c.checkpoint.kv_heads or 0) < c.spec.tensor_parallel
    ),
    message=lambda c: (
        f"{c.spec.tensor_parallel} GPUs share {c.checkpoint.kv_heads} KV heads, so each head is "
        f"kept {c.spec.tensor_parallel // (c.checkpoint.kv_heads or 1)} times: more GPUs do not "
        "make the KV cache larger."
    ),
    source=sources.tensorrt_llm("KV cache bytes per token"),
    bad=Example(
        config={_ACCELERATOR: "L4:8", _TENSOR: 8},
        checkpoint=LLAMA_8B.model_copy(update={"kv_heads": 4}),
    ),
    good=Example(config={_ACCELERATOR: "L4:8", _TENSOR: 8}, checkpoint=LLAMA_8B),
)
