"""EH3: how a model is divided over GPUs."""

from collections.abc import Iterator

from controlplane.domain.facts import sources
from controlplane.domain.memory.sizing import divides
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.division import accelerator, divisions, named
from controlplane.domain.rules.examples import LLAMA_8B, SMOLLM2_135M, Example
from controlplane.domain.rules.parallelism.share_of_a_rank import ranks_and_devices
from controlplane.domain.rules.rule import (
    GPU_RUNTIMES,
    Fix,
    Patch,
    Rule,
    Severity,
    at,
)

_ACCELERATOR = "resources.accelerator"
_TENSOR = "trt_llm.build.tensor_parallel_count"
_TENSOR_V2 = "trt_llm.runtime.tensor_parallel_size"
_EXPERTS = "trt_llm.build.moe_expert_parallel_option"
_USUAL_WORLD_SIZES = frozenset({1, 2, 4, 8, 16, 32, 64, 128})


def _world_size(c: Context) -> int:
    build = c.spec.engine_build
    return (
        build.tensor_parallel_count * build.pipeline_parallel_count * build.sequence_parallel_count
    )


def _is_v1_decoder(c: Context) -> bool:
    return not c.spec.is_v2 and not c.spec.base_model.is_encoder


def _divide_over_all(c: Context) -> Patch | None:
    build, count = c.spec.engine_build, c.spec.accelerator_count
    others = build.pipeline_parallel_count * build.sequence_parallel_count
    ranks = count // others
    fits = count % others == 0 and (
        not c.has("checkpoint") or divides(c.checkpoint, max(ranks, 1), c.memory, c.spec)
    )
    if fits:
        return {_TENSOR: ranks}
    if c.spec.accelerator is None:
        return None
    return {_ACCELERATOR: accelerator(c.gpu.kind, _world_size(c))}


def _agreement(c: Context) -> str:
    patch = _divide_over_all(c) or {}
    if _TENSOR in patch:
        return f"Use tensor parallel {patch[_TENSOR]}"
    return f"Use {named(c.gpu.kind, _world_size(c))}"


def _ranks_for_all(c: Context) -> Patch | None:
    count = c.spec.accelerator_count
    is_even = not c.has("checkpoint") or divides(c.checkpoint, count, c.memory, c.spec)
    return {_TENSOR_V2: count} if is_even else None


def _devices_for_ranks(c: Context) -> Iterator[Fix]:
    """Yield as many GPUs as there are ranks, then what the heads allow."""
    ranks = c.spec.tensor_parallel
    if c.spec.accelerator is not None:
        yield Fix(
            label=f"Use {named(c.gpu.kind, ranks)}",
            patch=lambda _: {_ACCELERATOR: accelerator(c.gpu.kind, ranks)},
            safe=True,
        )
    yield from divisions(c)


def _degrees_words(c: Context) -> str:
    is_named = c.spec.accelerator is not None
    return f"{c.spec.accelerator_count} of `{c.gpu.kind}`" if is_named else "no accelerator"


def _v2_example(devices: str, *, ranks: int) -> Example:
    config = {
        _ACCELERATOR: devices,
        "trt_llm.inference_stack": "v2",
        _TENSOR_V2: ranks,
        "trt_llm.build.max_seq_len": None,
    }
    return Example(config=config, checkpoint=LLAMA_8B)


_RANKS_FOR_ALL = Fix(
    label=lambda c: f"Use tensor parallel {c.spec.accelerator_count}",
    patch=_ranks_for_all,
    safe=True,
)

PARALLEL_COUNTS = Rule(
    code="EH301",
    name="parallel-counts-unlike-accelerators",
    severity=Severity.ERROR,
    fields=ranks_and_devices,
    concerns=_is_v1_decoder,
    when=lambda c: _world_size(c) != c.spec.accelerator_count,
    message=lambda c: (
        f"tensor × pipeline × sequence parallel is {c.spec.engine_build.tensor_parallel_count} × "
        f"{c.spec.engine_build.pipeline_parallel_count} × "
        f"{c.spec.engine_build.sequence_parallel_count} = {_world_size(c)}, and the config asks "
        f"for {_degrees_words(c)}."
    ),
    fix=Fix(label=_agreement, patch=_divide_over_all, safe=True),
    otherwise=divisions,
    source=sources.truss("trt_llm_config.py, world size"),
    bad=Example(config={_ACCELERATOR: "H100:4", _TENSOR: 2}, checkpoint=LLAMA_8B),
    good=Example(config={_ACCELERATOR: "H100:4", _TENSOR: 4}, checkpoint=LLAMA_8B),
)

MORE_RANKS_THAN_DEVICES = Rule(
    code="EH302",
    name="more-ranks-than-accelerators-on-v2",
    severity=Severity.ERROR,
    fields=ranks_and_devices,
    concerns=lambda c: c.spec.is_v2,
    when=lambda c: c.spec.tensor_parallel > c.spec.accelerator_count,
    message=lambda c: (
        f"`tensor_parallel_size` is {c.spec.tensor_parallel}, and the config asks for "
        f"{_degrees_words(c)}. The hosted parser lets this pass, and an example of its docs has it."
    ),
    fix=_RANKS_FOR_ALL,
    otherwise=_devices_for_ranks,
    source=sources.truss("trt_llm_config.py, v2 runtime"),
    bad=_v2_example("B200:4", ranks=8),
    good=_v2_example("B200:4", ranks=4),
)

IDLE_DEVICES = Rule(
    code="EH303",
    name="idle-accelerators-on-v2",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    fields=ranks_and_devices,
    concerns=lambda c: c.spec.is_v2,
    when=lambda c: c.spec.tensor_parallel < c.spec.accelerator_count,
    message=lambda c: (
        f"`tensor_parallel_size` is {c.spec.tensor_parallel}, so "
        f"{c.spec.accelerator_count - c.spec.tensor_parallel} of {c.spec.accelerator_count} "
        f"`{c.gpu.kind}` would stand idle."
    ),
    fix=_RANKS_FOR_ALL,
    otherwise=_devices_for_ranks,
    source=sources.truss("trt_llm_config.py, v2 runtime"),
    bad=_v2_example("H100:4", ranks=2),
    good=_v2_example("H100:4", ranks=4),
)

UNUSUAL_WORLD = Rule(
    code="EH307",
    name="unusual-number-of-ranks",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    fields=ranks_and_devices,
    concerns=_is_v1_decoder,
    when=lambda c: _world_size(c) not in _USUAL_WORLD_SIZES,
    message=lambda c: (
        f"{_world_size(c)} ranks are not a power of two; few models and hosts divide that way."
    ),
    source=sources.truss("trt_llm_config.py, world size"),
    bad=Example(config={_ACCELERATOR: "L4:3", _TENSOR: 3}, checkpoint=SMOLLM2_135M),
    good=Example(config={_ACCELERATOR: "L4:2", _TENSOR: 2}, checkpoint=LLAMA_8B),
)

DIVIDED_ENCODER = Rule(
    code="EH308",
    name="divided-encoder",
    severity=Severity.WARNING,
    fields=at(_TENSOR, _ACCELERATOR),
    concerns=lambda c: not c.spec.is_v2 and c.spec.base_model.is_encoder,
    when=lambda c: _world_size(c) != 1,
    message=lambda c: f"An encoder runs on one GPU; the {_world_size(c)} ranks asked for become 1.",
    fix=Fix(
        label="Use one rank",
        patch=lambda _: {
            _TENSOR: 1,
            "trt_llm.build.pipeline_parallel_count": 1,
            "trt_llm.build.sequence_parallel_count": 1,
        },
        safe=True,
    ),
    source=sources.truss("trt_llm_config.py, encoder settings"),
    bad=Example(config={"trt_llm.build.base_model": "encoder", _ACCELERATOR: "L4:2", _TENSOR: 2}),
    good=Example(config={"trt_llm.build.base_model": "encoder", _ACCELERATOR: "L4"}),
)

EXPERT_PARALLEL = Rule(
    code="EH309",
    name="expert-parallel-beyond-tensor-parallel",
    severity=Severity.ERROR,
    fields=at(_EXPERTS, _TENSOR),
    concerns=lambda c: _is_v1_decoder(c) and c.spec.engine_build.moe_expert_parallel_option != -1,
    when=lambda c: (
        c.spec.engine_build.moe_expert_parallel_option < 1
        or c.spec.engine_build.tensor_parallel_count
        % c.spec.engine_build.moe_expert_parallel_option
        != 0
    ),
    message=lambda c: (
        f"`moe_expert_parallel_option` is {c.spec.engine_build.moe_expert_parallel_option}; it "
        f"must be -1 or divide the {c.spec.engine_build.tensor_parallel_count} tensor parallel "
        "ranks."
    ),
    fix=Fix(label="Leave it to the engine", patch=lambda _: {_EXPERTS: -1}, safe=True),
    source=sources.truss("trt_llm_config.py, expert parallelism"),
    bad=Example(config={_ACCELERATOR: "H100:2", _TENSOR: 2, _EXPERTS: 4}, checkpoint=LLAMA_8B),
    good=Example(config={_ACCELERATOR: "H100:2", _TENSOR: 2, _EXPERTS: 2}, checkpoint=LLAMA_8B),
)
