"""The main job over the REST API, as any automation would do it: config, build, deploy."""

from collections.abc import Callable
from typing import Any, Self

import httpx

from apps.dashboard.demo.configs import CANNOT_RUN_HERE, CANNOT_RUN_HERE_YAML
from apps.dashboard.demo.console import Console
from apps.dashboard.demo.failure import DemoFailed
from apps.ui import formats
from controlplane.clock import SYSTEM, Clock

_BUILD_SECONDS = 600.0
_DEPLOY_SECONDS = 180.0
_FIRST_POLL_SECONDS, _LONGEST_POLL_SECONDS = 0.1, 1.0
"""Who asks often takes from the build, on the same processor, what it waits for."""
_DEAD_ENDS = {"BUILD_FAILED", "BUILD_STOPPED", "DEPLOY_FAILED", "FAILED"}

Watch = Callable[[], None]
"""Raises when what serves the API has died, so that no wait outlives it."""


class Job:
    """One client of the management API with one key."""

    def __init__(
        self,
        *,
        public_url: str,
        api_key: str,
        console: Console,
        watch: Watch,
        clock: Clock = SYSTEM,
    ) -> None:
        self._client = httpx.Client(
            base_url=f"{public_url}/v1/",
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=30,
            # All of it is on this machine; a proxy for the outside would not reach it.
            trust_env=False,
        )
        self._console = console
        self._watch = watch
        self._clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._client.close()

    def config(self, name: str, text: str) -> dict[str, Any]:
        """Return the config with this text in its last revision, created or revised if needed."""
        configs = [each for each in self._get("configs")["items"] if each["name"] == name]
        if not configs:
            return self._post("configs", {"name": name, "text": text})
        latest = self._get(f"configs/{configs[0]['id']}")
        if latest["last_revision"]["text"] != text:
            number = latest["revision"]
            self._post(
                f"configs/{latest['id']}/revisions", {"text": text, "expected_revision": number}
            )
        return self._get(f"configs/{configs[0]['id']}")

    def store_what_cannot_run_here(self) -> int:
        """Return how many findings the stored config has that this machine cannot build."""
        self.config(CANNOT_RUN_HERE, CANNOT_RUN_HERE_YAML)
        return len(self.check(CANNOT_RUN_HERE_YAML)["findings"])

    def check(self, text: str) -> dict[str, Any]:
        return self._post("configs/check", {"text": text})

    def wait_until_checked(self, text: str) -> dict[str, Any]:
        """Return the findings once no rule waits for a fact any more."""
        return self._until(
            lambda: self.check(text),
            lambda report: not report["waiting"],
            lambda report: f"{len(report['waiting'])} checks wait for the checkpoint's own files",
            60,
            "The checks still wait for the checkpoint's files",
        )

    def build(self, config: dict[str, Any]) -> dict[str, Any]:
        """Return a succeeded build of the config's last revision, a present one if there is."""
        revision = config["revision"]
        present = [
            each
            for each in self._get("builds", config_id=config["id"], state="succeeded")["items"]
            if each["config"]["revision"] == revision
        ]
        if present:
            self._console.say(f"  build {present[0]['number']} has it already")
            return self._get(f"builds/{present[0]['id']}")
        build = self._post("builds", {"config_id": config["id"], "revision": revision})
        return self._followed(build)

    def deployed(self, *, name: str, build: dict[str, Any]) -> dict[str, Any]:
        """Return the model whose production environment serves the build, once it answers."""
        model = self._model(name, build)
        path = f"models/{model['id']}/deployments"
        deployment = self._deployment(path, build) or self._post(
            path,
            {"source": _source(build), "environment": "production"},
        )
        active = self._until(
            lambda: self._get(f"{path}/{deployment['id']}"),
            _serves_production,
            lambda each: each["status"].lower().replace("_", " "),
            _DEPLOY_SECONDS,
            "The deployment did not become active",
            dead=lambda each: each["status"] in _DEAD_ENDS,
        )
        return {**model, "deployment": active}

    def _model(self, name: str, build: dict[str, Any]) -> dict[str, Any]:
        models = [each for each in self._get("models")["models"] if each["name"] == name]
        if models:
            return dict(models[0])
        made = self._post("models", {"name": name, "source": _source(build)})
        return dict(made["model"])

    def _deployment(self, path: str, build: dict[str, Any]) -> dict[str, Any] | None:
        deployments = [
            each for each in self._get(path)["deployments"] if each["build_id"] == build["id"]
        ]
        return dict(deployments[0]) if deployments else None

    def _followed(self, build: dict[str, Any]) -> dict[str, Any]:
        ended = self._until(
            lambda: self._get(f"builds/{build['id']}"),
            lambda each: each["state"] in {"succeeded", "failed", "cancelled"},
            _progress_words,
            _BUILD_SECONDS,
            "The build did not end",
        )
        if ended["state"] != "succeeded":
            failure = ended.get("failure") or {}
            raise DemoFailed(f"The build {ended['state']}: {failure.get('sentence', 'no cause')}")
        return ended

    def _until(
        self,
        ask: Callable[[], dict[str, Any]],
        holds: Callable[[dict[str, Any]], bool],
        words: Callable[[dict[str, Any]], str],
        seconds: float,
        complaint: str,
        *,
        dead: Callable[[dict[str, Any]], bool] = lambda each: False,
    ) -> dict[str, Any]:
        deadline = self._clock.monotonic() + seconds
        pause_seconds = _FIRST_POLL_SECONDS
        while True:
            self._watch()
            answer = ask()
            if holds(answer):
                return answer
            if dead(answer) or self._clock.monotonic() > deadline:
                raise DemoFailed(f"{complaint}: {words(answer)}.")
            self._console.progress(words(answer))
            self._clock.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 1.5, _LONGEST_POLL_SECONDS)

    def _get(self, path: str, **query: Any) -> dict[str, Any]:
        return self._json(self._client.get(path, params=query))

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._json(self._client.post(path, json=body))

    @staticmethod
    def _json(answer: httpx.Response) -> dict[str, Any]:
        if answer.is_error:
            content = answer.json() if "json" in answer.headers.get("content-type", "") else {}
            raise DemoFailed(
                f"{answer.request.method} {answer.request.url.path} was refused with "
                f"{answer.status_code}: {content.get('message', answer.text[:200])}"
            )
        content = answer.json()
        assert isinstance(content, dict)
        return content


def _source(build: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "build", "build_id": build["id"]}


def _serves_production(deployment: dict[str, Any]) -> bool:
    """Return whether a question is answered; one that was left asleep is woken by it."""
    serves = deployment["status"] == "ACTIVE" and deployment["active_replica_count"] > 0
    sleeps = deployment["status"] == "SCALED_TO_ZERO"
    return bool(deployment["is_production"] and (serves or sleeps))


def _progress_words(build: dict[str, Any]) -> str:
    running = [step for step in build.get("steps", []) if step["state"] == "running"]
    if not running:
        return str(build["state"])
    progress = running[0]["progress"]
    if not progress["total"]:
        return str(build["state"])
    words = f"{build['state']} {100 * progress['done'] // progress['total']} %"
    if progress["seconds_left"]:
        words += f", {formats.duration(progress['seconds_left'])} left"
    return words
