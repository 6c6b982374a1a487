"""What the operator decides about where checkpoints come from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT_HF_ENDPOINT = "https://huggingface.co"


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Limits and places of the sources."""

    local_checkpoint_roots: tuple[str, ...] = ()
    """Folders that `LOCAL` checkpoints may lie in (LOCAL_CHECKPOINT_ROOTS)."""
    hf_endpoint: str = DEFAULT_HF_ENDPOINT
    cache_dir: Path | None = None
    """Where downloads are kept, so that a broken one goes on where it stopped."""
    timeout_seconds: float = 20.0
    """The longest silence of a server before it counts as gone."""
    attempts: int = 5
    """Tries in a row that bring no byte before a request is given up."""
    backoff_seconds: float = 1.0
    """The pause after the first failed try; it doubles with each further one, up to 16 times."""
    parallel_files: int = 4

    @classmethod
    def from_mapping(cls, options: Mapping[str, Any]) -> "SourceOptions":
        """Return the options found among those of a build job; absent ones keep their defaults."""
        given = {name: options[name] for name in cls.__dataclass_fields__ if options.get(name)}
        if roots := given.get("local_checkpoint_roots"):
            given["local_checkpoint_roots"] = tuple(roots)
        if folder := given.get("cache_dir"):
            given["cache_dir"] = Path(folder)
        if endpoint := given.get("hf_endpoint"):
            given["hf_endpoint"] = endpoint.rstrip("/")
        return cls(**given)
