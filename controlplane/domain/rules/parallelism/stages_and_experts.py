"""EH3: pipeline stages, experts and sizes that parallelism suits or does not."""

from collections.abc import Mapping

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, LLAMA_70B, Config, Example, on_trtllm
from controlplane.domain.rules.hardware.suitability import SMALL_PARAMETERS
from controlplane.domain.rules.parallelism.share_of_a_rank import ranks_and_devices
from controlplane.domain.rules.rule import GPU_RUNTIMES, Fix, Patch, Rule, Severity, at
from controlplane.domain.rules.serving.engine_arguments import ARGUMENTS, argument
from controlplane.domain.rules.speculation.lookahead import RECOMMENDED, SPECULATOR
from controlplane.domain.runtimes.capability import Capability, Feature
from controlplane.domain.runtimes.together import together

_ACCELERATOR = "resources.accelerator"
_TENSOR = "trt_llm.build.tensor_parallel_count"
_STAGES = "trt_llm.build.pipeline_parallel_count"
_SEQUENCES = "trt_llm.build.sequence_parallel_count"
_EXPERTS = "trt_llm.build.moe_expert_parallel_option"
LARGE_PARAMETERS = 70_000_000_000
_DEVICES_FOR_LARGE = 4
_TWO_STAGES: Config = {_ACCELERATOR: "H100:2", _STAGES: 2}
_STAGES_V2 = f"{ARGUMENTS}.pipeline_parallel_size"
_SPECULATION_V2 = f"{ARGUMENTS}.speculative_config"
_TWO: Config = {_ACCELERATOR: "H100:2", _TENSOR: 2}
_MIXTURE = LLAMA_8B.model_copy(
    update={"experts": 6, "architecture": "Qwen3MoeForCausalLM", "model_type": "qwen3_moe"}
)


def _stages(c: Context) -> int:
    return c.spec.pipeline_parallel


def _stages_path(c: Context) -> str:
    return _STAGES_V2 if c.spec.is_v2 else _STAGES


def _drafts(c: Context) -> bool:
    return c.spec.speculator is not None or isinstance(argument(c, "speculative_config"), Mapping)


def _expert_ranks(c: Context) -> int:
    return c.spec.engine_build.moe_expert_parallel_option


def _one_device(c: Context) -> Patch:
    one_stage = {_stages_path(c): 1} if _stages(c) > 1 else {}
    return {_ACCELERATOR: c.gpu.kind, c.spec.tensor_parallel_path: 1, **one_stage}


def _drafts_in_stages(c: Context) -> Capability:
    features = (Feature.LOOKAHEAD, Feature.PIPELINE_PARALLEL)
    return together(c.engine, *features, c.gpu.kind, c.version)


DRAFTS_OVER_STAGES = Rule(
    code="EH310",
    name="drafting-over-pipeline-stages",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=GPU_RUNTIMES,
    fields=lambda c: (_STAGES_V2, _SPECULATION_V2) if c.spec.is_v2 else (_STAGES, SPECULATOR),
    may_mark=(_STAGES_V2, _SPECULATION_V2),
    concerns=lambda c: _drafts(c) and not c.can(Feature.PIPELINE_PARALLEL).is_refused,
    when=lambda c: _stages(c) > 1 and _drafts_in_stages(c).is_refused,
    message=lambda c: (
        f"`{_stages_path(c).rpartition('.')[2]}` is {_stages(c)} beside drafts, and "
        f"{c.engine.title} does not take both: {_drafts_in_stages(c).how}. Divide by tensor "
        "parallelism, or do without drafts."
    ),
    fix=Fix(
        label="Divide by tensor parallelism",
        patch=lambda c: {
            _stages_path(c): 1,
            c.spec.tensor_parallel_path: c.spec.tensor_parallel * _stages(c),
        },
        safe=True,
    ),
    source=sources.tensorrt_llm("issue 9009, drafting over executor loops"),
    bad=on_trtllm(Example(config={**_TWO_STAGES, SPECULATOR: RECOMMENDED}, checkpoint=LLAMA_8B)),
    good=on_trtllm(Example(config={**_TWO, SPECULATOR: RECOMMENDED}, checkpoint=LLAMA_8B)),
)

TOO_MANY_STAGES = Rule(
    code="EH311",
    name="more-stages-than-layers",
    severity=Severity.ERROR,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(_STAGES),
    concerns=lambda c: _stages(c) > 1,
    when=lambda c: 0 < (c.checkpoint.layers or 0) < _stages(c),
    message=lambda c: (
        f"{_stages(c)} pipeline stages cannot share {c.checkpoint.layers or 0} layers."
    ),
    fix=Fix(label="Use one stage", patch=lambda _: {_STAGES: 1}, safe=True),
    source=sources.tensorrt_llm("pipeline_parallel_size"),
    bad=Example(
        config={_ACCELERATOR: "H100:8", _STAGES: 8},
        checkpoint=LLAMA_8B.model_copy(update={"layers": 4}),
    ),
    good=Example(config=_TWO_STAGES, checkpoint=LLAMA_8B),
)

UNEVEN_STAGES = Rule(
    code="EH312",
    name="uneven-stages",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(_STAGES),
    concerns=lambda c: _stages(c) > 1,
    when=lambda c: (c.checkpoint.layers or 0) % _stages(c) != 0,
    message=lambda c: (
        f"{c.checkpoint.layers or 0} layers do not divide by {_stages(c)} stages: the fullest "
        "stage sets pace and memory for all."
    ),
    source=sources.tensorrt_llm("pipeline_parallel_size"),
    bad=Example(config={_ACCELERATOR: "H100:3", _STAGES: 3}, checkpoint=LLAMA_8B),
    good=Example(config=_TWO_STAGES, checkpoint=LLAMA_8B),
)


def _why_not(c: Context) -> str:
    if why := c.engine.ignored_settings.get(_SEQUENCES):
        return f"{why.rstrip('.')}, and the GPUs that it is for would stand idle"
    return (
        "the engine then sizes its KV cache without measuring, and the plan here does not count it"
    )


SEQUENCE_PARALLEL = Rule(
    code="EH313",
    name="sequence-parallel",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    fields=at(_SEQUENCES),
    concerns=lambda c: not c.spec.base_model.is_encoder,
    when=lambda c: c.spec.engine_build.sequence_parallel_count > 1,
    message=lambda c: (
        f"`sequence_parallel_count` is {c.spec.engine_build.sequence_parallel_count}: "
        f"{_why_not(c)}."
    ),
    fix=Fix(
        label="Divide by tensor parallelism",
        patch=lambda c: {
            _SEQUENCES: 1,
            _TENSOR: c.spec.tensor_parallel * c.spec.engine_build.sequence_parallel_count,
        },
        safe=True,
    ),
    source=sources.tensorrt_llm("cp_config"),
    bad=Example(config={_ACCELERATOR: "H100:2", _SEQUENCES: 2}, checkpoint=LLAMA_8B),
    good=Example(config=_TWO, checkpoint=LLAMA_8B),
)

DIVIDED_SMALL = Rule(
    code="EH314",
    name="divided-small-model",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=lambda c: c.spec.tensor_parallel > 1 and c.spec.accelerator is not None,
    when=lambda c: 0 < (c.checkpoint.parameters or 0) < SMALL_PARAMETERS,
    message=lambda c: (
        f"{(c.checkpoint.parameters or 0) / 1e9:.1f} B parameters over "
        f"{c.spec.tensor_parallel} GPUs: below 8 B one GPU suffices, and as many replicas answer "
        "more requests."
    ),
    fix=Fix(label="Use one GPU", patch=_one_device, safe=True),
    source=sources.engine_builder_overview("Model size support"),
    bad=Example(config={_ACCELERATOR: "L4:3", _TENSOR: 3}),
    good=Example(config=_TWO, checkpoint=LLAMA_8B),
)

FEW_FOR_LARGE = Rule(
    code="EH315",
    name="few-gpus-for-seventy-billion",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=lambda c: not c.spec.base_model.is_encoder and c.gpu.kind.startswith(("H100", "A100")),
    when=lambda c: (
        (c.checkpoint.parameters or 0) >= LARGE_PARAMETERS
        and c.spec.accelerator_count < _DEVICES_FOR_LARGE
        and c.checkpoint.existing_quantization is None
    ),
    message=lambda c: (
        f"{(c.checkpoint.parameters or 0) / 1e9:.0f} B parameters on {c.spec.accelerator}: the "
        "size table names 4 or more H100 and tensor parallelism of 4 for 70 B and above; a newer "
        "one names 8 of them, or 2 to 4 B200."
    ),
    source=sources.engine_builder_overview("Model size support"),
    bad=Example(config=_TWO, checkpoint=LLAMA_70B),
    good=Example(config={_ACCELERATOR: "H100:4", _TENSOR: 4}, checkpoint=LLAMA_70B),
)

UNEVEN_EXPERTS = Rule(
    code="EH316",
    name="ranks-that-do-not-divide-the-experts",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(_EXPERTS),
    concerns=lambda c: _expert_ranks(c) > 1,
    when=lambda c: (
        bool(c.checkpoint.experts) and (c.checkpoint.experts or 0) % _expert_ranks(c) != 0
    ),
    message=lambda c: (
        f"{c.checkpoint.experts} experts do not divide by {_expert_ranks(c)} ranks; the fullest "
        "rank sets pace and memory for all."
    ),
    fix=Fix(label="Leave it to the engine", patch=lambda _: {_EXPERTS: -1}, safe=True),
    source=sources.tensorrt_llm("moe_expert_parallel_size"),
    bad=Example(config={_ACCELERATOR: "H100:4", _TENSOR: 4, _EXPERTS: 4}, checkpoint=_MIXTURE),
    good=Example(config={_ACCELERATOR: "H100:4", _TENSOR: 4, _EXPERTS: 2}, checkpoint=_MIXTURE),
)

EXPERTS_OF_DENSE = Rule(
    code="EH317",
    name="expert-parallel-on-a-dense-model",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(_EXPERTS),
    concerns=lambda c: _expert_ranks(c) > 1,
    when=lambda c: not c.checkpoint.experts,
    message=lambda c: (
        f"`moe_expert_parallel_option` is {_expert_ranks(c)}, and "
        f"`{c.checkpoint.architecture}` has no experts: it has no effect."
    ),
    fix=Fix(label="Remove it", patch=lambda _: {_EXPERTS: None}, safe=True),
    source=sources.tensorrt_llm("moe_expert_parallel_size"),
    bad=Example(config={**_TWO, _EXPERTS: 2}, checkpoint=LLAMA_8B),
    good=Example(config={**_TWO, _EXPERTS: 2}, checkpoint=_MIXTURE),
)

LATENT_CACHE = Rule(
    code="EH318",
    name="latent-cache-on-every-rank",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=lambda c: c.spec.tensor_parallel > 1,
    when=lambda c: bool(c.checkpoint.kv_lora_rank),
    message=lambda c: (
        f"`{c.checkpoint.architecture}` keeps one latent of {c.checkpoint.kv_lora_rank} numbers a "
        f"layer, which tensor parallelism does not divide: each of {c.spec.tensor_parallel} GPUs "
        "holds the whole KV cache."
    ),
    source=sources.tensorrt_llm("KV cache bytes per token, MLA"),
    bad=Example(config=_TWO, checkpoint=LLAMA_8B.model_copy(update={"kv_lora_rank": 512})),
    good=Example(config=_TWO, checkpoint=LLAMA_8B),
)
