"""Asks a whole answer what its grammar could not hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from workers.engine.schema_check import SchemaCheck
from workers.engine.server.delta import Delta


class AnswerBroken(Exception):
    """The model's answer does not hold to the schema that the request asks for."""


@dataclass(frozen=True, kw_only=True)
class AnswerCheck:
    """The schemas that looser grammars stand for."""

    content: SchemaCheck | None = None
    calls: Mapping[str, SchemaCheck | None] = field(default_factory=dict)
    """By the function's name."""

    def raise_for(self, delta: Delta) -> None:
        """Let an answer pass that holds to them. Raises: `AnswerBroken`."""
        for call in delta.calls:
            if check := self.calls.get(call.name or ""):
                _raise_for(check, call.arguments, f"model's call of `{call.name}`")
        if self.content is not None and not delta.calls:
            _raise_for(self.content, delta.content, "model's answer")


def _raise_for(check: SchemaCheck, text: str, what: str) -> None:
    if fault := check.fault(text):
        raise AnswerBroken(
            f"The {what} breaks `{check.field}`, {fault}. The engine cannot hold a model to all of "
            "this schema and looks at the rest when the answer is whole; ask again, or ask for "
            "less in the schema."
        )
