"""Whole configs with the values that the documentation of the hosted product shows.

Sources, checked 2026-11-27: docs.baseten.co/engines/engine-builder-llm/overview ("Basic Llama 3.3
70B", "Qwen 2.5 32B with lookahead", "Small model") and .../lookahead-decoding (the config at its
end). Comments are ours.
"""

from controlplane.domain.presets import Preset

LARGE_DECODER = Preset(
    name="documented-large-decoder",
    title="Llama 3.3 70B on four H100",
    summary="The Engine-Builder page: FP8 weights and KV cache, 131,072 tokens.",
    text="""\
model_name: Llama-3.3-70B-Instruct
resources:
  accelerator: H100:4
  cpu: '4'
  memory: 40Gi
  use_gpu: true
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: "meta-llama/Llama-3.3-70B-Instruct"
      revision: main
      runtime_secret_name: hf_access_token
    max_seq_len: 131072
    max_batch_size: 256
    max_num_tokens: 8192
    quantization_type: fp8_kv
    tensor_parallel_count: 4
    plugin_configuration:
      paged_kv_cache: true
      use_paged_context_fmha: true
      use_fp8_context_fmha: true
    quantization_config:
      calib_size: 1024
      calib_dataset: "abisee/cnn_dailymail"
      calib_max_seq_length: 2048
  runtime:
    kv_cache_free_gpu_mem_fraction: 0.9
    enable_chunked_context: true
    batch_scheduler_policy: guaranteed_no_evict
    served_model_name: "Llama-3.3-70B-Instruct"
""",
)

DECODER_WITH_LOOKAHEAD = Preset(
    name="documented-lookahead",
    title="Qwen 2.5 Coder 32B with lookahead",
    summary="The Engine-Builder page: FP8, windows and verification of 3.",
    text="""\
model_name: Qwen-2.5-32B-Lookahead
resources:
  accelerator: H100:1
  cpu: '2'
  memory: 20Gi
  use_gpu: true
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: "Qwen/Qwen2.5-Coder-32B-Instruct"
      revision: main
    max_seq_len: 32768
    max_batch_size: 128
    max_num_tokens: 8192
    quantization_type: fp8
    tensor_parallel_count: 1
    num_builder_gpus: 2 # quantizing starts from 16 bits: twice the memory of the FP8 weights
    speculator:
      speculative_decoding_mode: LOOKAHEAD_DECODING
      lookahead_windows_size: 3
      lookahead_ngram_size: 8
      lookahead_verification_set_size: 3
      enable_b10_lookahead: true
    plugin_configuration:
      paged_kv_cache: true
      use_paged_context_fmha: true
      use_fp8_context_fmha: true
  runtime:
    kv_cache_free_gpu_mem_fraction: 0.85
    enable_chunked_context: true
    batch_scheduler_policy: guaranteed_no_evict
    served_model_name: "Qwen-2.5-Coder-32B-Instruct"
""",
)

SMALL_DECODER = Preset(
    name="documented-small-decoder",
    title="Llama 3.2 3B on one L4",
    summary="The Engine-Builder page: the small model of its examples.",
    text="""\
model_name: Llama-3.2-3B-Instruct
resources:
  accelerator: L4
  cpu: '1'
  memory: 10Gi
  use_gpu: true
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: "meta-llama/Llama-3.2-3B-Instruct"
      revision: main
    max_seq_len: 8192
    max_batch_size: 256
    max_num_tokens: 4096
    quantization_type: fp8
    tensor_parallel_count: 1
    plugin_configuration:
      paged_kv_cache: true
      use_paged_context_fmha: true
      use_fp8_context_fmha: false
  runtime:
    kv_cache_free_gpu_mem_fraction: 0.9
    enable_chunked_context: true
    batch_scheduler_policy: guaranteed_no_evict
    served_model_name: "Llama-3.2-3B-Instruct"
""",
)

LOOKAHEAD_FOR_CODE = Preset(
    name="documented-code-lookahead",
    title="Lookahead for code",
    summary="The lookahead page: the whole config at its end.",
    text="""\
model_name: Qwen-Coder-7B-Lookahead
resources:
  accelerator: H100
  cpu: '1'
  memory: 10Gi
  use_gpu: true
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: "Qwen/Qwen2.5-7B-Instruct"
    quantization_type: fp8
    max_batch_size: 64
    speculator:
      speculative_decoding_mode: LOOKAHEAD_DECODING
      lookahead_windows_size: 1
      lookahead_ngram_size: 8
      lookahead_verification_set_size: 1
      enable_b10_lookahead: true
  runtime:
    served_model_name: "Qwen-Coder-7B"
""",
)

DOCUMENTED = (LARGE_DECODER, DECODER_WITH_LOOKAHEAD, SMALL_DECODER, LOOKAHEAD_FOR_CODE)
