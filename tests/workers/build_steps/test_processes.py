import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from workers.build_steps.environment import child_environment
from workers.build_steps.processes import Process, of_step, process

pytestmark = pytest.mark.process

LEASE, INSTANCE = "build/b/1", "/srv/one"


@pytest.fixture
def marked() -> Iterator[Process]:
    """A process of the step that went into a session of its own; reading its pipe, it waits."""
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(
        command,
        env=child_environment(LEASE, INSTANCE, {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        outcome = process(child.pid)
        assert outcome is not None
        yield outcome
        child.kill()


def test_a_process_of_a_step_is_known_by_both_its_marks(marked: Process) -> None:
    own = os.getsid(0)
    assert of_step(own, lease=LEASE, instance=INSTANCE)(marked)
    assert not of_step(own, lease=LEASE, instance="/srv/another")(marked)
    assert not of_step(own, lease="build/b/2", instance=INSTANCE)(marked)
    assert of_step(marked.session, lease="build/b/2", instance=INSTANCE)(marked)
