"""The tensors of a folder by name, each read when it is asked for."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import Tensor

_EXPERT = re.compile(
    r"(?P<above>.*\.)(?P<experts>\w+\.)(?P<number>\d+)\.(?P<projection>\w+)\.weight"
)
_BOTH = ("{above}{experts}gate_up_proj", "{above}input_linear.weight")
_OUT = ("{above}{experts}down_proj", "{above}output_linear.weight")
_STACKED = {
    "gate_proj": (_BOTH, 0), "up_proj": (_BOTH, 1), "down_proj": (_OUT, None),
    "w1": (_BOTH, 0), "w3": (_BOTH, 1), "w2": (_OUT, None),
}  # fmt: skip
"""Projection of an expert -> names that the tensor of all experts may have, its half of that."""


class TensorFiles:
    """Types and tensors of all safetensors files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.dtypes: dict[str, str] = {}
        self._files: dict[str, Any] = {}
        for path in sorted(folder.glob("*.safetensors")):
            file: Any = safe_open(path, "pt")
            for name in file.keys():  # noqa: SIM118  # not a mapping
                self.dtypes[name] = file.get_slice(name).get_dtype()
                self._files[name] = file

    def read(self, name: str) -> Tensor:
        tensor: Tensor = self._files[name].get_tensor(name)
        return tensor

    def read_like(self, name: str) -> Tensor | None:
        """Return the tensor of that name, or the only one that has more or less in front of it."""
        stored_name = self._named_like(name)
        return None if stored_name is None else self.read(stored_name)

    def read_expert(self, name: str) -> list[Tensor]:
        """Return what may be one expert's weight where all of a layer are one tensor.

        Classes differ in what they have as rows: it is given either way round.
        """
        expert = _EXPERT.fullmatch(name)
        if expert is None or expert["projection"] not in _STACKED:
            return []
        patterns, half = _STACKED[expert["projection"]]
        names = [each.format_map(expert.groupdict()) for each in patterns]
        whole = next(self._numbered(names, int(expert["number"])), None)
        if whole is None:
            return []
        both = [whole, whole.T]
        return both if half is None else [each.chunk(2)[half] for each in both]

    def _named_like(self, name: str) -> str | None:
        if name in self.dtypes:
            return name
        similar = [
            each for each in self.dtypes if each.endswith(f".{name}") or name.endswith(f".{each}")
        ]
        return similar[0] if len(similar) == 1 else None

    def _numbered(self, names: Sequence[str], number: int) -> Iterator[Tensor]:
        for name in filter(None, map(self._named_like, names)):
            part = self._files[name].get_slice(name)
            if len(part.get_shape()) == 3 and number < part.get_shape()[0]:
                yield part[number]
