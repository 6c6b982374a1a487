import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import DEADLINE_SECONDS, wait_for
from workers.build_steps.processes import (
    INSTANCE_VARIABLE,
    LEASE_VARIABLE,
    environment,
    living_of_session,
    process,
    send,
)
from workers.build_steps.reaping import reap_orphans

pytestmark = pytest.mark.process


@contextmanager
def sleeper(lease: str, instance: str) -> Iterator[subprocess.Popen[bytes]]:
    marks = {LEASE_VARIABLE: lease, INSTANCE_VARIABLE: instance}
    with subprocess.Popen(["sleep", "600"], env={**os.environ, **marks}) as outcome:
        try:
            wait_for(
                lambda: environment(outcome.pid).get(LEASE_VARIABLE) == lease,
                what=f"a process with the lease {lease}",
            )
            yield outcome
        finally:
            outcome.kill()


def test_a_process_with_a_dead_lease_is_killed_and_a_live_one_spared(tmp_path: Path) -> None:
    here = str(tmp_path)
    requests: list[str] = []

    def is_live(lease: str) -> bool:
        requests.append(lease)
        return lease == "build/aaa/2"

    with (
        sleeper("build/aaa/1", here) as dead,
        sleeper("build/aaa/1", here) as also_dead,
        sleeper("build/aaa/2", here) as live,
    ):
        reaped = reap_orphans(is_live, instance=here)
        assert {each.pid for each in reaped} == {dead.pid, also_dead.pid}
        assert dead.wait(DEADLINE_SECONDS) == also_dead.wait(DEADLINE_SECONDS) == -9
        assert live.poll() is None
    assert sorted(requests) == ["build/aaa/1", "build/aaa/2"]


def test_another_installation_and_other_kinds_of_lease_are_left_alone(tmp_path: Path) -> None:
    with (
        sleeper("build/aaa/1", "/elsewhere") as foreign,
        sleeper("replica/aaa/1", str(tmp_path)) as replica,
    ):
        assert reap_orphans(lambda lease: False, instance=str(tmp_path)) == []
        assert foreign.poll() is None
        assert replica.poll() is None


def test_the_reaper_spares_itself_and_who_started_it(tmp_path: Path) -> None:
    source = (
        "from workers.build_steps.reaping import reap_orphans\n"
        f"print(len(reap_orphans(lambda lease: False, instance={str(tmp_path)!r})))"
    )
    shell = f'{os.sys.executable} -c "$SOURCE"; echo alive'  # type: ignore[attr-defined]
    result = subprocess.run(
        ["bash", "-c", shell],
        env={
            **os.environ,
            "SOURCE": source,
            LEASE_VARIABLE: "build/aaa/1",
            INSTANCE_VARIABLE: str(tmp_path),
        },
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
    )
    assert result.stdout.split() == ["0", "alive"], result.stderr


def test_a_signal_never_reaches_another_process_with_the_same_pid(tmp_path: Path) -> None:
    with sleeper("build/aaa/1", str(tmp_path)) as outcome:
        seen = process(outcome.pid)
        assert seen is not None
        reused = type(seen)(
            pid=seen.pid, parent=1, session=1, start_ticks=seen.start_ticks - 1, ended=False
        )
        send(reused, 9)  # type: ignore[arg-type]
        assert outcome.poll() is None
        send(seen, 9)  # type: ignore[arg-type]
        assert outcome.wait(DEADLINE_SECONDS) == -9


def test_a_session_has_its_living_processes_and_no_others() -> None:
    with (
        subprocess.Popen(["sleep", "600"], start_new_session=True) as leader,
        subprocess.Popen(["sleep", "600"]) as other,
    ):
        try:
            wait_for(lambda: living_of_session(leader.pid), what="the session")
            assert [each.pid for each in living_of_session(leader.pid)] == [leader.pid]
            leader.kill()
            wait_for(lambda: not living_of_session(leader.pid), what="its end")
            assert process(leader.pid) is not None, "ended, and not yet buried"
            assert other.pid in [each.pid for each in living_of_session(os.getsid(0))]
        finally:
            leader.kill()
            other.kill()


def test_the_caller_is_not_of_its_session() -> None:
    assert os.getpid() not in [each.pid for each in living_of_session(os.getsid(0))]
