"""Answers of the loopback hub to whoever writes: repositories, large files, commits."""

import base64
import json
import re
from typing import Any

from tests.hub_contents import LARGE, Repository, commit_of, git_sha1, sha256

_PREUPLOAD = re.compile(r"/api/models/(?P<repo>.+?)/preupload/(?P<revision>[^/]+)")
_COMMIT = re.compile(r"/api/models/(?P<repo>.+?)/commit/(?P<revision>[^/]+)")
_BATCH = re.compile(r"/(?P<repo>.+?)\.git/info/lfs/objects/batch")
_VERIFY = re.compile(r"/(?P<repo>.+?)\.git/info/lfs/verify")
_PART = re.compile(r"/lfs/(?P<sha256>[0-9a-f]{64})/(?P<number>\d+)")
_PARTS = re.compile(r"/lfs/(?P<sha256>[0-9a-f]{64})/complete")
_BLOB = re.compile(r"/lfs/(?P<sha256>[0-9a-f]{64})")


class Uploads:
    """What the handler answers to POST and PUT; the host class sends."""

    def answer_upload(self: Any, path: str, token: str | None) -> None:
        body = self._body()
        if match := _BLOB.fullmatch(path):
            self._take_blob(match["sha256"], body, token)
        elif match := _PART.fullmatch(path):
            self.hub.parts[match["sha256"], int(match["number"])] = body
            self._send(200, b"", {"ETag": f'"{sha256(body)}"'})
        elif match := _PARTS.fullmatch(path):
            self._join_parts(match["sha256"], json.loads(body)["parts"])
        elif token not in self.hub.tokens:
            self._refuse(401, None, "Invalid credentials in Authorization header")
        elif path == "/api/repos/create":
            self._create(json.loads(body), token)
        elif path == "/api/validate-yaml":
            self._send_json({"errors": [], "warnings": []})
        else:
            self._answer_writer(path, body, token)

    def _answer_writer(self: Any, path: str, body: bytes, token: str) -> None:
        for pattern, name, answer in (
            (_PREUPLOAD, "preupload", self._tell_modes),
            (_BATCH, "batch", self._tell_where),
            (_VERIFY, "verify", self._verify),
            (_COMMIT, "commit", self._take_commit),
        ):
            if match := pattern.fullmatch(path):
                if self._in_trouble(name) is not None and self._may_write(match["repo"], token):
                    answer(body, **match.groupdict())
                return
        self._refuse(404, None, "Not found")

    def _may_write(self: Any, repo: str, token: str) -> bool:
        repository = self.hub.repositories.get(repo)
        if repository is None:
            self._refuse(404, "RepoNotFound", "Repository not found")
        elif token not in repository.writers:
            self._refuse(403, None, "Forbidden: you need write access")
        return repository is not None and token in repository.writers

    def _create(self: Any, wanted: dict[str, Any], token: str) -> None:
        repo = f"{wanted['organization']}/{wanted['name']}"
        if self._in_trouble("create") is None:
            return
        if wanted["organization"] not in self.hub.owners.get(token, ()):
            self._refuse(403, None, f"You don't have the rights to create a model under {repo}")
            return
        first = {".gitattributes": b"*.safetensors filter=lfs\n"}
        commit = commit_of(repo, first)
        self.hub.repositories[repo] = Repository(
            commits={commit: first},
            branches={"main": commit},
            private=wanted.get("visibility") == "private" or bool(wanted.get("private")),
            readers=frozenset({token}),
            writers=frozenset({token}),
        )
        self._send_json({"url": f"{self.hub.url}/{repo}"})

    def _tell_modes(self: Any, body: bytes, *, repo: str, revision: str) -> None:
        there = self._files_of(repo, revision)
        if there is None:
            return
        self._send_json({"files": [_mode(each, there) for each in json.loads(body)["files"]]})

    def _tell_where(self: Any, body: bytes, *, repo: str) -> None:
        self._send_json(
            {
                "transfer": "basic",
                "objects": [self._place(each, repo) for each in json.loads(body)["objects"]],
            }
        )

    def _place(self: Any, wanted: dict[str, Any], repo: str) -> dict[str, Any]:
        if wanted["oid"] in self.hub.blobs:
            return wanted
        if self.hub.blob_error:
            return {**wanted, "error": {"code": 403, "message": self.hub.blob_error}}
        upload: dict[str, Any] = {"href": f"{self.hub.cdn_url}/lfs/{wanted['oid']}"}
        if (size := self.hub.part_bytes) and wanted["size"] > size:
            upload = self._in_parts(upload["href"], wanted["size"], size)
        verify = {"href": f"{self.hub.url}/{repo}.git/info/lfs/verify"}
        return {**wanted, "actions": {"upload": upload, "verify": verify}}

    @staticmethod
    def _in_parts(place: str, size: int, part_bytes: int) -> dict[str, Any]:
        count = -(-size // part_bytes)
        header = {f"{number:05}": f"{place}/{number}" for number in range(1, count + 1)}
        return {"href": f"{place}/complete", "header": {"chunk_size": str(part_bytes), **header}}

    def _join_parts(self: Any, digest: str, parts: list[dict[str, Any]]) -> None:
        entries = [self.hub.parts[digest, each["partNumber"]] for each in parts]
        right = [each["etag"] for each in parts] == [f'"{sha256(each)}"' for each in entries]
        if right and sha256(b"".join(entries)) == digest:
            self.hub.blobs[digest] = b"".join(entries)
            self._send(200, b"", {})
        else:
            self._refuse(400, None, "other parts came")

    def _take_blob(self: Any, digest: str, body: bytes, token: str | None) -> None:
        if self._in_trouble("blob") is None:
            return
        if self.hub.holds_blobs_after == len(self.hub.blobs):
            self.hub.blob_is_held.set()
            self.hub.stopping.wait()
            return
        if token is not None or sha256(body) != digest:
            self._refuse(400, None, "a token was sent to another origin, or other bytes came")
            return
        self.hub.blobs[digest] = body
        self._send(200, b"", {})

    def _verify(self: Any, body: bytes, *, repo: str) -> None:
        content = json.loads(body)
        known = self.hub.blobs.get(content["oid"])
        right = known is not None and len(known) == content["size"]
        self._send(200 if right else 404, b"", {})

    def _take_commit(self: Any, body: bytes, *, repo: str, revision: str) -> None:
        there = self._files_of(repo, revision)
        if there is None:
            return
        files = dict(there)
        for line in body.splitlines():
            item = json.loads(line)
            if item["key"] == "file":
                files[item["value"]["path"]] = base64.b64decode(item["value"]["content"])
            elif item["key"] == "lfsFile":
                files[item["value"]["path"]] = self.hub.blobs[item["value"]["oid"]]
            elif item["key"] == "deletedFile":
                del files[item["value"]["path"]]
        commit = commit_of(repo, files)
        self.hub.repositories[repo].commits[commit] = files
        self.hub.repositories[repo].branches[revision] = commit
        self._send_json(
            {"commitUrl": f"{self.hub.url}/{repo}/commit/{commit}", "commitOid": commit}
        )

    def _files_of(self: Any, repo: str, revision: str) -> dict[str, bytes] | None:
        repository = self.hub.repositories[repo]
        if revision not in repository.branches:
            self._refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return None
        files: dict[str, bytes] = repository.commits[repository.branches[revision]]
        return files

    def _body(self: Any) -> bytes:
        if "content-length" in self.headers:
            return bytes(self.rfile.read(int(self.headers["content-length"])))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body


def _mode(asked: dict[str, Any], there: dict[str, bytes]) -> dict[str, Any]:
    path = asked["path"]
    is_large = path.endswith(LARGE)
    oid = None
    if path in there:
        oid = sha256(there[path]) if is_large else git_sha1(there[path])
    mode = "lfs" if is_large else "regular"
    return {"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid}
