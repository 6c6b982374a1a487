"""Secrets go in by every way there is, are used, and are found nowhere afterwards."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bucket_server import BucketServer
from tests.e2e import canary
from tests.e2e.canary_scene import (
    TEXT,
    Scene,
    ask_for_all,
    echo,
    form_token,
    found_anywhere,
    scene_on,
    sign_in,
)
from tests.e2e.installation import eventually
from tests.hub_server import HubServer
from tests.tiny_checkpoint import make_tiny_checkpoint

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,  # tests/workers/tasks/test_build.py, build_steps/test_steps.py, secrets
]


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return make_tiny_checkpoint(tmp_path / "tiny")


@pytest.fixture
def bucket(tiny: Path) -> Iterator[BucketServer]:
    with BucketServer("S3") as server:
        server.put_files("weights", "tiny", {e.name: e.read_bytes() for e in tiny.iterdir()})
        yield server


@pytest.fixture
def scene(
    tiny: Path, bucket: BucketServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    marks = {
        name: secrets.token_hex(12)
        for name in ("hub", "old", "page", "line", "wizard", "team", "bucket")
    }
    values = {name: f"{name}-cnry/{mark}+x=" for name, mark in marks.items()}
    with HubServer() as hub, pytest.MonkeyPatch.context() as patch:
        hub.tokens |= {values["hub"], values["page"]}
        for repo in ("org/gated", "org/other"):
            hub.add(repo, tiny, gated=True, readers={values["hub"]})
        patch.setenv("HF_ENDPOINT", hub.url)
        bucket.login.secret["aws_secret_access_key"] = values["bucket"]
        patch.setenv("S3_ENDPOINT", bucket.endpoint)
        with scene_on(tmp_path_factory.mktemp("canary"), hub, values) as here:
            yield here


def write_everywhere(scene: Scene) -> None:
    """REST, replaced once, and by a team's path; the page; a pasted command; the wizard."""
    sign_in(scene)
    for name in ("old", "hub"):
        scene.post("secrets", {"name": "hf_access_token", "value": scene.value(name)})
    team = scene.get("teams")["teams"][0]["id"]
    of_the_team = {"name": "of_the_team", "value": scene.value("team")}
    assert scene.post(f"teams/{team}/secrets", of_the_team)["name"] == "of_the_team"
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


def tried(scene: Scene, name: str, target: str) -> dict[str, Any]:
    answer = scene.post(f"secrets/{name}/test", {"target": target})
    path = f"secrets/{name}/tests/{answer['id']}"
    eventually(lambda: scene.get(path)["works"] is not None, what="the test's answer")
    return scene.get(path)


def test_no_value_is_found_anywhere_after_it_was_used_and_failures_printed_it(
    scene: Scene, bucket: BucketServer
) -> None:
    here = scene.here
    with canary.ProcessWatch(scene.canaries, left_out=[os.getpid()]) as watch:
        write_everywhere(scene)
        assert tried(scene, "hf_access_token", "org/gated")["works"]
        assert not tried(scene, "of_the_page", "org/gated")["works"]
        works = scene.built("works", TEXT.format(repo="org/gated", secret="hf_access_token"))
        assert works["state"] == "succeeded", works["failure"]
        scene.hub.troubles["tokenizer.json"] = echo(scene)
        fails = scene.built("fails", TEXT.format(repo="org/other", secret="hf_access_token"))
        assert fails["state"] == "failed", fails
        bucket.troubles["tiny/tokenizer.json"] = echo(scene)
        scene.post("secrets", {"name": "login", "value": bucket.secret})
        of_bucket = TEXT.format(repo="s3://weights/tiny", secret="login").replace("HF", "S3")
        fails_too = scene.built("fails-too", of_bucket)
        assert fails_too["state"] == "failed", fails_too
        model = scene.post("models", {"name": "tiny", "source": _source(works)})
        assert "model" in model, model
        model_id = model["model"]["id"]
        body_of = {"source": _source(works), "environment": "production"}
        scene.post(f"models/{model_id}/deployments", body_of)
        eventually(lambda: here.answers(model_id), what="an answer of the engine")
        for build in (works, fails, fails_too):
            ask_for_all(scene, build)
    assert found_anywhere(scene, watch) == []


def _source(build: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "build", "build_id": build["id"]}


def test_the_search_finds_a_value_where_one_is(tmp_path: Path) -> None:
    canaries = canary.Canaries(values={"one": "of-the-search/+="})
    (tmp_path / "kept").write_bytes(b"x" + sorted(canaries.forms("one"))[0] + b"y")
    assert canary.leaks(canaries, canary.files(tmp_path)) == ["one in file kept"]
