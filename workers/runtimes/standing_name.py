"""A model's name to its engine: the same for every copy of one artifact, wherever it lies.

vLLM keys what it compiled by the path that it was given, so a replica would compile again what the
smoke test of the same artifact had compiled a minute before. Source: vLLM 0.25.1,
`config/model.py`, `ModelConfig.compute_hash`, checked 2026-11-28.
"""

from pathlib import Path

from controlplane.domain.runtimes import RUNTIMES

_DIGITS = 16


def standing_name(runtime: str, folder: Path, model_dir: Path, content_digest: str) -> str:
    """Return how an engine that is started in `folder` is to be told of `model_dir`."""
    if not RUNTIMES[runtime].compiles_by_path:
        return str(model_dir)
    name = content_digest.rpartition(":")[2][:_DIGITS]
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(model_dir)
    return f"./{name}"
