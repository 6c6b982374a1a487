"""EH687: values of engine arguments that TensorRT-LLM ends at, by its own checks."""

from collections.abc import Iterator, Mapping

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import on_trtllm
from controlplane.domain.rules.rule import TRTLLM, Fix, Patch, Rule, Severity
from controlplane.domain.rules.serving.engine_arguments import ARGUMENTS, argument, v2_example

_BACKEND = "backend"
_COMPILED = ("tensorrt", "trt")
_GUIDED = "guided_decoding_backend"
_LIBRARIES = ("xgrammar", "llguidance")
_DRAFTS = "speculative_config"
_SCHEDULE = "draft_len_schedule"
_SAMPLER_OF_ITS_OWN = "TRTLLMSampler"
_DRAFTED_IN_THE_MODEL = ("mtp", "eagle", "eagle3")

Fault = tuple[str, str]
"""Path below the arguments, and what is wrong with it in words."""


def _faults(c: Context) -> list[Fault]:
    return [*_of_backend(c), *_of_grammar(c), *_of_schedule(c), *_of_sampler(c)]


def _of_backend(c: Context) -> Iterator[Fault]:
    named = argument(c, _BACKEND)
    if str(named).lower() in _COMPILED:
        yield (
            _BACKEND,
            f"`{_BACKEND}: {named}` compiles an engine, which has none of the newer classes and "
            "is no longer made; this program starts the PyTorch backend",
        )


def _of_grammar(c: Context) -> Iterator[Fault]:
    named = argument(c, _GUIDED)
    if named is not None and named not in _LIBRARIES:
        libraries = " or ".join(f"`{each}`" for each in _LIBRARIES)
        yield _GUIDED, f"`{_GUIDED}: {named}` names no library that it has: it takes {libraries}"


def _of_schedule(c: Context) -> Iterator[Fault]:
    given = argument(c, _DRAFTS, _SCHEDULE)
    if not isinstance(given, Mapping):
        return
    most, path = argument(c, _DRAFTS, "max_draft_len"), f"{_DRAFTS}.{_SCHEDULE}"
    if "1" not in given:
        yield path, f"`{_SCHEDULE}` has no key 1, for a batch of one"
    elif most is not None and given["1"] != most:
        yield (
            path,
            (
                f"`{_SCHEDULE}` drafts {given['1']} for a batch of one, and `max_draft_len` is "
                f"{most}"
            ),
        )
    lengths = [length for length in given.values() if type(length) is int]
    if any(length < 0 or (type(most) is int and length > most) for length in lengths):
        yield path, f"`{_SCHEDULE}` leaves the range from 0 to `max_draft_len`"


def _of_sampler(c: Context) -> Iterator[Fault]:
    kind = argument(c, _DRAFTS, "decoding_type")
    if str(kind).lower() not in _DRAFTED_IN_THE_MODEL:
        return
    for name, value in (("enable_trtllm_sampler", True), ("sampler_type", _SAMPLER_OF_ITS_OWN)):
        if argument(c, name) == value:
            yield name, f"`{name}` and drafts of the kind `{kind}` do not go together"


def _paths(c: Context) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{ARGUMENTS}.{path}" for path, _ in _faults(c))) or (ARGUMENTS,)


def _without(c: Context) -> Patch:
    return dict.fromkeys(_paths(c))


REFUSED_VALUES = Rule(
    code="EH687",
    name="argument-values-that-tensorrt-llm-refuses",
    severity=Severity.ERROR,
    runtimes=TRTLLM,
    fields=_paths,
    may_mark=(ARGUMENTS,),
    when=lambda c: bool(_faults(c)),
    message=lambda c: (
        "TensorRT-LLM fails to start: " + "; ".join(words for _, words in _faults(c)) + "."
    ),
    fix=Fix(label="Leave them to TensorRT-LLM", patch=_without, safe=False),
    source=sources.tensorrt_llm("llmapi/llm_args.py, DecodingBaseConfig and TorchLlmArgs"),
    bad=on_trtllm(v2_example({_GUIDED: "outlines"})),
    good=on_trtllm(v2_example({_GUIDED: "xgrammar"})),
)
