"""Which of vLLM's parsers reads the tool calls and the reasoning of a checkpoint.

Source: vLLM 0.33, features, tool calling and reasoning outputs; the parsers of 0.25.1 to 0.33.0,
which say what each looks for and which tokens it needs, checked 2026-11-30.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controlplane.domain.commands.command_writer import CommandWriter
from controlplane.domain.facts.chat_forms import CALL_WORDS, THOUGHT_WORDS, CallForm, ThoughtForm
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.runtimes.vllm.capabilities import VERSION
from controlplane.domain.runtimes.vllm.own_arguments import PARSERS, own_arguments
from controlplane.domain.runtimes.vllm.parsers import Kind, parser_for
from controlplane.domain.spec import Spec
from controlplane.domain.spec.trt_llm import TrtLlmV2

FLAGS: Mapping[Kind, tuple[str, ...]] = {
    Kind.TOOLS: ("--enable-auto-tool-choice", "--tool-call-parser"),
    Kind.REASONING: ("--reasoning-parser",),
}
ENGINE_ARGUMENTS: Mapping[Kind, tuple[str, ...]] = {
    Kind.TOOLS: ("tool_parser", "tool_call_parser"),
    Kind.REASONING: ("reasoning_parser",),
}
"""The names of `patch_kwargs` by which a config itself says which parser."""

_ANY = ""
_DEEPSEEK = ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2")
_FOUND: Mapping[CallForm, Mapping[str, str]] = {
    CallForm.HERMES: {
        "granitemoehybrid": "granite4", "granite": "granite", "ernie4_5": "ernie45",
        "mimo": "mimo", _ANY: "hermes",
    },
    CallForm.XML: {"step3p5": "step3p5", "mimo": "mimo", _ANY: "qwen3_coder"},
    CallForm.GLM: {"laguna": "poolside_v1", "hy_v3": "hy_v3", _ANY: "glm45"},
    CallForm.LLAMA_JSON: {"llama": "llama3_json", "mllama": "llama3_json"},
    CallForm.LLAMA4_JSON: {_ANY: "llama4_json"},
    CallForm.LLAMA4_PYTHONIC: {_ANY: "llama4_pythonic"},
    CallForm.PYTHONIC: {_ANY: "pythonic"},
    **dict.fromkeys(
        (CallForm.MISTRAL, CallForm.MISTRAL_NAMED),
        dict.fromkeys(("mistral", "mixtral", "ministral", "pixtral"), "mistral"),
    ),
    CallForm.DEEPSEEK_FENCED: dict.fromkeys(_DEEPSEEK, "deepseek_v3"),
    CallForm.DEEPSEEK_BARE: dict.fromkeys(_DEEPSEEK, "deepseek_v31"),
    CallForm.DEEPSEEK_FUNCTIONS: {_ANY: "deepseek_v32"},
    CallForm.DEEPSEEK_TOOLS: {_ANY: "deepseek_v4"},
    CallForm.KIMI: {_ANY: "kimi_k2"},
    CallForm.HARMONY: {_ANY: "openai"},
    CallForm.GRANITE: {_ANY: "granite"},
    CallForm.PHI: {_ANY: "phi4_mini_json"},
    CallForm.MINIMAX_M2: {_ANY: "minimax_m2"},
    CallForm.TOOL_CALLS_LIST: {"hunyuan": "hunyuan_a13b", "jamba": "jamba"},
    CallForm.SEED: {_ANY: "seed_oss"},
    CallForm.LONGCAT: {_ANY: "longcat"},
    CallForm.LFM: {"lfm": "lfm2"},
    CallForm.OLMO: {_ANY: "olmo3"},
    CallForm.APERTUS: {_ANY: "apertus"},
    CallForm.STEP: {_ANY: "step3"},
    CallForm.GEMMA4: {_ANY: "gemma4"},
    CallForm.FUNCTION_GEMMA: {_ANY: "functiongemma"},
    CallForm.INTERNLM: {_ANY: "internlm"},
}  # fmt: skip
"""Form of calls -> beginning of the family's name -> parser, the first that fits.

A form without `_ANY` is read by special tokens that only these families have: with any other
tokenizer the parser ends the request, or the engine at its start.
"""
_REASONED: Mapping[ThoughtForm, Mapping[str, str]] = {
    ThoughtForm.THINK: {
        "qwen2": "deepseek_r1", "qwen3": "qwen3", "glm": "glm45", "hunyuan_v1_moe": "hunyuan_a13b",
        "minimax_m2": "minimax_m2_append_think", "kimi_k2": "kimi_k2", "deepseek_v3": "kimi_k2",
        "olmo3": "olmo3", "ernie4_5": "ernie45", "step3p5": "step3p5", "step3": "step3",
        "mimo": "mimo",
    },
    ThoughtForm.DEEPSEEK: {_ANY: "deepseek_r1"},
    ThoughtForm.DEEPSEEK_SWITCHED: {_ANY: "deepseek_v3"},
    ThoughtForm.HARMONY: {_ANY: "openai_gptoss"},
    ThoughtForm.GRANITE: {_ANY: "granite"},
    ThoughtForm.SEED: {_ANY: "seed_oss"},
    ThoughtForm.GEMMA4: {_ANY: "gemma4"},
}  # fmt: skip
"""As above; where `</think>` is no token of the vocabulary a parser for it ends the engine."""


_INSTEAD = (
    "Name one that reads it under `enginehouse.vllm_args` (`tool-call-parser`), or serve a model "
    "that writes calls as Hermes, Llama 3, Mistral or Qwen do."
)


@dataclass(frozen=True, kw_only=True)
class ChatParser:
    """A parser that is chosen where the config names none."""

    kind: Kind
    name: str
    reason: str


def say_chat_parsers(line: CommandWriter, checkpoint: CheckpointFacts, version: str) -> None:
    for parser in chosen_parsers(line.spec, checkpoint, version):
        line.words += [*FLAGS[parser.kind], parser.name]


def chosen_parsers(
    spec: Spec, checkpoint: CheckpointFacts, version: str = VERSION
) -> Iterator[ChatParser]:
    """Yield the parsers of a generator by its checkpoint, but for what the config itself names."""
    if spec.base_model.is_encoder:
        return
    for kind in Kind:
        parser = parser_of(kind, checkpoint, version)
        if parser is not None and not names_parser(spec, kind):
            yield parser


def parser_of(kind: Kind, checkpoint: CheckpointFacts, version: str = VERSION) -> ChatParser | None:
    form = checkpoint.call_form if kind is Kind.TOOLS else checkpoint.thought_form
    if form is None:
        return None
    name = parser_for(kind, _by_family(form, checkpoint), version)
    return None if name is None else ChatParser(kind=kind, name=name, reason=_reason(form))


def tool_refusal(spec: Spec, checkpoint: CheckpointFacts) -> str | None:
    is_read = names_parser(spec, Kind.TOOLS) or parser_of(Kind.TOOLS, checkpoint) is not None
    if is_read or not checkpoint.renders_tools:
        return None
    return f"{_unread(checkpoint)}. {_INSTEAD}"


def unread_reasoning(spec: Spec, checkpoint: CheckpointFacts) -> str | None:
    form = checkpoint.thought_form
    is_read = names_parser(spec, Kind.REASONING) or parser_of(Kind.REASONING, checkpoint)
    return None if form is None or is_read else THOUGHT_WORDS[form]


def _unread(checkpoint: CheckpointFacts) -> str:
    if checkpoint.call_form is None:
        return "the chat template teaches no form of calls that is known here"
    families = ", ".join(f"`{name}`" for name in _FOUND.get(checkpoint.call_form, {}))
    taught = f"the chat template teaches {CALL_WORDS[checkpoint.call_form]}"
    if not families:
        return f"{taught}, and vLLM has no parser for it"
    return (
        f"{taught}, which vLLM's parser reads by tokens of {families}, and `model_type` is "
        f"`{checkpoint.model_type}`"
    )


def names_parser(spec: Spec, kind: Kind) -> bool:
    """Return whether the config says which parser, or with `null` that there is to be none."""
    own = {kind for name, kind in PARSERS.items() if name in own_arguments(spec)}
    engine = spec.trt_llm
    given = engine.runtime.patch_kwargs if isinstance(engine, TrtLlmV2) else {}
    return kind in own or any(name in given for name in ENGINE_ARGUMENTS[kind])


def _by_family(form: CallForm | ThoughtForm, checkpoint: CheckpointFacts) -> str | None:
    families = _FOUND.get(form) if isinstance(form, CallForm) else _REASONED.get(form)
    own = (checkpoint.model_type or "", checkpoint.wrapper_model_type or "")
    for family, name in (families or {}).items():
        if any(each.startswith(family) for each in own):
            return name
    return None


def _reason(form: CallForm | ThoughtForm) -> str:
    if isinstance(form, CallForm):
        return f"The chat template writes tool calls in this form: {CALL_WORDS[form]}."
    return f"The chat template sets reasoning apart by {THOUGHT_WORDS[form]}."
