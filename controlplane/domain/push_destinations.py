"""Where an artifact can be pushed to: a repository of the hub, or a folder in a bucket."""

import re
from dataclasses import dataclass

from controlplane.domain.spec.checkpoint_repository import is_hub_id
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import BucketFolder, bucket_folder

LONGEST_DESTINATION = 1000
FORMS = "`hf://owner/name`, `hf://owner/name@branch` or `s3://bucket/folder`"
_HUB, _MAIN = "hf://", "main"
_BRANCH = re.compile(r"\w[\w./-]{0,199}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class HubDestination:
    repo: str
    branch: str

    def __str__(self) -> str:
        return f"{_HUB}{self.repo}" + ("" if self.branch == _MAIN else f"@{self.branch}")


def read_destination(text: str) -> HubDestination | BucketFolder | None:
    if len(text) > LONGEST_DESTINATION or not text.isprintable():
        return None
    if text.startswith(_HUB):
        return _read_hub(text.removeprefix(_HUB))
    folder = bucket_folder(CheckpointSource.S3, text)
    return folder if folder is not None and folder.folder else None


def _read_hub(text: str) -> HubDestination | None:
    repo, _, branch = text.partition("@")
    if "/" not in repo or not is_hub_id(repo) or ("@" in text and not _is_branch(branch)):
        return None
    return HubDestination(repo=repo, branch=branch or _MAIN)


def _is_branch(text: str) -> bool:
    return _BRANCH.fullmatch(text) is not None and ".." not in text and "//" not in text
