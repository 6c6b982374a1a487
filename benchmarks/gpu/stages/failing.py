"""What goes wrong on a card: told with its cause, and recovered."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai

from benchmarks.gpu.product import Missed, Show, until
from benchmarks.gpu.stages.building import small_config, told
from benchmarks.gpu.stages.serving import streamed

_HOLDS = """
import sys, time
try:
    import torch
    held = torch.empty(8 * 2**30, dtype=torch.uint8, device="cuda")
except Exception as error:
    print(error)
print("held", flush=True)
time.sleep(300)
"""
_TAKES_ALL = """
import sys, time
try:
    import pynvml, torch
    print("ready", flush=True)
    sys.stdin.readline()
    pynvml.nvmlInit()
    card = pynvml.nvmlDeviceGetHandleByIndex(0)
    held = [torch.empty(2**21, dtype=torch.uint8, device="cuda")]
    mine = pynvml.nvmlDeviceGetMemoryInfo(card).used
    while pynvml.nvmlDeviceGetMemoryInfo(card).used < mine + 300 * 2**20:
        time.sleep(0.02)
    size = 2**34
    ends = time.monotonic() + 300
    while time.monotonic() < ends:
        try:
            held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            size = max(size // 2, 2**21)
            time.sleep(0.005 if size == 2**21 else 0)
except Exception as error:
    print(error, flush=True)
    time.sleep(300)
"""


_CALIBRATING = ("calibrating", "gating", "succeeded", "failed", "cancelled")


def kill(show: Show) -> dict[str, Any]:
    """The engine killed while a stranger takes the card: told with its cause, and recovered."""
    model = show.model("smollm2")
    seen: list[dict[str, Any]] = []
    with _stranger(_HOLDS, holds=8 * 2**30) as stranger:
        time.sleep(3.5)  # one report of the agent, which tells who is on its cards
        beside = _cards(show)
        started = time.monotonic()
        os.kill(show.engine()["pid"], signal.SIGKILL)
        while time.monotonic() < started + 60 and not _says_why(seen):
            _note(show, seen, round(time.monotonic() - started, 1))
            time.sleep(0.1)
    freed = time.monotonic()
    until(lambda: _serves(show))
    return {
        "stranger_pid": stranger.pid,
        "cards_with_the_stranger_beside": beside,
        "what_the_deployment_said": seen,
        "seconds_from_free_card_to_answer": round(time.monotonic() - freed, 1),
        "after": show.deployment(model),
        "replicas_after": show.replicas(model),
    }


def _note(show: Show, seen: list[dict[str, Any]], seconds: float) -> None:
    """Keep what the deployment says now, where that is new, and what is used of the card."""
    now = show.deployment(show.model("smollm2"))
    told_now = {key: now[key] for key in ("status", "active_replica_count", "failure")}
    if not seen or seen[-1]["says"] != told_now:
        used = show.card["used_bytes"]
        seen.append({"after_seconds": seconds, "says": told_now, "card_used_bytes": used,
                     "replicas": show.replicas(show.model("smollm2"))})  # fmt: skip


def _says_why(seen: list[dict[str, Any]]) -> bool:
    """Return whether it has said for some seconds who or what keeps it from the card."""
    failure = seen[-1]["says"]["failure"] if seen else None
    codes = ("EHN-CARD-TAKEN", "EHN-CARD-MEMORY", "EHD-NO-ROOM")
    return failure is not None and failure["code"] in codes


def _cards(show: Show) -> Any:
    return [each["cards"] for each in show.job._get("nodes")["nodes"]]


def _serves(show: Show) -> bool:
    try:
        return bool(streamed(show.client(show.model("smollm2")))["answer"])
    except (openai.OpenAIError, Missed):
        return False


def out_of_memory(show: Show) -> dict[str, Any]:
    """CUDA out of memory in calibration, told with its cause; then the same build, which succeeds.

    Somebody takes the whole card in the moment in which calibration has begun to use it.
    """
    text = small_config(show, "fp8")
    with _stranger(_TAKES_ALL, holds=0) as stranger:
        build = show.start_build("smollm2-fp8", text)
        # Whoever is on the card before it is claimed is seen, and waited for.
        until(lambda: show.look_at(build)["state"], lambda state: state in _CALIBRATING)
        assert stranger.stdin is not None
        stranger.stdin.write("now\n")
        stranger.stdin.flush()
        failed = show.ended(build)
        first = {"state": failed["state"], "failure": failed["failure"],
                 "log": show.log_of(failed)[-60:]}  # fmt: skip
    if failed["state"] != "succeeded":
        show.job._post(f"builds/{failed['id']}/retry", {})
        until(lambda: show.look_at(build)["state"], lambda state: state != "failed")
    return {"first": first, **told(show, show.succeeded(failed), text, show.checkpoint)}


@contextmanager
def _stranger(program: str, *, holds: int) -> Iterator["subprocess.Popen[str]"]:
    """Run a process that is not ours; a rehearsal's card believes that it holds so many bytes."""
    process = subprocess.Popen(
        [sys.executable, "-c", program], text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, **({"REHEARSED_CARD_BYTES": str(holds)} if holds else {})},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.wait()
