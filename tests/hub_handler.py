"""Answers of the loopback hub, one request at a time."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from threading import Event
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

from tests.hub_contents import LARGE, Repository, Request, Trouble, described, git_sha1, sha256
from tests.hub_uploads import Uploads

_RESOLVE = re.compile(r"/(?P<repo>.+?)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
# A data set is the repository `datasets/<its name>`; that is how its files are addressed too.
_INFO = re.compile(r"/api/(models/)?(?P<repo>(datasets/)?.+?)(/revision/(?P<revision>[^/]+))?")
_FRONT_MATTER = re.compile(r"---\n(?P<yaml>.*?)\n---", re.DOTALL)
_TREE = re.compile(
    r"/api/(models/)?(?P<repo>(datasets/)?.+?)/tree/(?P<revision>[^/]+)(/(?P<path>.*))?"
)
_CDN = re.compile(r"/cdn/(?P<sha256>[0-9a-f]{64})")


class Hub(Protocol):
    """What the answers are made from."""

    repositories: dict[str, Repository]
    troubles: dict[str, Trouble]
    requests: list[Request]
    tokens: set[str]
    stopping: Event
    owners: dict[str, set[str]]
    blobs: dict[str, bytes]
    part_bytes: int | None
    blob_error: str
    parts: dict[tuple[str, int], bytes]
    holds_blobs_after: int | None
    blob_is_held: Event

    @property
    def url(self) -> str: ...

    @property
    def cdn_url(self) -> str: ...


class HubHandler(Uploads, BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def hub(self) -> Hub:
        hub: Hub = self.server.hub  # type: ignore[attr-defined]
        return hub

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def log_message(self, *_arguments: object) -> None:
        pass

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        token = (self.headers.get("authorization") or "").removeprefix("Bearer ") or None
        self.hub.requests.append(Request(self.command, path, self.headers.get("range"), token))
        with suppress(ConnectionError):
            if self.command in ("POST", "PUT"):
                self.answer_upload(path, token)
            elif match := _CDN.fullmatch(path):
                self._send_large(match["sha256"], token)
            elif token is not None and token not in self.hub.tokens:
                self._refuse(401, None, "Invalid credentials in Authorization header")
            elif match := _TREE.fullmatch(path):
                self._send_tree(match["repo"], match["revision"], match["path"] or "", token)
            elif match := _RESOLVE.fullmatch(path):
                self._send_file(match["repo"], match["revision"], match["path"], token)
            elif match := _INFO.fullmatch(path):
                self._send_info(match["repo"], match["revision"], token)
            else:
                self._refuse(404, None, "Not found")

    def _send_info(self, repo: str, revision: str | None, token: str | None) -> None:
        if self._in_trouble("info") is None:
            return
        commit = self._commit(repo, revision or "main", token)
        if commit is None:
            return
        repository = self.hub.repositories[repo]
        blobs = "blobs" in parse_qs(urlsplit(self.path).query)
        siblings = [
            {"rfilename": name, **(described(name, content) if blobs else {})}
            for name, content in repository.commits[commit].items()
        ]
        self._send_json(
            {
                "_id": commit[:24],
                "id": repo,
                "modelId": repo,
                "sha": commit,
                "private": repository.private,
                "gated": "manual" if repository.gated else False,
                "tags": [],
                "deviceData": _device(repository.commits[commit]),
                "siblings": siblings,
            }
        )

    def _send_tree(self, repo: str, revision: str, folder: str, token: str | None) -> None:
        commit = self._commit(repo, revision, token)
        if commit is None:
            return
        files = self.hub.repositories[repo].commits[commit]
        entries: list[dict[str, Any]] = []
        for name, content in files.items():
            if not folder or name.startswith(f"{folder}/"):
                about = described(name, content)
                entries.append({"type": "file", "path": name, "oid": about.pop("blobId"), **about})
        self._send_json(entries)

    def _send_file(self, repo: str, revision: str, path: str, token: str | None) -> None:
        commit = self._commit(repo, revision, token)
        if commit is None:
            return
        repository = self.hub.repositories[repo]
        if repository.gated and token not in repository.readers:
            self._refuse(
                403 if token else 401, "GatedRepo", f"Access to model {repo} is restricted"
            )
            return
        content = repository.commits[commit].get(path)
        if content is None:
            self._refuse(404, "EntryNotFound", "Entry not found")
            return
        about = {"X-Repo-Commit": commit}
        if path.endswith(LARGE):
            digest = sha256(content)
            about["Location"] = f"{self.hub.cdn_url}/cdn/{digest}"
            about["X-Linked-Etag"] = f'"{digest}"'
            about["X-Linked-Size"] = str(len(content))
            self._send(302, b"", about)
            return
        about["ETag"] = f'"{git_sha1(content)}"'
        self._send_content(path, content, about)

    def _send_large(self, digest: str, token: str | None) -> None:
        if token is not None:
            self._refuse(400, None, "a token was sent to another origin")
            return
        for repository in self.hub.repositories.values():
            for files in repository.commits.values():
                for path, content in files.items():
                    if sha256(content) == digest:
                        self._send_content(path, content, {"ETag": f'"{digest}"'})
                        return
        self._refuse(404, None, "Not found")

    def _send_content(self, path: str, content: bytes, headers: dict[str, str]) -> None:
        trouble = self._in_trouble(path)
        if trouble is None:
            return
        if trouble.altered:
            content = bytes(each ^ 1 for each in content)
        start, end = 0, len(content)
        status = 200
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range") or "")
        if match and not trouble.no_ranges:
            start, end = int(match[1]), int(match[2] or end - 1) + 1
            if start >= len(content):
                self._send(416, b"", {"Content-Range": f"bytes */{len(content)}"})
                return
            end = min(end, len(content))
            status = 206
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        self._send(status, content[start:end], headers, trouble)

    def _in_trouble(self, path: str) -> Trouble | None:
        """Return what goes wrong beyond a status of its own, which is answered here."""
        trouble = self.hub.troubles.get(path)
        if trouble is None or not trouble.used():
            return Trouble()
        if trouble.status is not None:
            self._send(trouble.status, trouble.body or b"trouble", trouble.headers)
            return None
        if path == "info" and trouble.silent:
            self.hub.stopping.wait()
        return trouble

    def _commit(self, repo: str, revision: str, token: str | None) -> str | None:
        repository = self.hub.repositories.get(repo)
        if repository is None or (repository.private and token not in repository.readers):
            self._refuse(404 if token else 401, "RepoNotFound", "Repository not found")
            return None
        if revision in repository.commits:
            return revision
        if revision not in repository.branches:
            self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return None
        return repository.branches[revision]

    def _refuse(self, status: int, code: str | None, message: str) -> None:
        headers = {"X-Error-Message": message}
        if code:
            headers["X-Error-Code"] = code
        self._send(status, json.dumps({"error": message}).encode(), headers)

    def _send_json(self, content: object) -> None:
        self._send(200, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def _send(
        self, status: int, body: bytes, headers: dict[str, str], trouble: Trouble | None = None
    ) -> None:
        self.send_response(status, HTTPStatus(status).phrase)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        for piece in self._pieces(body, trouble or Trouble()):
            self.wfile.write(piece)

    def _pieces(self, body: bytes, trouble: Trouble) -> Iterator[bytes]:
        if trouble.silent:
            self.hub.stopping.wait()
        if trouble.break_after is None or trouble.break_after >= len(body):
            yield body
            return
        yield body[: trouble.break_after]
        self.wfile.flush()
        if trouble.stall:
            self.hub.stopping.wait()
        self.close_connection = True


def _device(files: dict[str, bytes]) -> object:
    match = _FRONT_MATTER.match(files.get("README.md", b"").decode())
    return yaml.safe_load(match["yaml"]) if match else None
