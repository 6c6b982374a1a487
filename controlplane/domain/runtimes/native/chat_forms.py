"""Which tool calls the native engine reads out of answers."""

from controlplane.domain.facts.chat_forms import CALL_WORDS, CallForm
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.spec import Spec

READ_FORMS = frozenset(
    {
        CallForm.HERMES, CallForm.LLAMA_JSON, CallForm.LLAMA4_JSON, CallForm.LLAMA4_PYTHONIC,
        CallForm.PYTHONIC, CallForm.MISTRAL, CallForm.MISTRAL_NAMED, CallForm.DEEPSEEK_FENCED,
        CallForm.DEEPSEEK_BARE,
    }
)  # fmt: skip
_INSTEAD = "Serve it with vLLM where that has a parser for it, or another model."


def tool_refusal(spec: Spec, checkpoint: CheckpointFacts) -> str | None:
    if not checkpoint.renders_tools or checkpoint.call_form in READ_FORMS:
        return None
    if checkpoint.call_form is None:
        return f"the chat template teaches no form of calls that is known here. {_INSTEAD}"
    return (
        f"the chat template teaches {CALL_WORDS[checkpoint.call_form]}, and the native engine "
        f"reads the forms of Hermes, Llama, Mistral and DeepSeek. {_INSTEAD}"
    )
