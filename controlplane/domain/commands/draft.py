"""A config in the making: settings by dotted path, and what is to be said of each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import yaml

from controlplane.domain.commands.invocation import Server
from controlplane.domain.commands.report import (
    Changed,
    Choice,
    CommandImport,
    Mapped,
    NotCarried,
    OfferedSecret,
    Question,
)
from controlplane.domain.commands.secrets import Hidden
from controlplane.domain.commands.words import Word
from controlplane.domain.dotted import set_at
from controlplane.domain.spec import parse_mapping, write_yaml

REPOSITORY = "trt_llm.build.checkpoint_repository"
ADAPTERS = "trt_llm.build.lora_adapters"
_SHOWN_CHARACTERS = 200


class Draft:
    """Collects settings and notes; `finish` drops what the schema refuses and says so."""

    def __init__(
        self, server: Server, hidden: Hidden, owned: Sequence[tuple[str, int, int]] = ()
    ) -> None:
        self.server = server
        self.owned = owned
        """Kind, number on one host and bytes of the GPUs that hosts have."""
        self.fields: dict[str, Any] = {}
        self._hidden = hidden
        self._mapped: list[Mapped] = []
        self._changed: list[Changed] = []
        self._questions: list[Question] = []
        self._not_carried: list[NotCarried] = []

    def carry(self, flag: str, field: str, value: Any) -> None:
        self._set(field, value)
        self._mapped.append(Mapped(flag=self._show(flag), field=field, value=self.fields[field]))

    def change(self, flag: str, field: str, value: Any, reason: str) -> None:
        """Set a field that means something else than the flag, and say what."""
        self._set(field, value)
        self._changed.append(
            Changed(flag=self._show(flag), field=field, value=self.fields[field], reason=reason)
        )

    def ask(
        self,
        flag: str | None,
        field: str,
        question: str,
        choices: Sequence[Choice] = (),
        *,
        first: bool = False,
    ) -> None:
        """Leave a decision to the reader; the first choice must be what `fields` says now."""
        self._questions.insert(
            0 if first else len(self._questions),
            Question(
                flag=self._show(flag) if flag else None,
                field=field,
                question=self._hidden.text(question),
                choices=tuple(choices),
            ),
        )

    def leave(self, flag: str, reason: str) -> None:
        self._not_carried.append(
            NotCarried(flag=self._show(flag), reason=self._hidden.text(reason))
        )

    def move(self, field: str, to: str, value: Any) -> None:
        """Set another field in place of one, with what was said of it."""
        del self.fields[field]
        self.fields[to] = value
        self._mapped = [_moved(each, field, to, value) for each in self._mapped]
        self._changed = [_moved(each, field, to, value) for each in self._changed]
        self._questions = [_question_about(each, field, to) for each in self._questions]

    def give_up(self, field: str, reason: str) -> None:
        """Take a field out again and say why; one that is not set is nothing to say."""
        if field in self.fields:
            self._drop(field, reason)

    def note_origin(self, flag: str, word: Word, field: str) -> None:
        """Say that a value is the default of a variable that the machine may set otherwise."""
        for name in word.defaulted:
            self._changed.append(
                Changed(
                    flag=self._show(flag),
                    field=field,
                    value=self.fields.get(field),
                    reason=f"The default of `${name}`; where that is set, its value counts.",
                )
            )

    def finish(self, secrets: tuple[OfferedSecret, ...]) -> CommandImport:
        self._drop_refused()
        content = nested(self.fields)
        spec = parse_mapping(content).spec
        return CommandImport(
            server=self.server.value,
            text=write_yaml(spec) if spec else _plain_yaml(content),
            complete=spec is not None,
            mapped=tuple(self._mapped),
            changed=tuple(self._changed),
            questions=tuple(self._questions),
            not_carried=tuple(self._not_carried),
            secrets=secrets,
        )

    def _set(self, field: str, value: Any) -> None:
        self.fields.pop(field, None)
        self._forget(field)
        self.fields[field] = self._hidden.data(value)

    def _forget(self, field: str) -> None:
        """A later flag for the same field wins, as on the command line."""
        self._mapped = [each for each in self._mapped if each.field != field]
        self._changed = [each for each in self._changed if each.field != field]

    def _drop_refused(self) -> None:
        for _ in range(len(self.fields) + 1):
            refused = {
                field: error.message
                for error in parse_mapping(nested(self.fields)).errors
                for field in self.fields
                if error.path == field or error.path.startswith(f"{field}.")
            }
            if not refused:
                return
            for field, message in refused.items():
                self._drop(field, message)

    def _drop(self, field: str, message: str) -> None:
        del self.fields[field]
        noted: list[Mapped | Changed] = [*self._mapped, *self._changed]
        flags = [each.flag for each in noted if each.field == field]
        self._forget(field)
        self.leave(flags[0] if flags else field, message)
        if field == REPOSITORY:
            self.ask(flags[0] if flags else None, field, "Which checkpoint is served?")

    def _show(self, flag: str) -> str:
        text = self._hidden.text(flag)
        return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


Note = TypeVar("Note", Mapped, Changed)


def _moved(note: Note, field: str, to: str, value: Any) -> Note:
    return replace(note, field=to, value=value) if note.field == field else note


def _question_about(question: Question, field: str, to: str) -> Question:
    if question.field != field:
        return question
    choices = tuple(
        replace(each, patch={to if path == field else path: v for path, v in each.patch.items()})
        for each in question.choices
    )
    return replace(question, field=to, choices=choices)


def nested(fields: Mapping[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {"trt_llm": {"build": {}}}
    for path, value in fields.items():
        set_at(content, path, value)
    return content


def _plain_yaml(content: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100))
