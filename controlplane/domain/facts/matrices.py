"""The weight matrices that a checkpoint's files hold, by name, with layers and experts folded."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict

_NUMBER = re.compile(r"\.(\d{1,9})(?=\.|$)")
"""Of a layer or an expert; what has more digits is a name."""
_FEED_FORWARD = re.compile(r"mlp|ffn|feed_forward|expert|intermediate\.dense|layer\.\{\}\.output")
_ROUTER = re.compile(r"\.(gate|router|shared_expert_gate)$")
_TOWER = re.compile(
    r"(^|\.)(vision_tower|vision_model|vision_encoder|visual|vit|vision_adapter|mm_projector"
    r"|multi_modal_projector)\."
)
_ONE_EXPERT = re.compile(r"(?<=experts\.)\d+(?=\.|$|\*)")
_HEAD = "lm_head"
"""No type quantizes it; a checkpoint that shares the embedding's table has none in its files."""
_TOGETHER = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"), ("w1", "w3"))
"""Layers that engines compute as one, and so in one precision."""
_OF_EXPERTS = (
    ("gate_proj", "up_proj", "down_proj"),
    ("w1", "w2", "w3"),
    ("gate_up_proj", "down_proj"),
)


class MatrixKind(BaseModel):
    """One matrix of every layer that has it."""

    model_config = ConfigDict(frozen=True)

    name: str
    """Of the module; `{}` stands for the layer's number, `*` for that of an expert."""
    layers: tuple[tuple[int, int], ...] = ()
    """First and last of each run of layers; empty where it is in no layer."""
    parameters: int
    """Of one layer, all experts together."""

    @property
    def modules(self) -> Iterator[str]:
        if not self.layers:
            yield self.name
        for first, last in self.layers:
            for number in range(first, last + 1):
                yield self.name.replace("{}", str(number), 1)

    @property
    def is_feed_forward(self) -> bool:
        return _FEED_FORWARD.search(self.name) is not None

    @property
    def may_be_quantized(self) -> bool:
        """Whether types quantize it: no table outside of the layers, no router, no tower."""
        return bool(self.layers) and not _ROUTER.search(self.name) and not self.is_of_tower

    @property
    def is_of_tower(self) -> bool:
        return _TOWER.search(self.name) is not None


def read_matrices(shapes: Mapping[str, Sequence[int]]) -> tuple[MatrixKind, ...]:
    sizes: dict[str, dict[int | None, int]] = defaultdict(lambda: defaultdict(int))
    for tensor, shape in shapes.items():
        if len(shape) > 1:
            name, layer = _folded(tensor.removesuffix(".weight"))
            sizes[name][layer] += math.prod(shape)
    return tuple(
        MatrixKind(
            name=name,
            layers=tuple(_runs(each for each in by_layer if each is not None)),
            parameters=max(by_layer.values()),
        )
        for name, by_layer in sorted(sizes.items())
    )


def is_matched(module: str, patterns: Iterable[str]) -> bool:
    return any(_matches(pattern, module) for pattern in patterns)


def unmatched(kinds: Sequence[MatrixKind], patterns: Iterable[str]) -> list[str]:
    """Return the patterns that name no module; one expert of many is a module."""
    modules = [_HEAD, *(module for kind in kinds for module in kind.modules)]
    return [
        each for each in patterns if not any(_matches(of_all_experts(each), m) for m in modules)
    ]


def of_all_experts(pattern: str) -> str:
    return _ONE_EXPERT.sub("*", pattern)


def single_experts(patterns: Iterable[str]) -> list[str]:
    return [each for each in patterns if _ONE_EXPERT.search(each)]


def tower_parameters(kinds: Iterable[MatrixKind]) -> int:
    return sum(kind.parameters * len([*kind.modules]) for kind in kinds if kind.is_of_tower)


def nearest(pattern: str, kinds: Sequence[MatrixKind]) -> str | None:
    """Return the pattern for all layers that was probably meant."""
    last = pattern.strip("*.").rpartition(".")[2]
    ends = {kind.name.rpartition(".")[2]: kind for kind in kinds if kind.layers}
    close = get_close_matches(last, ends, n=1, cutoff=0.5)
    return f"*.{close[0]}" if close else None


def quantized_parameters(kinds: Sequence[MatrixKind], *, mlp_only: bool) -> int:
    return excluded_parameters(kinds, ["*"], mlp_only=mlp_only)


def excluded_parameters(
    kinds: Sequence[MatrixKind], patterns: Sequence[str], *, mlp_only: bool
) -> int:
    """Return the parameters that stay in 16 bits of those that would be quantized."""
    return sum(
        kind.parameters * sum(is_matched(each, patterns) for each in kind.modules)
        for kind in kinds
        if kind.may_be_quantized and (kind.is_feed_forward or not mlp_only)
    )


def torn_apart(kinds: Sequence[MatrixKind], patterns: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the modules that stay in 16 bits without those that engines compute with them."""
    modules = {module for kind in kinds for module in kind.modules}
    torn = []
    for module in sorted(modules):
        left = [each for each in _beside(module, modules) if not is_matched(each, patterns)]
        if left and is_matched(module, patterns):
            torn.append((module, left))
    return torn


def _beside(module: str, modules: set[str]) -> list[str]:
    above, _, last = module.rpartition(".")
    groups = _OF_EXPERTS if ".experts." in module else _TOGETHER
    group = next((each for each in groups if last in each), ())
    return [name for each in group if each != last and (name := f"{above}.{each}") in modules]


def _folded(module: str) -> tuple[str, int | None]:
    """Return the name without numbers, and the layer's."""
    numbers = list(_NUMBER.finditer(module))
    if not numbers:
        return module, None
    first = numbers[0]
    rest = _NUMBER.sub(".*", module[first.end() :])
    return f"{module[: first.start()]}.{{}}{rest}", int(first[1])


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for number in sorted(numbers):
        if first is None or last is None:
            first = last = number
        elif number == last + 1:
            last = number
        else:
            yield first, last
            first = last = number
    if first is not None and last is not None:
        yield first, last


def _matches(pattern: str, module: str) -> bool:
    return fnmatchcase(module, pattern) or fnmatchcase(module, f"{pattern}.*")
