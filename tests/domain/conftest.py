"""Configs and checkpoints that the tests of the core share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.spec import Spec, parse_mapping

DATA = Path(__file__).parent / "data"
MakeSpec = Callable[..., Spec]


@pytest.fixture
def llama_text() -> str:
    """The text of a large model's config, with comments."""
    return (DATA / "llama_70b.yaml").read_text()


@pytest.fixture
def make_spec() -> MakeSpec:
    """Builds a spec whose `trt_llm.build` and top level differ from the smallest one."""

    def make(build: dict[str, Any] | None = None, **top: Any) -> Spec:
        repository = {"source": "LOCAL", "repo": "/checkpoints/example"}
        engine = {"build": {"checkpoint_repository": repository, **(build or {})}}
        result = parse_mapping({"trt_llm": engine, **top})
        assert result.spec is not None, result.errors
        return result.spec

    return make
