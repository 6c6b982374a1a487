"""The names that a class gives the modules of older checkpoints."""

from collections.abc import Callable

from torch import nn
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightRenaming


def class_names(model: nn.Module) -> Callable[[str], str]:
    renamings = [
        each for each in get_model_conversion_mapping(model) if isinstance(each, WeightRenaming)
    ]

    def named(module: str) -> str:
        name = f"{module}.weight"
        for renaming in renamings:
            name, _ = renaming.rename_source_key(name)
        return name.removesuffix(".weight")

    return named
