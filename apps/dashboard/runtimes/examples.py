RUNTIME = {
    "name": "vllm",
    "label": "vLLM",
    "versions": ["0.25", "0.26", "0.27"],
    "version_here": "0.25",
    "needs_gpu": True,
    "run_by_us": "0.25.1 by itself on one H100, 2026-11-27",
    "hosts": [{"node_id": "8arfsumz", "name": "gpu-host-3", "version": "0.25.1"}],
}
TABLE = {
    **RUNTIME,
    "version": "0.25",
    "owned_kinds": ["H100"],
    "features": [
        {
            "feature": "FP8 weights",
            "kinds": ["H100"],
            "support": "native",
            "how": "in FP8 arithmetic",
            "source": {
                "document": "vLLM 0.25 to 0.33",
                "section": "quantization, ModelOpt",
                "checked": "2026-11-28",
            },
            "seen_in": ["benchmarks/results/build-h200-2026-11-28.json"],
        }
    ],
    "pairs": [
        {
            "features": ["lookahead decoding", "image and audio inputs"],
            "support": "untested",
            "how": "its table of features calls the two unknown",
            "source": {
                "document": "vLLM 0.25 to 0.33",
                "section": "features, feature x feature",
                "checked": "2026-11-30",
            },
        }
    ],
}
