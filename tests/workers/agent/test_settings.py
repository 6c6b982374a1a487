"""What engines and build steps see of the environment of a host."""

from pathlib import Path

import pytest

from controlplane.domain.runtimes.device_links import DEVICE_LINKS
from workers.agent.settings import read_settings
from workers.build_steps.environment import child_environment


@pytest.mark.parametrize("name", DEVICE_LINKS)
def test_all_that_compute_there_are_told_how_its_gpus_reach_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    host = {name: "0", "DATABASE_URL": "postgresql://user:secret@host/db"}
    for variable, value in host.items():
        monkeypatch.setenv(variable, value)
    engines = read_settings({"DATA_DIR": str(tmp_path), **host}).passed_on
    steps = child_environment("build/b/1", str(tmp_path), {})
    assert engines[name] == steps[name] == "0"
    assert not {"DATABASE_URL"} & {*engines, *steps}
