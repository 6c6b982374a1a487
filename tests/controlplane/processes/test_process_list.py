"""What the processes of one machine are given."""

from controlplane.artifacts.variables import LOGIN
from controlplane.processes.process_list import processes
from controlplane.processes.server import ServerCommand


def test_only_what_uses_the_store_gets_its_login() -> None:
    given = {
        each.name
        for each in processes(build_pool="default")
        if not each.command({}).without & LOGIN
    }
    assert given == {"web", "control", "build", "agent"}
    assert ServerCommand(argv=("postgres",)).without == LOGIN
