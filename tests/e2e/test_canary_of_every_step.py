"""Secrets of builds that fail in each of their steps, from buckets and from the hub."""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.bucket_server import BucketServer
from tests.e2e import canary
from tests.e2e.canary_scene import (
    Scene,
    ask_for_all,
    echo,
    found_anywhere,
    scene_on,
    sign_in,
)
from tests.gates import Gates
from tests.hub_server import HubServer
from tests.tiny_checkpoint import make_tiny_checkpoint

pytestmark = [pytest.mark.e2e, pytest.mark.long]

TEXT = """\
model_name: {source}
resources:
  cpu: "1"
  memory: 2Gi
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: {source}
      repo: {repo}
      runtime_secret_name: {secret}
    max_seq_len: 512
    max_batch_size: 4
    quantization_type: fp8
    quantization_config:
      calib_dataset: org/texts
      calib_size: 64
      calib_max_seq_length: 64
enginehouse:
  calibration:
    samples: 16
secrets:
  {secret}: null
  hf_access_token: null
"""
REPOS = {
    "S3": "s3://weights/tiny",
    "GCS": "gs://weights/tiny",
    "AZURE": "az://weights/tiny",
}
HARMED = {
    "inspect": "fetch/model/model.safetensors",
    "calibrate": "fetch/model/model.safetensors",
    "gate": "calibrate/model/model.safetensors",
    "package": "calibrate/model/model.safetensors",
    "smoke_test": "calibrate/model/model.safetensors",
}
"""Step -> what is cut short when it begins, in the build's folder; before the last in the store."""


@pytest.fixture
def buckets(tmp_path: Path) -> Iterator[Mapping[str, BucketServer]]:
    files = {each.name: each.read_bytes() for each in make_tiny_checkpoint(tmp_path).iterdir()}
    with ExitStack() as stack:
        servers = {source: stack.enter_context(BucketServer(source)) for source in REPOS}
        for server in servers.values():
            server.put_files("weights", "tiny", files)
        yield servers


@pytest.fixture
def scene(
    buckets: Mapping[str, BucketServer],
    gates: Gates,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Scene]:
    values = {"hub": f"hub-cnry/{secrets.token_hex(12)}+x="} | values_of(buckets)
    with HubServer() as hub:
        rows = b"\n".join(json.dumps({"text": f"{n} " * 40}).encode() for n in range(200))
        hub.add("datasets/org/texts", {"train.jsonl": rows}, gated=True, readers={values["hub"]})
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        for source, server in buckets.items():
            monkeypatch.setenv(f"{source}_ENDPOINT", server.endpoint)
        for name, value in gates.environment.items():
            monkeypatch.setenv(name, value)
        with scene_on(tmp_path_factory.mktemp("steps"), hub, values) as here:
            yield here


@pytest.fixture
def gates() -> Iterator[Gates]:
    with Gates() as kept:
        yield kept


def values_of(buckets: Mapping[str, BucketServer]) -> dict[str, str]:
    """Return what must be found nowhere of the logins of the stores."""
    buckets["S3"].login.secret["aws_secret_access_key"] = f"s3-cnry/{secrets.token_hex(12)}+x="
    return {
        "s3": buckets["S3"].login.secret["aws_secret_access_key"],
        # A line of the key: whole, it is told apart by its ends.
        "gcs": buckets["GCS"].login.secret["private_key"].splitlines()[7],
        "azure": buckets["AZURE"].login.secret["account_key"],
    }


def text_of(source: str) -> str:
    return TEXT.format(source=source, repo=REPOS[source], secret=f"login_{source.lower()}")


@contextmanager
def cut_short(path: Path) -> Iterator[None]:
    """Leave nine tenths of a file; it is as before after the block."""
    whole = path.with_name(f".whole.{path.name}")
    path.rename(whole)
    path.write_bytes(whole.read_bytes()[: whole.stat().st_size * 9 // 10])
    try:
        yield
    finally:
        whole.rename(path)


def failed_step(scene: Scene, build: dict[str, Any]) -> str:
    """Look at all of a build that has failed, and return its step that did."""
    assert build["state"] == "failed", build
    ask_for_all(scene, build)
    steps = scene.get(f"builds/{build['id']}/steps")["steps"]
    (failed,) = (each["name"] for each in steps if each["state"] == "failed")
    return str(failed)


def stored(scene: Scene, path: Path) -> Path:
    """Return where the store has a file of the build, which is linked there."""
    store = scene.here.folder / "artifacts"
    return next(each for each in store.rglob("*") if each.is_file() and each.samefile(path))


def fail_in_turn(scene: Scene, build: dict[str, Any], gates: Gates) -> None:
    """Harm what a build has made where each of its steps begins, the first of which is held."""
    made = scene.here.folder / "builds" / str(build["id"])
    steps = list(HARMED)
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        gates.wait_for_arrival(step, after=len(gates.came(step)) - len(gates.standing(step)))
        path = made / HARMED[step]
        with cut_short(stored(scene, path) if step == "smoke_test" else path):
            gates.let_go(step)
            assert failed_step(scene, scene.ended(build)) == step
        if following is not None:
            gates.hold(following)
        scene.post(f"builds/{build['id']}/retry", {})


def test_no_value_is_found_anywhere_after_builds_failed_in_each_of_their_steps(
    scene: Scene, buckets: Mapping[str, BucketServer], gates: Gates
) -> None:
    with canary.ProcessWatch(scene.canaries, left_out=[os.getpid()]) as watch:
        sign_in(scene)
        scene.post("secrets", {"name": "hf_access_token", "value": scene.value("hub")})
        for source, server in buckets.items():
            login = {"name": f"login_{source.lower()}", "value": server.secret}
            assert "name" in scene.post("secrets", login)
            server.troubles["tiny/tokenizer.json"] = echo(scene)
            build = scene.built(source.lower(), text_of(source))
            assert failed_step(scene, build) == "fetch"
            server.troubles.clear()
        scene.hub.troubles["train.jsonl"] = echo(scene)
        build = scene.built("data", text_of("S3"))
        assert failed_step(scene, build) == "calibrate"
        scene.hub.troubles.clear()
        gates.hold("inspect")
        build = scene.begun("all", text_of("S3"))
        fail_in_turn(scene, build, gates)
        assert scene.ended(build)["state"] == "succeeded"
        ask_for_all(scene, build)
    assert found_anywhere(scene, watch) == []
