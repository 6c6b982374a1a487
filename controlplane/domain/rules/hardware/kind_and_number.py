"""EH1: the kind and number of GPUs."""

from collections.abc import Iterator

from controlplane.domain.facts import sources
from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.facts.quantization import BFLOAT16_CAPABILITY, FP8_CAPABILITY
from controlplane.domain.facts.trtllm_formats import lacks_fp8
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.division import divisions, other_kinds
from controlplane.domain.rules.examples import CPU_ONLY, Example, facts, on_trtllm
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.rule import TRTLLM, Fix, Patch, Rule, Severity, at
from controlplane.domain.spec.choices import BaseModelKind

_ACCELERATOR = "resources.accelerator"


def _is_older_than_bfloat16(c: Context) -> bool:
    return c.gpu.compute_capability is not None and not c.gpu.has_capability(*BFLOAT16_CAPABILITY)


def _offers(c: Context) -> list[DeviceOffer]:
    return [offer for offer in c.devices if offer.kind == c.gpu.kind]


def _kinds_offered(c: Context) -> str:
    kinds = dict.fromkeys(offer.kind for offer in c.devices)
    return ", ".join(f"`{kind}`" for kind in kinds) or "none at all"


def _most_on_one_host(c: Context) -> int:
    return max((offer.count for offer in _offers(c)), default=0)


def _what_holds_it(c: Context) -> Iterator[Fix]:
    yield from divisions(c)
    yield from other_kinds(c)


def _as_many_as_there_are(c: Context) -> Patch:
    count = _most_on_one_host(c)
    kind = c.gpu.kind
    return {_ACCELERATOR: kind if count == 1 else f"{kind}:{count}"}


GPU_TOO_OLD = Rule(
    code="EH101",
    name="gpu-before-ampere",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    fields=at(_ACCELERATOR),
    concerns=lambda c: c.spec.base_model is not BaseModelKind.ENCODER_BERT,
    when=_is_older_than_bfloat16,
    message=lambda c: (
        f"`{c.gpu.kind}` has compute capability {c.gpu.capability_text}, and this engine needs 8.0 "
        "or newer, because older GPUs cannot compute in bfloat16."
    ),
    fix=Fix(
        label="Use an L4",
        patch=lambda c: {_ACCELERATOR: str(c.spec.accelerator).replace(c.gpu.kind, "L4")},
        safe=False,
    ),
    source=sources.truss("trt_llm_config.py, accelerator checks"),
    bad=on_trtllm(Example(config={_ACCELERATOR: "T4"})),
    good=on_trtllm(Example(config={_ACCELERATOR: "L4"})),
)

KIND_NOT_OFFERED = Rule(
    code="EH102",
    name="kind-that-no-host-offers",
    severity=Severity.ERROR,
    needs=("devices",),
    fields=at(_ACCELERATOR),
    when=lambda c: not _offers(c),
    message=lambda c: (
        f"No host offers `{c.gpu.kind}`. Offered: {_kinds_offered(c)}. The plan stands; a build "
        "needs the GPU."
    ),
    otherwise=other_kinds,
    source=sources.enginehouse("fleet"),
    bad=Example(config={_ACCELERATOR: "H100"}, devices=CPU_ONLY),
    good=Example(devices=CPU_ONLY),
)

MORE_DEVICES_THAN_A_HOST = Rule(
    code="EH103",
    name="more-gpus-than-one-host-has",
    severity=Severity.ERROR,
    needs=("devices",),
    fields=at(_ACCELERATOR),
    concerns=lambda c: c.spec.accelerator is not None,
    when=lambda c: 0 < _most_on_one_host(c) < c.spec.accelerator_count,
    message=lambda c: (
        f"`{c.spec.accelerator}` asks for {c.spec.accelerator_count} GPUs, and the largest host "
        f"has {_most_on_one_host(c)} of them."
    ),
    fix=Fix(label="Ask for what one host has", patch=_as_many_as_there_are, safe=False),
    otherwise=_what_holds_it,
    source=sources.enginehouse("fleet: a replica runs on one host"),
    bad=Example(config={_ACCELERATOR: "H100:16"}),
    good=Example(config={_ACCELERATOR: "H100:8"}),
)

PREQUANTIZED_ON_OLD_GPU = Rule(
    code="EH104",
    name="fp8-checkpoint-on-gpu-without-fp8",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=at(_ACCELERATOR, "trt_llm.build.checkpoint_repository.repo"),
    concerns=lambda c: (
        c.gpu.compute_capability is not None and not c.gpu.has_capability(*FP8_CAPABILITY)
    ),
    when=lambda c: lacks_fp8(c.checkpoint, c.gpu),
    message=lambda c: (
        f"The checkpoint is already in FP8, which needs compute capability 8.9 or newer; "
        f"`{c.gpu.kind}` has {c.gpu.capability_text}."
    ),
    otherwise=other_engines,
    source=sources.quantization_guide("GPU support"),
    bad=on_trtllm(
        Example(
            config={_ACCELERATOR: "A100"},
            checkpoint=facts(quantization_config={"quant_method": "fp8"}),
        )
    ),
    good=on_trtllm(
        Example(
            config={_ACCELERATOR: "H100"},
            checkpoint=facts(quantization_config={"quant_method": "fp8"}),
        )
    ),
)
