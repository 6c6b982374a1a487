"""EH628: keys and values of vLLM in another 16-bit type than the model's."""

from dataclasses import replace

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
    asked = named_arguments(c).get("dtype") or argument(c, "dtype")
    chosen = chosen_type(c.checkpoint.model_type, c.checkpoint.dtype, c.gpu)
    return _PLAIN.get(str(asked), chosen)


def _example(kind: str) -> Example:
    example = on_vllm(v2_example({"kv_cache_config": {"dtype": kind}}))
    return replace(example, versions=frozenset({("vllm", "0.33.0")}))


OTHER_TYPE = Rule(
    code="EH628",
    name="kv-cache-type-unlike-the-models",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_KV_TYPE),
    concerns=lambda c: kv_cache_type(c) in ("float16", "bfloat16"),
    when=lambda c: c.version >= _FIRST_REFUSAL and kv_cache_type(c) != _of_model(c),
    message=lambda c: (
        f"The KV cache is asked for in {kv_cache_type(c)}, and the model is computed in "
        f"{_of_model(c)}: vLLM {c.version} takes only the model's own type, and fails to start."
    ),
    fix=Fix(label="Take the model's own type", patch=lambda _: {_KV_TYPE: "auto"}, safe=False),
    source=sources.vllm("config/vllm.py, _reject_mismatched_float_kv_cache", checked="2026-12-01"),
    bad=_example("float16"),
    good=_example("bfloat16"),
)
