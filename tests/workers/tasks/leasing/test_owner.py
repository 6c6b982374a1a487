"""An owner of leases is a process, and dead once that is."""

import subprocess

import pytest

from tests.waiting import wait_for
from workers.tasks.leasing.owner import dead_owners, process_owner


def test_an_owner_is_dead_once_its_process_is(monkeypatch: pytest.MonkeyPatch) -> None:
    own = process_owner("here")
    other = subprocess.Popen(["sleep", "60"])
    with monkeypatch.context() as patched:
        patched.setattr("workers.tasks.leasing.owner.os.getpid", lambda: other.pid)
        others = process_owner("here")
    owners = [own, others, "elsewhere/0123456789abcdef/1/1", ""]
    assert dead_owners(owners) == []
    other.kill()
    # Dead, though nobody has asked for its exit status yet.
    wait_for(lambda: dead_owners(owners) == [others], what=lambda: owners)
    other.wait()
