"""The two configs of the demonstration: one that runs here, and one that cannot."""

RUNS_HERE = "smollm2-135m"
RUNS_HERE_YAML = """\
# SmolLM2-135M-Instruct on this machine's CPU: small enough to try everything with. The weights
# become FP8, which a CPU emulates; on a card the same artifact runs as it is.
model_name: smollm2-135m
resources:
  cpu: "2"
  memory: 4Gi
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: LOCAL
      repo: smollm2-135m-instruct
    max_seq_len: 2048
    max_batch_size: 8
    quantization_type: fp8
    quantization_config:
      calib_dataset: enginehouse/general # ships with Enginehouse, so no hub is needed
      calib_max_seq_length: 256
  runtime:
    served_model_name: smollm2-135m
    request_default_max_tokens: 256
enginehouse:
  calibration:
    samples: 16
"""

CANNOT_RUN_HERE = "llama-3.3-70b"
CANNOT_RUN_HERE_YAML = """\
# A config written for the hosted product. It stays as it is; the checks say what stands in its way.
model_name: Llama-3.3-70B-Instruct
resources:
  accelerator: H100:4
  cpu: "4"
  memory: 40Gi
  use_gpu: true
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: meta-llama/Llama-3.3-70B-Instruct
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
      calib_dataset: abisee/cnn_dailymail
      calib_max_seq_length: 2048
  runtime:
    kv_cache_free_gpu_mem_fraction: 0.9
    enable_chunked_context: true
    batch_scheduler_policy: guaranteed_no_evict
    served_model_name: Llama-3.3-70B-Instruct
"""
