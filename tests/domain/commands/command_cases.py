"""Public command lines, put back into the form they came from."""

import shlex
from collections.abc import Mapping
from typing import Any

from tests.domain.cases import lines


def command_cases() -> list[dict[str, Any]]:
    """Return the facts of every command, one a line of the file."""
    return lines("vllm_commands.jsonl")


def as_command(facts: Mapping[str, Any]) -> str:
    """Return the `vllm serve` line, or the container's arguments, of these facts."""
    if facts["kind"] == "yaml args":
        return _as_container(facts)
    words = ["vllm", "serve"]
    if "--model" not in facts["flags"] and "model" in facts:
        words.append(_quoted(facts["model"]))
    return " ".join([*words, *(_quoted(word) for word in _arguments(facts["flags"]))])


def _arguments(flags: Mapping[str, Any]) -> list[str]:
    words = []
    for flag, value in flags.items():
        words.append(flag)
        if value is True:
            continue
        many = flag in ("--lora-modules", "--served-model-name")
        words += value.split() if many and "{" not in value else [value]
    return words


def _quoted(word: str) -> str:
    """Return the word as a script writes it: variables open, everything else as one word."""
    bare = word.strip('"')
    return f'"{bare}"' if "$" in bare or "{{" in bare else shlex.quote(word)


def _as_container(facts: Mapping[str, Any]) -> str:
    words = _arguments(facts["flags"])
    if "--model" not in facts["flags"] and "model" in facts:
        words.insert(0, facts["model"])
    items = "".join(f"    - {_yaml(word)}\n" for word in words)
    return f"containers:\n- name: model\n  image: vllm/vllm-openai:latest\n  args:\n{items}"


def _yaml(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"
