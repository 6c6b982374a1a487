"""How a checkpoint wants its embeddings made, as its sentence-transformers files say."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controlplane.domain.facts.pooling import LENGTH_FILES
from controlplane.domain.json_text import read_json
from workers.engine.errors import CheckpointRefused
from workers.engine.task import SENTENCE_MODULES

MODES: Mapping[str, str] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Older flag -> name; several at once are joined in this order."""

_PROMPTS = "config_sentence_transformers.json"
STEPS = re.compile("(MLM)?Transformer (Splade)?Pooling( Dense)*( Normalize)*")


@dataclass(frozen=True, kw_only=True)
class Splade:
    """How the scores of the vocabulary become one sparse vector."""

    strategy: str = "max"
    twice: bool = False
    """Whether the logarithm is taken of the logarithm again."""


@dataclass(frozen=True, kw_only=True)
class Sentence:
    modes: tuple[str, ...] = ()
    splade: Splade | None = None
    includes_prompt: bool = True
    dense: tuple[Path, ...] = ()
    normalizes: bool = False
    max_length: int | None = None
    lowers: bool = False
    prompts: Mapping[str, str] = field(default_factory=dict)
    default_prompt: str | None = None

    @property
    def words(self) -> str:
        return "splade" if self.splade else "+".join(self.modes)


def read_sentence(folder: Path, architecture: str) -> Sentence:
    """Give back the steps of the folder. Raises: `CheckpointRefused` that names what is missing."""
    if architecture.endswith("ForMaskedLM") and not (folder / SENTENCE_MODULES).exists():
        return Sentence(splade=Splade())  # all that a language head by itself can be for
    steps = _steps(folder)
    limits, named = _read_limits(folder), _read(folder, _PROMPTS)
    kind, path = steps[1]
    return Sentence(
        **_pooling(kind, _read(folder, f"{path}/config.json", is_needed=True)),
        dense=tuple(folder / path for kind, path in steps if kind == "Dense"),
        normalizes=any(kind == "Normalize" for kind, _ in steps),
        max_length=limits.get("max_seq_length"),
        lowers=bool(limits.get("do_lower_case")),
        prompts=dict(named.get("prompts") or {}),
        default_prompt=named.get("default_prompt_name"),
    )


def default_prompt(folder: Path) -> str | None:
    """Give back the text that stands before a request which names no prompt."""
    named = _read(folder, _PROMPTS)
    return (named.get("prompts") or {}).get(named.get("default_prompt_name"))


def processing_of(folder: Path) -> Mapping[str, Any]:
    named = (_read_limits(folder).get("processing_kwargs") or {}).get("chat_template") or {}
    return {name: each for name, each in named.items() if name != "restore_suffix"}


def _read_limits(folder: Path) -> Any:
    """The first of the names under which the library has kept it."""
    return _read(folder, next((n for n in LENGTH_FILES if (folder / n).exists()), LENGTH_FILES[0]))


def _steps(folder: Path) -> Sequence[tuple[str, str]]:
    listed = _read(folder, SENTENCE_MODULES, kind=list, is_needed=True)
    try:
        modules = sorted(listed, key=lambda each: each["idx"])
        steps = [(str(each["type"]).rpartition(".")[2], each["path"]) for each in modules]
    except (TypeError, KeyError):
        raise CheckpointRefused(f"`{folder / SENTENCE_MODULES}` is no list of modules.") from None
    kinds = [kind for kind, _ in steps]
    if not STEPS.fullmatch(" ".join(kinds)):
        raise CheckpointRefused(
            f"`{folder / SENTENCE_MODULES}` asks for {' → '.join(kinds) or 'nothing'}; the native "
            "engine runs Transformer → Pooling or SpladePooling → Dense → Normalize."
        )
    return steps


def _pooling(kind: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    if kind == "SpladePooling":
        twice = settings.get("activation_function") == "log1p_relu"
        return {"splade": Splade(strategy=settings.get("pooling_strategy", "max"), twice=twice)}
    named = settings.get("pooling_mode")
    if named is None:
        named = [mode for flag, mode in MODES.items() if settings.get(flag)] or ["mean"]
    modes = (named,) if isinstance(named, str) else tuple(named)
    if unknown := [mode for mode in modes if mode not in MODES.values()]:
        raise CheckpointRefused(
            f"The checkpoint pools by `{unknown[0]}`; the native engine knows "
            f"{', '.join(MODES.values())} and SPLADE."
        )
    return {"modes": modes, "includes_prompt": settings.get("include_prompt", True)}


def _read(folder: Path, name: str, *, kind: type = dict, is_needed: bool = False) -> Any:
    path = folder / name
    if not (path.exists() or is_needed):
        return kind()
    try:
        content = read_json(path.read_bytes())
    except FileNotFoundError:
        raise CheckpointRefused(
            f"`{folder}` has no {name}, which says how an embedding is pooled; add it, as "
            "sentence-transformers saves it."
        ) from None
    except ValueError as error:
        raise CheckpointRefused(f"`{path}` is not JSON: {error}.") from None
    if not isinstance(content, kind):
        raise CheckpointRefused(
            f"`{path}` holds a {type(content).__name__}, not a {kind.__name__}."
        )
    return content
