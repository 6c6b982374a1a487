"""EH627: engine arguments that something else of the config decides."""

from collections.abc import Mapping

from controlplane.domain.facts.engine_argument_names import BUILT_FROM_ELSEWHERE
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.rule import GPU_RUNTIMES, Fix, Patch, Rule, Severity
from controlplane.domain.rules.serving.engine_arguments import (
    ARGUMENTS,
    SOURCE,
    argument,
    arguments_of,
    v2_example,
    without,
)

_COMPILED = "build_config"
_LIMITS = ("max_seq_len", "max_batch_size", "max_num_tokens")


def _elsewhere(c: Context) -> list[str]:
    return [name for name in BUILT_FROM_ELSEWHERE if name in arguments_of(c)]


def _compiled_limits(c: Context) -> dict[str, int]:
    """Return the limits inside `build_config`, as compiled engines had them."""
    block = argument(c, _COMPILED)
    given = block if isinstance(block, Mapping) else {}
    return {name: size for name in _LIMITS if type(size := given.get(name)) is int}


def _unset(c: Context) -> set[str]:
    return {*_LIMITS} - c.spec.trt_llm.runtime.model_fields_set


def _with_limits(c: Context) -> Patch | None:
    limits = _compiled_limits(c)
    moved = {f"trt_llm.runtime.{name}": size for name, size in limits.items() if name in _unset(c)}
    return {**without(_elsewhere(c)), **moved} if moved else None


def _lost_limits(c: Context) -> str:
    lost = ", ".join(f"`{name}: {size}`" for name, size in _compiled_limits(c).items())
    return f" So its {lost} have no effect: they belong to `trt_llm.runtime`." if lost else ""


ELSEWHERE = Rule(
    code="EH627",
    name="arguments-decided-elsewhere",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    fields=lambda c: tuple(f"{ARGUMENTS}.{name}" for name in _elsewhere(c)) or (ARGUMENTS,),
    when=lambda c: bool(_elsewhere(c)),
    message=lambda c: (
        "; ".join(f"`{name}` is decided by {BUILT_FROM_ELSEWHERE[name]}" for name in _elsewhere(c))
        + "."
        + _lost_limits(c)
    ),
    fix=Fix(label="Move its limits to `trt_llm.runtime`", patch=_with_limits, safe=False),
    otherwise=lambda c: (
        Fix(label="Remove them", patch=lambda _: without(_elsewhere(c)), safe=False),
    ),
    source=SOURCE,
    bad=v2_example({"quant_config": {"quant_algo": "FP8"}}),
    good=v2_example({}),
)
