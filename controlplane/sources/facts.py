"""Facts of a checkpoint from its small files and safetensors headers: no weights are read."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from controlplane.artifacts.digests import list_files
from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.chat_forms import template_text
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.matrices import read_matrices
from controlplane.domain.facts.pooling import LENGTH_FILES, MODULES_FILE, POOLING_FILE
from controlplane.domain.json_text import read_json
from controlplane.domain.storable import unstorable_text
from controlplane.sources.failures import bad_file
from controlplane.sources.local import FolderReader
from controlplane.sources.safetensors_header import BadHeader, Totals, read_totals

_LARGEST_SMALL_FILE_BYTES = 32 * 1024 * 1024
_PARALLEL_READS = 8
_INDEX = "model.safetensors.index.json"
_TEMPLATES = ("additional_chat_templates/tool_use.jinja", "chat_template.jinja")
"""The one that is made for tools before the other, as engines choose where a request has some."""
_TEMPLATE_JSON = "chat_template.json"


class Reader(Protocol):
    """Ranged reads of a checkpoint's files."""

    def read(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end`, not included."""


def folder_facts(folder: Path, *, commit: str | None, name: str | None = None) -> CheckpointFacts:
    """Return the facts of a fetched folder; `name` is what failures call it."""
    return facts_of(
        FolderReader(folder), list_files(folder), commit=commit, name=name or folder.name
    )


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What was read of a checkpoint: its facts, and the config.json that most of them are from."""

    facts: CheckpointFacts
    config: Mapping[str, Any]


def facts_of(
    reader: Reader,
    files: Sequence[tuple[str, int]],
    *,
    commit: str | None,
    name: str,
    is_complete: bool = True,
) -> CheckpointFacts:
    return look_at(reader, files, commit=commit, name=name, is_complete=is_complete).facts


def look_at(
    reader: Reader,
    files: Sequence[tuple[str, int]],
    *,
    commit: str | None,
    name: str,
    is_complete: bool = True,
) -> Looked:
    """Return the facts of the listed (path, size) files of the checkpoint called `name`.

    Of an incomplete listing only what the small files say: there may be more weights.
    """
    source = _Checkpoint(reader, dict(files), name)
    adapter_config = source.json("adapter_config.json")
    config = source.json("config.json")
    if config is None and adapter_config is not None:
        config = {}  # a repository of an adapter alone says which model it is for
    if config is None:
        raise bad_file(name, "config.json", "it is missing")
    totals = source.weights() if is_complete else []
    tokenizer_config = source.json("tokenizer_config.json")
    checkpoint = checkpoints.read(
        config,
        generation_config=source.json("generation_config.json"),
        tokenizer_config=tokenizer_config,
        hf_quant_config=source.json("hf_quant_config.json"),
        adapter_config=adapter_config,
        pooling_config=source.json(POOLING_FILE),
        sentence_modules=source.content(MODULES_FILE),
        sentence_lengths=source.first_json(LENGTH_FILES),
        files=sorted(source.sizes) if is_complete else (),
        weight_bytes=sum(each.weight_bytes for each in totals) if is_complete else None,
        parameters=sum(each.parameters for each in totals) if is_complete else None,
        chat_template=source.chat_template(),
        has_chat_template=source.has_chat_template(tokenizer_config or {})
        or (False if is_complete else None),
        commit=commit,
        matrices=read_matrices(_shapes(totals)),
    )
    _refuse_unstorable(checkpoint, name)
    return Looked(facts=checkpoint, config=config)


def _shapes(totals: Sequence[Totals]) -> dict[str, tuple[int, ...]]:
    return {name: shape for each in totals for name, shape in each.shapes.items()}


def _refuse_unstorable(facts: CheckpointFacts, name: str) -> None:
    """Refuse where it comes in what nothing could keep: JSON can spell what is no text."""
    if text := unstorable_text(facts.model_dump(mode="json")):
        raise bad_file(
            name, "config.json", f"`{text}` spells a NUL or half a character, which is not text"
        )


class _Checkpoint:
    def __init__(self, reader: Reader, sizes: Mapping[str, int], name: str) -> None:
        self.sizes = sizes
        self._reader = reader
        self._name = name

    def json(self, path: str) -> dict[str, Any] | None:
        content = self.content(path)
        if content is not None and not isinstance(content, dict):
            raise bad_file(self._name, path, "it is not a JSON object")
        return content

    def content(self, path: str) -> Any:
        if path not in self.sizes:
            return None
        if self.sizes[path] > _LARGEST_SMALL_FILE_BYTES:
            raise bad_file(self._name, path, f"it has {self.sizes[path]} bytes")
        try:
            return read_json(self._reader.read(path, 0, self.sizes[path]))
        except ValueError as error:
            raise bad_file(self._name, path, f"it is not JSON ({error})") from None

    def first_json(self, paths: Sequence[str]) -> dict[str, Any] | None:
        return next((self.json(path) for path in paths if path in self.sizes), None)

    def weights(self) -> list[Totals]:
        names = [each for each in self.sizes if each.endswith(".safetensors") and "/" not in each]
        with ThreadPoolExecutor(_PARALLEL_READS) as pool:
            totals = list(pool.map(self._totals, names))
        self._check_index({tensor for each in totals for tensor in each.shapes})
        return totals

    def has_chat_template(self, tokenizer_config: Mapping[str, Any]) -> bool:
        return bool(tokenizer_config.get("chat_template")) or any(
            name in self.sizes for name in (*_TEMPLATES, _TEMPLATE_JSON)
        )

    def chat_template(self) -> str | None:
        """Return the template of a file of its own, which tokenizers read before any other."""
        for path in _TEMPLATES:
            if path in self.sizes:
                return self._text(path)
        return template_text((self.json(_TEMPLATE_JSON) or {}).get("chat_template"))

    def _text(self, path: str) -> str:
        if self.sizes[path] > _LARGEST_SMALL_FILE_BYTES:
            raise bad_file(self._name, path, f"it has {self.sizes[path]} bytes")
        return self._reader.read(path, 0, self.sizes[path]).decode(errors="replace")

    def _totals(self, path: str) -> Totals:
        try:
            return read_totals(
                lambda start, end: self._reader.read(path, start, end), self.sizes[path]
            )
        except BadHeader as error:
            raise bad_file(self._name, path, str(error)) from None

    def _check_index(self, tensors: set[str]) -> None:
        index = self.json(_INDEX)
        if index is None:
            return
        weight_map = index.get("weight_map")
        if not isinstance(weight_map, dict):
            raise bad_file(self._name, _INDEX, "it has no `weight_map`")
        files = {str(each) for each in weight_map.values()}
        if absent := sorted(files - self.sizes.keys()):
            raise bad_file(
                self._name, _INDEX, f"it names the weight file `{absent[0]}`, which is not there"
            )
        if missing := sorted(set(weight_map) - tensors):
            raise bad_file(
                self._name, _INDEX, f"it names the tensor `{missing[0]}`, which no file holds"
            )
