"""Secrets go in by every way there is, are used, and are found nowhere afterwards."""

import io
import os
import re
import secrets
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.dashboard.demo.access import grant_access
from tests.e2e import canary
from tests.e2e.installation import Installation, eventually, installation
from tests.hub_server import HubServer, Trouble
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.waiting import DEADLINE_SECONDS

pytestmark = pytest.mark.e2e

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
    """An installation beside a hub that keeps its repositories to one token."""

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
        config = self.post("configs", {"name": name, "text": text})
        eventually(
            lambda: not self.post("configs/check", {"text": text})["waiting"],
            what="the checks",
        )
        build = self.post("builds", {"config_id": config["id"], "revision": 1})
        assert "id" in build, build
        path = f"builds/{build['id']}"
        eventually(lambda: self.get(path)["state"] in ENDED, what="the build's end")
        return self.get(path)


@pytest.fixture
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("canary")
    tiny = make_tiny_checkpoint(folder / "of-the-hub")
    marks = {
        name: secrets.token_hex(12) for name in ("hub", "old", "page", "line", "wizard", "team")
    }
    values = {name: f"{name}-cnry/{mark}+x=" for name, mark in marks.items()}
    with HubServer() as hub, pytest.MonkeyPatch.context() as patch:
        hub.tokens |= {values["hub"], values["page"]}
        for repo in ("org/gated", "org/other"):
            hub.add(repo, tiny, gated=True, readers={values["hub"]})
        patch.setenv("HF_ENDPOINT", hub.url)
        with installation(folder / "data") as here:
            url = here.services.public_url
            bearer = {"Authorization": f"Bearer {here.api_key}"}
            with (
                httpx.Client(base_url=url, follow_redirects=True, trust_env=False) as page,
                httpx.Client(base_url=f"{url}/v1/", headers=bearer, trust_env=False) as rest,
            ):
                for client in (page, rest):
                    client.timeout = httpx.Timeout(DEADLINE_SECONDS)
                yield Scene(here, hub, canary.Canaries(values=values), page, rest)


def form_token(html: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', html)
    assert found is not None, html[:500]
    return found[1]


def write_everywhere(scene: Scene) -> None:
    """REST, replaced once, and by a team's path; the page; a pasted command; the wizard."""
    access = grant_access(scene.here.folder)
    # It takes the place of the key before.
    scene.here.api_key = access.api_key
    scene.rest.headers["Authorization"] = f"Bearer {access.api_key}"
    for name in ("old", "hub"):
        scene.post("secrets", {"name": "hf_access_token", "value": scene.value(name)})
    team = scene.get("teams")["teams"][0]["id"]
    of_the_team = {"name": "of_the_team", "value": scene.value("team")}
    assert scene.post(f"teams/{team}/secrets", of_the_team)["name"] == "of_the_team"
    landing = scene.page.get(access.sign_in_link)
    scene.page.post(landing.url.path, data={"csrfmiddlewaretoken": form_token(landing.text)})
    shown = scene.page.get("/secrets/")
    form = {"name": "of_the_page", "value": scene.value("page")}
    form["csrfmiddlewaretoken"] = form_token(shown.text)
    assert "of_the_page" in scene.page.post("/secrets/", data=form).text
    line = f"HF_TOKEN={scene.value('line')} vllm serve org/gated --api-key {scene.value('line')}"
    assert "hf_access_token" in str(scene.post("configs/import", {"command": line}))
    text = TEXT.format(repo="org/gated", secret="of_the_page")
    typed = text.replace("of_the_page: null", f"of_the_page: {scene.value('page')}")
    refused = scene.post("configs", {"name": "typed", "text": typed})
    assert refused["code"] == "secret_value_in_text"
    assert scene.post("secrets", {"name": "a b", "value": scene.value("wizard")})["code"]


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


def tried(scene: Scene, name: str, target: str) -> dict[str, Any]:
    asked = scene.post(f"secrets/{name}/test", {"target": target})
    path = f"secrets/{name}/tests/{asked['id']}"
    eventually(lambda: scene.get(path)["works"] is not None, what="the test's answer")
    return scene.get(path)


def test_no_value_is_found_anywhere_after_it_was_used_and_failures_printed_it(
    scene: Scene,
) -> None:
    here, folder = scene.here, scene.here.folder
    with canary.ProcessWatch(scene.canaries, left_out=[os.getpid()]) as watch:
        write_everywhere(scene)
        assert tried(scene, "hf_access_token", "org/gated")["works"]
        assert not tried(scene, "of_the_page", "org/gated")["works"]
        works = scene.built("works", TEXT.format(repo="org/gated", secret="hf_access_token"))
        assert works["state"] == "succeeded", works["failure"]
        # The hub throws the token back in its answers, as bad proxies do.
        body = f"token {scene.value('hub')} is unwelcome\n".encode()
        trouble = Trouble(status=418, body=body, headers={"X-Error-Message": body.decode().strip()})
        text = TEXT.format(repo="org/other", secret="hf_access_token")
        scene.hub.troubles["tokenizer.json"] = trouble
        fails = scene.built("fails", text)
        assert fails["state"] == "failed", fails
        model = scene.post("models", {"name": "tiny", "source": _source(works)})
        assert "model" in model, model
        model_id = model["model"]["id"]
        body_of = {"source": _source(works), "environment": "production"}
        scene.post(f"models/{model_id}/deployments", body_of)
        eventually(lambda: here.answers(model_id), what="an answer of the engine")
        for build in (works, fails):
            ask_for_all(scene, build)
    assert watch.looks > 20
    assert sorted(watch.seen) == []
    assert canary.leaks(scene.canaries, scene.answers) == []
    assert canary.leaks(scene.canaries, canary.tables(here.services.database_url)) == []
    assert canary.leaks(scene.canaries, canary.broker_keys(here.services.broker_url)) == []
    assert canary.leaks(scene.canaries, canary.files(folder)) == []
    assert canary.leaks(scene.canaries, canary.files(_hub_cache())) == []


def _source(build: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "build", "build_id": build["id"]}


def _hub_cache() -> Path:
    return Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))


def test_the_search_finds_a_value_where_one_is(tmp_path: Path) -> None:
    canaries = canary.Canaries(values={"one": "of-the-search/+="})
    (tmp_path / "kept").write_bytes(b"x" + sorted(canaries.forms("one"))[0] + b"y")
    assert canary.leaks(canaries, canary.files(tmp_path)) == ["one in file kept"]
