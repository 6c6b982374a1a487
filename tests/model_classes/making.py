"""Makes classes of transformers on the meta device, of configs with some values of one's own."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

os.environ.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")

import torch
import transformers
from transformers.initialization import no_init_weights
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

LABELS = "num_labels"
Values = Mapping[str, Any]
"""Dotted name of a setting -> its value."""

transformers.utils.logging.set_verbosity(transformers.logging.CRITICAL)


@dataclass(frozen=True, kw_only=True)
class Made:
    """A class on the meta device: its whole config, and its parameters by name."""

    config: dict[str, Any]
    shapes: Mapping[str, tuple[int, ...]]

    @property
    def config_values(self) -> dict[str, Any]:
        labels = self.config.get("id2label")
        return {**dict(leaves(self.config)), LABELS: len(labels) if labels else 2}

    @property
    def parameters(self) -> int:
        return sum(_product(shape) for shape in self.shapes.values())

    @property
    def signature(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return tuple(self.shapes.items())


def make(model_type: str, class_name: str, values: Values) -> Made:
    """Return the class made of the family's defaults with these values. Raises what it raises."""
    config = CONFIG_MAPPING[model_type](**_nested(values))
    with torch.device("meta"), no_init_weights():
        model = getattr(transformers, class_name)(config)
    model.tie_weights()
    shapes = {name: tuple(each.shape) for name, each in model.named_parameters()}
    return Made(config=json.loads(config.to_json_string(use_diff=False)), shapes=shapes)


def leaves(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting below mappings by its dotted name."""
    for key, value in config.items():
        if key in ("id2label", "label2id", LABELS):
            continue
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def pattern(name: str) -> str:
    """Return a parameter's name with every number left out."""
    return re.sub(r"(?<=\.)\d+(?=\.)|(?<=\.)\d+$", "#", name)


def _nested(values: Values) -> dict[str, Any]:
    outcome: dict[str, Any] = {}
    for name, value in values.items():
        *path, last = name.split(".")
        inner = outcome
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return outcome


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for each in shape:
        total *= each
    return total
