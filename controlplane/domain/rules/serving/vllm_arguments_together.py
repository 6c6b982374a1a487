"""EH694: arguments of vLLM that it refuses beside each other or beside the rest of a config."""

from collections.abc import Iterator

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, on_vllm
from controlplane.domain.rules.named_arguments import argument_paths, named_arguments
from controlplane.domain.rules.rule import VLLM, Fix, Rule, Severity
from controlplane.domain.rules.serving.vllm_clashes import CLASHES, Clash

_FIELD = "enginehouse.vllm_args"


def _clashes(c: Context) -> Iterator[Clash]:
    given = {name: value for name, value in named_arguments(c).items() if value is not None}
    return (each for each in CLASHES if each.is_one(c, given))


def _paths(c: Context) -> tuple[str, ...]:
    named = (argument_paths(c, *each.names) for each in _clashes(c))
    return tuple(dict.fromkeys(path for paths in named for path in paths))


REFUSED_TOGETHER = Rule(
    code="EH694",
    name="vllm-arguments-refused-together",
    severity=Severity.ERROR,
    runtimes=VLLM,
    fields=lambda c: _paths(c) or (_FIELD,),
    may_mark=(_FIELD,),
    concerns=lambda c: bool(named_arguments(c)),
    when=lambda c: any(True for _ in _clashes(c)),
    message=lambda c: "vLLM fails to start: " + "; ".join(each.why for each in _clashes(c)) + ".",
    fix=Fix(label="Leave them out", patch=lambda c: dict.fromkeys(_paths(c)), safe=False),
    source=sources.vllm("config/, the validators of each block", checked="2026-11-30"),
    bad=on_vllm(
        Example(
            config={"resources.accelerator": "H100", _FIELD: {"enable-eplb": True}},
            checkpoint=LLAMA_8B,
        )
    ),
    good=on_vllm(
        Example(
            config={"resources.accelerator": "H100", _FIELD: {"enable-eplb": False}},
            checkpoint=LLAMA_8B,
        )
    ),
)
