"""The JSON files of a checkpoint that loaders read, looked at once before anything loads them.

A loader that meets nonsense in one of them breaks wherever it stands, and names no file.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from controlplane.domain.facts.modelopt_declaration import NEWEST_READ, unknown_word
from controlplane.domain.json_text import nests_deeper, read_json
from controlplane.sources import bad_file

_OBJECTS = (
    "added_tokens.json",
    "chat_template.json",
    "config.json",
    "config_sentence_transformers.json",
    "generation_config.json",
    "hf_quant_config.json",
    "model.safetensors.index.json",
    "params.json",
    "preprocessor_config.json",
    "processor_config.json",
    "quant_config.json",
    "quantize_config.json",
    "sentence_*_config.json",
    "special_tokens_map.json",
    "tekken.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "video_preprocessor_config.json",
    "vocab.json",
    "*/config.json",
)
_LISTS = ("modules.json",)
_MOST_BYTES = 256 * 1024**2
"""The largest vocabularies of published models take 35 MB."""
_MOST_LEVELS = 100
"""The parser behind tokenizer.json gives up at 128; published files nest a dozen."""


def check_json_files(folder: Path, name: str) -> None:
    """Raise SourceFailure, by file, for one that no loader can read."""
    for path, kind in _read_by_loaders(folder):
        if reason := _fault(path, kind):
            raise bad_file(name, str(path.relative_to(folder)), reason)


def _read_by_loaders(folder: Path) -> Iterator[tuple[Path, type]]:
    for kind, patterns in ((dict, _OBJECTS), (list, _LISTS)):
        for pattern in patterns:
            for path in sorted(folder.glob(pattern)):
                yield path, kind


def _fault(path: Path, kind: type) -> str | None:
    size_bytes = path.stat().st_size
    if size_bytes > _MOST_BYTES:
        return f"it has {size_bytes:,} bytes, of which {_MOST_BYTES:,} are read"
    try:
        # Loaders read UTF-8 and nothing else, not even with a mark of the order of its bytes.
        content = read_json(path.read_bytes().decode())
    except ValueError as error:
        return f"it is not JSON ({error})"
    return (
        _fault_of_content(content, kind)
        or _odd_number(path.name, content)
        or _unknown_word(path.name, content)
    )


def _unknown_word(file: str, content: Any) -> str | None:
    name = unknown_word(content) if file == "hf_quant_config.json" else None
    if name is None:
        return None
    return (
        f"no ModelOpt up to {NEWEST_READ} writes `{name}`, so that nobody knows what an engine "
        "makes of it"
    )


def _odd_number(file: str, content: Any) -> str | None:
    if file != "config.json":
        return None
    odd = (name for name, value in _numbers(content) if _is_odd(name, value))
    name = next(odd, None)
    return f"`{name}` is infinite or not a number" if name else None


def _is_odd(name: str, value: float) -> bool:
    # Mamba's `time_step_limit` is `[0.0, Infinity]` in published models.
    return math.isnan(value) or (math.isinf(value) and "time_step" not in name)


def _numbers(content: Any, name: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(content, float):
        yield name, content
    elif isinstance(content, dict):
        for key, each in content.items():
            yield from _numbers(each, f"{name}.{key}".lstrip("."))
    elif isinstance(content, list):
        for place, each in enumerate(content):
            yield from _numbers(each, f"{name}[{place}]")


def _fault_of_content(content: Any, kind: type) -> str | None:
    if not isinstance(content, kind):
        return f"it is not a JSON {'object' if kind is dict else 'list'}"
    if nests_deeper(content, _MOST_LEVELS):
        return f"it nests lists or objects more than {_MOST_LEVELS} deep"
    return None
