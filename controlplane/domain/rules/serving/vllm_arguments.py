"""EH673 on: `enginehouse.vllm_args`, arguments that reach vLLM under its own names."""

from typing import Any

from controlplane.domain.facts import sources
from controlplane.domain.facts.quantization import BFLOAT16_CAPABILITY
from controlplane.domain.facts.vllm_number_types import NOT_IN_FLOAT16
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import (
    LLAMA_8B,
    Config,
    Example,
    facts,
    on_trtllm,
    on_vllm,
)
from controlplane.domain.rules.rule import VLLM, Fix, Patch, Rule, Severity
from controlplane.domain.rules.serving.engine_arguments import ARGUMENTS, argument
from controlplane.domain.runtimes.argument_fault import ArgumentFault, FaultKind
from controlplane.domain.runtimes.choice import version_of

_SOURCE = sources.vllm("vllm serve --help")
_FIELD = "enginehouse.vllm_args"
_BFLOAT16 = "bfloat16"
_PATCHED_DTYPE = f"{ARGUMENTS}.dtype"
_ON_H100: Config = {"resources.accelerator": "H100"}


def _example(arguments: dict[str, Any]) -> Example:
    return on_vllm(Example(config={**_ON_H100, _FIELD: arguments}, checkpoint=LLAMA_8B))


def _given(c: Context) -> dict[str, Any]:
    return c.spec.settings.vllm_args


def _faults(c: Context, kind: FaultKind) -> list[ArgumentFault]:
    # What no host has run yet is most likely to be the newest.
    newest = c.engine.capabilities.VERSIONS[-1]
    version = version_of(c.engine, c.known.versions, default=newest)
    return [each for each in c.engine.argument_faults(c.spec, version) if each.kind is kind]


def _path(c: Context, written: str = "") -> str:
    return f"{c.spec.settings_path}.vllm_args" + (f".{written}" if written else "")


def _rule(kind: FaultKind, *, code: str, name: str, bad: Example, good: Example) -> Rule:
    def remove(c: Context) -> Patch:
        return {_path(c, each.written): None for each in _faults(c, kind)}

    return Rule(
        code=code,
        name=name,
        severity=Severity.ERROR,
        runtimes=VLLM,
        fields=lambda c: tuple(_path(c, each.written) for each in _faults(c, kind)) or (_path(c),),
        may_mark=(_FIELD,),
        when=lambda c: bool(_faults(c, kind)),
        message=lambda c: " ".join(each.reason for each in _faults(c, kind)),
        fix=Fix(label="Use the names that were meant", patch=_respell, safe=False)
        if kind is FaultKind.UNKNOWN
        else None,
        otherwise=lambda _: (Fix(label="Remove them", patch=remove, safe=False),),
        source=_SOURCE,
        bad=bad,
        good=good,
    )


def _respell(c: Context) -> Patch | None:
    patch: dict[str, Any] = {}
    for each in _faults(c, FaultKind.UNKNOWN):
        if each.meant is None or each.meant in _given(c):
            return None
        patch |= {_path(c, each.written): None, _path(c, each.meant): _given(c)[each.written]}
    return patch


OTHER_RUNTIME = Rule(
    code="EH673",
    name="vllm-arguments-under-another-runtime",
    severity=Severity.ERROR,
    fields=lambda c: (_path(c),),
    when=lambda c: bool(_given(c)) and not c.engine.takes_own_arguments,
    message=lambda c: (
        f"`vllm_args` are arguments of vLLM, and this config runs on {c.engine.title}. Set "
        "`enginehouse.runtime: vllm`, or remove them."
    ),
    fix=Fix(label="Remove them", patch=lambda c: {_path(c): None}, safe=True),
    source=_SOURCE,
    bad=on_trtllm(Example(config={**_ON_H100, _FIELD: {"max-logprobs": 5}}, checkpoint=LLAMA_8B)),
    good=_example({"max-logprobs": 5}),
)

UNKNOWN = _rule(
    FaultKind.UNKNOWN,
    code="EH674",
    name="unknown-vllm-arguments",
    bad=_example({"max-logprob": 5}),
    good=_example({"max_logprobs": 5, "scheduling-policy": "priority"}),
)

WRONG_VALUE = _rule(
    FaultKind.VALUE,
    code="EH675",
    name="vllm-arguments-of-the-wrong-type",
    bad=_example({"max-logprobs": "many"}),
    good=_example({"max-logprobs": 5, "tool-call-parser": None}),
)

DECIDED = _rule(
    FaultKind.ELSEWHERE,
    code="EH676",
    name="vllm-arguments-decided-elsewhere",
    bad=_example({"max-model-len": 4096, "port": 8000}),
    good=_example({"block-size": 32}),
)

MISPLACED = _rule(
    FaultKind.MISPLACED,
    code="EH677",
    name="vllm-arguments-with-secrets-or-places",
    bad=_example({"compilation-config": {"cache_dir": "/srv/cache"}}),
    good=_example({"compilation-config": {"mode": 3}}),
)

UNLISTED = _rule(
    FaultKind.UNLISTED,
    code="EH678",
    name="keys-inside-vllm-arguments-that-do-not-pass",
    bad=_example({"compilation-config": {"backend": "my_package.compile"}}),
    good=_example({"compilation-config": {"backend": "inductor", "mode": 3}}),
)


def _dtype_paths(c: Context, *words: str) -> tuple[str, ...]:
    own = [_path(c, name) for name, value in _given(c).items()
           if name.strip().lstrip("-") == "dtype" and value in words]  # fmt: skip
    return (*own, *((_PATCHED_DTYPE,) if argument(c, "dtype") in words else ()))


def _float16_paths(c: Context) -> tuple[str, ...]:
    return _dtype_paths(c, "float16", "half")


BFLOAT16_ON_OLD_GPU = Rule(
    code="EH679",
    name="bfloat16-asked-of-a-gpu-that-lacks-it",
    severity=Severity.ERROR,
    runtimes=VLLM,
    fields=lambda c: _dtype_paths(c, _BFLOAT16) or (_path(c),),
    may_mark=(_FIELD, _PATCHED_DTYPE),
    concerns=lambda c: bool(_dtype_paths(c, _BFLOAT16)),
    when=lambda c: (
        c.gpu.compute_capability is not None and not c.gpu.has_capability(*BFLOAT16_CAPABILITY)
    ),
    message=lambda c: (
        f"`dtype: bfloat16` needs compute capability 8.0, and `{c.gpu.kind}` has "
        f"{c.gpu.capability_text}: vLLM fails to start. Without it, it computes in float16."
    ),
    fix=Fix(
        label="Leave the type to vLLM",
        patch=lambda c: dict.fromkeys(_dtype_paths(c, _BFLOAT16)),
        safe=False,
    ),
    source=sources.vllm("platforms/cuda.py, check_if_supports_dtype"),
    bad=on_vllm(Example(config={"resources.accelerator": "T4", _FIELD: {"dtype": "bfloat16"}})),
    good=on_vllm(Example(config={"resources.accelerator": "T4", _FIELD: {"dtype": "half"}})),
)

FLOAT16_OF_AN_UNSTABLE_CLASS = Rule(
    code="EH667",
    name="float16-asked-of-a-class-that-it-breaks",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=lambda c: _float16_paths(c) or (_path(c),),
    may_mark=(_FIELD, _PATCHED_DTYPE),
    concerns=lambda c: bool(_float16_paths(c)),
    when=lambda c: c.checkpoint.model_type in NOT_IN_FLOAT16,
    message=lambda c: (
        f"`{c.checkpoint.model_type}` answers nonsense in float16, and vLLM fails to start "
        "when asked for it. Without `dtype` it takes bfloat16, or float32 on a GPU before Ampere."
    ),
    fix=Fix(
        label="Leave the type to vLLM",
        patch=lambda c: dict.fromkeys(_float16_paths(c)),
        safe=False,
    ),
    source=sources.vllm("config/model.py, types that do not take float16", checked="2026-11-30"),
    bad=on_vllm(
        Example(
            config={"resources.accelerator": "L4", _FIELD: {"dtype": "half"}},
            checkpoint=facts(architectures=["Gemma2ForCausalLM"], model_type="gemma2"),
        )
    ),
    good=on_vllm(
        Example(config={"resources.accelerator": "L4", _FIELD: {"dtype": "half"}},
                checkpoint=LLAMA_8B)
    ),
)  # fmt: skip
