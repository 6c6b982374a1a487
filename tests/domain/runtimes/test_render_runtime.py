"""`manage.py render_runtime`, and the script that lets others run TensorRT-LLM for us."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "benchmarks" / "gpu" / "trtllm.sh"
CONFIG = ROOT / "tests" / "seeds" / "data" / "lookahead-decoding-1.yaml"


def test_the_files_of_an_engine_are_written_into_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("render_runtime", str(CONFIG), runtime="trtllm", output=str(tmp_path))
    argv = (tmp_path / "argv").read_text().rstrip("\0").split("\0")
    assert argv[-1] == str(tmp_path / "engine.yaml")
    content = yaml.safe_load((tmp_path / "engine.yaml").read_text())
    assert content["speculative_config"]["decoding_type"] == "NGram"
    assert "# changed: trt_llm.build.speculator" in capsys.readouterr().out


def test_a_version_that_is_not_known_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"0\.1 is not known here"):
        call_command("render_runtime", str(CONFIG), runtime="vllm", runtime_version="0.1")
    broken = tmp_path / "config.yaml"
    broken.write_text("model_name: x\n")
    with pytest.raises(CommandError, match="trt_llm"):
        call_command("render_runtime", str(broken))


def test_the_script_for_owners_of_an_h100_is_sound_and_runs_against_a_stand_in(
    tmp_path: Path,
) -> None:
    assert subprocess.run(["bash", "-n", str(SCRIPT)], check=False).returncode == 0
    tools, model = tmp_path / "bin", tmp_path / "model"
    tools.mkdir(), model.mkdir()
    (model / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    _program(tools / "nvidia-smi", "echo stand-in, 80 GiB")
    _program(
        tools / "engine-python",
        f'[ "$1" = -c ] && exit 0; exec {sys.executable} {Path(__file__).parent}/stand_in.py "$@"',
    )
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PORT": _free_port()}
    command = ["bash", str(SCRIPT), "--config", str(CONFIG), "--model", str(model), "--out",
               str(tmp_path / "out"), "--python", sys.executable, "--engine-python",
               "engine-python"]  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "stand-in" in (tmp_path / "out" / "chat.txt").read_text()
    assert (tmp_path / "out.tar.gz").stat().st_size > 0


def _free_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/usr/bin/env bash\n{line}\n")
    path.chmod(0o755)
