"""EH65: what vLLM and TensorRT-LLM refuse, emulate or do not read on a GPU."""

from typing import Any

from controlplane.domain.facts import sources
from controlplane.domain.facts.precision_support import is_expanded_as_stored
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import BERT, LLAMA_8B, Config, Example, facts, on_trtllm
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.rule import TRTLLM, VLLM, Fix, Patch, Rule, Severity, at
from controlplane.domain.rules.serving.engine_arguments import (
    ARGUMENTS,
    argument,
    arguments_of,
    v2_example,
)
from controlplane.domain.runtimes.capability import Feature, weights_feature

_ACCELERATOR = "resources.accelerator"
_BASE_MODEL = "trt_llm.build.base_model"
_ON_VLLM: Config = {_ACCELERATOR: "H100", "enginehouse.runtime": "vllm"}
_FP4 = facts(quantization_config={"quant_method": "modelopt", "quant_algo": "NVFP4"})


def _untranslated(c: Context) -> tuple[str, ...]:
    return c.engine.untranslated(arguments_of(c))


def _leave_unset(c: Context) -> Patch:
    return {f"{c.spec.settings_path}.runtime": None}


def _emulated_weights(c: Context) -> str:
    """Return how vLLM expands the weights, stored or built; empty where it computes in them."""
    existing = c.checkpoint.existing_quantization
    if existing is None:
        feature = weights_feature(c.spec.quantization_type.precision.weights)
        return _how_emulated(c, feature)
    if is_expanded_as_stored(c.checkpoint, c.gpu, c.memory.precisions):
        return (
            "FP8 weights in memory, computed in 16 bits by Marlin: memory saved, no faster "
            "arithmetic"
        )
    is_known = existing.is_fp4 or existing.is_fp8
    feature = Feature.FP4_WEIGHTS if existing.is_fp4 else Feature.FP8_WEIGHTS
    return _how_emulated(c, feature) if is_known else ""


def _how_emulated(c: Context, feature: Feature | None) -> str:
    return c.can(feature).how if feature and c.can(feature).is_emulated else ""


def _unread(c: Context) -> list[str]:
    return [path for path in c.engine.ignored_in(c.spec) if _gives(c, path)]


def _gives(c: Context, path: str) -> bool:
    _, *blocks, name = path.split(".")
    section: Any = c.spec.trt_llm
    for block in blocks:
        section = getattr(section, block, None)
    return section is not None and name in section.model_fields_set


POOLING = Rule(
    code="EH655",
    name="encoder-on-tensorrt-llm",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=TRTLLM,
    fields=at(_BASE_MODEL, "enginehouse.runtime"),
    concerns=lambda c: c.spec.accelerator is not None,
    when=lambda c: c.spec.base_model.is_encoder and c.can(Feature.POOLING).is_refused,
    message=lambda c: (
        f"`base_model: {c.spec.base_model.value}` asks for vectors or scores, and TensorRT-LLM "
        f"cannot give them: {c.can(Feature.POOLING).how}. The native "
        "engine does, and vLLM."
    ),
    fix=Fix(label="Leave the runtime unset", patch=_leave_unset, safe=False),
    otherwise=other_engines,
    source=sources.tensorrt_llm("serve/openai_server.py"),
    bad=on_trtllm(
        Example(config={_ACCELERATOR: "L4", _BASE_MODEL: "encoder_bert"}, checkpoint=BERT)
    ),
    good=on_trtllm(
        Example(
            config={_ACCELERATOR: "L4", _BASE_MODEL: "encoder_bert", "enginehouse.runtime": "vllm"},
            checkpoint=BERT,
        )
    ),
)

OLD_DEVICE = Rule(
    code="EH656",
    name="gpu-before-turing",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=VLLM,
    fields=at(_ACCELERATOR),
    concerns=lambda c: c.spec.accelerator is not None and c.gpu.compute_capability is not None,
    when=lambda c: c.can(Feature.ACCELERATOR).is_refused,
    message=lambda c: f"vLLM does not run on `{c.gpu.kind}`: {c.can(Feature.ACCELERATOR).how}.",
    fix=Fix(
        label="Use an L4",
        patch=lambda c: {_ACCELERATOR: str(c.spec.accelerator).replace(c.gpu.kind, "L4")},
        safe=False,
    ),
    source=sources.vllm("installation, GPU requirements"),
    bad=Example(config={**_ON_VLLM, _ACCELERATOR: "V100"}),
    good=Example(config={**_ON_VLLM, _ACCELERATOR: "L4"}),
)

EXPANDED = Rule(
    code="EH657",
    name="quantized-weights-computed-in-16-bits",
    severity=Severity.HINT,
    about_runtime=True,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_ACCELERATOR, "trt_llm.build.checkpoint_repository.repo"),
    concerns=lambda c: c.spec.accelerator is not None,
    when=lambda c: bool(_emulated_weights(c)),
    message=lambda c: f"On `{c.gpu.kind}` vLLM emulates these weights: {_emulated_weights(c)}.",
    source=sources.measured("artifacts made on a CPU, loaded by vLLM 0.25.1 on an H100"),
    bad=Example(config=_ON_VLLM, checkpoint=_FP4),
    good=Example(config={**_ON_VLLM, _ACCELERATOR: "B200"}, checkpoint=_FP4),
)


def _lacks_a_length(c: Context) -> str:
    """Return what keeps drafts from being told to vLLM, where it is their length."""
    given = argument(c, "speculative_config")
    if "speculative_config" not in _untranslated(c) or not isinstance(given, dict):
        return ""
    if not given.get("decoding_type") or given.get("max_draft_len"):
        return ""
    return " Its drafts need a `max_draft_len` of at least 1; without one none are made."


UNTRANSLATED = Rule(
    code="EH658",
    name="arguments-that-vllm-has-not",
    severity=Severity.WARNING,
    runtimes=VLLM,
    fields=lambda c: tuple(f"{ARGUMENTS}.{name}" for name in _untranslated(c)) or (ARGUMENTS,),
    when=lambda c: bool(_untranslated(c)),
    message=lambda c: (
        "No effect under vLLM, which reads `patch_kwargs` by TensorRT-LLM's names where it has a "
        "counterpart: "
        + ", ".join(f"`{name}`" for name in _untranslated(c))
        + "."
        + _lacks_a_length(c)
    ),
    fix=Fix(
        label="Remove them",
        patch=lambda c: {f"{ARGUMENTS}.{name}": None for name in _untranslated(c)},
        safe=True,
    ),
    source=sources.vllm("vllm serve --help"),
    bad=v2_example({"sampler_type": "TorchSampler"}, **{"enginehouse.runtime": "vllm"}),
    good=v2_example({"stream_interval": 4}, **{"enginehouse.runtime": "vllm"}),
)

UNREAD = Rule(
    code="EH659",
    name="settings-that-vllm-does-not-read",
    severity=Severity.HINT,
    runtimes=VLLM,
    fields=lambda c: tuple(_unread(c)) or ("trt_llm",),
    when=lambda c: bool(_unread(c)),
    message=lambda c: " ".join(
        f"`{path}`: {c.engine.ignored_settings[path]}" for path in _unread(c)
    ),
    fix=Fix(label="Remove them", patch=lambda c: dict.fromkeys(_unread(c)), safe=True),
    source=sources.vllm("vllm serve --help"),
    bad=Example(
        config={**_ON_VLLM, "trt_llm.runtime.batch_scheduler_policy": "max_utilization"},
        checkpoint=LLAMA_8B,
    ),
    good=Example(config=_ON_VLLM, checkpoint=LLAMA_8B),
)
