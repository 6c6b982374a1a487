"""A store in an empty folder, and a folder worth publishing."""

from pathlib import Path

import pytest

from controlplane.artifacts import ArtifactStore


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


@pytest.fixture
def store(root: Path) -> ArtifactStore:
    return ArtifactStore.open(root.as_uri())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / "model.safetensors").write_bytes(bytes(range(256)) * 400)
    (folder / "1_Pooling" / "config.json").write_text("{}")
    return folder
