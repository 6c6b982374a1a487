"""What a checkpoint's weight files say that they hold: their headers, no weights."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from controlplane.domain.json_text import read_json
from controlplane.sources.local import FolderReader
from controlplane.sources.safetensors_header import StoredTensor, read_tensors

_SINGLE, _INDEX = "model.safetensors", "model.safetensors.index.json"


@dataclass(frozen=True)
class _Packing:
    """How a method names the packed form of a weight, and what that holds for each number."""

    suffix: str
    plain: str


_PACKINGS = (
    _Packing(".qweight", ".weight"),
    _Packing(".weight_packed", ".weight"),
    _Packing("_blocks", ""),
)
_PACKED_TYPES = frozenset({"U8", "I8", "I32"})
COMPARED_METHODS = frozenset({
    "auto-round", "awq", "bitsandbytes", "compressed-tensors", "fp8", "gptq", "modelopt", "mxfp4",
})  # fmt: skip
"""Quantizations whose names for weights are known here."""


@dataclass(frozen=True)
class Plain:
    stored_as: str
    shape: tuple[int, ...]
    is_packed: bool
    """Its shape is the packing's own."""


def stored_tensors(folder: Path) -> dict[str, StoredTensor]:
    reader, tensors = FolderReader(folder), dict[str, StoredTensor]()
    for name in _weight_files(folder):
        tensors |= read_tensors(partial(reader.read, name), (folder / name).stat().st_size)
    return tensors


def as_plain(stored: Mapping[str, StoredTensor], *, is_quantized: bool) -> dict[str, Plain]:
    """Return the tensors by the names that a class without quantization has for them."""
    if not is_quantized:
        return {name: Plain(name, each.shape, False) for name, each in stored.items()}
    return {plain: tensor for name in stored for plain, tensor in _plain(name, stored)}


def _plain(name: str, stored: Mapping[str, StoredTensor]) -> Iterator[tuple[str, Plain]]:
    tensor = stored[name]
    for packing in _PACKINGS:
        if name.endswith(packing.suffix):
            yield name.removesuffix(packing.suffix) + packing.plain, Plain(name, tensor.shape, True)
            return
    if tensor.dtype == "U8" and f"{name}_scale_2" in stored:
        *rows, columns = tensor.shape
        yield name, Plain(name, (*rows, columns * 2), False)  # NVFP4: two numbers a byte
        return
    yield name, Plain(name, tensor.shape, tensor.dtype in _PACKED_TYPES)


def _weight_files(folder: Path) -> Collection[str]:
    if (folder / _SINGLE).exists():
        return (_SINGLE,)
    if (folder / _INDEX).exists():
        index = read_json((folder / _INDEX).read_bytes())
        return sorted(set(index["weight_map"].values()))
    return sorted(path.name for path in folder.glob("*.safetensors"))
