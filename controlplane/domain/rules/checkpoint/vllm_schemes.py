"""EH837 and EH838: whether vLLM has layers for the numbers that a checkpoint is stored in."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.precision_support import stored_refusal
from controlplane.domain.facts.vllm_number_types import refused_type
from controlplane.domain.facts.vllm_quantization import unread_scheme
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Example, facts, on_vllm
from controlplane.domain.rules.named_arguments import argument_paths, named_arguments
from controlplane.domain.rules.other_runtimes import other_engines
from controlplane.domain.rules.rule import VLLM, Fix, Patch, Rule, Severity, at
from controlplane.domain.rules.serving.engine_arguments import ARGUMENTS, argument

_ACCELERATOR = "resources.accelerator"
_REPO = "trt_llm.build.checkpoint_repository.repo"
_DTYPE = "dtype"
_PATCHED = f"{ARGUMENTS}.{_DTYPE}"
_GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128}
_WORDS = {"half": "float16", "float16": "float16", "bfloat16": "bfloat16"}


def _quantized(kind: str = "L40S", model_type: str = "llama", **block: object) -> Example:
    known = facts(model_type=model_type, quantization_config=block)
    return on_vllm(Example(config={_ACCELERATOR: kind}, checkpoint=known))


def _unread(c: Context) -> str:
    existing = c.checkpoint.existing_quantization
    if existing is None:
        return ""
    return unread_scheme(existing, c.version, has_experts=bool(c.checkpoint.experts)) or ""


UNREAD_SCHEME = Rule(
    code="EH837",
    name="stored-numbers-that-vllm-does-not-read",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_REPO),
    when=lambda c: bool(_unread(c)),
    message=lambda c: (
        f"The checkpoint {_unread(c)}, which no loader of vLLM {c.version} takes: it ends at its "
        "start. Name the original weights, or a copy in FP8, NVFP4 or INT4 with symmetric groups."
    ),
    otherwise=other_engines,
    source=sources.vllm("quantization/modelopt.py and compressed_tensors.py", checked="2026-11-30"),
    bad=_quantized(quant_method="modelopt", quant_algo="W4A8_AWQ"),
    good=_quantized(quant_method="modelopt", quant_algo="FP8"),
)


def _asked(c: Context) -> str | None:
    given = named_arguments(c).get(_DTYPE) or argument(c, _DTYPE)
    return _WORDS.get(str(given))


def _refused(c: Context) -> str | None:
    return refused_type(c.checkpoint, c.gpu, _asked(c))


def _why_chosen(c: Context) -> str:
    if _asked(c):
        return "as the config asks"
    return f"the type that vLLM takes for this model on `{c.gpu.kind}`"


def _leave_out(c: Context) -> Patch | None:
    if not _asked(c) or refused_type(c.checkpoint, c.gpu):
        return None
    written = _DTYPE in named_arguments(c)
    return dict.fromkeys(argument_paths(c, _DTYPE) if written else (_PATCHED,))


UNCOMPUTED_TYPE = Rule(
    code="EH838",
    name="number-type-that-the-quantization-lacks",
    severity=Severity.ERROR,
    about_runtime=True,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=lambda c: (*argument_paths(c, _DTYPE), _PATCHED) if _asked(c) else (_ACCELERATOR, _REPO),
    may_mark=("enginehouse.vllm_args", _PATCHED),
    concerns=lambda c: c.gpu.has_capability(7, 5),
    when=lambda c: (
        _refused(c) is not None and stored_refusal(c.checkpoint, c.gpu, c.memory.precisions) is None
    ),
    message=lambda c: (
        f"The checkpoint's layers of `{c.checkpoint.existing_quantization.method}` do not compute "
        f"in {_refused(c)}, {_why_chosen(c)}: vLLM {c.version} fails to start."
        if c.checkpoint.existing_quantization
        else ""
    ),
    fix=Fix(label="Leave the type to vLLM", patch=_leave_out, safe=False),
    otherwise=other_engines,
    source=sources.vllm("config/vllm.py, supported_dtypes of the method", checked="2026-11-30"),
    bad=_quantized("T4", "gemma3", **_GPTQ),
    good=_quantized("T4", "llama", **_GPTQ),
)
