"""What is to be shown on a GPU: a stage's name, which begins its result's file, and in words."""

from collections.abc import Mapping

WANTED: Mapping[str, str] = {
    "build": "SmolLM2 calibrated on the GPU to FP8 with FP8 KV, gated, packaged and asked once",
    "documented": "the hosted product's page of lookahead: its config, which names no runtime, "
    "built for what `auto` means on this host",
    "documented_small": "the Engine-Builder page's small model, so too",
    "documented_lookahead": "the Engine-Builder page's model with lookahead, so too",
    "documented_ask": "the first of these deployed, and asked through the gateway",
    "clients": "the scripts of the pages, unmodified, at vLLM through the gateway, and tools, a "
    "strict schema and two LoRA adapters in one batch",
    "embedder": "an embedder under vLLM, its vectors through the gateway beside Transformers'",
    "reranker": "a reranker under vLLM, so too",
    "classifier": "a classifier under vLLM, so too",
    "native": "the native engine on CUDA in bfloat16, beside Transformers",
    "native_deploy": "the native engine on the GPU through the product: a config asks for it, and "
    "its answers behind the gateway are compared with Transformers' own",
    "memory": "the memory plan beside an engine's report",
    "deploy": "the artifact behind the gateway: deployed, served by vLLM",
    "ask": "the `openai` client through the gateway: streamed chat, JSON schema, a cancel that is "
    "verified at the engine",
    "media": "an image that a request names by its address, asked of a model that takes none "
    "through the gateway and at vLLM itself, while the server at that address counts who comes",
    "media_images": "the same for a small random model that takes images, and the image itself",
    "speed": "SmolLM2 at 1, 8 and 64 streams through the gateway, beside vLLM alone",
    "kill": "the engine killed; memory kept by a process of it, by an ended process and by a "
    "stranger: each told with its cause, recovered",
    "take_down": "the deployment deactivated, and the GPU's memory given back",
    "out_of_memory": "a stranger on the GPU before calibration, which waits; CUDA out of memory "
    "in calibration: told with its cause, then built; and the memory plan of FP8 with a 16-bit KV "
    "cache",
    "no_quant": "the memory plan of the same model in bfloat16",
    "large_build": "the shape of Qwen3-8B with random weights, built to FP8 by the pipeline",
    "large_deploy": "that artifact behind the gateway",
    "large_speed": "that shape at 1, 8 and 64 streams through the gateway, beside vLLM alone",
    "large_take_down": "its deployment deactivated, and the GPU's memory given back",
    "large_fp8_kv": "the memory plan of that shape in FP8 with FP8 KV",
    "large_no_quant": "the memory plan of that shape in bfloat16",
    "formats": "what builds write in each precision, loaded and asked by vLLM beside the native "
    "engine: `gpu/formats.sh`",
    "lookahead": "lookahead under vLLM with our drafter, beside vLLM's own n-gram and no drafts",
    "lookahead_gateway": "the same through the gateway, beside the n-gram at its best",
    "quantization_speed": "the quantization speed table, by the product's own load generator",
    "native_verify": "the native engine in FP8 on an H100, verifying 64 tokens of one row of the "
    "shape of Qwen3-8B, in 4.5 ms; its fused decoder is later work",
    "two_devices_build": "a model built for two GPUs, tensor parallel",
    "two_devices": "a model served over two GPUs, tensor parallel",
    "two_devices_kill": "the process of its second rank killed: told, recovered, nothing left",
    "two_replicas_build": "the same model built for one GPU",
    "two_replicas": "two replicas of one deployment, a GPU each, beside one of them",
    "two_replicas_kill": "the engine of one of two replicas killed under traffic: told, recovered",
    "two_stages_build": "a model built for two GPUs, pipeline parallel",
    "two_stages": "a model served over two GPUs, pipeline parallel",
    "trtllm": "TensorRT-LLM at all",
}
