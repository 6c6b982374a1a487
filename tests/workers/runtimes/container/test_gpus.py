"""GPUs by UUID, as far as a machine without any can show: up to NVIDIA's own program."""

from pathlib import Path

import pytest

from tests.workers.runtimes.container.conftest import private_engine
from tests.workers.runtimes.container.standing import Standing

pytestmark = [pytest.mark.process, pytest.mark.recovery]
SHOWN = "import os; print(os.environ['NVIDIA_VISIBLE_DEVICES'])"


def test_nvidia_s_program_is_told_the_leased_gpus_and_no_others(tmp_path: Path) -> None:
    # Docker looks for it when it starts, and runs it before each container that asks for GPUs.
    hook = tmp_path / "programs" / "nvidia-container-runtime-hook"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\necho called >>{tmp_path}/hook.log\n")
    hook.chmod(0o755)
    with private_engine() as engine:
        engine.start(hook.parent)
        gpus = ("GPU-11111111-2222-3333-4444-555555555555", "MIG-66666666")
        standing = Standing(engine.import_image(), tmp_path, SHOWN, gpus=gpus)
        assert standing.end() == 0, standing.log
        assert ",".join(gpus) in standing.log
        assert (tmp_path / "hook.log").read_text() == "called\n"
