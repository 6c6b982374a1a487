"""The tools that a build used, by version, told without importing any of them."""

import platform
from importlib import metadata

_TOOLS = ("torch", "transformers", "nvidia-modelopt", "safetensors", "tokenizers")


def tool_versions() -> dict[str, str | None]:
    return {"python": platform.python_version(), **{name: _version(name) for name in _TOOLS}}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
