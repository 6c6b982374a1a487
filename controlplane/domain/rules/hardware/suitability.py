"""EH1: which GPU for which size, and resource settings of the hosted product."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.facts.quantization import FP4_CAPABILITY
from controlplane.domain.facts.trtllm_formats import lacks_fp4
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import (
    LLAMA_8B,
    LLAMA_70B,
    Config,
    Example,
    facts,
    on_trtllm,
)
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.rule import GPU_RUNTIMES, TRTLLM, Fix, Rule, Severity, at, generates

_ACCELERATOR = "resources.accelerator"
_REPO = "trt_llm.build.checkpoint_repository.repo"
SMALL_PARAMETERS = 8_000_000_000
MIDDLE_PARAMETERS = 15_000_000_000
_SMALL_DEVICES = frozenset({"L4", "A10G"})
_TABLE = sources.engine_builder_overview("Model size support")
_NVFP4 = facts(quantization_config={"quant_method": "modelopt", "quant_algo": "NVFP4"})
_H100: Config = {_ACCELERATOR: "H100"}


def _billions(c: Context) -> float:
    return (c.checkpoint.parameters or 0) / 1e9


def _fp4_words(c: Context) -> str:
    existing = c.checkpoint.existing_quantization
    is_nv = existing is not None and "nvfp4" in f"{existing.algorithm}".lower()
    return "NVFP4" if is_nv or existing is None else str(existing.algorithm)


def _devices_offered(c: Context) -> int:
    return sum(offer.count for offer in c.devices if offer.kind == c.gpu.kind)


def _replicas(c: Context) -> int:
    return c.known.replicas or 1


NVFP4_BELOW_BLACKWELL = Rule(
    code="EH105",
    name="fp4-checkpoint-below-blackwell",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_ACCELERATOR, _REPO),
    concerns=lambda c: (
        c.gpu.compute_capability is not None and not c.gpu.has_capability(*FP4_CAPABILITY)
    ),
    when=lambda c: lacks_fp4(c.checkpoint, c.gpu),
    message=lambda c: (
        f"The checkpoint is already in {_fp4_words(c)}, which this engine computes on Blackwell "
        "only; "
        f"`{c.gpu.kind}` has compute capability {c.gpu.capability_text}. vLLM can expand such "
        "weights to 16 bits on older GPUs."
    ),
    otherwise=other_engines,
    source=sources.quantization_guide("GPU support"),
    bad=on_trtllm(Example(config=_H100, checkpoint=_NVFP4)),
    good=on_trtllm(Example(config={_ACCELERATOR: "B200"}, checkpoint=_NVFP4)),
)

L4_ABOVE_8B = Rule(
    code="EH106",
    name="small-gpu-for-a-middle-sized-model",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(_ACCELERATOR),
    concerns=lambda c: generates(c) and c.gpu.kind in _SMALL_DEVICES,
    when=lambda c: (c.checkpoint.parameters or 0) >= SMALL_PARAMETERS,
    message=lambda c: (
        f"`{c.gpu.kind}` for {_billions(c):.0f} B parameters: the size table names it below 8 B, "
        "the same page's advice below 15 B, and a newer page finds its bandwidth too low for any "
        "language model. `H100_40GB` is what they agree on."
    ),
    source=_TABLE,
    bad=Example(config={_ACCELERATOR: "L4"}, checkpoint=LLAMA_8B),
    good=Example(config=_H100, checkpoint=LLAMA_8B),
)

MIG_ABOVE_15B = Rule(
    code="EH107",
    name="half-a-gpu-for-a-large-model",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(_ACCELERATOR),
    concerns=lambda c: generates(c) and c.gpu.kind == "H100_40GB",
    when=lambda c: (c.checkpoint.parameters or 0) >= MIDDLE_PARAMETERS,
    message=lambda c: (
        f"`H100_40GB` is half a GPU, best below 15 B parameters, and this model has "
        f"{_billions(c):.0f} B; from 15 to 70 B a whole `H100` is recommended."
    ),
    fix=Fix(
        label="Use a whole H100",
        patch=lambda c: {_ACCELERATOR: str(c.spec.accelerator).replace("H100_40GB", "H100")},
        safe=True,
    ),
    source=sources.engine_builder_overview("Hardware optimization"),
    bad=Example(config={_ACCELERATOR: "H100_40GB"}, checkpoint=LLAMA_70B),
    good=Example(config={_ACCELERATOR: "H100_40GB"}, checkpoint=LLAMA_8B),
)

SIXTEEN_BITS = Rule(
    code="EH108",
    name="sixteen-bits-below-the-table",
    severity=Severity.HINT,
    runtimes=TRTLLM,
    fields=at(_ACCELERATOR, "trt_llm.build.quantization_type"),
    concerns=generates,
    when=lambda c: c.spec.quantization_type.is_none and c.gpu.kind in _SMALL_DEVICES,
    message=lambda c: (
        f"The tables name A100 as the smallest GPU for 16 bits, and the size table names "
        f"`{c.gpu.kind}` for models below 8 B; the GPU computes in bfloat16, so it is allowed."
    ),
    source=sources.engines_overview("Hardware requirements and optimization"),
    bad=on_trtllm(Example(config={_ACCELERATOR: "L4"})),
    good=on_trtllm(Example(config=_H100)),
)

LITTLE_MEMORY = Rule(
    code="EH109",
    name="host-memory-below-ten-gibibytes",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    fields=at("resources.memory"),
    when=lambda c: c.spec.resources.gives("memory") and c.spec.resources.memory_bytes < 10 * 2**30,
    message=lambda c: (
        f"`memory: {c.spec.resources.memory}` is below 10Gi, which `truss push` writes into the "
        "file whenever it has an engine."
    ),
    fix=Fix(label="Ask for 10Gi", patch=lambda _: {"resources.memory": "10Gi"}, safe=True),
    source=sources.truss("truss_config.py, memory of an engine"),
    bad=Example(config={**_H100, "resources.memory": "2Gi"}),
    good=Example(config={**_H100, "resources.memory": "10Gi"}),
)

INSTANCE = Rule(
    code="EH110",
    name="instance-of-the-hosted-product",
    severity=Severity.WARNING,
    fields=at("resources.instance_type"),
    when=lambda c: bool(c.spec.resources.instance_type),
    message=lambda c: (
        f"`instance_type: {c.spec.resources.instance_type}` names a machine of the hosted product, "
        "where it overrides cpu, memory and accelerator. Here those three count and it does not."
    ),
    fix=Fix(label="Remove it", patch=lambda _: {"resources.instance_type": None}, safe=True),
    source=sources.truss("truss_config.py, resources"),
    bad=Example(config={"resources.instance_type": "H100:2x32x236"}),
    good=Example(),
)

SEVERAL_HOSTS = Rule(
    code="EH111",
    name="several-hosts-for-one-replica",
    severity=Severity.WARNING,
    fields=at("resources.node_count"),
    when=lambda c: (c.spec.resources.node_count or 1) > 1,
    message=lambda c: (
        f"`node_count` is {c.spec.resources.node_count or 1}, and a replica runs on one host here; "
        "the memory plan counts the GPUs of one."
    ),
    fix=Fix(label="Use one host", patch=lambda _: {"resources.node_count": None}, safe=False),
    source=sources.enginehouse("fleet: a replica runs on one host"),
    bad=Example(config={"resources.node_count": 2}),
    good=Example(config={"resources.node_count": 1}),
)

FABRIC = Rule(
    code="EH112",
    name="network-between-hosts",
    severity=Severity.HINT,
    fields=at("resources.fabric"),
    when=lambda c: c.spec.resources.fabric is not None,
    message=lambda _: (
        "`fabric` chooses the network between the hosts of one replica; a replica here has one "
        "host, so it has no effect."
    ),
    fix=Fix(label="Remove it", patch=lambda _: {"resources.fabric": None}, safe=True),
    source=sources.truss("truss_config.py, resources"),
    bad=Example(config={"resources.fabric": {"use_rdma": True}}),
    good=Example(),
)

GPU_WITHOUT_KIND = Rule(
    code="EH113",
    name="gpu-without-a-kind",
    severity=Severity.WARNING,
    fields=at("resources.use_gpu", _ACCELERATOR),
    when=lambda c: c.spec.resources.use_gpu is True and c.spec.accelerator is None,
    message=lambda _: (
        "`use_gpu` is true and no `accelerator` is named. The kind alone decides, so this would be "
        "served on the CPU."
    ),
    fix=Fix(label="Remove use_gpu", patch=lambda _: {"resources.use_gpu": None}, safe=True),
    source=sources.truss("truss_config.py, resources"),
    bad=Example(config={"resources.use_gpu": True}),
    good=Example(config={**_H100, "resources.use_gpu": True}),
)

UNKNOWN_MEMORY = Rule(
    code="EH114",
    name="accelerator-of-unknown-memory",
    severity=Severity.WARNING,
    fields=at(_ACCELERATOR),
    when=lambda c: c.spec.accelerator is not None and c.gpu.memory_bytes is None,
    message=lambda c: (
        f"`{c.gpu.kind}` is a name of the parser that no page describes: its memory and precision "
        "are not known, so whether the model fits is not checked."
    ),
    source=sources.truss("Accelerator enum"),
    bad=Example(config={_ACCELERATOR: "B10"}),
    good=Example(config=_H100),
)

MORE_REPLICAS = Rule(
    code="EH115",
    name="more-replicas-than-gpus",
    severity=Severity.ERROR,
    needs=("devices",),
    fields=at(_ACCELERATOR),
    # Replicas on a CPU share its memory; GPUs are leased whole.
    concerns=lambda c: c.known.replicas is not None and not c.gpu.is_cpu,
    when=lambda c: 0 < _devices_offered(c) < _replicas(c) * c.spec.accelerator_count,
    message=lambda c: (
        f"{_replicas(c)} replicas of {c.spec.accelerator_count} `{c.gpu.kind}` need "
        f"{_replicas(c) * c.spec.accelerator_count} GPUs, and all hosts together have "
        f"{_devices_offered(c)}."
    ),
    source=sources.enginehouse("fleet"),
    bad=Example(
        config={_ACCELERATOR: "L4"},
        devices=(DeviceOffer(kind="L4", count=2, memory_bytes=24 * 2**30),),
        replicas=123,
    ),
    good=Example(
        config={_ACCELERATOR: "L4"},
        devices=(DeviceOffer(kind="L4", count=2, memory_bytes=24 * 2**30),),
        replicas=2,
    ),
)
