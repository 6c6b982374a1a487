"""The GPUs of a host: its CPU whatever happens, its GPUs as far as they answer."""

import getpass
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from apps.deployments.internal_api import DeviceUseBody
from apps.fleet.internal_api import DeviceBody
from controlplane.domain.device_users import DeviceUser
from tests.waiting import wait_for
from workers.agent import inventory, nvidia

NOT_FOUND = 6


class StandInError(Exception):
    """What every call of the library may raise."""

    def __init__(self, words: str, value: int = 999) -> None:
        super().__init__(words)
        self.value = value


class StandInLibrary:
    """NVIDIA's library with two GPUs, as `pynvml` presents it; named calls fail on GPU 0."""

    NVMLError = StandInError
    NVML_ERROR_NOT_FOUND = NOT_FOUND

    def __init__(self, *failing: str, pids: Sequence[int] = ()) -> None:
        self._failing = failing
        self.pids: dict[int, Sequence[int]] = {0: pids, 1: ()}

    def nvmlInit(self) -> None:
        self._answer("nvmlInit")

    def nvmlShutdown(self) -> None:
        self._answer("nvmlShutdown")

    def nvmlDeviceGetCount(self) -> int:
        self._answer("nvmlDeviceGetCount")
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        self._answer("nvmlDeviceGetHandleByIndex", index)
        return index

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        self._answer("nvmlDeviceGetMemoryInfo", handle)
        return SimpleNamespace(total=80 * 1024**3, used=1024**3)

    def nvmlDeviceGetName(self, handle: int) -> str:
        self._answer("nvmlDeviceGetName", handle)
        return "NVIDIA H100 80GB HBM3"

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        self._answer("nvmlDeviceGetUUID", handle)
        return f"GPU-{handle}"

    def nvmlDeviceGetMigMode(self, handle: int) -> tuple[int, int]:
        raise StandInError("Not Supported")

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        self._answer("nvmlDeviceGetUtilizationRates", handle)
        return SimpleNamespace(gpu=7)

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:
        self._answer("nvmlDeviceGetPowerUsage", handle)
        return 123_456

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:
        self._answer("nvmlDeviceGetComputeRunningProcesses", handle)
        return [SimpleNamespace(pid=pid, usedGpuMemory=None) for pid in self.pids[handle]]

    def _answer(self, call: str, handle: int = 0) -> None:
        if handle == 0 and call in self._failing:
            raise StandInError(f"{call} failed")


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Take the place of the library, with these calls failing; the GPUs by UUID come back."""

    def devices(*failing: str) -> dict[str, dict[str, Any]]:
        monkeypatch.setattr(nvidia, "pynvml", StandInLibrary(*failing))
        return {device["uuid"]: device for device in inventory.devices("host-1")}

    return devices


def test_gpus_come_with_their_measurements_and_the_cpu_behind_them(fail: Any) -> None:
    *gpus, cpu = fail().values()
    assert [(gpu["uuid"], gpu["index"], gpu["kind"]) for gpu in gpus] == [
        ("GPU-0", 0, "H100"),
        ("GPU-1", 1, "H100"),
    ]
    assert (gpus[0]["utilization_percent"], gpus[0]["clean"]) == (7.0, True)
    assert gpus[0]["power_watts"] == 123
    assert cpu["kind"] == "CPU"


class SplitLibrary(StandInLibrary):
    """The same host with GPU 0 split into two slices of the seven that it may have."""

    SLICES: ClassVar = {100: "3g.40gb", 101: "1g.10gb"}

    def nvmlDeviceGetMigMode(self, handle: int) -> tuple[int, int]:
        return (1, 1) if handle == 0 else (0, 0)

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: int) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: int, number: int) -> int:
        if 100 + number not in self.SLICES:
            raise StandInError("Not Found", NOT_FOUND)
        return 100 + number

    def nvmlDeviceGetName(self, handle: int) -> str:
        name = super().nvmlDeviceGetName(handle)
        return f"{name} MIG {self.SLICES[handle]}" if handle in self.SLICES else name

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:
        return []


def test_a_gpu_that_is_split_is_reported_as_its_slices_each_a_kind_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nvidia, "pynvml", SplitLibrary())
    *gpus, _ = inventory.devices("host-1")
    assert [(gpu["uuid"], gpu["index"], gpu["kind"]) for gpu in gpus] == [
        ("GPU-100", 100, "H100_40GB"),
        ("GPU-101", 101, "H100_MIG_1g_10gb"),
        ("GPU-1", 1, "H100"),
    ]
    assert all(DeviceBody.model_validate(gpu) for gpu in gpus)


class LosingLibrary(SplitLibrary):
    """Slice 100 is lost while it is looked at."""

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        if handle == 100:
            raise StandInError("GPU is lost")
        return super().nvmlDeviceGetMemoryInfo(handle)


class EmptyLibrary(SplitLibrary):
    """GPU 0 is split, and nobody has made a slice."""

    SLICES: ClassVar = {}


@pytest.mark.parametrize(
    ("library", "left", "said"),
    [
        (LosingLibrary, ["GPU-101", "GPU-1"], "slice 0 of GPU 0 does not answer"),
        (EmptyLibrary, ["GPU-1"], "GPU 0 is split (MIG) and none of its slices answers"),
    ],
)
def test_a_slice_that_is_left_out_is_named_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    library: type[SplitLibrary],
    left: list[str],
    said: str,
) -> None:
    nvidia._warn_once.cache_clear()
    monkeypatch.setattr(nvidia, "pynvml", library())
    assert [gpu["uuid"] for gpu in inventory.devices("host-1")[:-1]] == left
    assert [record.message for record in caplog.records if said in record.message]
    assert len(caplog.records) == 1


def test_a_gpu_without_a_utilization_is_reported_without_one(fail: Any) -> None:
    devices = fail("nvmlDeviceGetUtilizationRates", "nvmlDeviceGetPowerUsage")
    assert (devices["GPU-0"]["power_watts"], devices["GPU-1"]["power_watts"]) == (None, 123)
    assert (devices["GPU-0"]["utilization_percent"], devices["GPU-0"]["clean"]) == (None, True)
    assert devices["GPU-1"]["utilization_percent"] == 7.0


def test_a_gpu_that_does_not_tell_who_uses_it_is_not_clean(fail: Any) -> None:
    devices = fail("nvmlDeviceGetComputeRunningProcesses")
    assert (devices["GPU-0"]["clean"], devices["GPU-1"]["clean"]) == (False, True)


def test_who_is_on_a_gpu_is_told_with_name_and_user_and_whose_it_is(
    monkeypatch: pytest.MonkeyPatch, sleepers: dict[str, subprocess.Popen[bytes]]
) -> None:
    pids = {name: each.pid for name, each in sleepers.items()}
    sleepers["dead"].kill()
    os.waitid(os.P_PID, pids["dead"], os.WEXITED | os.WNOWAIT)  # dead, and still in the table
    hidden = 2**22 + 1  # no process has such a number
    library = StandInLibrary(pids=[*pids.values(), hidden])
    monkeypatch.setattr(nvidia, "pynvml", library)
    device = inventory.devices("host-1")[0]
    by_pid = {each["pid"]: DeviceUser.from_json(each) for each in device["used_by"]}
    assert not device["clean"]
    assert by_pid[pids["ours"]].is_ours
    assert by_pid[pids["foreign"]].is_foreign
    assert (by_pid[pids["foreign"]].name, by_pid[pids["foreign"]].user) == (
        "sleep",
        getpass.getuser(),
    )
    assert by_pid[pids["dead"]].has_ended
    assert (by_pid[hidden].name, by_pid[hidden].is_foreign) == ("", True)
    assert DeviceUseBody.model_validate(device).to_use().used_by == tuple(by_pid.values())


def test_a_gpu_on_which_only_ours_and_the_dead_are_is_clean(
    monkeypatch: pytest.MonkeyPatch, sleepers: dict[str, subprocess.Popen[bytes]]
) -> None:
    sleepers["dead"].kill()
    os.waitid(os.P_PID, sleepers["dead"].pid, os.WEXITED | os.WNOWAIT)
    pids = [sleepers["ours"].pid, sleepers["dead"].pid]
    monkeypatch.setattr(nvidia, "pynvml", StandInLibrary(pids=pids))
    assert inventory.devices("host-1")[0]["clean"]


@pytest.fixture
def sleepers() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Three processes: with our mark, without it, and one to be killed."""
    marks = {"ours": {"ENGINEHOUSE_LEASE": "replica/aaaaa/1"}, "foreign": {}, "dead": {}}
    path = {"PATH": os.environ["PATH"]}
    by_name = {name: subprocess.Popen(["sleep", "600"], env=path | more)
             for name, more in marks.items()}  # fmt: skip
    for each in by_name.values():
        # Started, a process has neither its own name nor its environment yet.
        wait_for(Path(f"/proc/{each.pid}/environ").read_bytes, what=f"process {each.pid}")
    yield by_name
    for each in by_name.values():
        each.kill()
        each.wait()


@pytest.mark.parametrize(
    "call",
    [
        "nvmlDeviceGetHandleByIndex",
        "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetName",
        "nvmlDeviceGetUUID",
    ],
)
def test_a_lost_gpu_is_left_out_and_hides_no_other_device(fail: Any, call: str) -> None:
    assert [device["kind"] for device in fail(call).values()] == ["H100", "CPU"]


@pytest.mark.parametrize("call", ["nvmlInit", "nvmlDeviceGetCount"])
def test_without_a_working_driver_the_cpu_remains(fail: Any, call: str) -> None:
    assert [device["kind"] for device in fail(call).values()] == ["CPU"]


def test_a_driver_that_goes_away_at_the_end_costs_nothing(fail: Any) -> None:
    assert len(fail("nvmlShutdown")) == 3


def test_the_cpu_keeps_its_index_however_many_gpus_there_are(fail: Any) -> None:
    indexes = {list(fail(*calls).values())[-1]["index"] for calls in ([], ["nvmlInit"])}
    assert indexes == {inventory.CPU_INDEX}


def test_the_control_plane_takes_the_index_of_the_cpu() -> None:
    device = inventory.devices("host-1")[-1]
    assert DeviceBody.model_validate(device).index == inventory.CPU_INDEX
