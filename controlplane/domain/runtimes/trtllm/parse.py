"""A `trtllm-serve` line and its YAML file -> a config and what is to be said of it.

Flags and file become one set of engine keys, the file on top, as the server itself does it. Keys
that the v1 stack has no field for make it a v2 config, which passes them on as given.
"""

from collections.abc import Mapping

from controlplane.domain.commands.checkpoints import (
    ask_checkpoint,
    carry_checkpoint,
    carry_revision,
)
from controlplane.domain.commands.command_context import ask_accelerator
from controlplane.domain.commands.draft import Draft
from controlplane.domain.commands.invocation import CommandContext, Invocation
from controlplane.domain.commands.numbers import clean, fraction, whole_number
from controlplane.domain.commands.options import Arguments, Option, no_number, read_options
from controlplane.domain.commands.secrets import CommandSecrets, is_secret_variable
from controlplane.domain.commands.words import Word
from controlplane.domain.commands.yaml_file import read_settings
from controlplane.domain.runtimes.trtllm.engine_keys import EngineKeys, carry_engine_keys
from controlplane.domain.runtimes.trtllm.flags import ENGINE_KEYS, GRAMMAR, REASONS

_OTHER_BACKEND = "Engines here run on the PyTorch backend, which newer versions have alone."
_SAME_BACKEND = "Every engine gets it anyway."
_NO_FILE = "The file is not here; paste its content together with the line."


def read(invocation: Invocation) -> tuple[Arguments, CommandSecrets]:
    arguments = read_options(invocation.arguments, GRAMMAR)
    secrets = CommandSecrets()
    kept = tuple(option for option in arguments.options if not _take_secret(option, secrets))
    return Arguments(options=kept, positionals=arguments.positionals, rest=arguments.rest), secrets


def parse(
    draft: Draft, arguments: Arguments, context: CommandContext, secrets: CommandSecrets
) -> None:
    options = {option.name: option for option in arguments.options}
    draft.fields |= {"trt_llm.build.base_model": "decoder"}
    keys = EngineKeys()
    for option in arguments.options:
        _sort(draft, option, keys, context)
    _carry_model(draft, arguments, options, keys, context, secrets)
    carry_engine_keys(draft, keys, context)
    draft.carry("trtllm-serve", "enginehouse.runtime", "trtllm")
    if arguments.rest:
        text = " ".join(word.text for word in arguments.rest)
        draft.leave(f"-- {text}", "What follows `--` belongs to another program.")
    ask_accelerator(draft, context)


def _take_secret(option: Option, secrets: CommandSecrets) -> bool:
    known = option.name in REASONS or option.name in GRAMMAR.names
    if known or not option.values or not is_secret_variable(option.name):
        return False
    secrets.other(option.name, option.flag, option.value)
    return True


def _sort(draft: Draft, option: Option, keys: EngineKeys, context: CommandContext) -> None:
    if option.name in ENGINE_KEYS:
        _add_key(draft, option, keys)
    elif option.name == "config":
        _add_file(draft, option, keys, context)
    elif option.name == "backend":
        is_ours = clean(option.value) == "pytorch"
        draft.leave(option.text, _SAME_BACKEND if is_ours else _OTHER_BACKEND)
    elif option.name in REASONS:
        draft.leave(option.text, REASONS[option.name])
    elif option.name not in GRAMMAR.names:
        draft.leave(option.text, "No setting of a config means this.")


def _add_key(draft: Draft, option: Option, keys: EngineKeys) -> None:
    text = clean(option.value)
    if option.name == "enable_chunked_prefill":
        keys.add(option.text, option.name, option.is_on)
    elif option.value.unknown:
        draft.ask(
            option.text, option.name, f"Which value? `{text}` is set outside of what was pasted."
        )
    elif (value := _number(text)) is not None:
        keys.add(option.text, option.name, value)
        keys.words[option.name] = option.value
    else:
        draft.leave(option.text, no_number(option))


def _number(text: str) -> int | float | None:
    whole = whole_number(text)
    return fraction(text) if whole is None else whole


def _add_file(draft: Draft, option: Option, keys: EngineKeys, context: CommandContext) -> None:
    text = context.files.get(clean(option.value))
    if text is None:
        draft.leave(option.text, _NO_FILE)
        return
    for name, value in read_settings(text).items():
        keys.add(name, name, value, from_file=True)


def _carry_model(
    draft: Draft,
    arguments: Arguments,
    options: Mapping[str, Option],
    keys: EngineKeys,
    context: CommandContext,
    secrets: CommandSecrets,
) -> None:
    in_file = keys.take("model")
    named = options.get("model")
    if arguments.positionals:
        carry_checkpoint(draft, "", arguments.positionals[0], context, secrets)
    elif named and named.values:
        carry_checkpoint(draft, named.flag, named.value, context, secrets)
    elif isinstance(in_file, str):
        carry_checkpoint(draft, "model", Word(text=in_file), context, secrets)
    else:
        ask_checkpoint(draft, None, "The line names no model.")
    for word in arguments.positionals[1:]:
        draft.leave(word.text, "It belongs to no flag.")
    carry_revision(draft, options.get("revision"))
