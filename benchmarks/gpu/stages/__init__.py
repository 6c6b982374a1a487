"""What is shown on a GPU: one function a stage, and the seconds that it may take."""

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.gpu.product import Show
from benchmarks.gpu.stages import (
    building,
    clients,
    documented,
    encoders,
    failing,
    large,
    media,
    memory,
    native,
    serving,
    two_devices,
    two_replicas,
)

Stage = Callable[[Show], dict[str, Any]]
STAGES: Mapping[str, tuple[Stage, float]] = {
    "build": (building.build, 240),
    "documented": (documented.code, 240),
    "documented_small": (documented.small, 180),
    "documented_lookahead": (documented.lookahead, 180),
    "documented_ask": (documented.ask, 180),
    "clients": (clients.clients, 330),
    "embedder": (encoders.embedder, 200),
    "reranker": (encoders.reranker, 200),
    "classifier": (encoders.classifier, 200),
    "native": (native.native, 150),
    "native_deploy": (native.native_deploy, 240),
    "deploy": (serving.deploy, 180),
    "ask": (serving.ask, 60),
    "media": (media.media, 90),
    "speed": (serving.speed, 120),
    "kill": (failing.kill, 240),
    "take_down": (serving.take_down, 60),
    "media_images": (media.media_images, 300),
    "no_quant": (building.no_quant, 180),
    "out_of_memory": (failing.out_of_memory, 300),
    "large_build": (large.build, 460),
    "large_deploy": (large.deploy, 200),
    "large_speed": (large.speed, 160),
    "large_take_down": (large.take_down, 60),
    "large_fp8_kv": (memory.fp8_kv, 150),
    "large_no_quant": (memory.no_quant, 150),
    "two_devices_build": (two_devices.build, 240),
    "two_devices": (two_devices.serve, 150),
    "two_devices_kill": (two_devices.kill_rank, 150),
    "two_replicas_build": (two_replicas.build, 150),
    "two_replicas": (two_replicas.serve, 150),
    "two_replicas_kill": (two_replicas.kill_one, 150),
    "two_stages_build": (two_devices.build_pipeline, 150),
    "two_stages": (two_devices.serve_pipeline, 150),
}
FOR_TWO_DEVICES = frozenset(name for name in STAGES if name.startswith("two_"))
