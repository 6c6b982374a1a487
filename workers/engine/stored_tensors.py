"""The tensors of a folder, each read when it is asked for."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import Tensor


class StoredTensors(Mapping[str, Tensor]):
    """All safetensors files of a folder as one mapping that holds no tensor.

    Quantized and expanded weights never lie in memory side by side as a whole.
    """

    def __init__(self, folder: Path) -> None:
        self._places: dict[str, tuple[Any, str]] = {}
        for path in sorted(folder.glob("*.safetensors")):
            file = safe_open(path, "pt")
            for stored in file.keys():  # noqa: SIM118  # not a mapping
                self._places[_at_projection(stored)] = (file, stored)

    def __getitem__(self, name: str) -> Tensor:
        file, stored = self._places[name]
        tensor: Tensor = file.get_tensor(stored)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def header(self, name: str) -> tuple[str, tuple[int, ...]]:
        """Return type, such as `F8_E4M3`, and shape as the file's header has them."""
        file, stored = self._places[name]
        header = file.get_slice(stored)
        return header.get_dtype(), tuple(header.get_shape())


def _at_projection(name: str) -> str:
    """Return a name as ModelOpt has it: `k_proj.k_scale` for compressed-tensors' `k_scale`."""
    module, _, kind = name.rpartition(".")
    projection = f"{kind[:1]}_proj"
    if kind not in ("k_scale", "v_scale") or module.endswith(f".{projection}"):
        return name
    return f"{module}.{projection}.{kind}"
