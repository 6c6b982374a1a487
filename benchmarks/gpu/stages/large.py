"""The shape of Qwen3-8B with random weights: built to FP8 by the pipeline, served, timed."""

from typing import Any

from benchmarks.gpu.product import Missed, Show, until
from benchmarks.gpu.random_checkpoint import FOLDER
from benchmarks.gpu.stages.building import CONFIG, told
from benchmarks.gpu.stages.serving import deployed, measured, taken_down

WEIGHTS = "random weights in the shape of Qwen3-8B, made on the host from its public config"
_SAMPLES = 8


def build(show: Show) -> dict[str, Any]:
    """FP8 by our pipeline: calibrated, gated, packaged, asked once."""
    folder = show.data / "checkpoints" / FOLDER
    made = show.beside.get(FOLDER)
    if made is not None and made.wait():
        raise Missed("the random weights were not made", {"exit": made.returncode})
    until((folder / "config.json").exists)
    text = CONFIG.format(
        name=FOLDER, device=show.device["kind"], folder=FOLDER, length=4096,
        quantization="fp8", samples=_SAMPLES,
    )  # fmt: skip
    ended = show.built(FOLDER, text)
    return {"weights": WEIGHTS, **told(show, ended, text, folder)}


def deploy(show: Show) -> dict[str, Any]:
    """The large artifact behind the gateway."""
    return {"weights": WEIGHTS, **deployed(show, FOLDER, show.build_of(FOLDER))}


def speed(show: Show) -> dict[str, Any]:
    """Tokens per second through the gateway against the same engine alone."""
    return {"weights": WEIGHTS, "rows": measured(show, show.model(FOLDER))}


def take_down(show: Show) -> dict[str, Any]:
    """Its deployment deactivated, and the GPU's memory given back."""
    return taken_down(show, show.model(FOLDER))
