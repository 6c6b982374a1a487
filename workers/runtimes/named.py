"""The runtimes that this host's settings name; whether they work is seen when one is started."""

from collections.abc import Mapping


def named_runtimes(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the runtimes that this host is set up to start, the built-in one always."""
    named = {
        "vllm": environment.get("VLLM_PYTHON") or environment.get("VLLM_IMAGE"),
        "trtllm": environment.get("TRTLLM_PYTHON") or environment.get("TRTLLM_IMAGE"),
    }
    return frozenset({"native", *(runtime for runtime, name in named.items() if name)})
