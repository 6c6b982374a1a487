"""How a checkpoint wants its embeddings made, as its sentence-transformers files say."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workers.engine.errors import CheckpointRefused
from workers.engine.task import SENTENCE_MODULES

POOLING_FILE = "1_Pooling/config.json"
MODES: Mapping[str, str] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Older flag -> name; several at once are joined in this order."""

_TRANSFORMERS = ("Transformer", "MLMTransformer")


@dataclass(frozen=True, kw_only=True)
class Splade:
    """How the scores of the vocabulary become one sparse vector."""

    strategy: str = "max"
    twice: bool = False
    """Whether the logarithm is taken of the logarithm again."""


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """The steps after the model, and what is put before a text."""

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
        """How texts are pooled, for reports."""
        return "splade" if self.splade else "+".join(self.modes)


def read_sentence(folder: Path, architecture: str) -> Sentence:
    """Give back the steps of the folder. Raises: `CheckpointRefused` that names what is missing."""
    if architecture.endswith("ForMaskedLM") and not (folder / SENTENCE_MODULES).exists():
        return Sentence(splade=Splade())  # all that a language head by itself can be for
    names = _modules(folder)
    first = names[0][0] if names else ""
    if first not in _TRANSFORMERS or len(names) < 2:
        raise _unknown(folder, [name for name, _ in names])
    limits = _read(folder, "sentence_bert_config.json")
    named = _read(folder, "config_sentence_transformers.json")
    rest = [name for name, _ in names[2:]]
    if rest != sorted(rest) or not set(rest) <= {"Dense", "Normalize"}:  # D before N
        raise _unknown(folder, [name for name, _ in names])
    return Sentence(
        **_pooling(folder, *names[1]),
        dense=tuple(folder / path for name, path in names[2:] if name == "Dense"),
        normalizes="Normalize" in rest,
        max_length=limits.get("max_seq_length"),
        lowers=bool(limits.get("do_lower_case")),
        prompts={key: text for key, text in (named.get("prompts") or {}).items() if text},
        default_prompt=named.get("default_prompt_name"),
    )


def _modules(folder: Path) -> list[tuple[str, str]]:
    """Kind and folder of each step, in their order."""
    if not (folder / SENTENCE_MODULES).exists():
        raise CheckpointRefused(
            f"`{folder}` has no {SENTENCE_MODULES}, which says how an embedding is pooled; add it "
            f"and {POOLING_FILE}, as sentence-transformers saves them."
        )
    return [(str(each["type"]).rpartition(".")[2], each["path"]) for each in _list(folder)]


def _pooling(folder: Path, kind: str, path: str) -> dict[str, Any]:
    name = f"{path}/config.json"
    if kind not in ("Pooling", "SpladePooling"):
        raise _unknown(folder, [kind])
    if not (folder / name).exists():
        raise CheckpointRefused(f"`{folder}` has no {name}, which says how an embedding is pooled.")
    settings = _read(folder, name)
    if kind == "SpladePooling":
        return {
            "splade": Splade(
                strategy=settings.get("pooling_strategy", "max"),
                twice=settings.get("activation_function") == "log1p_relu",
            )
        }
    return {"modes": _modes(settings), "includes_prompt": settings.get("include_prompt", True)}


def _modes(settings: Mapping[str, Any]) -> tuple[str, ...]:
    named = settings.get("pooling_mode")
    if named is None:
        named = [mode for flag, mode in MODES.items() if settings.get(flag)] or ["mean"]
    modes = (named,) if isinstance(named, str) else tuple(named)
    if unknown := [mode for mode in modes if mode not in MODES.values()]:
        raise CheckpointRefused(
            f"The checkpoint pools by `{unknown[0]}`; the native engine knows "
            f"{', '.join(MODES.values())} and SPLADE."
        )
    return modes


def _list(folder: Path) -> Sequence[Mapping[str, Any]]:
    found = _parsed(folder / SENTENCE_MODULES)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise CheckpointRefused(f"`{folder / SENTENCE_MODULES}` is no list of modules.")
    return sorted(found, key=lambda each: each["idx"])


def _read(folder: Path, name: str) -> Mapping[str, Any]:
    path = folder / name
    found = _parsed(path) if path.exists() else {}
    if not isinstance(found, dict):
        raise CheckpointRefused(f"`{path}` is a JSON {type(found).__name__}; an object is needed.")
    return found


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise CheckpointRefused(f"`{path}` is not JSON: {error}.") from None


def _unknown(folder: Path, names: Sequence[str]) -> CheckpointRefused:
    return CheckpointRefused(
        f"`{folder / SENTENCE_MODULES}` asks for {' → '.join(names) or 'nothing'}; the native "
        "engine runs Transformer → Pooling or SpladePooling → Dense → Normalize."
    )
