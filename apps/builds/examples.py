from typing import Any

from apps.accounts.examples import ADA
from apps.configs.examples import CONFIG, REPO

DIGEST = "sha256:" + "5f3a9c" * 10 + "beef"
COMMIT = "12fd25f77366fa6b3b4b768ec3050bf629380bac"
QUEUED_AT, STARTED_AT = "2026-11-26T14:05:02.537088Z", "2026-11-26T14:05:05.114208Z"
FINISHED_AT = "2026-11-26T14:06:53.529482Z"

BUILD_WANTED = {"config_id": CONFIG["id"], "revision": 1}
PROMOTE_REASON = {"reason": "Measured on our own questions: no difference that matters."}
BUILD: dict[str, Any] = {
    "id": "2jt7a4ax",
    "number": 17,
    "state": "succeeded",
    "attempt": 1,
    "config": {"id": CONFIG["id"], "name": CONFIG["name"], "revision": 1},
    "pool": "default",
    "runtime": "native",
    "created_at": QUEUED_AT,
    "created_by": ADA["email"],
    "started_at": STARTED_AT,
    "finished_at": FINISHED_AT,
    "cancel_requested_at": None,
    "artifact_id": "tdy3qatc",
    "failure": None,
}
_SECONDS: dict[str, Any] = {
    "low": 1.4,
    "high": 24.5,
    "basis": "formula",
    "source": "a download at 100 Mbit/s to 2 Gbit/s",
    "builds": 0,
}
_HOST_BYTES: dict[str, Any] = {
    "low": 35_000_000.0,
    "high": 160_000_000.0,
    "basis": "formula",
    "source": "Python and its libraries; the files go through in pieces",
    "builds": 0,
}
STEP: dict[str, Any] = {
    "name": "fetch",
    "state": "finished",
    "progress": {
        "done": 269_060_552,
        "total": 269_060_552,
        "unit": "bytes",
        "seconds_left": None,
    },
    "started_at": STARTED_AT,
    "finished_at": "2026-11-26T14:05:13.902113Z",
    "waits_for": "",
    "result": {"commit": COMMIT, "files": 9},
    "measured": {
        "seconds": 8.8,
        "host": "gpu-host-3",
        "peak_host_bytes": 91_226_112,
        "peak_device_bytes": None,
        "device_bytes_from": None,
        "disk_bytes": 271_400_000,
    },
}
FORECAST: dict[str, Any] = {
    "made_at": QUEUED_AT,
    "absent": None,
    "queue": {
        "pool": "default",
        "waiting": 0,
        "running": 1,
        "low_seconds": 40.0,
        "high_seconds": 95.0,
        "source": "what is left of 1 build before this one",
    },
    "device": {"kind": "H100", "count": 1},
    "seconds": _SECONDS | {"low": 48.0, "high": 130.0, "source": "the sum of its steps"},
    "host_bytes": _HOST_BYTES,
    "device_bytes": None,
    "device_absent": "no build of this kind has measured it yet",
    "disk": {
        "download_bytes": 269_030_016,
        "exported_bytes": 162_529_280,
        "working_bytes": 431_559_296,
        "source": "weight files as the checkpoint lists them, and the exported weights",
    },
    "steps": [{"name": "fetch", "seconds": _SECONDS, "host_bytes": _HOST_BYTES}],
    "cached": {
        "checkpoint": {
            "commit": COMMIT,
            "is_fetched": False,
            "build_number": None,
            "host": None,
            "words": "Not fetched yet: it is downloaded.",
        },
        "artifact": None,
    },
}
BUILD_WHOLE = BUILD | {
    "after": None,
    "followed_by": [],
    "promotion": None,
    "devices": [],
    "forecast": FORECAST,
    "outcome": [
        {
            "amount": "seconds",
            "step": "fetch",
            "planned": _SECONDS,
            "measured": 8.8,
            "measured_by": "the supervisor",
            "ratio": 0.68,
            "absent": None,
        }
    ],
    "reuse": {
        "state": "first",
        "artifact_id": None,
        "differences": [],
        "inputs": {"checkpoint": {"repo": REPO, "commit": COMMIT}},
    },
    "steps": [STEP],
}
LOG_LINE = {
    "timestamp": "1795702513902113000",
    "message": "fetched 9 files",
    "level": "INFO",
    "step": "fetch",
}
ARTIFACT: dict[str, Any] = {
    "id": BUILD["artifact_id"],
    "content_digest": DIGEST,
    "input_digest": "sha256:" + "c0ffee" * 10 + "1234",
    "size_bytes": 165_070_848,
    "created_at": FINISHED_AT,
}
GATE: dict[str, Any] = {
    "state": "passed",
    "reason": "",
    "failure": None,
    "limits": {
        "max_perplexity_increase": 0.06,
        "max_logit_drift_nats": 0.15,
        "min_same_choice": 0.75,
        "max_agreement_loss": 0.01,
    },
    "adapters_left_out": [],
    "measured_by": "emulation of the exported files",
    "runs_here": True,
    "note": None,
    "content_digest": DIGEST,
    "scales": {"input_scale": 210, "k_scale": 30, "v_scale": 30, "weight_scale": 210},
    "calibrated": {"scales": 270, "compared": 270, "not_compared": []},
    "weights": {"quantized": 210, "compared": 210, "not_compared": {}},
    "compute_dtype": "bfloat16",
    "evaluation": {
        "dataset": "enginehouse/general",
        "config": None,
        "split": "train",
        "revision": "1",
        "held_out": True,
        "samples": 16,
    },
    "kind": "generation",
    "figures": {
        "perplexity_original": 20.19,
        "perplexity_quantized": 20.96,
        "perplexity_guessed": 911.4172,
        "perplexity_change": 0.038138,
        "logit_drift_nats": 0.031274,
        "same_choice": 0.902941,
        "tokens": 4080,
    },
    "worst": [
        {
            "perplexity_ratio": 1.082113,
            "tokens": 256,
            "text": "The ferry leaves the harbour at seven",
        }
    ],
    "seconds": 41.27,
    "peak_host_bytes": 1_911_263_232,
    "peak_device_bytes": None,
}
PASSPORT: dict[str, Any] = {
    "format": 1,
    "content_digest": DIGEST,
    "checkpoint": {"source": "HF", "repo": REPO, "commit": COMMIT},
    "tools": {"python": "3.11.7", "torch": "2.13.0", "transformers": "5.19.0"},
    "gate": GATE,
}
ARTIFACT_WHOLE = ARTIFACT | {
    "files": [
        {"path": "config.json", "sha256": "ab" * 32, "size_bytes": 704},
        {"path": "model.safetensors", "sha256": "cd" * 32, "size_bytes": 162_529_280},
    ],
    "passport": PASSPORT,
}
ARTIFACT_TOMBSTONE = {"id": ARTIFACT["id"], "deleted": True}
COMPARISON: dict[str, Any] = {
    "left": "aua8jmtv",
    "right": BUILD["id"],
    "parts": [
        {
            "name": "config",
            "only_differences": True,
            "rows": [
                {
                    "label": "trt_llm.build.quantization_type",
                    "left": "no_quant",
                    "right": "fp8",
                    "differs": True,
                }
            ],
        }
    ],
}
FIX: dict[str, Any] = {
    "base_revision": 1,
    "moved_on": False,
    "changes": [{"field": "trt_llm.build.quantization_type", "old": "fp8", "new": "no_quant"}],
    "difference": ["-     quantization_type: fp8", "+     quantization_type: no_quant"],
    "problem": None,
}
PUSH_WANTED = {
    "destination": "hf://acme/smollm2-fp8",
    "secret_name": "hf_write_token",
    "private": True,
}
PUSH: dict[str, Any] = {
    "id": "w4mn7pkd",
    "artifact_id": ARTIFACT["id"],
    "destination": PUSH_WANTED["destination"],
    "secret_name": PUSH_WANTED["secret_name"],
    "private": True,
    "state": "succeeded",
    "attempt": 1,
    "progress": {"done_bytes": ARTIFACT["size_bytes"], "total_bytes": ARTIFACT["size_bytes"]},
    "result": {
        "url": "https://huggingface.co/acme/smollm2-fp8/tree/main",
        "commit": COMMIT,
        "sent_files": 9,
        "skipped_files": 0,
    },
    "failure": None,
    "created_at": QUEUED_AT,
    "created_by": ADA["email"],
    "started_at": STARTED_AT,
    "finished_at": FINISHED_AT,
    "cancel_requested_at": None,
}
