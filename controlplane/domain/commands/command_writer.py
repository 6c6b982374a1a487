"""A config on its way out: which of its settings were said, and which could not be."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controlplane.domain.commands.report import Changed, NotCarried
from controlplane.domain.spec import Spec
from controlplane.domain.spec.checkpoint_repository import DEFAULT_SECRET_NAME
from controlplane.domain.spec.choices import CheckpointSource

_WHOLE = frozenset(
    {"trt_llm.build.checkpoint_repository", "trt_llm.build.speculator",
     "trt_llm.build.lora_adapters", "trt_llm.runtime.patch_kwargs", "resources.accelerator",
     "environment_variables", "model_metadata.example_model_input", "enginehouse.vllm_args",
     "model_metadata.enginehouse.vllm_args"}
)  # fmt: skip
_REASONS: Mapping[str, str] = {
    "resources.accelerator": "A command line takes the GPUs of the machine that it is run on.",
    "resources": "A command line takes what the machine has.",
    "secrets": "Put the secret's value into the environment that the engine reads.",
    "enginehouse": "It steers builds and placement here, and no engine.",
    "model_metadata": "It describes the model to people and tools, not to an engine.",
    "model_name": "It names the config here; an engine is told its served name alone.",
    "description": "It is for people.",
    "trt_llm.build.quantization_config": "Calibration happens in the build; serve its artifact.",
    "trt_llm.build.num_builder_gpus": "It is about the build.",
    "trt_llm.runtime.total_token_limit": "The gateway admits requests, not the engine.",
    "trt_llm.runtime.webserver_default_route": "The gateway routes requests, not the engine.",
    "trt_llm.version_overrides": "Versions of the hosted product's images have no effect.",
}
NO_FLAG = "The command line has no flag for it."


class CommandWriter:
    """Holds the words of a command and keeps account of every setting that the config gives."""

    def __init__(self, spec: Spec, reasons: Mapping[str, str] | None = None) -> None:
        self.spec = spec
        self._reasons = _REASONS if reasons is None else reasons
        self.words: list[str] = []
        self.changed: list[Changed] = []
        self._left = _given(spec)
        self._differing = frozenset(_differing(spec))
        self._not_carried: list[NotCarried] = []

    def gives(self, field: str) -> bool:
        return field in self._left

    def say(self, field: str, *words: object) -> None:
        self._left.pop(field, None)
        self._add(words)

    def change(self, field: str, words: Sequence[object], reason: str) -> None:
        """Add words that come nearest to the field, and say what differs."""
        value = self._left.pop(field, None)
        self._add(words)
        flag = str(words[0]) if words else field
        self.changed.append(Changed(flag=flag, field=field, value=value, reason=reason))

    def leave(self, field: str, reason: str) -> None:
        if self._left.pop(field, None) is not None:
            self._not_carried.append(NotCarried(flag=field, reason=reason))

    def miss(self, field: str, reason: str) -> None:
        """Say that a part of a field, which the rest of it says, has no counterpart."""
        self._not_carried.append(NotCarried(flag=field, reason=reason))

    def _add(self, words: Sequence[object]) -> None:
        texts = [str(word) for word in words]
        if len(texts) == 2 and texts[1].startswith("-"):
            texts = ["=".join(texts)]
        self.words += texts

    def not_carried(self) -> tuple[NotCarried, ...]:
        rest = [
            NotCarried(flag=field, reason=_reason(field, self._reasons))
            for field in self._left
            if field in self._differing
        ]
        return (*self._not_carried, *rest)

    def environment(self) -> tuple[str, ...]:
        """Return the assignment that hands the hub's token over, where the config lists it."""
        place = self.spec.checkpoint
        if place is None or place.source is not CheckpointSource.HF:
            return ()
        if place.runtime_secret_name not in self.spec.secret_names:
            return ()
        self.say(f"secrets.{place.runtime_secret_name}")
        if place.runtime_secret_name != DEFAULT_SECRET_NAME:
            self.changed.append(
                Changed(
                    flag="HF_TOKEN",
                    field="trt_llm.build.checkpoint_repository.runtime_secret_name",
                    value=place.runtime_secret_name,
                    reason="The engine reads `HF_TOKEN`, whatever the secret is called.",
                )
            )
        return ('HF_TOKEN="$HF_TOKEN"',)


def command_text(environment: Sequence[str], program: Sequence[str], words: Sequence[str]) -> str:
    """Return a shell command with one flag a line; every word is quoted as far as it must be."""
    lines = [" ".join([*environment, *program])]
    for word in words:
        if word.startswith("--"):
            lines.append(f"  {shlex.quote(word)}")
        else:
            lines[-1] += f" {shlex.quote(word)}"
    return " \\\n".join(lines) + "\n"


def _given(spec: Spec) -> dict[str, Any]:
    given = spec.model_dump(mode="json", exclude_unset=True)
    return {
        field: value
        for field, value in _leaves(given, "")
        if value is not None or field.startswith("secrets.")
    }


def _differing(spec: Spec) -> Iterator[str]:
    """Yield the given fields whose value is not the default anyway."""
    content = spec.model_dump(mode="json", exclude_unset=True, exclude_defaults=True)
    return (field for field, _ in _leaves(content, ""))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value and path not in _WHOLE:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif value != {}:
        yield path, value


def _reason(field: str, reasons: Mapping[str, str]) -> str:
    steps = field.split(".")
    for length in range(len(steps), 0, -1):
        if reason := reasons.get(".".join(steps[:length])):
            return reason
    return NO_FLAG
