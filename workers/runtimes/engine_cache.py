"""Where this host keeps what engines compile."""

from collections.abc import Mapping
from pathlib import Path


def engine_cache(environment: Mapping[str, str]) -> Path:
    named = environment.get("ENGINE_CACHE_DIR") or "~/.cache/enginehouse"
    return Path(named).expanduser().absolute()


def numba_cache(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what tells numba to keep there what it compiled, and not beside the sources."""
    return {"NUMBA_CACHE_DIR": str(engine_cache(environment) / "numba")}
