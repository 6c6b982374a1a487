import re
from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.section import NonEmptyText, Section

DEFAULT_SECRET_NAME = "hf_access_token"
HUB_REPOSITORY = re.compile(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95})?", re.ASCII)


class CheckpointRepository(Section):
    """A checkpoint: its source, its place there, and the secret that opens it."""

    source: CheckpointSource
    """Where the weights are fetched from."""
    repo: NonEmptyText
    """Hub id, bucket URI, local folder, or URL, by source."""
    revision: str | None = None
    """Branch, tag or commit; the default branch when absent. Pinned to a commit by the build."""
    runtime_secret_name: str = DEFAULT_SECRET_NAME
    """The secret that opens it; a build gets it where `secrets` lists the name."""

    @model_validator(mode="after")
    def _hub_ids_are_well_formed(self) -> Self:
        if self.source is CheckpointSource.HF and not is_hub_id(self.repo):
            raise PydanticCustomError(
                "repository_id",
                "`{repo}` is not a hub repository id",
                {"repo": self.repo, "field": "repo"},
            )
        return self


def is_hub_id(repo: str) -> bool:
    """Return whether `repo` reads as `name` or `namespace/name` on the Hugging Face hub."""
    return (
        HUB_REPOSITORY.fullmatch(repo) is not None
        and "--" not in repo
        and ".." not in repo
        and not repo.endswith((".git", "-", "."))
    )
