"""What the product says of a deployment and of its GPU while things go wrong on that GPU."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.gpu.product import Show
from controlplane.domain.device_users import DeviceUser


class Watch:
    """What the product says of a deployment and of its GPU, each time that it is new."""

    def __init__(self, show: Show, model: Mapping[str, Any]) -> None:
        self._show, self._model = show, model
        self._began = time.monotonic()
        self.seen: list[dict[str, Any]] = []

    def begin(self) -> None:
        """Count seconds from now on."""
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self._began, 1)

    def during(self, seconds: float, is_over: Callable[[], Any]) -> None:
        """Note what is new until it is over, or so many seconds long."""
        wait(seconds, lambda: self._note() or is_over())

    def devices(self) -> Any:
        """Return the GPUs as the REST API tells of them."""
        nodes = self._show.job._get("nodes")["nodes"]
        return [device for node in nodes for device in node["devices"] if device["kind"] != "CPU"]

    def says(self, pid: int) -> bool:
        """Return whether the deployment now gives this process as its cause, or one not shown."""
        failure = self.seen[-1]["deployment"]["failure"] or {}
        return _names(failure.get("sentence", ""), pid)

    def is_told_without(self, *pids: int) -> bool:
        """Return whether the deployment still waits for its GPU, and not for these."""
        failure = self.seen[-1]["deployment"]["failure"] or {}
        sentence = failure.get("sentence", "")
        is_for_device = "in use by" in sentence or "are held" in sentence
        return is_for_device and not any(f"process {pid}" in sentence for pid in pids)

    def of(self, pid: int) -> dict[str, Any]:
        """Return how and when the deployment first named a process, or else its GPU did."""
        for each in self.seen:
            failure = each["deployment"]["failure"]
            if failure and _names(failure["sentence"], pid):
                return {"after_seconds": each["after_seconds"], "failure": failure}
        for each in self.seen:
            for user in (user for device in each["devices"] for user in device["used_by"]):
                if user["pid"] == pid:
                    values = {"code": "", "sentence": DeviceUser.from_json(user).words}
                    return {"after_seconds": each["after_seconds"], "failure": values}
        return {}

    def end_of_engine(self) -> dict[str, Any]:
        """Return how and when the end of the engine was first told."""
        for each in self.seen:
            for failure in (replica["failure"] for replica in each["replicas"]):
                if failure and "SIGKILL" in failure["sentence"]:
                    return {"after_seconds": each["after_seconds"], "failure": failure}
        return {}

    def first_failure(self) -> dict[str, Any]:
        """Return what was first told of a replica that failed, and when."""
        for each in self.seen:
            for failure in (replica["failure"] for replica in each["replicas"]):
                if failure:
                    return {"after_seconds": each["after_seconds"], "failure": failure}
        return {}

    def _note(self) -> None:
        now = self._show.deployment(self._model)
        replicas = self._show.replicas(self._model)["replicas"]
        kept = ("id", "state", "failure")
        values = {
            "deployment": {key: now[key] for key in ("status", "failure")},
            "replicas": [{key: each[key] for key in kept} for each in replicas],
            "devices": [{key: device[key] for key in ("is_clean", "used_by", "claimed_bytes")}
                      for device in self.devices()],
        }  # fmt: skip
        last = {key: self.seen[-1][key] for key in values} if self.seen else None
        if values != last:
            self.seen.append({"after_seconds": self.seconds, **values})


def fault(
    done: str, said: Mapping[str, Any], seconds: float | None, recovered: str
) -> dict[str, Any]:
    """Return one row: what was done, what was said of it, and when and how it was over."""
    return {
        "done": done,
        "said": said.get("failure"),
        "said_after_seconds": said.get("after_seconds"),
        "recovered_after_seconds": seconds,
        "recovered": recovered,
    }


def wait(seconds: float, is_over: Callable[[], Any]) -> None:
    """Return once it is over, or so many seconds later."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and not is_over():
        time.sleep(0.1)


def _names(sentence: str, pid: int) -> bool:
    """Return whether a sentence names the process, or says that none is shown."""
    return f"process {pid}" in sentence or "shows no process" in sentence
