"""How families of models write tool calls, recognised by their chat templates."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from controlplane.domain.facts.chat_forms import CallForm, call_form

DEEPSEEK_CALLS = ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>")
DEEPSEEK_CALL = ("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>")
DEEPSEEK_SEPARATOR = "<｜tool▁sep｜>"


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """One way to write calls; what is around them is for the grammar of forced calls."""

    name: str
    opens: str = ""
    closes: str = ""
    ignored: tuple[str, ...] = ()
    first_characters: str = ""
    """Without markers: the whole answer is calls when it begins with one of these."""
    before_all: str = ""
    before_call: str = ""
    after_call: str = ""
    between: str = "\n"
    after_all: str = ""
    arguments_key: str = "arguments"
    name_end: str | None = None
    """What stands between a bare name and its arguments; absent: both are in one JSON object."""

    @property
    def is_python(self) -> bool:
        """Whether calls may be written as a list of Python's."""
        return "[" in self.first_characters

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that the reader must see, be they special tokens or not."""
        return tuple(one for one in (self.opens, self.closes, *self.ignored) if one)


HERMES = Dialect(
    name="hermes", opens="<tool_call>", closes="</tool_call>",
    before_call="<tool_call>\n", after_call="\n</tool_call>",
)  # fmt: skip
LLAMA3 = Dialect(
    name="llama3_json", ignored=("<|python_tag|>",), first_characters="{", between="; ",
    arguments_key="parameters",
)  # fmt: skip
PYTHONIC = Dialect(
    name="pythonic", ignored=("<|python_start|>", "<|python_end|>", "<|python_tag|>"),
    first_characters="{[", between="; ", arguments_key="parameters",
)  # fmt: skip
MISTRAL = Dialect(
    name="mistral", opens="[TOOL_CALLS]", before_all="[TOOL_CALLS][", between=", ", after_all="]"
)
MISTRAL_NAMED = Dialect(
    name="mistral_named", opens="[TOOL_CALLS]", before_call="[TOOL_CALLS]", between="",
    name_end="[ARGS]",
)  # fmt: skip
DEEPSEEK = Dialect(
    name="deepseek", opens=DEEPSEEK_CALL[0], closes=DEEPSEEK_CALL[1], ignored=DEEPSEEK_CALLS,
    before_all=DEEPSEEK_CALLS[0], after_all=DEEPSEEK_CALLS[1],
    before_call=f"{DEEPSEEK_CALL[0]}function{DEEPSEEK_SEPARATOR}",
    after_call=f"\n```{DEEPSEEK_CALL[1]}", name_end="\n```json\n",
)  # fmt: skip
DEEPSEEK_BARE = replace(
    DEEPSEEK, name="deepseek_bare", before_call=DEEPSEEK_CALL[0], after_call=DEEPSEEK_CALL[1],
    between="", name_end=DEEPSEEK_SEPARATOR,
)  # fmt: skip

BY_FORM: Mapping[CallForm, Dialect] = MappingProxyType(
    {
        CallForm.HERMES: HERMES,
        CallForm.LLAMA_JSON: LLAMA3,
        CallForm.LLAMA4_JSON: PYTHONIC,
        CallForm.LLAMA4_PYTHONIC: PYTHONIC,
        CallForm.PYTHONIC: PYTHONIC,
        CallForm.MISTRAL: MISTRAL,
        CallForm.MISTRAL_NAMED: MISTRAL_NAMED,
        CallForm.DEEPSEEK_FENCED: DEEPSEEK,
        CallForm.DEEPSEEK_BARE: DEEPSEEK_BARE,
    }
)
"""The forms that the engine reads."""


def choose_dialect(template: str) -> Dialect | None:
    form = call_form(template)
    return BY_FORM.get(form) if form else None
