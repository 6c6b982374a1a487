"""EH334: contexts that vLLM divides over ranks, and the KV heads that leave room for it."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example, on_vllm
from controlplane.domain.rules.named_arguments import argument_paths, named_arguments
from controlplane.domain.rules.rule import VLLM, Fix, Rule, Severity

_ARGUMENT = "decode-context-parallel-size"
_FIELD = "enginehouse.vllm_args"
_EIGHT: Config = {
    "resources.accelerator": "H100:8",
    "trt_llm.build.tensor_parallel_count": 8,
    _FIELD: {_ARGUMENT: 4},
}


def _parts(c: Context) -> int:
    given = named_arguments(c).get(_ARGUMENT)
    return given if type(given) is int else 1


def _fault(c: Context) -> str:
    """Return why so many parts cannot be had, in words; empty where they can."""
    parts, ranks, heads = _parts(c), c.spec.tensor_parallel, c.checkpoint.kv_heads
    if ranks % parts:
        return f"{ranks} ranks do not divide into groups of {parts}"
    if heads is None or c.checkpoint.kv_lora_rank:
        return ""
    if ranks <= heads:
        return f"{ranks} ranks are no more than the {heads} key and value heads"
    if parts > ranks // heads:
        return (
            f"{ranks} ranks over {heads} key and value heads leave {ranks // heads} parts at most"
        )
    return ""


DIVIDED_CONTEXTS = Rule(
    code="EH334",
    name="contexts-divided-over-too-few-ranks",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=lambda c: argument_paths(c, _ARGUMENT),
    may_mark=(_FIELD,),
    concerns=lambda c: _parts(c) > 1,
    when=lambda c: bool(_fault(c)),
    message=lambda c: (
        f"`{_ARGUMENT}: {_parts(c)}` divides each context over ranks that hold the same key and "
        f"value heads, but {_fault(c)}: vLLM fails to start."
    ),
    fix=Fix(
        label="Keep contexts whole",
        patch=lambda c: dict.fromkeys(argument_paths(c, _ARGUMENT)),
        safe=True,
    ),
    source=sources.vllm("config/model.py, verify_with_parallel_config", checked="2026-11-30"),
    bad=on_vllm(Example(config=_EIGHT, checkpoint=LLAMA_8B)),
    good=on_vllm(Example(config=_EIGHT, checkpoint=LLAMA_8B.model_copy(update={"kv_heads": 2}))),
)
