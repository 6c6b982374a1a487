"""Which artifacts run Python of their checkpoint's own, and whether someone still lets them."""

from collections.abc import Mapping
from typing import Any

from apps.builds.models import Artifact
from apps.configs.remote_code.selectors import commit_is_granted


def remote_code_of(artifact: Artifact | None) -> Mapping[str, Any] | None:
    """Return the code that the artifact's engine runs and its grant; None where it runs none."""
    remote_code: Mapping[str, Any] | None = (
        artifact.passport.get("remote_code") if artifact else None
    )
    return remote_code


def is_granted(artifact: Artifact) -> bool:
    remote_code, checkpoint = remote_code_of(artifact), artifact.passport.get("checkpoint") or {}
    return remote_code is None or commit_is_granted(
        source=checkpoint["source"], repo=checkpoint["repo"], commit=remote_code["commit"]
    )
