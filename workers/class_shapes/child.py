"""The process that makes a class on the meta device, and asks it to keep a few tokens.

`python -m workers.class_shapes.child < config.json` prints one JSON object; an empty one where the
class cannot be made.
"""

import json
import os
import resource
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.collecting import without_collecting
from controlplane.domain.facts.class_counts.parts import part_of
from workers.build_steps.weights.class_loading import CPU_SECONDS, MEMORY_BYTES
from workers.imports import import_transformers

SHORT, LONG = 8, 24
_CACHES = ("past_key_values", "cache_params", "mems", "state")
_OF_NO_CACHE = ("config", "parent", "model")


def main() -> None:
    """Print what the class of the config on standard input comes to."""
    # What libraries print goes elsewhere.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    raw = json.load(sys.stdin)
    try:
        with without_collecting():
            import_transformers(spreads_over_devices=False)
        shape = shape_of(raw)
    except Exception:  # whatever a stranger's config.json makes Transformers raise
        shape = {}
    with answer:
        json.dump(shape, answer)


def shape_of(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by part, and where the class can be asked numbers that a request keeps."""
    model = _made(raw)
    parts: dict[str, int] = {}
    for name, each in model.named_parameters():
        part = part_of(name)
        parts[part] = parts.get(part, 0) + each.numel()
    return {"parameters": parts, **_kept(model)}


def _made(raw: Mapping[str, Any]) -> Any:
    import torch
    import transformers
    from transformers.initialization import no_init_weights

    names = raw.get("architectures") or [""]
    settings = {name: value for name, value in raw.items() if name != "quantization_config"}
    config = transformers.AutoConfig.for_model(**settings)
    config._attn_implementation = "eager"
    with torch.device("meta"), no_init_weights():
        model = getattr(transformers, names[0])(config).eval()
    model.tie_weights()
    return model


def _kept(model: Any) -> dict[str, int]:
    try:
        short, long = kept_numbers(model, SHORT), kept_numbers(model, LONG)
    except Exception:  # many classes look at values, which nothing on this device has
        return {}
    a_token = (long - short) // (LONG - SHORT)
    return {"numbers_a_token": a_token, "numbers_a_request": short - a_token * SHORT}


def kept_numbers(model: Any, tokens: int) -> int:
    """Return how many numbers it keeps of so many tokens. Raises what the class does."""
    import torch

    ids = torch.zeros((1, tokens), dtype=torch.long, device="meta")
    with torch.no_grad(), torch.device("meta"):
        output = model(input_ids=ids, use_cache=True)
    cache = next(each for name in _CACHES if (each := getattr(output, name, None)) is not None)
    return sum(each.numel() for each in {id(each): each for each in _tensors(cache)}.values())


def _tensors(value: Any, depth: int = 0) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        if value.is_floating_point():
            yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _tensors(each, depth + 1)
    elif isinstance(value, list | tuple | set):
        for each in value:
            yield from _tensors(each, depth + 1)
    elif depth < 6 and type(value).__module__.startswith("transformers"):
        for name, each in getattr(value, "__dict__", {}).items():
            if name not in _OF_NO_CACHE:
                yield from _tensors(each, depth + 1)


if __name__ == "__main__":
    main()
