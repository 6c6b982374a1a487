"""What a class on the meta device keeps of a request: a forward pass at each of two lengths."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

os.environ.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")

import torch
import transformers
from transformers.initialization import no_init_weights
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

SHORT, LONG = 8, 24


def kept(model_type: str, class_name: str, values: Mapping[str, Any]) -> dict[str, int]:
    """Return numbers of each further token, and numbers of each request, over all layers.

    Raises what the class does.
    """
    config = CONFIG_MAPPING[model_type](**values)
    config._attn_implementation = "eager"
    for each in (config, config.get_text_config()):
        if hasattr(each, "_experts_implementation"):
            each._experts_implementation = "batched_mm"
    with torch.device("meta"), no_init_weights():
        model = getattr(transformers, class_name)(config).eval()
    short, long = _numbers(model, SHORT), _numbers(model, LONG)
    a_token = (long - short) / (LONG - SHORT)
    return {"a_token": int(a_token), "a_request": int(short - a_token * SHORT)}


def _numbers(model: Any, tokens: int) -> int:
    ids = torch.zeros((1, tokens), dtype=torch.long, device="meta")
    with torch.no_grad(), torch.device("meta"):
        found = model(input_ids=ids, use_cache=True)
    cache = next(
        each
        for name in ("past_key_values", "cache_params", "mems", "state")
        if (each := getattr(found, name, None)) is not None
    )
    return sum(tensor.numel() for tensor in {id(each): each for each in _tensors(cache)}.values())


def _tensors(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        if value.is_floating_point():
            yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _tensors(each, depth + 1)
    elif isinstance(value, list | tuple | set):
        for each in value:
            yield from _tensors(each, depth + 1)
    elif (
        depth < 6
        and type(value).__module__.startswith("transformers")
        and hasattr(value, "__dict__")
    ):
        for name, each in vars(value).items():
            if name not in ("config", "parent", "model"):
                yield from _tensors(each, depth + 1)
