"""ModelOpt is imported at less than its usual price, and is what it would have been."""

import os
from typing import Any

import pytest
import yaml

from workers.build_steps.quantization.modelopt import presets
from workers.build_steps.quantization.recipes import RECIPES

pytestmark = pytest.mark.engine


def test_the_presets_are_what_its_own_loader_of_yaml_reads() -> None:
    assert yaml.SafeLoader is not yaml.CSafeLoader
    for name in {each.weights for each in RECIPES.values()}:
        assert getattr(presets, name) == _read(name)


def _read(name: str) -> dict[str, Any]:
    stem = name.removesuffix("_CFG").removesuffix("_DEFAULT").lower()
    from modelopt.torch.opt.config_loader import load_config  # noisy unless it was imported before

    content: dict[str, Any] = load_config(f"configs/ptq/presets/model/{stem}").model_dump(
        exclude_unset=True
    )
    return content


def test_the_compiler_is_left_to_whoever_comes_after() -> None:
    assert "TORCHDYNAMO_DISABLE" not in os.environ
