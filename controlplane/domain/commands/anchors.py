"""Where in a row of words a server's own arguments begin, and servers that are not read."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from controlplane.domain.commands.invocation import RefusedCommandError, Server
from controlplane.domain.commands.words import Word

_VLLM_MODULES = frozenset(
    {"vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server", "vllm.scripts",
     "vllm.entrypoints.cli.main", "vllm"}
)  # fmt: skip
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ash"})
_VLLM_IMAGE = re.compile(r"vllm", re.I)
_TRTLLM_IMAGE = re.compile(r"tensorrt-?llm|trt-?llm", re.I)
_SERVERS = {
    "SGLang": re.compile(r"sglang", re.I),
    "text-generation-inference": re.compile(r"text-generation-(launcher|inference)", re.I),
    "text-embeddings-inference": re.compile(r"text-embeddings-(router|inference)", re.I),
    "llama.cpp": re.compile(r"(^|/)(llama-server|llama\.cpp)|llama_cpp", re.I),
    "Ollama": re.compile(r"(^|/)ollama", re.I),
    "LMDeploy": re.compile(r"lmdeploy", re.I),
    "Triton": re.compile(r"(^|/)tritonserver", re.I),
}
VLLM_NAMES = frozenset(
    {"model", "model_tag", "tensor_parallel_size", "pipeline_parallel_size", "max_model_len",
     "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization", "quantization",
     "kv_cache_dtype", "served_model_name", "enable_lora", "speculative_config",
     "enable_prefix_caching", "trust_remote_code"}
)  # fmt: skip
"""Settings by which flags or a file are known to be vLLM's."""
TRTLLM_NAMES = frozenset(
    {"kv_cache_config", "cuda_graph_config", "scheduler_config", "lora_config", "moe_config",
     "max_seq_len", "max_batch_size", "max_num_tokens", "disable_overlap_scheduler",
     "guided_decoding_backend", "enable_attention_dp", "moe_expert_parallel_size", "attn_backend"}
)  # fmt: skip
"""Settings by which a file is known to be TensorRT-LLM's."""
_TRTLLM_FLAGS = TRTLLM_NAMES | {"tp_size", "pp_size", "ep_size", "free_gpu_memory_fraction"}
_INSTEAD = "Paste the `vllm serve` or `trtllm-serve` line that starts the model."


def find_server(words: Sequence[Word]) -> tuple[Server, int] | None:
    """Return the server that the words start and where its arguments begin.

    Raises RefusedCommandError for other programs of the same package.
    """
    texts = [word.text for word in words]
    for index, text in enumerate(texts):
        name = PurePosixPath(text).name
        following = texts[index + 1] if index + 1 < len(texts) else ""
        if name == "vllm" and (index == 0 or texts[index - 1] != "-m"):
            if _starts_a_program(texts, index) and (program := _vllm_program(following, index)):
                return program
        elif name == "trtllm-serve":
            return _trtllm_program(following, index)
        elif text == "-m" and following in _VLLM_MODULES:
            serves = index + 2 < len(texts) and texts[index + 2] == "serve"
            return Server.VLLM, index + (3 if serves else 2)
        elif text.endswith("vllm/entrypoints/openai/api_server.py"):
            return Server.VLLM, index + 1
    return None


def shell_text(words: Sequence[Word]) -> Word | None:
    """Return what `bash -c '…'` is told to run, or None."""
    for index, word in enumerate(words[:-2]):
        if PurePosixPath(word.text).name not in _SHELLS:
            continue
        for position in range(index + 1, len(words) - 1):
            option = words[position].text
            if not option.startswith("-"):
                break
            if not option.startswith("--") and "c" in option:
                return words[position + 1]
    return None


def server_of_image(image: str) -> Server | None:
    return Server.VLLM if _VLLM_IMAGE.search(image) else None


def server_of_flags(words: Sequence[Word]) -> Server | None:
    if not words or not words[0].text.startswith("--"):
        return None
    names = names_of(words)
    if names & _TRTLLM_FLAGS:
        return Server.TRTLLM
    return Server.VLLM if names & VLLM_NAMES else None


def names_of(words: Sequence[Word]) -> set[str]:
    flags = (word.text.partition("=")[0] for word in words if word.text.startswith("--"))
    return {flag.lstrip("-").replace("-", "_") for flag in flags}


def is_trtllm_image(image: str) -> bool:
    return _TRTLLM_IMAGE.search(image) is not None


def refusal_for(texts: Sequence[str]) -> RefusedCommandError:
    for text in texts:
        for name, pattern in _SERVERS.items():
            if pattern.search(text):
                return RefusedCommandError(
                    f"This starts {name}, whose options are not read here.", _INSTEAD
                )
    return RefusedCommandError("This is not a `vllm serve` or `trtllm-serve` command.", _INSTEAD)


def _starts_a_program(texts: Sequence[str], index: int) -> bool:
    """Return whether the word can be a program and not the value of a flag, `--name vllm`."""
    return index == 0 or not texts[index - 1].startswith("--") or texts[index - 1] == "--"


def _vllm_program(following: str, index: int) -> tuple[Server, int] | None:
    if following == "serve":
        return Server.VLLM, index + 2
    if following in {"bench", "chat", "complete", "collect-env", "run-batch", "launch"}:
        raise RefusedCommandError(
            f"`vllm {following}` serves no model.", "Paste the `vllm serve` line."
        )
    return None


def _trtllm_program(following: str, index: int) -> tuple[Server, int]:
    if following in {"disaggregated", "disaggregated_mpi_worker", "mm_embedding_serve"}:
        raise RefusedCommandError(
            f"`trtllm-serve {following}` is not one server with one model.",
            "Paste the `trtllm-serve MODEL` line of a single server.",
        )
    return Server.TRTLLM, index + (2 if following == "serve" else 1)
