"""Everything pure about the runtimes, one package each."""

from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from controlplane.domain.runtimes import native, trtllm, vllm
from controlplane.domain.runtimes.capability import Capability, Feature, Support
from controlplane.domain.runtimes.launch import Launch

RUNTIMES: Mapping[str, ModuleType] = MappingProxyType(
    {"native": native, "vllm": vllm, "trtllm": trtllm}
)
"""Runtimes whose commands, capabilities, failures and metrics are known."""
WITHOUT_DEFAULT_LENGTH = frozenset({"vllm", "trtllm"})
"""Those that cannot be told how long answers are where a request does not say; the gateway is."""
NON_OPENAI_DIALECT = frozenset({"trtllm"})
"""Those that the gateway asks in TensorRT-LLM's words instead of OpenAI's.

Requests name an adapter's folder on the engine's host, which the gateway does not know; a schema
inside OpenAI's `json_schema` is lost by 1.2; tools are not called unless `tool_choice` says so.
Source: NVIDIA/TensorRT#4855 and `serve/openai_protocol.py`, read 2026-11-27.
"""
SALTED_EVERYWHERE = frozenset({"vllm"})
"""Those that take a `cache_salt` on every route with a JSON body, or pass it over.

TensorRT-LLM's `/v1/responses` refuses fields that it does not know, this one among them; the
native engine reuses beginnings on the routes of chats and completions alone. Source:
`ResponsesRequest` and its base class in both, read 2026-11-28.
"""

__all__ = [
    "NON_OPENAI_DIALECT",
    "RUNTIMES",
    "SALTED_EVERYWHERE",
    "WITHOUT_DEFAULT_LENGTH",
    "Capability",
    "Feature",
    "Launch",
    "Support",
]
