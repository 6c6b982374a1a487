"""`--enable-lora`, `--lora-modules` and `--max-lora-rank` -> `lora_adapters`."""

from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.domain.commands.checkpoints import adapter_place
from controlplane.domain.commands.draft import ADAPTERS, Draft
from controlplane.domain.commands.invocation import CommandContext
from controlplane.domain.commands.numbers import clean, json_value, whole_number
from controlplane.domain.commands.options import Option, no_number

RANK = "trt_llm.build.lora_configuration.max_lora_rank"
DEFAULT_RANK = 16
"""What vLLM takes without `--max-lora-rank`; a config that names none takes 64."""
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""What `--max-lora-rank` takes; source: vLLM `config/lora.py`, checked 2026-11-28."""
_NAMED_BY_BUILDS = (
    "Adapters are fixed at build time: name them in `lora_adapters` with the place of their files."
)


def carry_adapters(draft: Draft, options: Mapping[str, Option], context: CommandContext) -> None:
    """Set the adapters and their rank; ask for them where the line loads them later."""
    modules = options.get("lora-modules")
    enabled = options.get("enable-lora")
    rank = options.get("max-lora-rank")
    places = dict(_places(modules, context)) if modules else {}
    if modules and places:
        draft.carry(modules.text, ADAPTERS, places)
        _leave_unread(draft, modules, len(places))
    elif modules:
        draft.ask(modules.text, ADAPTERS, f"Which adapters? {_NAMED_BY_BUILDS}")
    elif enabled and enabled.is_on:
        draft.ask(enabled.text, ADAPTERS, f"Which adapters does it serve? {_NAMED_BY_BUILDS}")
    if enabled and places:
        draft.leave(enabled.text, "Adapters that are named are on.")
    _carry_rank(draft, rank, bool(places))


def rank_for(rank: int) -> int:
    """Return the smallest rank that vLLM takes and that holds adapters of this one."""
    return next((each for each in RANKS if each >= rank), RANKS[-1])


def _carry_rank(draft: Draft, rank: Option | None, adapters: bool) -> None:
    if rank is not None:
        value = whole_number(clean(rank.value))
        if value is None:
            draft.leave(rank.text, no_number(rank))
        else:
            draft.carry(rank.text, RANK, value)
    elif adapters:
        draft.change(
            "--max-lora-rank (not given)",
            RANK,
            DEFAULT_RANK,
            "vLLM takes 16 where nothing is given, and a config 64, so it is written out.",
        )


def _places(modules: Option, context: CommandContext) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each `name=path`, `{"name": …, "path": …}`, and those in one word apart by blanks."""
    for word in modules.values:
        text = clean(word)
        pairs = [text] if text.startswith("{") else text.split()
        for pair in pairs:
            given = json_value(pair)
            if isinstance(given, Mapping):
                name, path = given.get("name"), given.get("path")
            else:
                name, _, path = pair.partition("=")
            if isinstance(name, str) and isinstance(path, str) and name and path:
                yield name, adapter_place(path, context)


def _leave_unread(draft: Draft, modules: Option, read: int) -> None:
    count = sum(1 if "{" in word.text else len(word.text.split()) for word in modules.values)
    if count > read:
        draft.leave(modules.flag, f"{count - read} of {count} adapters are not `name=path`.")
