"""Starting points for a new config, each a text that the checks pass once the GPU is there."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Preset:
    name: str
    title: str
    summary: str
    text: str


TRY_ON_A_CPU = Preset(
    name="try-on-a-cpu",
    title="Try on a CPU",
    summary="SmolLM2 with 135 M parameters: builds in minutes and answers without any GPU.",
    text="""\
model_name: SmolLM2-135M-Instruct
resources:
  cpu: '2'
  memory: 6Gi
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: HuggingFaceTB/SmolLM2-135M-Instruct
    max_seq_len: 8192
    max_batch_size: 8
  runtime:
    served_model_name: SmolLM2-135M-Instruct
""",
)

SMALL_ON_L4 = Preset(
    name="small-model-on-l4",
    title="Lowest cost",
    summary="Llama 3.2 3B in 16 bits on one L4.",
    text="""\
model_name: Llama-3.2-3B-Instruct
resources:
  accelerator: L4
  cpu: '1'
  memory: 10Gi
secrets:
  hf_access_token: null  # meta-llama is gated
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: meta-llama/Llama-3.2-3B-Instruct
    max_seq_len: 8192
    max_batch_size: 64
    max_num_tokens: 4096
  runtime:
    served_model_name: Llama-3.2-3B-Instruct
""",
)

LARGE_ON_FOUR_H100 = Preset(
    name="large-model-on-four-h100",
    title="Large model",
    summary="Llama 3.3 70B with 8-bit weights and KV cache at its full context.",
    text="""\
model_name: Llama-3.3-70B-Instruct
resources:
  accelerator: H100:4
  cpu: '4'
  memory: 40Gi
secrets:
  hf_access_token: null  # meta-llama is gated
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: meta-llama/Llama-3.3-70B-Instruct
    max_seq_len: 131072
    max_batch_size: 256
    quantization_type: fp8_kv
    quantization_config:
      calib_size: 1024
    tensor_parallel_count: 4
  runtime:
    enable_chunked_context: true
    served_model_name: Llama-3.3-70B-Instruct
""",
)

CODE_WITH_LOOKAHEAD = Preset(
    name="code-with-lookahead",
    title="Coding agent with lookahead",
    summary="Qwen 2.5 Coder 7B on one H100: lookahead decoding for code and JSON.",
    text="""\
model_name: Qwen2.5-Coder-7B-Lookahead
resources:
  accelerator: H100
  cpu: '1'
  memory: 10Gi
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: Qwen/Qwen2.5-Coder-7B-Instruct
    max_seq_len: 32768
    max_batch_size: 32
    max_num_tokens: 32768  # lookahead turns chunked prefill off
    quantization_type: fp8
    speculator:
      speculative_decoding_mode: LOOKAHEAD_DECODING
      lookahead_windows_size: 1
      lookahead_ngram_size: 8
      lookahead_verification_set_size: 1
      enable_b10_lookahead: true
  runtime:
    served_model_name: Qwen2.5-Coder-7B
""",
)

EMBEDDINGS = Preset(
    name="embeddings",
    title="Embeddings",
    summary="A BERT embedder in 16 bits, with the OpenAI embeddings route.",
    text="""\
model_name: all-MiniLM-L6-v2
resources:
  accelerator: L4
  cpu: '1'
  memory: 10Gi
trt_llm:
  build:
    base_model: encoder_bert
    checkpoint_repository:
      source: HF
      repo: sentence-transformers/all-MiniLM-L6-v2
    max_num_tokens: 16384
  runtime:
    webserver_default_route: /v1/embeddings
""",
)

LOWEST_LATENCY = Preset(
    name="lowest-latency",
    title="Lowest latency",
    summary="Llama 3.1 8B in FP8 on one H100, few requests at once: quick answers.",
    text="""\
model_name: Llama-3.1-8B-Fast
resources:
  accelerator: H100
  cpu: '1'
  memory: 10Gi
secrets:
  hf_access_token: null  # meta-llama is gated
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: meta-llama/Llama-3.1-8B-Instruct
    max_seq_len: 16384
    max_batch_size: 16
    quantization_type: fp8_kv
  runtime:
    enable_chunked_context: true
    served_model_name: Llama-3.1-8B-Instruct
""",
)

HIGHEST_THROUGHPUT = Preset(
    name="highest-throughput",
    title="Highest throughput",
    summary="Llama 3.1 8B on one H100 with an 8-bit KV cache: many requests together.",
    text="""\
model_name: Llama-3.1-8B-Wide
resources:
  accelerator: H100
  cpu: '1'
  memory: 10Gi
secrets:
  hf_access_token: null  # meta-llama is gated
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: meta-llama/Llama-3.1-8B-Instruct
    max_seq_len: 8192
    max_batch_size: 256
    max_num_tokens: 16384
    quantization_type: fp8_kv
  runtime:
    enable_chunked_context: true
    batch_scheduler_policy: max_utilization
    served_model_name: Llama-3.1-8B-Instruct
""",
)

JSON_EXTRACTION = Preset(
    name="json-extraction",
    title="JSON extraction",
    summary="Qwen 2.5 7B with lookahead: it drafts the keys that a schema repeats.",
    text="""\
model_name: Qwen2.5-7B-JSON
resources:
  accelerator: H100
  cpu: '1'
  memory: 10Gi
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: Qwen/Qwen2.5-7B-Instruct
    max_seq_len: 16384
    max_batch_size: 32
    max_num_tokens: 16384  # lookahead turns chunked prefill off
    quantization_type: fp8
    speculator:
      speculative_decoding_mode: LOOKAHEAD_DECODING
      lookahead_windows_size: 1
      lookahead_ngram_size: 8
      lookahead_verification_set_size: 1
      enable_b10_lookahead: true
  runtime:
    served_model_name: Qwen2.5-7B-JSON
""",
)

RERANKER = Preset(
    name="reranker",
    title="Reranker",
    summary="BGE reranker, a cross-encoder, on one L4: puts search results in order.",
    text="""\
model_name: bge-reranker-base
resources:
  accelerator: L4
  cpu: '1'
  memory: 10Gi
trt_llm:
  build:
    base_model: encoder_bert
    checkpoint_repository:
      source: HF
      repo: BAAI/bge-reranker-base
    max_num_tokens: 16384
  runtime:
    webserver_default_route: /rerank
""",
)

CLASSIFIER = Preset(
    name="classifier",
    title="Classifier",
    summary="DistilBERT for sentiment on one L4: a label and its score for each text.",
    text="""\
model_name: distilbert-sst2
resources:
  accelerator: L4
  cpu: '1'
  memory: 10Gi
trt_llm:
  build:
    base_model: encoder_bert
    checkpoint_repository:
      source: HF
      repo: distilbert/distilbert-base-uncased-finetuned-sst-2-english
    max_num_tokens: 16384
  runtime:
    webserver_default_route: /predict
""",
)

PRESETS: tuple[Preset, ...] = (
    TRY_ON_A_CPU,
    LOWEST_LATENCY,
    HIGHEST_THROUGHPUT,
    SMALL_ON_L4,
    LARGE_ON_FOUR_H100,
    CODE_WITH_LOOKAHEAD,
    JSON_EXTRACTION,
    EMBEDDINGS,
    RERANKER,
    CLASSIFIER,
)
