"""What tests of builds share: buildable revisions, and what a build looks like from outside."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from apps.builds.models import Build
from apps.configs.models import Revision
from controlplane.domain.spec import parse_text
from tests import factories

MakeBuild = Callable[..., Build]


def make_buildable(checkpoint: Path, *, added: str = "", **changes: Any) -> Revision:
    """A revision whose stored spec is what its text says; `added` goes under `trt_llm.build`."""
    text = factories.config_text(str(checkpoint)) + added
    spec = parse_text(text).spec
    assert spec is not None
    return factories.make_revision(
        repo=str(checkpoint), text=text, spec=spec.model_dump(mode="json"), **changes
    )


def steps(build: Build) -> dict[str, str]:
    """Step -> state."""
    return dict(build.steps.values_list("name", "state"))
