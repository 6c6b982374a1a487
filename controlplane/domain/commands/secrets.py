"""Secrets that stand in a command: found, named, and kept out of everything else."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.domain.commands.report import OfferedSecret
from controlplane.domain.commands.words import Word
from controlplane.domain.redaction import Redactor
from controlplane.domain.spec.checkpoint_repository import DEFAULT_SECRET_NAME

HUB_VARIABLES = frozenset(
    {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN", "HUGGINGFACE_TOKEN",
     "HF_API_TOKEN", "HUGGING_FACE_TOKEN"}
)  # fmt: skip
_CALLER_VARIABLES = frozenset({"VLLM_API_KEY", "API_KEY", "OPENAI_API_KEY"})
_SECRET_NAME = re.compile(
    r"(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)", re.I
)
_NOT_SECRET = re.compile(r"TOKENI[ZS]|MAX_.*TOKENS?|NUM_.*TOKENS?|TOKENS?_PER|_TOKENS$", re.I)
_SHORTEST = 8
"""Shorter values are words as often as secrets: taken from their flag, not hunted elsewhere."""

_HUB_REASON = "Opens the checkpoint on the hub. Make a secret of this name; the config lists it."
_CALLER_REASON = (
    "Callers of an endpoint here show an API key of Enginehouse. Make the key under API keys, or "
    "keep this value as a secret for what sends it."
)
_OTHER_REASON = "Make a secret of this name and list it under `secrets` if the engine reads it."


@dataclass(kw_only=True)
class CommandSecrets:
    """Names to offer, and the values to keep out of every answer."""

    offered: dict[str, OfferedSecret] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)

    def hub_token(self, found_in: str, value: Word) -> None:
        self._offer(DEFAULT_SECRET_NAME, found_in, _HUB_REASON, value)

    def caller_key(self, found_in: str, value: Word) -> None:
        self._offer("vllm_api_key", found_in, _CALLER_REASON, value)

    def other(self, name: str, found_in: str, value: Word) -> None:
        self._offer(re.sub(r"[^-._a-zA-Z0-9]", "_", name)[:253].lower(), found_in, _OTHER_REASON,
                    value)  # fmt: skip

    def _offer(self, name: str, found_in: str, reason: str, value: Word) -> None:
        self.offered.setdefault(name, OfferedSecret(name=name, found_in=found_in, reason=reason))
        if not value.unknown:
            self.values += [text for text in value.text.split() if len(text) >= _SHORTEST]

    def hidden(self) -> "Hidden":
        return Hidden(self.values)


class Hidden:
    """Takes found secrets, and what looks like one, out of text and data."""

    def __init__(self, values: list[str]) -> None:
        self._redactor = Redactor(values)

    def text(self, text: str) -> str:
        return self._redactor.text(text)

    def data(self, value: Any) -> Any:
        return self._redactor.data(value)


def is_secret_variable(name: str, value: str = "") -> bool:
    named = _SECRET_NAME.search(name) is not None and _NOT_SECRET.search(name) is None
    return named or Redactor().text(value) != value


def take_environment(environment: Mapping[str, Word], secrets: CommandSecrets) -> tuple[str, ...]:
    """Return the names of the variables that hold no secret; the secrets go to `secrets`."""
    plain: list[str] = []
    for name, value in environment.items():
        if name in HUB_VARIABLES:
            secrets.hub_token(name, value)
        elif name in _CALLER_VARIABLES:
            secrets.caller_key(name, value)
        elif is_secret_variable(name, value.text):
            secrets.other(name, name, value)
        else:
            plain.append(name)
    return tuple(plain)
