"""The tensors of a folder, each read when it is asked for."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import Tensor

_CACHE_SCALES = ("k", "v")


class StoredTensors(Mapping[str, Tensor]):
    """All safetensors files of a folder as one mapping that holds no tensor.

    Quantized and expanded weights never lie in memory side by side as a whole.
    """

    def __init__(self, folder: Path) -> None:
        self._files: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        for path in sorted(folder.glob("*.safetensors")):
            file = safe_open(path, "pt")
            for stored in file.keys():  # noqa: SIM118  # not a mapping
                name = _at_projection(stored)
                self._files[name], self._names[name] = file, stored

    def __getitem__(self, name: str) -> Tensor:
        tensor: Tensor = self._files[name].get_tensor(self._names[name])
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape as the header has it."""
        return tuple(self._files[name].get_slice(self._names[name]).get_shape())

    def dtype(self, name: str) -> str:
        """Return the type as the header names it, such as `F8_E4M3`."""
        return str(self._files[name].get_slice(self._names[name]).get_dtype())


def _at_projection(name: str) -> str:
    """Return a name as ModelOpt has it: `k_proj.k_scale` for compressed-tensors' `k_scale`."""
    module, _, kind = name.rpartition(".")
    which = kind.removesuffix("_scale")
    if which not in _CACHE_SCALES or module.endswith(f".{which}_proj"):
        return name
    return f"{module}.{which}_proj.{kind}"
