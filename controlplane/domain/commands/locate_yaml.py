"""YAML -> the serving command in it: compose, Kubernetes, a list of arguments, a config file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controlplane.domain.commands.anchors import (
    TRTLLM_NAMES,
    VLLM_NAMES,
    names_of,
    server_of_flags,
)
from controlplane.domain.commands.docker_run import add_folder
from controlplane.domain.commands.expansions import literal_word
from controlplane.domain.commands.invocation import (
    CommandContext,
    Invocation,
    RefusedCommandError,
    Server,
)
from controlplane.domain.commands.locate_shell import find_in_shell, find_in_words
from controlplane.domain.commands.numbers import json_value
from controlplane.domain.commands.shell import ShellTextError, read_commands
from controlplane.domain.commands.words import Word, fill_in
from controlplane.domain.spec.document import Document, Unreadable
from controlplane.domain.spec.text import read_data, read_text

_LOOKS_LIKE_YAML = re.compile(r"^[ \t]*(-\s|[\[{]|[\"']?[\w./-]+[\"']?\s*:(\s|$))", re.M)
_DOCUMENT_MARK = re.compile(r"^---[ \t]*$", re.M)
_TEMPLATE_LINE = re.compile(r"^[ \t]*\{\{[^\n]*\}\}[ \t]*$", re.M)
_TEMPLATE = re.compile(r"\{\{([^{}\n]*)\}\}")
_COMMAND_KEYS = ("entrypoint", "command", "args", "start_command")
_GPU_KEYS = ("nvidia.com/gpu", "amd.com/gpu")
_PASTED = "pasted.yaml"


def find_in_yaml(text: str) -> Invocation | None:
    """Return the first serving command in YAML text, or None where there is none.

    Raises RefusedCommandError for a command in it that cannot be read.
    """
    if not _LOOKS_LIKE_YAML.search(text):
        return None
    for piece in _DOCUMENT_MARK.split(_TEMPLATE_LINE.sub("", text)):
        plain = _TEMPLATE.sub(r"$(\1)", piece)
        document = _read(plain)
        if not isinstance(document, Document):
            continue
        if located := _find(document.data) or _settings_file(document.data, plain):
            return located
    return None


def _read(text: str) -> Document | Unreadable:
    """Return the data of YAML text, or of a JSON list by JSON's own rules."""
    listed = json_value(text) if text.lstrip().startswith("[") else None
    return read_data(listed) if isinstance(listed, list) else read_text(text)


def _find(data: Any) -> Invocation | None:
    if isinstance(data, list) and data and all(_is_plain(item) for item in data):
        return find_in_words(_literal(data), context=CommandContext()) or _bare_flags(data)
    for mapping in _mappings(data):
        if located := _in_container(mapping):
            return located
    return None


def _settings_file(data: Any, text: str) -> Invocation | None:
    server = _server_of_file(data) if isinstance(data, Mapping) else None
    if server is None:
        return None
    return Invocation(
        server=server,
        arguments=(Word(text="--config"), Word(text=_PASTED)),
        context=CommandContext(files={_PASTED: text}),
    )


def _server_of_file(data: Mapping[str, Any]) -> Server | None:
    names = {str(name).replace("-", "_") for name in data}
    if "trt_llm" in names and not names & VLLM_NAMES:
        raise RefusedCommandError(
            "This is a `config.yaml` already, not a command.",
            "Paste it into the editor as it is.",
        )
    if names & TRTLLM_NAMES:
        return Server.TRTLLM
    if names & (VLLM_NAMES - {"model"}) or ("model" in names and _is_flat(data)):
        return Server.VLLM
    return None


def _bare_flags(items: Sequence[Any]) -> Invocation | None:
    words = _literal(items)
    server = server_of_flags(words)
    return Invocation(server=server, arguments=words) if server else None


def _mappings(data: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every mapping that says what a container runs, the outermost first."""
    if isinstance(data, Mapping):
        if any(key in data for key in _COMMAND_KEYS):
            yield data
        for value in data.values():
            yield from _mappings(value)
    elif isinstance(data, list):
        for item in data:
            yield from _mappings(item)


def _in_container(container: Mapping[str, Any]) -> Invocation | None:
    words = [word for key in _COMMAND_KEYS for word in _words(container.get(key))]
    image = container.get("image")
    context = _context(container)
    single = container.get("command") or container.get("start_command") or container.get("args")
    if isinstance(single, str) and len([key for key in _COMMAND_KEYS if key in container]) == 1:
        located = find_in_shell(single, context=context)
        if located:
            return located
    if not words:
        return None
    kind = image if isinstance(image, str) else _kind_of(words)
    located = find_in_words(words, context=context, image=kind)
    return replace(located, context=_merged(located.context, context)) if located else None


def _kind_of(words: Sequence[Word]) -> str | None:
    """Return a stand-in for an image that is not named, where the flags can only be vLLM's."""
    return "vllm" if names_of(words) & (VLLM_NAMES - {"model", "quantization"}) else None


def _merged(inner: CommandContext, outer: CommandContext) -> CommandContext:
    return replace(inner, environment={**outer.environment, **inner.environment})


def _words(given: Any) -> tuple[Word, ...]:
    if isinstance(given, str):
        try:
            commands = read_commands(given)
        except ShellTextError as error:
            raise RefusedCommandError(str(error), "Paste the command whole.") from None
        return tuple(
            word for command in commands for raw in command.words for word in fill_in(raw, {})
        )
    return _literal(given) if isinstance(given, list) else ()


def _literal(items: Sequence[Any]) -> tuple[Word, ...]:
    """Return list items as words; `--flag value` in one item, a frequent slip, as two."""
    words: list[Word] = []
    for item in items:
        if not _is_plain(item):
            continue
        text = _text(item)
        flag, space, value = text.partition(" ")
        if flag.startswith("-") and space and "=" not in flag and "\n" not in text:
            words += [*fill_in(literal_word(flag), {}), *_words(value)]
        else:
            words += fill_in(literal_word(text), {})
    return tuple(words)


def _context(container: Mapping[str, Any]) -> CommandContext:
    folders: dict[str, str] = {}
    for volume in container.get("volumes") or ():
        if isinstance(volume, str):
            add_folder(folders, volume)
    return CommandContext(
        environment=_environment(container.get("environment") or container.get("env")),
        folders=folders,
        gpus=_gpus(container),
    )


def _environment(given: Any) -> dict[str, Word]:
    """Return what compose (mapping or list) and Kubernetes (list of objects) set."""
    variables: dict[str, Word] = {}
    if isinstance(given, Mapping):
        variables = {str(name): _value(value, str(name)) for name, value in given.items()}
    elif isinstance(given, list):
        for item in given:
            if isinstance(item, str):
                name, joined, value = item.partition("=")
                variables[name] = _value(value if joined else None, name)
            elif isinstance(item, Mapping) and isinstance(item.get("name"), str):
                variables[item["name"]] = _value(item.get("value"), item["name"])
    return variables


def _value(value: Any, name: str) -> Word:
    if value is None or not _is_plain(value):
        return Word(text=f"${name}", unknown=(f"${name}",))
    return next(iter(fill_in(literal_word(_text(value)), {})), Word(text=""))


def _gpus(container: Mapping[str, Any]) -> int | None:
    """Return the count in Kubernetes limits or in compose's device reservations."""
    for path in (("resources", "limits"), ("resources", "requests")):
        limits = _inside(container, path)
        for key in _GPU_KEYS:
            if isinstance(limits, Mapping) and key in limits:
                return _count(limits[key])
    devices = _inside(container, ("deploy", "resources", "reservations", "devices"))
    first = devices[0] if isinstance(devices, list) and devices else None
    return _count(first.get("count")) if isinstance(first, Mapping) else None


def _inside(data: Any, path: Sequence[str]) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def _count(given: Any) -> int | None:
    text = str(given)[:6]
    return int(text) if text.isascii() and text.isdecimal() and int(text) > 0 else None


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) or value is None


def _is_flat(data: Mapping[str, Any]) -> bool:
    return all(_is_plain(value) for value in data.values())


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
