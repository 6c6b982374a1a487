"""A build with everything that its pages can show: forecast, measures, reuse, passport."""

from typing import Any

from apps.builds.models import Artifact, Build
from tests import factories

GATE = {
    "state": "passed", "kind": "generation", "measured_by": "emulation of the exported files",
    "runs_here": True, "note": None, "failure": None,
    "limits": {"max_perplexity_increase": 0.06, "max_agreement_loss": 0.01},
    "figures": {
        "perplexity_original": 20.19, "perplexity_quantized": 20.96, "perplexity_change": 0.038,
        "logit_drift_nats": 0.0123, "same_choice": 0.94,
    },
    "worst": [{"perplexity_ratio": 1.21, "tokens": 64, "text": "The lost sample begins so"}],
    "evaluation": {"dataset": "enginehouse/general", "samples": 16, "held_out": True},
}  # fmt: skip
CALIBRATION = {
    "dataset": "enginehouse/general", "config": None, "split": "train",
    "revision": "sha256:" + "5a" * 32,
}  # fmt: skip
TOLD = {
    **CALIBRATION, "column": "text", "size_asked": 64, "size": 64, "max_length_asked": 256,
    "max_length": 256, "used": 60, "tokens": 15_000, "held_out": 16, "skipped_empty": 1,
    "skipped_short": 2, "skipped_duplicate": 3, "rows_read": 82, "seed": 42,
}  # fmt: skip
TOOLS = {"python": "3.11.7", "torch": "2.13.0", "nvidia-modelopt": "0.47.0"}


def make_inputs(spec: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The input document of a quantized build."""
    return {
        "commit": "c0ffee" * 6, "spec": spec, "tool_versions": TOOLS, "calibration": CALIBRATION,
    } | changes  # fmt: skip


def make_passported(*, quant_algo: str = "FP8", **changes: Any) -> Artifact:
    """An artifact whose passport has everything."""
    spec = factories.spec_json()
    fp4 = quant_algo == "NVFP4"
    passport = {
        "format": 1,
        "checkpoint": {
            "source": "LOCAL", "repo": "/checkpoints/tiny", "revision": None,
            "commit": "c0ffee" * 6,
        },
        "spec": spec,
        "effective": [
            {
                "field": "trt_llm.build.max_batch_size", "asked": 256, "effective": 8,
                "reason": "The native engine takes `8` where nothing is written.",
            }
        ],
        "calibration": TOLD,
        "quantization": {
            "quantization_type": "fp4" if fp4 else "fp8", "quant_algo": quant_algo,
            "layers_quantized": 14, "kv_cache_dtype": "16-bit", "device": "CPU, 2 threads",
        },
        "gate": GATE | ({"runs_here": False} if fp4 else {}),
        "promoted": {
            "accepted": "Perplexity rose by 3.8 %, the limit is 1 %.", "by": "ada@example.com",
            "at": "2026-11-28T04:00:00+00:00", "reason": "Good enough for drafts",
        },
        "tools": TOOLS,
        "built": {
            "build_id": "b1", "attempt": 2, "by": "ada@example.com",
            "at": "2026-11-28T04:00:00+00:00",
        },
    }  # fmt: skip
    defaults = {"passport": passport, "inputs": make_inputs(spec)}
    return factories.make_artifact(**defaults | changes)


def make_told_build(*, artifact: Artifact, seconds: float = 8.0, **changes: Any) -> Build:
    """A finished build with a forecast, measured steps and what was found of its inputs."""
    build = factories.make_finished_build(
        team=artifact.team, artifact=artifact, forecast=make_forecast(),
        reuse={
            "state": "differs", "artifact_id": artifact.id, "inputs": artifact.inputs,
            "differences": [
                {
                    "path": "tool_versions.torch", "label": "torch version", "before": "2.12.0",
                    "now": "2.13.0",
                }
            ],
        },
        **changes,
    )  # fmt: skip
    build.steps.update(
        measured={
            "seconds": seconds, "host": "node-1", "peak_host_bytes": 1_400_000_000,
            "peak_device_bytes": None, "device_bytes_from": None, "disk_bytes": 270_000_000,
        }
    )  # fmt: skip
    return build


def make_forecast(*, seconds: float = 10.0) -> dict[str, Any]:
    """What a build of four steps was expected to take."""

    def estimate(low: float, high: float) -> dict[str, Any]:
        return {
            "low": low, "high": high, "basis": "formula", "source": "arithmetic", "builds": 0,
        }  # fmt: skip

    memory = estimate(1e9, 1.8e9)
    steps = ("fetch", "inspect", "package", "smoke_test")
    return {
        "format": 1,
        "made_at": "2026-11-28T04:00:00+00:00",
        "absent": None,
        "queue": {
            "pool": "default", "waiting": 1, "running": 1, "low_seconds": 5.0,
            "high_seconds": 60.0, "source": "the forecasts before it",
        },
        "device": {"kind": "CPU", "count": 1},
        "seconds": estimate(4 * seconds, 4 * seconds),
        "host_bytes": estimate(1e9, 1.8e9),
        "device_bytes": None,
        "device_absent": "it runs on the CPU",
        "disk": {
            "download_bytes": 0, "exported_bytes": 0, "working_bytes": 270_000_000,
            "source": "files",
        },
        "steps": [
            {"name": name, "seconds": estimate(seconds, seconds), "host_bytes": memory}
            for name in steps
        ],
        "cached": {
            "checkpoint": {
                "commit": "c0ffee", "is_fetched": True, "build_number": None, "host": None,
                "words": "A folder of the worker: nothing is downloaded.",
            },
            "artifact": None,
        },
    }  # fmt: skip
