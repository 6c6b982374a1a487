"""The two configs of the demonstration: one that runs here, and one that cannot."""

from controlplane.domain.documented_configs import LARGE_DECODER

RUNS_HERE = "smollm2-135m"
RUNS_HERE_YAML = """\
# SmolLM2-135M-Instruct on this machine's CPU: small enough to try everything with. The weights
# become FP8, which a CPU emulates; on a GPU the same artifact runs as it is.
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
      calib_max_seq_length: 192
  runtime:
    served_model_name: smollm2-135m
    request_default_max_tokens: 256
enginehouse:
  calibration:
    samples: 16
"""

CANNOT_RUN_HERE = "llama-3.3-70b"
CANNOT_RUN_HERE_YAML = f"""\
# A config written for the hosted product. It stays as it is; the checks say what stands in its way.
{LARGE_DECODER.text}"""
