"""EH67: whether tool calls and reasoning are read out of answers."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.chat_forms import CallForm, ThoughtForm
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example
from controlplane.domain.rules.rule import VLLM, Rule, Severity, at, generates

_REPOSITORY = "trt_llm.build.checkpoint_repository.repo"
_ON_VLLM: Config = {"resources.accelerator": "H100", "enginehouse.runtime": "vllm"}
_CALLING = LLAMA_8B.model_copy(
    update={"renders_tools": True, "call_form": CallForm.LLAMA_JSON, "thought_form": None}
)
_ODD = _CALLING.model_copy(update={"call_form": CallForm.NEMOTRON})
_SOURCE = sources.vllm("features, tool calling")


def _refusal(c: Context) -> str | None:
    return c.engine.tool_refusal(c.spec, c.checkpoint)


def _unread_thoughts(c: Context) -> str | None:
    return c.engine.unread_reasoning(c.spec, c.checkpoint)


TOOLS_REFUSED = Rule(
    code="EH670",
    name="tool-calls-that-nothing-reads",
    severity=Severity.WARNING,
    needs=("checkpoint",),
    fields=at(_REPOSITORY),
    concerns=generates,
    when=lambda c: _refusal(c) is not None,
    message=lambda c: f"Requests with `tools` will be refused: {_refusal(c)}",
    source=_SOURCE,
    bad=Example(config=_ON_VLLM, checkpoint=_ODD),
    good=Example(config=_ON_VLLM, checkpoint=_CALLING),
)

TOOLS_NOT_SHOWN = Rule(
    code="EH671",
    name="chat-template-without-tools",
    severity=Severity.HINT,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_REPOSITORY),
    concerns=generates,
    when=lambda c: c.checkpoint.renders_tools is False,
    message=lambda _: (
        "The chat template does nothing with `tools`: vLLM refuses such requests, or answers them "
        "without the model having seen a tool. Where they are wanted, add a `chat_template.jinja` "
        "that shows tools to the checkpoint."
    ),
    source=_SOURCE,
    bad=Example(config=_ON_VLLM, checkpoint=_CALLING.model_copy(update={"renders_tools": False})),
    good=Example(config=_ON_VLLM, checkpoint=_CALLING),
)

REASONING_UNREAD = Rule(
    code="EH672",
    name="reasoning-left-in-answers",
    severity=Severity.HINT,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=at(_REPOSITORY),
    concerns=generates,
    when=lambda c: _unread_thoughts(c) is not None,
    message=lambda c: (
        f"Answers begin with reasoning, set apart by {_unread_thoughts(c)}, and no parser of vLLM "
        f"is known to read it from `{c.checkpoint.model_type}`: it stays in `content`. Name one "
        "that does under `enginehouse.vllm_args` (`reasoning-parser`)."
    ),
    source=sources.vllm("features, reasoning outputs"),
    bad=Example(
        config=_ON_VLLM, checkpoint=_CALLING.model_copy(update={"thought_form": ThoughtForm.THINK})
    ),
    good=Example(
        config=_ON_VLLM,
        checkpoint=_CALLING.model_copy(update={"thought_form": ThoughtForm.DEEPSEEK}),
    ),
)
