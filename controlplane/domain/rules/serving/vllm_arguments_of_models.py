"""EH696 and EH698: arguments of vLLM that it refuses for a model or a GPU."""

from collections.abc import Iterator
from typing import Any

from controlplane.domain.facts import sources
from controlplane.domain.facts.vllm_expert_kernels import unsuited_experts
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example, facts, on_vllm
from controlplane.domain.rules.named_arguments import argument_paths, named_arguments
from controlplane.domain.rules.quantization.precision import is_quantized
from controlplane.domain.rules.rule import VLLM, Fix, Rule, Severity

_FIELD = "enginehouse.vllm_args"
_KERNELS = "moe-backend"
_ROUTED = "enable-return-routed-experts"
_REPLAY = "use-replayssm"
_COPIES = "eplb-config"
_TABLES = "engram-config"
_TEXT_ALONE = "language-model-only"
_COMPILED = "compilation-config"
_WITH_TABLES = (
    "DeepseekV41ForCausalLM", "Qwen4ExpForCausalLM", "Qwen4ExpForConditionalGeneration",
)  # fmt: skip
_HYBRID = ("nemotron_h", "kimi_linear")
_OF_MODELS = {_ROUTED, _REPLAY, _COPIES, _TABLES, _TEXT_ALONE}
_H100: Config = {"resources.accelerator": "H100"}
_MIXTRAL = facts(
    architectures=["MixtralForCausalLM"], model_type="mixtral", num_local_experts=8,
    num_experts_per_tok=2,
)  # fmt: skip


def _inside(c: Context, block: str, key: str) -> Any:
    value = named_arguments(c).get(block)
    return value.get(key) if isinstance(value, dict) else None


def _kernels(c: Context) -> str | None:
    named = named_arguments(c).get(_KERNELS) or _inside(c, "kernel-config", "moe_backend")
    return named if isinstance(named, str) else None


def _unsuited(c: Context) -> str | None:
    named = _kernels(c)
    if named is None or not c.checkpoint.experts or is_quantized(c):
        return None
    return unsuited_experts(named, c.checkpoint.existing_quantization, c.gpu, c.version)


def _paths_of_kernels(c: Context) -> tuple[str, ...]:
    return argument_paths(c, _KERNELS if _KERNELS in named_arguments(c) else "kernel-config")


UNSUITED_EXPERTS = Rule(
    code="EH696",
    name="kernels-of-experts-that-do-not-suit",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=_paths_of_kernels,
    may_mark=(_FIELD,),
    concerns=lambda c: _kernels(c) is not None,
    when=lambda c: _unsuited(c) is not None,
    message=lambda c: (
        f"The kernels `{_kernels(c)}` {_unsuited(c)}: vLLM {c.version} fails to start on "
        f"`{c.gpu.kind}`. Without the argument it chooses ones that do."
    ),
    fix=Fix(
        label="Leave the kernels of experts to vLLM",
        patch=lambda c: dict.fromkeys(_paths_of_kernels(c)),
        safe=False,
    ),
    source=sources.vllm("layers/fused_moe/oracle/, map_*_backend", checked="2026-11-30"),
    bad=on_vllm(Example(config={**_H100, _FIELD: {_KERNELS: "marlin"}}, checkpoint=_MIXTRAL)),
    good=on_vllm(Example(config={**_H100, _FIELD: {_KERNELS: "triton"}}, checkpoint=_MIXTRAL)),
)


def _uneven_copies(c: Context) -> int | None:
    """Return the experts with their copies, where the ranks do not divide them."""
    redundant = _inside(c, _COPIES, "num_redundant_experts")
    if not isinstance(redundant, int) or redundant < 1 or not c.checkpoint.experts:
        return None
    total = c.checkpoint.experts + redundant
    return total if total % c.spec.tensor_parallel else None


def _captures_what_is_left_out(c: Context) -> bool:
    captures = _inside(c, _COMPILED, "cudagraph_mm_encoder") is True
    is_alone = named_arguments(c).get(_TEXT_ALONE) is True
    return captures and is_alone and c.checkpoint.has_vision and c.version >= "0.29"


def _refused(c: Context) -> Iterator[tuple[str, str]]:
    """Yield each argument that the model has no use for, and why vLLM ends at it."""
    given, known = named_arguments(c), c.checkpoint
    if given.get(_ROUTED) is True and known.layers and not known.experts:
        yield _ROUTED, f"`{_ROUTED}` is for models with experts"
    if given.get(_REPLAY) is True and known.model_type not in _HYBRID:
        yield _REPLAY, f"`{_REPLAY}` is for {' and '.join(_HYBRID)}, not for `{known.model_type}`"
    if given.get(_TABLES) is not None and known.architecture not in _WITH_TABLES:
        yield _TABLES, f"`{_TABLES}` is for tables of n-grams, which `{known.architecture}` has not"
    if _captures_what_is_left_out(c):
        yield _TEXT_ALONE, f"`{_TEXT_ALONE}` leaves out the part that `{_COMPILED}` captures"
    if (total := _uneven_copies(c)) is not None:
        ranks = c.spec.tensor_parallel
        yield _COPIES, f"`{_COPIES}` makes {total} experts, which {ranks} ranks do not divide"


REFUSED_FOR_MODEL = Rule(
    code="EH698",
    name="vllm-arguments-that-the-model-refuses",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=lambda c: argument_paths(c, *(name for name, _ in _refused(c))),
    may_mark=(_FIELD,),
    concerns=lambda c: bool(_OF_MODELS & named_arguments(c).keys()),
    when=lambda c: any(True for _ in _refused(c)),
    message=lambda c: "vLLM fails to start: " + "; ".join(why for _, why in _refused(c)) + ".",
    fix=Fix(
        label="Leave them out",
        patch=lambda c: dict.fromkeys(argument_paths(c, *(name for name, _ in _refused(c)))),
        safe=False,
    ),
    source=sources.vllm("config/vllm.py, the checks of each argument", checked="2026-11-30"),
    bad=on_vllm(Example(config={**_H100, _FIELD: {_ROUTED: True}}, checkpoint=LLAMA_8B)),
    good=on_vllm(Example(config={**_H100, _FIELD: {_ROUTED: True}}, checkpoint=_MIXTRAL)),
)
