"""`manage.py render_runtime`, and the script that lets others run TensorRT-LLM for us."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command

from benchmarks.evidence import page
from controlplane.processes import ports
from tests.waiting import DEADLINE_SECONDS

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "benchmarks" / "gpu" / "trtllm.sh"
CONFIG = ROOT / "tests" / "seeds" / "data" / "lookahead-decoding-1.yaml"
DEVICE = "name, memory.total\\nNVIDIA H100 80GB HBM3, 81559 MiB, 580.1, 9.0, 81000 MiB\\n"
LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512,
    "intermediate_size": 128, "max_position_embeddings": 131072, "torch_dtype": "bfloat16",
}  # fmt: skip


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


@pytest.mark.process
def test_the_script_for_owners_of_an_h100_runs_against_a_stand_in_and_keeps_a_result(
    tmp_path: Path,
) -> None:
    done = _run_script(tmp_path, "stand_in.py")
    assert done.returncode == 0, done.stdout + done.stderr
    [file] = (tmp_path / "results").glob("trtllm-*.json")
    content = json.loads(file.read_text())
    assert file.name == f"trtllm-h100-{content['date']}.json"
    assert (content["gpu"].split(",")[0], content["what"]) == ("NVIDIA H100 80GB HBM3", "trtllm")
    assert content["command"].startswith("benchmarks/gpu/trtllm.sh --config ")
    assert {name: each["as_asked"] for name, each in content["answers"].items()} == dict.fromkeys(
        ("chat", "stream", "schema", "long"), True
    )
    assert content["memory"]["report"]["weights_bytes"] == round(8.5 * 1024**3)
    assert content["memory"]["planned"]["kv_tokens"] > 0
    [entry] = json.loads(file.with_name(file.name.replace("trtllm-", "memory-")).read_text())
    assert (entry["source"], entry["runtime"]) == (file.name, "trtllm")
    assert content["metrics"] == {"requests_finished_total": 4.0}
    assert "decoding_type: NGram" in content["files"]["engine.yaml"]
    evidence = page(file.parent)
    assert "| asked: schema | as asked: status 200 after" in evidence
    assert "TensorRT-LLM at all" not in evidence
    with tarfile.open(tmp_path / "out.tar.gz") as archive:
        assert "out/trtllm.json" in archive.getnames()


def test_the_result_is_made_where_only_the_packages_of_enginehouse_itself_are() -> None:
    named_apart = "openai", "torch", "transformers"
    words = f"import sys; sys.modules.update(dict.fromkeys({named_apart}))"
    command = [sys.executable, "-c", f"{words}; import benchmarks.gpu.trtllm_result"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.process
def test_an_engine_that_ends_at_once_is_told_with_its_last_lines_and_packed(tmp_path: Path) -> None:
    done = _run_script(tmp_path, "no_such_engine.py")
    assert done.returncode == 1
    assert "The engine ended. Its last lines:" in done.stderr
    assert "no_such_engine.py" in done.stderr
    assert (tmp_path / "out.tar.gz").stat().st_size > 0


def _run_script(tmp_path: Path, engine: str) -> subprocess.CompletedProcess[str]:
    tools, model = tmp_path / "bin", tmp_path / "model"
    tools.mkdir(), model.mkdir()
    (model / "config.json").write_text(json.dumps(LLAMA))
    _program(tools / "nvidia-smi", f"printf '{DEVICE}'")
    _program(
        tools / "engine-python",
        f'[ "$1" = -c ] && exit 0; exec {sys.executable} {Path(__file__).parent}/{engine} "$@"',
    )
    command = ["bash", str(SCRIPT), "--config", str(CONFIG), "--model", str(model), "--out",
               str(tmp_path / "out"), "--python", sys.executable, "--engine-python",
               "engine-python", "--results", str(tmp_path / "results")]  # fmt: skip
    with ports.reserved() as kept:
        environment = {
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PORT": str(ports.port_of(kept)),
        }
        return subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/usr/bin/env bash\n{line}\n")
    path.chmod(0o755)
