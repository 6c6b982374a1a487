"""What a class on the meta device keeps of a request: a forward pass at each of two lengths."""

import os
from collections.abc import Mapping
from typing import Any

os.environ.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")

import torch
import transformers
from transformers.initialization import no_init_weights
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from workers.class_shapes.child import LONG, SHORT, kept_numbers


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
    short, long = kept_numbers(model, SHORT), kept_numbers(model, LONG)
    a_token = (long - short) / (LONG - SHORT)
    return {"a_token": int(a_token), "a_request": int(short - a_token * SHORT)}
