"""What goes wrong on a GPU: told with its cause, and recovered.

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
from benchmarks.gpu.stages.watching import Watch, fault, wait

_REPORT_SECONDS = 2.5
"""In which the agent has told once more what is on its GPUs."""
_TOLD_SECONDS = 20.0
_LEAST_BYTES, _MOST_BYTES = 2**30, 3 * 2**30
_OVER = ("succeeded", "failed", "cancelled")


def kill(show: Show) -> dict[str, Any]:
    """The engine killed; then a process of it, a half dead one and a stranger keep the GPU."""
    model = show.model("smollm2")
    watch = Watch(show, model)
    with _three_beside(show) as beside_it:
        wait(_REPORT_SECONDS, lambda: None)
        devices = watch.devices()
        ends = _kill_engine_then_holders(show, watch, beside_it)
    watch.during(600, lambda: _serves(show))
    pids = {name: process.pid for name, process in beside_it.items()}
    return {
        "faults": _rows(watch, pids, ends, answers=watch.seconds),
        "pids": pids,
        "ended_after_seconds": ends,
        "devices_with_all_three_beside": devices,
        "said": watch.seen,
        "seconds_from_free_device_to_answer": round(watch.seconds - ends["half dead"], 1),
        "after": show.deployment(model),
        "replicas_after": show.replicas(model),
    }


@contextmanager
def _three_beside(show: Show) -> Iterator[dict[str, "subprocess.Popen[str]"]]:
    """Run a process with the marks of the engine, a half dead one and a stranger on its GPU."""
    free = int(show.device["memory_bytes"] - show.device["used_bytes"])
    size = min(max(free // 5, _LEAST_BYTES), _MOST_BYTES)
    with (
        _left_of(show.engine(), size) as left,
        starting(HALF_DEAD, size) as half_dead,
        starting(STRANGER, size) as stranger,
    ):
        values = {"left": left, "half dead": half_dead, "stranger": stranger}
        for each in values.values():
            wait_until_held(each)
        yield values


def _kill_engine_then_holders(
    show: Show, watch: Watch, holders: Mapping[str, "subprocess.Popen[str]"]
) -> dict[str, float]:
    """Return when each holder was gone; the one that is left of the engine ends by our doing."""
    left, half_dead, stranger = (holders[name] for name in ("left", "half dead", "stranger"))
    ends: dict[str, float] = {}

    def is_told_and_left() -> bool:
        if left.poll() is not None:
            ends.setdefault("left", watch.seconds)
        return watch.says(stranger.pid) and "left" in ends

    engine = show.engine()["pid"]
    watch.begin()
    os.kill(engine, signal.SIGKILL)
    watch.during(_TOLD_SECONDS, is_told_and_left)
    stranger.kill()
    stranger.wait()
    ends["stranger"] = watch.seconds
    watch.during(_TOLD_SECONDS, lambda: watch.is_told_without(stranger.pid, left.pid))
    half_dead.kill()
    half_dead.wait()
    ends["half dead"] = watch.seconds
    return ends


def _rows(
    watch: Watch, pids: Mapping[str, int], ends: Mapping[str, float], *, answers: float
) -> list[dict[str, Any]]:
    return [
        fault("the engine killed while it served (SIGKILL)", watch.end_of_engine(), answers,
              "after the kill: it answers again, and all of the following is over"),
        fault("a process of that engine left alive, with memory of the GPU",
              watch.of(pids["left"]), ends.get("left"), "after the kill: it is ended by us"),
        fault("somebody else's process on the GPU, which ends later", watch.of(pids["stranger"]),
              round(ends["half dead"] - ends["stranger"], 1),
              "after its end: it is named no more"),
        fault("a process that has ended and holds memory still, gone last",
              watch.of(pids["half dead"]), round(answers - ends["half dead"], 1),
              "after it was gone: an engine has started and answers"),
    ]  # fmt: skip


def out_of_memory(show: Show) -> dict[str, Any]:
    """A stranger before calibration, which waits; then CUDA out of memory in it; then it succeeds.

    Somebody takes the whole GPU in the moment in which calibration has begun to use it.
    """
    text = small_config(show, "fp8")
    with _nobody() if _is_rehearsal() else holder(TAKES_ALL) as taker:
        build, rows = _wait_for_the_device(show, text)
        if taker is not None and taker.stdin is not None:
            taker.stdin.write("now\n")
            taker.stdin.flush()
        began = time.monotonic()
        failed = show.ended(build)
        seconds = round(time.monotonic() - began, 1)
    first = {"state": failed["state"], "failure": failed["failure"],
             "log": show.log_of(failed)[-60:]}  # fmt: skip
    if failed["state"] == "failed":
        rows.append(_tried_again(show, failed, after_seconds=seconds))
    elif not _is_rehearsal():
        raise Missed("calibration did not run out of memory", {"first": first, "faults": rows})
    ended = show.succeeded(failed)
    return {"faults": rows, "first": first, **told(show, ended, text, show.checkpoint)}


def _tried_again(show: Show, failed: Mapping[str, Any], *, after_seconds: float) -> dict[str, Any]:
    """Return the row of a build that failed and, tried again, succeeds."""
    again = time.monotonic()
    show.job._post(f"builds/{failed['id']}/retry", {})
    until(lambda: show.look_at(failed)["state"], lambda state: state != "failed")
    show.succeeded(failed)
    values = {"after_seconds": after_seconds, "failure": failed["failure"]}
    took = round(time.monotonic() - again, 1)
    done = "all memory of the GPU taken while calibration ran"
    return fault(done, values, took, "after the retry: the build has succeeded")


def _is_rehearsal() -> bool:
    return "REHEARSAL" in os.environ


def _wait_for_the_device(show: Show, text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a build that has got its GPU, and what it said while others were on it."""
    modes = {STRANGER: "somebody else's process on the GPU before calibration"}
    if _is_rehearsal():
        modes = {HIDDEN: "memory held by a process that no list shows", **modes}
    build, rows, reason = None, [], ""
    with ExitStack() as exit_stack:
        before = None
        for mode, done in modes.items():
            present = exit_stack.enter_context(holder(mode, _MOST_BYTES))
            if build is None:
                wait(_REPORT_SECONDS, lambda: None)
                build = show.start_build("smollm2-fp8", text)
            old = reason
            after, reason = _waits(show, build, lambda now, old=old: now != old, ending=before)
            values = {"after_seconds": after, "failure": {"code": "", "sentence": reason}}
            rows.append(fault(done, values, None, "after its end: it is waited for no more"))
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
    waits_fors = [each["waits_for"] for each in now["steps"] if each["name"] == "calibrate"]
    return str(waits_fors[0]) if waits_fors else ""


@contextmanager
def _nobody() -> Iterator[Any]:
    yield None


def _left_of(engine: Mapping[str, Any], size: int) -> Any:
    """Run a process that carries the marks of the engine, as one that it started would."""
    folder = engine["folder"]
    replica, _, generation = folder.name.rpartition(".")
    marks = {"ENGINEHOUSE_LEASE": f"replica/{replica}/{generation}",
             "ENGINEHOUSE_INSTANCE": str(folder.parent.resolve())}  # fmt: skip
    return starting(STRANGER, size, marks)


def _serves(show: Show) -> bool:
    try:
        return bool(streamed(show.client(show.model("smollm2")))["answer"])
    except (openai.OpenAIError, Missed):
        return False
