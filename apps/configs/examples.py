from typing import Any

from apps.accounts.examples import ADA

SAVED_AT = "2026-11-26T14:03:28.418419Z"
REPO = "HuggingFaceTB/SmolLM2-135M-Instruct"
TEXT = f"""\
model_name: smollm2
resources:
  accelerator: A100
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: {REPO}
    quantization_type: fp8
    max_seq_len: 2048
"""
PARSED: dict[str, Any] = {
    "model_name": "smollm2",
    "resources": {"accelerator": "A100", "cpu": "1", "memory": "2Gi"},
    "trt_llm": {
        "inference_stack": "v1",
        "build": {
            "base_model": "decoder",
            "checkpoint_repository": {"source": "HF", "repo": REPO, "revision": None},
            "quantization_type": "fp8",
            "max_seq_len": 2048,
            "max_batch_size": 256,
        },
        "runtime": {"kv_cache_free_gpu_mem_fraction": 0.9},
    },
}
FINDING: dict[str, Any] = {
    "code": "EH201",
    "name": "fp8-on-gpu-without-fp8",
    "severity": "error",
    "message": "`fp8` does not run on `A100`, which has compute capability 8.0: FP8 weights need "
    "compute capability 8.9. L4, L40S, H100, H200 and B200 have FP8.",
    "fields": ["trt_llm.build.quantization_type", "resources.accelerator"],
    "line": 10,
    "column": 5,
    "fix": {
        "label": "Use no_quant",
        "patch": {"trt_llm.build.quantization_type": "no_quant"},
        "safe": False,
    },
    "no_fix": None,
    "source": {
        "document": "docs.baseten.co/engines/performance-concepts/quantization-guide",
        "section": "GPU support",
        "checked": "2026-11-27",
    },
}
EXAMINATION: dict[str, Any] = {
    "findings": [FINDING],
    "waiting": [
        {
            "code": "EH501",
            "name": "weights-do-not-fit",
            "facts": ["checkpoint"],
            "message": f"The facts of `{REPO}` are being read.",
        }
    ],
    "effective": [
        {
            "field": "trt_llm.build.num_builder_gpus",
            "asked": None,
            "effective": 1,
            "reason": "A build leases as many GPUs as a replica, as no number is written.",
        }
    ],
    "runtime": "vllm",
    "runtime_version": "0.25",
    "untested": ["accelerators", "chat", "FP8 weights"],
    "plan": None,
    "blocks_build": True,
}
CONFIG_TEXT = {"text": TEXT}
CONFIG_WANTED = CONFIG_TEXT | {"name": "smollm2"}
REVISION_WANTED = CONFIG_TEXT | {"expected_revision": 1}
CONFIG: dict[str, Any] = {
    "id": "74hnd2b8",
    "name": "smollm2",
    "created_at": "2026-11-26T14:03:28.415867Z",
    "updated_at": "2026-11-26T14:03:28.415876Z",
    "revision": 1,
    "blocks_build": True,
}
REVISION: dict[str, Any] = {
    "number": 1,
    "config_id": CONFIG["id"],
    "created_at": SAVED_AT,
    "created_by": ADA["email"],
    "blocks_build": True,
}
REVISION_WHOLE = REVISION | {"text": TEXT, "config": PARSED, "examination": EXAMINATION}
CONFIG_WHOLE = CONFIG | {"last_revision": REVISION_WHOLE}
COMMAND = {"command": f"vllm serve {REPO} --max-model-len 2048 --swap-space 4"}
IMPORTED: dict[str, Any] = {
    "server": "vllm",
    "text": "trt_llm:\n  build:\n    base_model: decoder\n    checkpoint_repository:\n"
    f"      source: HF\n      repo: {REPO}\n    max_seq_len: 2048\n"
    "enginehouse:\n  runtime: vllm\n",
    "complete": True,
    "mapped": [
        {"flag": "--max-model-len 2048", "field": "trt_llm.build.max_seq_len", "value": 2048}
    ],
    "changed": [],
    "questions": [
        {
            "flag": None,
            "field": "resources.accelerator",
            "question": "Which accelerator? A command line does not name it.",
            "choices": [
                {"label": "H100", "patch": {"resources.accelerator": "H100"}},
            ],
        }
    ],
    "not_carried": [
        {
            "flag": "--swap-space 4",
            "reason": "Weights stay on the GPUs; the memory plan says how many that takes.",
        }
    ],
    "secrets": [],
}
_SERVE = f"vllm serve {REPO} \\\n  --max-model-len 2048\n"
EXPORTED: dict[str, Any] = {
    "format": "vllm",
    "text": _SERVE,
    "files": {"serve.sh": _SERVE},
    "changed": [],
    "not_carried": [
        {
            "flag": "resources.cpu",
            "reason": "A command line takes what the machine has.",
        }
    ],
}
