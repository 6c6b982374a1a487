"""Configs of the hosted product's pages, which name no runtime, on the GPU that is there."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.gpu.product import Show, samples
from benchmarks.gpu.stages import serving
from benchmarks.gpu.stages.building import told
from controlplane.domain.documented_configs import (
    DECODER_WITH_LOOKAHEAD,
    LOOKAHEAD_FOR_CODE,
    SMALL_DECODER,
)
from controlplane.domain.presets import Preset
from controlplane.domain.spec.edit import edit_yaml

_BUILD = "trt_llm.build"
_WEIGHTS = "SmolLM2-135M-Instruct, its own, in place of the model that the page names"
_OF_SMOLLM2: Mapping[str, Any] = {f"{_BUILD}.max_seq_len": 8192, f"{_BUILD}.num_builder_gpus": 1}
"""As long as it reads, a quarter of the page's model, and with as many GPUs as there are here."""


def build(preset: Preset, show: Show, *, edits: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The config, built and asked once; but for GPU and data as it stands on its page."""
    edits = {**_of_this_host(show), **(edits or {})}
    text = edit_yaml(preset.text, edits)
    ended = show.built(preset.name, text)
    seen = told(show, ended, text, show.checkpoint)
    return {"weights": _WEIGHTS, "edited": edits, "runtime": ended["runtime"], **seen}


code: Callable[[Show], dict[str, Any]] = functools.partial(build, LOOKAHEAD_FOR_CODE)
small: Callable[[Show], dict[str, Any]] = functools.partial(build, SMALL_DECODER)
lookahead: Callable[[Show], dict[str, Any]] = functools.partial(
    build, DECODER_WITH_LOOKAHEAD, edits=_OF_SMOLLM2
)


def ask(show: Show) -> dict[str, Any]:
    """The config with lookahead, deployed, asked by the `openai` client, and taken down."""
    name = LOOKAHEAD_FOR_CODE.name
    deployed = serving.deployed(show, name, show.build_of(name))
    model = show.model(name)
    streamed = serving.streamed(show.client(model))
    return {**deployed, "streamed": streamed, "taken_down": serving.taken_down(show, model)}


def _of_this_host(show: Show) -> dict[str, Any]:
    """Return what a host without a network and with another GPU cannot take from the page."""
    return {
        "resources.accelerator": show.device["kind"],
        f"{_BUILD}.checkpoint_repository": {"source": "LOCAL", "repo": show.checkpoint.name},
        f"{_BUILD}.quantization_config": {"calib_dataset": "enginehouse/general"},
        "enginehouse.calibration": {"samples": samples()},
    }
