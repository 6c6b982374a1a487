"""The proof that a leased GPU is free before an engine starts on it."""

import pytest

from controlplane.domain.device_users import DeviceUser
from tests.manual_clock import ManualClock
from workers.agent import nvidia
from workers.agent.clean_devices import (
    WAIT_SECONDS,
    DevicesTaken,
    visible_devices,
    wait_until_clean,
)
from workers.agent.nvidia import DeviceUse

FREE = DeviceUse(used_bytes=600 * 1024**2)
HELD = DeviceUse(used_bytes=70 * 1024**3)
OURS = DeviceUser(pid=11, name="engine", user="eh", held_bytes=8 * 1024**3, is_ours=True)
STRANGER = DeviceUser(pid=12, name="python3", user="root", held_bytes=8 * 1024**3)
DEAD = DeviceUser(pid=13, name="python3", has_ended=True)
HIDDEN = DeviceUser(pid=14)


def used_by(user: DeviceUser) -> DeviceUse:
    return DeviceUse(used_bytes=0, users=(user,))


def show(monkeypatch: pytest.MonkeyPatch, *uses: DeviceUse | LookupError) -> None:
    """Let the GPU look so, one after the other, then stay as it is."""
    rest = list(uses)

    def use_of(uuid: str) -> DeviceUse:
        use = rest.pop(0) if len(rest) > 1 else rest[0]
        if isinstance(use, LookupError):
            raise use
        return use

    monkeypatch.setattr(nvidia, "use_of", use_of)


def test_a_free_device_is_taken_at_once_and_memory_given_back_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = ManualClock(sleeping_moves_it=True)
    show(monkeypatch, HELD, FREE)
    wait_until_clean(["GPU-1", "CPU-2"], clock=clock)
    assert len(clock.slept) == 1
    wait_until_clean(["GPU-1"], clock=clock)
    assert len(clock.slept) == 1


@pytest.mark.parametrize(
    ("use", "code", "words"),
    [
        (used_by(STRANGER), "EHN-CARD-TAKEN",
         "`python3` (process 12 of `root`, 8.0 GiB), which Enginehouse did not start"),
        (used_by(OURS), "EHN-CARD-TAKEN", "of an engine or a build that is ending"),
        (used_by(DEAD), "EHN-CARD-TAKEN", "has ended without giving its memory back"),
        (used_by(HIDDEN), "EHN-CARD-TAKEN", "process 14, which this host does not show"),
        (HELD, "EHN-CARD-MEMORY", "70.0 GiB of GPU `GPU-1` are held, and this host shows no"),
        (LookupError("`GPU-1` does not answer"), "EHN-CARD-LOST", "does not answer"),
    ],
)  # fmt: skip
def test_a_device_that_stays_taken_is_told_with_what_holds_it(
    monkeypatch: pytest.MonkeyPatch, use: DeviceUse | LookupError, code: str, words: str
) -> None:
    clock = ManualClock(sleeping_moves_it=True)
    show(monkeypatch, use)
    with pytest.raises(DevicesTaken) as caught:
        wait_until_clean(["GPU-1"], clock=clock)
    assert sum(clock.slept) == pytest.approx(WAIT_SECONDS, abs=1)
    assert caught.value.failure.code == code
    assert words in caught.value.failure.sentence


def test_an_engine_sees_its_leased_gpus_alone() -> None:
    assert visible_devices(["GPU-1", "GPU-2"]) == {"CUDA_VISIBLE_DEVICES": "GPU-1,GPU-2"}
    assert visible_devices(["CPU-1"]) == {"CUDA_VISIBLE_DEVICES": ""}
