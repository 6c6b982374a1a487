"""A push to a repository of the hub: large files first, then everything in one commit.

Until that commit nothing can be seen there, so a broken push leaves the branch as it was; large
files that arrived are known to the hub by their sha256 and are not sent again.
"""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile

from controlplane.artifacts import FileEntry
from controlplane.domain.failures.registry import pushes
from controlplane.domain.push_destinations import HubDestination
from controlplane.sources.bearer import NO_TOKEN, bearer
from controlplane.sources.hub import HUB_ERRORS
from workers.build_steps.pushing.earlier import listed_paths
from workers.build_steps.pushing.failures import explain_hub, failed
from workers.build_steps.pushing.parcel import MANIFEST_NAME, Parcel
from workers.build_steps.pushing.readme import readme

_README = "README.md"


def push_to_hub(parcel: Parcel, target: HubDestination, scratch: Path) -> dict[str, Any]:
    """Return where the artifact is now: the branch holds every file of it.

    Raises StepFailure.
    """
    place = parcel.options.hf_endpoint
    try:
        return _Push(parcel, target, scratch).run()
    except (*HUB_ERRORS, ValueError) as error:
        raise explain_hub(error, parcel.order, place) from error
    except RuntimeError as error:
        # What ends the upload of a large file comes wrapped.
        if not isinstance(error.__cause__, (*HUB_ERRORS, ValueError)):
            raise
        raise explain_hub(error.__cause__, parcel.order, place) from error


class _Push:
    def __init__(self, parcel: Parcel, target: HubDestination, scratch: Path) -> None:
        self._parcel = parcel
        self._target = target
        self._scratch = scratch
        self._place = parcel.options.hf_endpoint
        if bearer(parcel.secret) is None:
            raise failed(pushes.NO_TOKEN, parcel.order, self._place, NO_TOKEN)
        self._api = HfApi(endpoint=self._place, token=parcel.secret.strip())

    def run(self) -> dict[str, Any]:
        self._make_ready()
        there = self._files_there()
        with contextlib.ExitStack() as opened:
            operations = [
                self._added(entry, opened)
                for entry in self._parcel.manifest.files
                if not self._is_there(entry, there.get(entry.path))
            ]
            commit = self._commit(operations, there)
        self._refuse_missing()
        return {
            "url": f"{self._place}/{self._target.repo}/tree/{self._target.branch}",
            "commit": commit,
        }

    def _make_ready(self) -> None:
        """Make the repository where there is none; one that is public is no private one."""
        order, repo = self._parcel.order, self._target.repo
        try:
            information = self._api.model_info(repo)
        except RepositoryNotFoundError:
            self._api.create_repo(repo, private=order.private)
            return
        if order.private and information.private is False:
            raise failed(pushes.PUBLIC, order, self._place)

    def _files_there(self) -> Mapping[str, RepoFile]:
        tree = self._api.list_repo_tree(
            self._target.repo, recursive=True, revision=self._target.branch
        )
        return {each.path: each for each in tree if isinstance(each, RepoFile)}

    def _is_there(self, entry: FileEntry, stored: RepoFile | None) -> bool:
        # The sha256 of a small file is not known there: the commit leaves out what is equal.
        if stored is None or stored.lfs is None:
            return False
        if (stored.lfs.sha256, stored.lfs.size) != (entry.sha256, entry.size_bytes):
            return False
        self._parcel.skip(entry)
        return True

    def _added(self, entry: FileEntry, opened: contextlib.ExitStack) -> CommitOperationAdd:
        """Return the file as a part of the commit; a large one is sent before this returns."""
        staged = self._staged(entry)
        content = opened.enter_context(_Counted(staged, self._parcel))
        added = CommitOperationAdd(path_in_repo=entry.path, path_or_fileobj=content)
        content.counts = True
        self._api.preupload_lfs_files(
            self._target.repo, [added], revision=self._target.branch, num_threads=1
        )
        content.counts = False
        self._parcel.sent(entry)
        staged.unlink()  # what is small stays readable through what is open
        if added.path_or_fileobj is not content:  # the client lets go of what the hub has
            content.close()
        return added

    def _staged(self, entry: FileEntry) -> Path:
        staged = self._scratch / "file"
        with staged.open("wb") as file:
            for piece in self._parcel.read(entry):
                file.write(piece)
        return staged

    def _commit(self, operations: list[CommitOperationAdd], there: Mapping[str, RepoFile]) -> str:
        left_over = self._left_over(there)
        words = list(self._words(there.keys() - left_over))
        gone = left_over - {each.path_in_repo for each in words}
        return self._api.create_commit(
            self._target.repo,
            [*operations, *words, *map(CommitOperationDelete, sorted(gone))],
            commit_message=f"Push {self._parcel.order.content_digest}",
            revision=self._target.branch,
            num_threads=1,
        ).oid

    def _words(self, there: Collection[str]) -> Iterator[CommitOperationAdd]:
        """Yield what comes with the files; a README that someone wrote stays as it is."""
        brings = {entry.path for entry in self._parcel.manifest.files}
        yield CommitOperationAdd(MANIFEST_NAME, self._parcel.manifest.to_bytes())
        if _README not in brings and _README not in there:
            yield CommitOperationAdd(_README, readme(self._parcel.order))

    def _left_over(self, there: Mapping[str, RepoFile]) -> frozenset[str]:
        if MANIFEST_NAME not in there:
            return frozenset()
        brings = {entry.path for entry in self._parcel.manifest.files}
        return self._listed_earlier() & there.keys() - brings - {MANIFEST_NAME}

    def _listed_earlier(self) -> frozenset[str]:
        manifest = self._api.hf_hub_download(
            self._target.repo,
            MANIFEST_NAME,
            revision=self._target.branch,
            local_dir=self._scratch / "earlier",
        )
        return listed_paths(Path(manifest).read_bytes())

    def _refuse_missing(self) -> None:
        there = self._files_there()
        for entry in self._parcel.manifest.files:
            if entry.path not in there or there[entry.path].size != entry.size_bytes:
                raise failed(pushes.INCOMPLETE, self._parcel.order, self._place, file=entry.path)


class _Counted(BufferedReader):
    """A file that tells how far it was read, also where it is read again from an earlier place."""

    def __init__(self, path: Path, parcel: Parcel) -> None:
        super().__init__(FileIO(path))
        self.counts = False
        self._parcel = parcel

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(size)
        if self.counts:
            self._parcel.tell(self.tell())
        return content
