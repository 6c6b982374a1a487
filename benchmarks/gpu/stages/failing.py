"""What goes wrong on a card: told with its cause, and recovered.

Each fault is one row: what was done, what the product said of it and after how many seconds, and
after how many seconds that was over by itself.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import openai

from benchmarks.gpu.product import Missed, Show, until
from benchmarks.gpu.stages.building import small_config, told
from benchmarks.gpu.stages.holders import (
    HALF_DEAD,
    HIDDEN,
    STRANGER,
    TAKES_ALL,
    holder,
    starting,
    wait_until_held,
)
from benchmarks.gpu.stages.serving import streamed
from controlplane.domain.card_users import CardUser

_REPORT_SECONDS = 2.5
"""In which the agent has told once more what is on its cards."""
_TOLD_SECONDS = 20.0
_LEAST_BYTES, _MOST_BYTES = 2**30, 3 * 2**30
_OVER = ("succeeded", "failed", "cancelled")


def kill(show: Show) -> dict[str, Any]:
    """The engine killed; then a process of it, a half dead one and a stranger keep the card."""
    model, engine = show.model("smollm2"), show.engine()
    size = min(max(int(show.card["memory_bytes"] - show.card["used_bytes"]) // 5, _LEAST_BYTES),
               _MOST_BYTES)  # fmt: skip
    watch = _Watch(show, model)
    ends: dict[str, float] = {}
    with ExitStack() as held:
        left = held.enter_context(_left_of(engine, size))
        half_dead = held.enter_context(starting(HALF_DEAD, size))
        stranger = held.enter_context(starting(STRANGER, size))
        for each in (left, half_dead, stranger):
            wait_until_held(each)
        _wait(_REPORT_SECONDS, lambda: None)
        beside = watch.cards()

        def is_told_and_left() -> bool:
            if left.poll() is not None:
                ends.setdefault("left", watch.seconds)
            return watch.says(stranger.pid) and "left" in ends

        watch.begin()
        os.kill(engine["pid"], signal.SIGKILL)
        watch.during(_TOLD_SECONDS, is_told_and_left)
        stranger.kill()
        stranger.wait()
        ends["stranger"] = watch.seconds
        watch.during(_TOLD_SECONDS, lambda: watch.is_told_without(stranger.pid, left.pid))
        ends["half dead"] = watch.seconds
    watch.during(600, lambda: _serves(show))
    answers = watch.seconds
    rows = [
        _row("the engine killed while it served (SIGKILL)", watch.end_of_engine(), answers,
             "after the kill: it answers again, and all of the following is over"),
        _row("a process of that engine left alive, with memory of the card", watch.of(left.pid),
             ends.get("left"), "after the kill: it is ended by us"),
        _row("somebody else's process on the card, which ends later", watch.of(stranger.pid),
             round(ends["half dead"] - ends["stranger"], 1), "after its end: it is named no more"),
        _row("a process that has ended and holds memory still, gone last",
             watch.of(half_dead.pid), round(answers - ends["half dead"], 1),
             "after it was gone: an engine has started and answers"),
    ]  # fmt: skip
    return {
        "faults": rows,
        "pids": {"left": left.pid, "stranger": stranger.pid, "half dead": half_dead.pid},
        "ended_after_seconds": ends,
        "cards_with_all_three_beside": beside,
        "said": watch.seen,
        "seconds_from_free_card_to_answer": round(answers - ends["half dead"], 1),
        "after": show.deployment(model),
        "replicas_after": show.replicas(model),
    }


def out_of_memory(show: Show) -> dict[str, Any]:
    """A stranger before calibration, which waits; then CUDA out of memory in it; then it succeeds.

    Somebody takes the whole card in the moment in which calibration has begun to use it.
    """
    text = small_config(show, "fp8")
    with holder(TAKES_ALL) if "REHEARSAL" not in os.environ else _nobody() as taker:
        build, waited = _wait_for_the_card(show, text)
        if taker is not None:
            taker.stdin.write("now\n")
            taker.stdin.flush()
        began = time.monotonic()
        failed = show.ended(build)
        seconds = round(time.monotonic() - began, 1)
    first = {"state": failed["state"], "failure": failed["failure"],
             "log": show.log_of(failed)[-60:]}  # fmt: skip
    rows = [*waited]
    if failed["state"] == "failed":
        again = time.monotonic()
        show.job._post(f"builds/{failed['id']}/retry", {})
        until(lambda: show.look_at(build)["state"], lambda state: state != "failed")
        ended = show.succeeded(failed)
        took = round(time.monotonic() - again, 1)
        said = {"after_seconds": seconds, "failure": failed["failure"]}
        rows.append(_row("all memory of the card taken while calibration ran", said, took,
                         "after the retry: the build has succeeded"))  # fmt: skip
    elif "REHEARSAL" not in os.environ:
        raise Missed("calibration did not run out of memory", {"first": first, "faults": rows})
    else:
        ended = show.succeeded(failed)
    return {"faults": rows, "first": first, **told(show, ended, text, show.checkpoint)}


def _wait_for_the_card(show: Show, text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a build that has got its card, and what it said while others were on it."""
    modes = {STRANGER: "somebody else's process on the card before calibration"}
    if "REHEARSAL" in os.environ:
        modes = {HIDDEN: "memory held by a process that no list shows", **modes}
    build, rows, reason = None, [], ""
    with ExitStack() as held:
        before = None
        for mode, done in modes.items():
            present = held.enter_context(holder(mode, _MOST_BYTES))
            if build is None:
                _wait(_REPORT_SECONDS, lambda: None)
                build = show.start_build("smollm2-fp8", text)
            old = reason
            after, reason = _waits(show, build, lambda now, old=old: now != old, ending=before)
            said = {"after_seconds": after, "failure": {"code": "", "sentence": reason}}
            rows.append(_row(done, said, None, "after its end: it is waited for no more"))
            before = present
        assert build is not None
        rows[-1]["recovered_after_seconds"], _ = _waits(
            show, build, lambda now: not now, ending=before
        )
    return build, rows


def _waits(
    show: Show,
    build: Mapping[str, Any],
    is_meant: Callable[[str], bool],
    *,
    ending: "subprocess.Popen[str] | None",
) -> tuple[float, str]:
    """Return after how many seconds what calibration waits for is meant, once this one is gone."""
    began = time.monotonic()
    if ending is not None:
        ending.kill()
        ending.wait()
    reason = until(lambda: _waits_for(show, build), is_meant)
    return round(time.monotonic() - began, 1), reason


def _waits_for(show: Show, build: Mapping[str, Any]) -> str:
    """Return what calibration waits for; a build that is over waits for nothing."""
    now = show.look_at(build)
    if now["state"] in _OVER:
        raise Missed(f"the build {now['state']} while it should wait", {"build": now})
    found = [each["waits_for"] for each in now["steps"] if each["name"] == "calibrate"]
    return str(found[0]) if found else ""


@contextmanager
def _nobody() -> Iterator[Any]:
    yield None


class _Watch:
    """What the product says of a deployment and of its card, each time that it is new."""

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
        _wait(seconds, lambda: self._note() or is_over())

    def cards(self) -> Any:
        """Return the GPUs as the REST API tells of them."""
        nodes = self._show.job._get("nodes")["nodes"]
        return [card for node in nodes for card in node["cards"] if card["kind"] != "CPU"]

    def says(self, pid: int) -> bool:
        """Return whether the deployment now gives this process as its cause, or one not shown."""
        failure = self.seen[-1]["deployment"]["failure"] or {}
        return _names(failure.get("sentence", ""), pid)

    def is_told_without(self, *pids: int) -> bool:
        """Return whether the deployment still waits for its card, and not for these."""
        failure = self.seen[-1]["deployment"]["failure"] or {}
        sentence = failure.get("sentence", "")
        is_for_card = "in use by" in sentence or "are held" in sentence
        return is_for_card and not any(f"process {pid}" in sentence for pid in pids)

    def of(self, pid: int) -> dict[str, Any]:
        """Return how and when the deployment first named a process, or else its card did."""
        for each in self.seen:
            failure = each["deployment"]["failure"]
            if failure and _names(failure["sentence"], pid):
                return {"after_seconds": each["after_seconds"], "failure": failure}
        for each in self.seen:
            for user in (user for card in each["cards"] for user in card["used_by"]):
                if user["pid"] == pid:
                    said = {"code": "", "sentence": CardUser.from_json(user).words}
                    return {"after_seconds": each["after_seconds"], "failure": said}
        return {}

    def end_of_engine(self) -> dict[str, Any]:
        """Return how and when the end of the engine was first told."""
        for each in self.seen:
            for failure in (replica["failure"] for replica in each["replicas"]):
                if failure and "SIGKILL" in failure["sentence"]:
                    return {"after_seconds": each["after_seconds"], "failure": failure}
        return {}

    def _note(self) -> None:
        now = self._show.deployment(self._model)
        replicas = self._show.replicas(self._model)["replicas"]
        kept = ("id", "state", "failure")
        said = {
            "deployment": {key: now[key] for key in ("status", "failure")},
            "replicas": [{key: each[key] for key in kept} for each in replicas],
            "cards": [{key: card[key] for key in ("is_clean", "used_by", "claimed_bytes")}
                      for card in self.cards()],
        }  # fmt: skip
        last = {key: self.seen[-1][key] for key in said} if self.seen else None
        if said != last:
            self.seen.append({"after_seconds": self.seconds, **said})


def _row(
    done: str, said: Mapping[str, Any], seconds: float | None, recovered: str
) -> dict[str, Any]:
    return {
        "done": done,
        "said": said.get("failure"),
        "said_after_seconds": said.get("after_seconds"),
        "recovered_after_seconds": seconds,
        "recovered": recovered,
    }


def _left_of(engine: Mapping[str, Any], size: int) -> Any:
    """Run a process that carries the marks of the engine, as one that it started would."""
    folder = engine["folder"]
    replica, _, generation = folder.name.rpartition(".")
    marks = {"ENGINEHOUSE_LEASE": f"replica/{replica}/{generation}",
             "ENGINEHOUSE_INSTANCE": str(folder.parent.resolve())}  # fmt: skip
    return starting(STRANGER, size, marks)


def _names(sentence: str, pid: int) -> bool:
    """Return whether a sentence names the process, or says that none is shown."""
    return f"process {pid}" in sentence or "shows no process" in sentence


def _wait(seconds: float, is_over: Callable[[], Any]) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and not is_over():
        time.sleep(0.1)


def _serves(show: Show) -> bool:
    try:
        return bool(streamed(show.client(show.model("smollm2")))["answer"])
    except (openai.OpenAIError, Missed):
        return False
