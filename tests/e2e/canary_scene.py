"""An installation whose secrets are canaries, and all that can be read of it."""

import io
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from apps.dashboard.demo.access import grant_access
from tests.e2e import canary
from tests.e2e.installation import Installation, eventually, installation
from tests.hub_server import HubServer, Trouble
from tests.waiting import DEADLINE_SECONDS

TEXT = """\
model_name: tiny
resources:
  cpu: "1"
  memory: 2Gi
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: {repo}
      runtime_secret_name: {secret}
    max_seq_len: 512
    max_batch_size: 4
    quantization_type: no_quant
secrets:
  {secret}: null
"""
ENDED = {"succeeded", "failed", "cancelled"}


@dataclass
class Scene:
    """An installation beside a hub."""

    here: Installation
    hub: HubServer
    canaries: canary.Canaries
    page: httpx.Client
    rest: httpx.Client
    answers: list[tuple[str, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for client in (self.page, self.rest):
            client.event_hooks["response"].append(self._keep)

    def _keep(self, response: httpx.Response) -> None:
        body = response.read()
        if body.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(body)) as archive:
                body = b"\n".join(archive.read(name) for name in archive.namelist())
        headers = str(response.headers).encode()
        self.answers.append((f"answer to {response.request.url.path}", headers + body))

    def value(self, name: str) -> str:
        return self.canaries.values[name]

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return dict(self.rest.post(path, json=body).json())

    def get(self, path: str) -> dict[str, Any]:
        return dict(self.rest.get(path).json())

    def built(self, name: str, text: str) -> dict[str, Any]:
        """Return the build of a new config, at its end."""
        return self.ended(self.begun(name, text))

    def begun(self, name: str, text: str) -> dict[str, Any]:
        """Return the build of a new config."""
        config = self.post("configs", {"name": name, "text": text})
        eventually(
            lambda: not self.post("configs/check", {"text": text})["waiting"],
            what="the checks",
        )
        build = self.post("builds", {"config_id": config["id"], "revision": 1})
        assert "id" in build, build
        return build

    def ended(self, build: dict[str, Any]) -> dict[str, Any]:
        """Return a build at its end."""
        path = f"builds/{build['id']}"
        eventually(lambda: self.get(path)["state"] in ENDED, what="the build's end")
        return self.get(path)


@contextmanager
def scene_on(folder: Path, hub: HubServer, values: dict[str, str]) -> Iterator[Scene]:
    """Start an installation on a folder, with a client for pages and one for REST."""
    with installation(folder) as here:
        url = here.services.public_url
        with (
            httpx.Client(base_url=url, follow_redirects=True, trust_env=False) as page,
            httpx.Client(base_url=f"{url}/v1/", trust_env=False) as rest,
        ):
            for client in (page, rest):
                client.timeout = httpx.Timeout(DEADLINE_SECONDS)
            yield Scene(here, hub, canary.Canaries(values=values), page, rest)


def sign_in(scene: Scene) -> None:
    """Let both clients in, each in its way."""
    access = grant_access(scene.here.folder)
    # It takes the place of the key before.
    scene.here.api_key = access.api_key
    scene.rest.headers["Authorization"] = f"Bearer {access.api_key}"
    landing = scene.page.get(access.sign_in_link)
    scene.page.post(landing.url.path, data={"csrfmiddlewaretoken": form_token(landing.text)})


def form_token(html: str) -> str:
    match = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', html)
    assert match is not None, html[:500]
    return match[1]


def echo(scene: Scene) -> Trouble:
    """Return an answer that throws every secret back, as bad proxies do."""
    body = " ".join(["unwelcome:", *scene.canaries.values.values()])
    return Trouble(status=418, body=body.encode(), headers={"X-Error-Message": body})


def ask_for_all(scene: Scene, build: dict[str, Any]) -> None:
    """Read what can be read of a build and of secrets, so that every answer is looked at."""
    for path in (
        "secrets",
        "audit?limit=1000",
        "audit/export?as=jsonl",
        f"builds/{build['id']}",
        f"builds/{build['id']}/logs",
        f"builds/{build['id']}/steps",
        f"builds/{build['id']}/support_bundle",
        f"configs/{build['config']['id']}",
        f"configs/{build['config']['id']}/revisions",
        f"configs/{build['config']['id']}/export?format=vllm",
    ):
        assert scene.rest.get(path).status_code in (200, 400), path
    for path in ("/", "/secrets/", "/configs/", "/builds/", f"/builds/{build['number']}/"):
        assert scene.page.get(path).status_code == 200, path


def found_anywhere(scene: Scene, watch: canary.ProcessWatch) -> list[str]:
    """Return each value that was seen in a process or an answer, or is stored somewhere."""
    here, canaries = scene.here, scene.canaries
    places = (
        scene.answers,
        canary.tables(here.services.database_url),
        canary.broker_keys(here.services.broker_url),
        canary.files(here.folder),
        canary.files(_hub_cache()),
    )
    assert watch.looks > 20
    return sorted(watch.seen) + [leak for each in places for leak in canary.leaks(canaries, each)]


def _hub_cache() -> Path:
    return Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
