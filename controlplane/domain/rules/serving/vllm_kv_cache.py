"""EH628 and EH650: keys and values of vLLM in another 16-bit type than the model's."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.vllm_number_types import chosen_type
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Example, on_vllm
from controlplane.domain.rules.named_arguments import named_arguments
from controlplane.domain.rules.rule import VLLM, Fix, Rule, Severity, at
from controlplane.domain.rules.serving.engine_arguments import (
    ARGUMENTS,
    argument,
    kv_cache_type,
    v2_example,
)

_KV_TYPE = f"{ARGUMENTS}.kv_cache_config.dtype"
_FIRST_REFUSAL = "0.33"
_PLAIN = {"half": "float16", "float16": "float16", "bfloat16": "bfloat16"}


def _of_model(c: Context) -> str:
    """Return the type that the model is computed in, as asked or as vLLM chooses."""
    kind = named_arguments(c).get("dtype") or argument(c, "dtype")
    chosen = chosen_type(c.checkpoint.model_type, c.checkpoint.dtype, c.gpu)
    return _PLAIN.get(str(kind), chosen)


def _differs(c: Context) -> bool:
    return kv_cache_type(c) != _of_model(c)


def _is_refused(c: Context) -> bool:
    return c.version >= _FIRST_REFUSAL


def _example(kind: str, version: str) -> Example:
    return on_vllm(v2_example({"kv_cache_config": {"dtype": kind}}), version=version)


def _asked_and_computed(c: Context) -> str:
    return (
        f"The KV cache is asked for in {kv_cache_type(c)}, and the model is computed in "
        f"{_of_model(c)}: vLLM {c.version}"
    )


_OWN_TYPE = Fix(label="Take the model's own type", patch=lambda _: {_KV_TYPE: "auto"}, safe=False)


OTHER_TYPE = Rule(
    code="EH628",
    name="kv-cache-type-unlike-the-models",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_KV_TYPE),
    concerns=lambda c: kv_cache_type(c) in _PLAIN,
    when=lambda c: _is_refused(c) and _differs(c),
    message=lambda c: (
        f"{_asked_and_computed(c)} takes only the model's own type, and fails to start."
    ),
    fix=_OWN_TYPE,
    source=sources.vllm("config/vllm.py, _reject_mismatched_float_kv_cache", checked="2026-12-01"),
    bad=_example("float16", "0.33.0"),
    good=_example("bfloat16", "0.33.0"),
)

MISREAD_TYPE = Rule(
    code="EH650",
    name="kv-cache-type-read-as-another",
    severity=Severity.WARNING,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_KV_TYPE),
    concerns=lambda c: kv_cache_type(c) in _PLAIN,
    when=lambda c: not _is_refused(c) and _differs(c) and _of_model(c) in _PLAIN,
    message=lambda c: (
        f"{_asked_and_computed(c)} keeps the bits as they are and reads them as the other type, so "
        "answers are nonsense."
    ),
    fix=_OWN_TYPE,
    source=sources.vllm("vllm-project/vllm#54338", checked="2026-12-01"),
    bad=_example("float16", "0.25.1"),
    good=_example("bfloat16", "0.25.1"),
)
