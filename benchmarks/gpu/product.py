"""The product, running, as the stages speak to it: over its own REST API and at its gateway."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import openai

from apps.dashboard.demo.access import grant_access
from apps.dashboard.demo.checkpoint import ensure_checkpoint
from apps.dashboard.demo.console import Console
from apps.dashboard.demo.job import Job
from apps.dashboard.demo.machine import running_machine
from apps.dashboard.demo.question import endpoint
from controlplane.domain.facts.gpus import IDLE_BYTES
from workers.agent import nvidia

_ENDED = ("succeeded", "failed", "cancelled")
_PAUSE_SECONDS = 0.1


class Missed(Exception):
    """A stage did not come to where it should; `seen` is what there was instead."""

    def __init__(self, sentence: str, seen: Mapping[str, Any]) -> None:
        super().__init__(sentence)
        self.seen = seen


@dataclass(kw_only=True)
class Show:
    """The product, running; what earlier stages made is found again by its name."""

    data: Path
    job: Job
    api_key: str
    gateway_url: str
    checkpoint: Path
    made: dict[str, Any] = field(default_factory=dict)
    beside: dict[str, "subprocess.Popen[str]"] = field(default_factory=dict)
    """What was started to run beside the stages."""

    @property
    def device(self) -> Mapping[str, Any]:
        """The first GPU of this host, as the agent sees it."""
        return nvidia.devices()[0]

    def free_device(self) -> Mapping[str, Any]:
        """Return the GPU once all of its memory has been given back."""
        device: Mapping[str, Any] = until(
            lambda: self.device, lambda device: device["used_bytes"] < IDLE_BYTES
        )
        return device

    def client(self, model: Mapping[str, Any]) -> openai.OpenAI:
        local = httpx2.Client(trust_env=False, timeout=120)
        base_url = self.base_url(model)
        return openai.OpenAI(base_url=base_url, api_key=self.api_key, http_client=local)

    def base_url(self, model: Mapping[str, Any]) -> str:
        return endpoint(gateway_url=self.gateway_url, model_id=model["id"])

    def engine(self) -> dict[str, Any]:
        """Return pid, address and folder of the engine that serves now, as its runner wrote it."""
        live = self.engines()
        if not live:
            raise Missed("no engine runs", {})
        return live[-1]

    def engines(self) -> list[dict[str, Any]]:
        """Return the same of every engine that has not ended, the newest last."""
        live = [
            each
            for each in (self.data / "agent/replicas").glob("*/engine.json")
            if not (each.parent / "exit.json").exists()
        ]
        return [_engine_of(each) for each in sorted(live, key=lambda each: each.stat().st_mtime)]

    def engine_log(self) -> list[str]:
        """Return the lines that the engine which serves now has written."""
        log: Path = self.engine()["folder"] / "engine.log"
        return log.read_text(errors="replace").splitlines()

    def built(self, name: str, text: str) -> dict[str, Any]:
        """Return a succeeded build of this config, an earlier run's where there is one."""
        config = self.job.config(name, text)
        present = self.job._get("builds", config_id=config["id"], state="succeeded")["items"]
        outcome = present[0] if present else self.succeeded(self.start_build(name, text))
        self.made[name] = self.look_at(outcome)
        return dict(self.made[name])

    def build_of(self, name: str) -> dict[str, Any]:
        """Return the succeeded build of the config of this name, made in this run or before."""
        if name in self.made:
            return dict(self.made[name])
        items = self.job._get("builds", state="succeeded")["items"]
        entries = [each for each in items if each["config"]["name"] == name]
        if not entries:
            raise Missed(f"there is no succeeded build of {name}", {})
        return self.look_at(entries[0])

    def model(self, name: str) -> dict[str, Any]:
        """Return the model of this name with its deployment, made in this run or before."""
        key = f"model {name}"
        if key not in self.made:
            models = [each for each in self.job._get("models")["models"] if each["name"] == name]
            if not models:
                raise Missed(f"{name} was not deployed", {})
            path = f"models/{models[0]['id']}/deployments"
            deployment = self.job._get(path)["deployments"][0]
            self.made[key] = {**models[0], "deployment": deployment}
        return dict(self.made[key])

    def start_build(self, name: str, text: str) -> dict[str, Any]:
        """Return a build of this config, queued."""
        config = self.job.config(name, text)
        self.job.wait_until_checked(text)
        target = {"config_id": config["id"], "revision": config["revision"]}
        return self.job._post("builds", target)

    def look_at(self, build: Mapping[str, Any]) -> dict[str, Any]:
        return self.job._get(f"builds/{build['id']}")

    def ended(self, build: Mapping[str, Any]) -> dict[str, Any]:
        """Return the build once it has ended, however."""
        return until(lambda: self.look_at(build), lambda now: now["state"] in _ENDED)

    def succeeded(self, build: Mapping[str, Any]) -> dict[str, Any]:
        ended = self.ended(build)
        if ended["state"] != "succeeded":
            raise Missed(f"the build {ended['state']}", {"build": ended, "log": self.log_of(ended)})
        return ended

    def log_of(self, build: Mapping[str, Any]) -> list[str]:
        """Return the last lines of the build's log, as the product keeps them."""
        lines = self.job._get(f"builds/{build['id']}/logs", direction="desc", limit=400)["logs"]
        return [f"{each['step']}: {each['message']}" for each in reversed(lines)]

    def deployment(self, model: Mapping[str, Any]) -> dict[str, Any]:
        return self.job._get(f"models/{model['id']}/deployments/{model['deployment']['id']}")

    def replicas(self, model: Mapping[str, Any]) -> Any:
        path = f"models/{model['id']}/deployments/{model['deployment']['id']}/replicas"
        return self.job._get(path)


def _engine_of(record_file: Path) -> dict[str, Any]:
    record = json.loads(record_file.read_text())
    url = f"http://{record['host']}:{record['port']}"
    return {"pid": record["pid"], "url": url, "folder": record_file.parent}


@contextmanager
def open_show(data: Path) -> Iterator[Show]:
    """Start the product on `data` while SmolLM2 is made into its local checkpoint."""
    console = Console()
    with running_machine(data) as machine:
        checkpoint = ensure_checkpoint(data, console)
        services = machine.wait_until_ready()
        access = grant_access(data)
        with Job(
            public_url=services.public_url,
            api_key=access.api_key,
            console=console,
            watch=machine.check_alive,
        ) as job:
            show = Show(
                data=data,
                job=job,
                api_key=access.api_key,
                gateway_url=services.gateway_url,
                checkpoint=checkpoint,
            )
            try:
                yield show
            finally:
                for each in show.beside.values():
                    each.kill()


def until(look: Callable[[], Any], holds: Callable[[Any], bool] = bool) -> Any:
    """Return what `look` returns once it holds; the stage's own limit ends the wait."""
    while not holds(outcome := look()):
        time.sleep(_PAUSE_SECONDS)
    return outcome


def samples() -> int:
    """Return how many samples to calibrate on."""
    return int(os.environ.get("CALIBRATION_SAMPLES", "32"))
