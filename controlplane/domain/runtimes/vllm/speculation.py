"""`--speculative-config` and its older flags -> `speculator`."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.domain.commands.draft import Draft
from controlplane.domain.commands.lookahead import REASON, SPECULATOR, lookahead_for
from controlplane.domain.commands.numbers import clean, json_value, whole_number
from controlplane.domain.commands.options import Option
from controlplane.domain.commands.report import Choice
from controlplane.domain.runtimes.vllm.drafter import CLASS
from controlplane.domain.runtimes.vllm.engine_options import Held

_FROM_TEXT = frozenset({"ngram", "[ngram]", "ngram_gpu", "suffix"})
_DEFAULT_DRAFT = {"suffix": 24}
_FLAGS = {"speculative-model": "model", "num-speculative-tokens": "num_speculative_tokens",
          "spec-method": "method", "spec-model": "model",
          "spec-tokens": "num_speculative_tokens"}  # fmt: skip


def carry_speculation(draft: Draft, options: Sequence[Option]) -> None:
    """Set a lookahead speculator for n-gram methods, and ask about all others."""
    if not options:
        return
    flag = " ".join(option.text for option in options)
    settings = _merged(options)
    method = str(settings.get("method") or settings.get("model") or "").lower()
    if method in _FROM_TEXT or settings.get("model") == CLASS:
        given = settings.get("num_speculative_tokens")
        drafted = given if isinstance(given, int) and given > 0 else _DEFAULT_DRAFT.get(method, 5)
        draft.change(flag, SPECULATOR, lookahead_for(drafted), REASON)
        return
    named = f"`{method}`" if method else "This"
    draft.ask(
        flag,
        SPECULATOR,
        f"{named} drafts with weights of its own or in a way that is not told here, and the config "
        "drafts by lookahead only. Without a speculator the answers stay the same and come slower. "
        "Which one?",
        (
            Choice(label="No speculation", patch={SPECULATOR: None}),
            Choice(label="Lookahead decoding", patch={SPECULATOR: lookahead_for(_count(settings))}),
        ),
    )


def held_drafts(options: Sequence[Option]) -> tuple[Held, ...]:
    """Return drafts by the checkpoint's own prediction layers; empty for every other kind."""
    settings = _merged(options)
    method, count = (
        str(settings.get("method") or "").lower(),
        settings.get("num_speculative_tokens", 1),
    )
    if not method.endswith("mtp") or not isinstance(count, int) or count < 1:
        return ()
    others = sorted(settings.keys() - {"method", "num_speculative_tokens"})
    words = ", ".join(f"`{name}`" for name in others)
    return (
        Held(
            flag=" ".join(option.text for option in options),
            path="speculative_config",
            value={"decoding_type": "MTP", "num_nextn_predict_layers": count},
            reason=f"Of it, {words} has no setting." if others else "",
        ),
    )


def _merged(options: Sequence[Option]) -> dict[str, Any]:
    """Return JSON, dotted and older flags as one mapping, later ones on top."""
    merged: dict[str, Any] = {}
    for option in options:
        text = clean(option.value)
        if option.name in _FLAGS:
            merged[_FLAGS[option.name]] = _plain(text)
        elif option.path:
            merged[option.path[-1].replace("-", "_")] = _plain(text)
        elif isinstance(given := json_value(text), Mapping):
            merged |= given
    return merged


def _plain(text: str) -> Any:
    number = whole_number(text)
    return text if number is None else number


def _count(settings: Mapping[str, Any]) -> int:
    count = settings.get("num_speculative_tokens")
    return count if isinstance(count, int) and count > 0 else 5
