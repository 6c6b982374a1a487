"""A config of the hosted product's pages, which names no runtime, on the card that is there."""

from typing import Any

from benchmarks.gpu.product import Show, samples
from benchmarks.gpu.stages.building import told
from controlplane.domain.documented_configs import LOOKAHEAD_FOR_CODE
from controlplane.domain.spec import edit_yaml

_BUILD = "trt_llm.build"


def build(show: Show) -> dict[str, Any]:
    """The code config with lookahead, built and asked once; but for card and data as it stands."""
    text = edit_yaml(LOOKAHEAD_FOR_CODE.text, _of_this_host(show))
    ended = show.built("documented-code-lookahead", text)
    weights = "SmolLM2-135M-Instruct, its own, in place of the model that the page names"
    return {"weights": weights, **told(show, ended, text, show.checkpoint)}


def _of_this_host(show: Show) -> dict[str, Any]:
    """Return what a host without a network and with another card cannot take from the page."""
    return {
        "resources.accelerator": show.card["kind"],
        f"{_BUILD}.checkpoint_repository": {"source": "LOCAL", "repo": show.checkpoint.name},
        f"{_BUILD}.quantization_config": {"calib_dataset": "enginehouse/general"},
        "enginehouse.calibration": {"samples": samples()},
    }
