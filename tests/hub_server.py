"""A hub on the loopback: Hugging Face's API as huggingface_hub 2.4 asks it, with its bad days.

    with HubServer() as hub:
        commit = hub.add("org/model", folder, gated=True, readers={"hf_good"})
        ... HF_ENDPOINT=hub.url

Served: model info with file sizes and digests, file trees, `resolve` with HEAD, GET and ranges.
Who may write makes repositories, uploads large files and commits (tests/hub_uploads.py).
Large files answer with a redirect to another origin, where a token must not follow.
"""

import threading
from pathlib import Path
from typing import Self

from tests.hub_contents import Repository, Request, Trouble, commit_of, sha256
from tests.hub_handler import HubHandler
from tests.loopback_server import LoopbackServer

__all__ = ["HubServer", "Trouble"]


class HubServer:
    """Runs in threads of this process on a free port while the `with` block lasts."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.troubles: dict[str, Trouble] = {}
        self.requests: list[Request] = []
        self.tokens: set[str] = set()
        """Tokens that the hub knows; any other is answered with 401."""
        self.owners: dict[str, set[str]] = {}
        """By token, the namespaces that it may make repositories in."""
        self.blobs: dict[str, bytes] = {}
        """Large files that were uploaded, by sha256."""
        self.part_bytes: int | None = None
        """Above it a large file is taken in parts."""
        self.blob_error = ""
        """Why no large file is taken, as the answer to a batch says it."""
        self.parts: dict[tuple[str, int], bytes] = {}
        self.holds_blobs_after: int | None = None
        """From so many large files on, no upload of another one is answered."""
        self.blob_is_held = threading.Event()
        self.stopping = threading.Event()
        self._server = LoopbackServer(("127.0.0.1", 0), HubHandler)
        self._server.hub = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def cdn_url(self) -> str:
        # Another origin to a client, the same server.
        return f"http://localhost:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(
        self,
        repo: str,
        source: Path | dict[str, bytes],
        *,
        branch: str = "main",
        gated: bool = False,
        private: bool = False,
        readers: set[str] | frozenset[str] = frozenset(),
        writers: set[str] | frozenset[str] = frozenset(),
    ) -> str:
        """Commit a folder's files, or the given ones, to a branch; return the commit."""
        files = source if isinstance(source, dict) else _read_folder(source)
        commit = commit_of(repo, files)
        known = self.repositories.setdefault(repo, Repository())
        known.commits[commit] = files
        known.branches[branch] = commit
        known.gated, known.private, known.readers = gated, private, frozenset(readers)
        known.writers = frozenset(writers)
        self.tokens |= set(readers) | set(writers)
        return commit

    def trouble(self, path: str, trouble: Trouble) -> None:
        """Let something go wrong with a file's path, or with `info` (the model description)."""
        self.troubles[path] = trouble

    def asked_for(self, path: str) -> list[Request]:
        """Return the requests for a file, those for its bytes behind the redirect included."""
        digests = {
            sha256(files[path])
            for repository in self.repositories.values()
            for files in repository.commits.values()
            if path in files
        }
        return [
            each
            for each in self.requests
            if each.path.endswith(f"/{path}") or each.path.rpartition("/")[2] in digests
        ]


def _read_folder(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
